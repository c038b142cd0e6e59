//! Parameters of each Bitcoin-like chain for its reader: one row each, from the chain's own node
//! software.

use assay_engine::chain::ChainId;

/// Parameters for reading the blocks of a chain.
#[derive(Debug)]
pub struct ChainParams {
    /// The chain's identifier.
    id: &'static str,
    /// The four bytes before each block in a node's block files: the main network's, then those of test
    /// networks.
    pub magics: &'static [[u8; 4]],
    /// Contents of a block's header, and the computation of its hash.
    pub header: HeaderForm,
    /// Serialization of a transaction.
    pub transactions: TransactionForm,
    /// True if a transaction may spend an output of one that comes later in the same block.
    pub spends_later: bool,
    /// The largest amount that an output, or all of a transaction's together, can have, in base units.
    pub largest_amount: u64,
    /// The hashes of first blocks: the main network's, then those of test networks. Empty where they
    /// tell nothing.
    pub first_blocks: &'static [&'static str],
}

/// Contents of a block's header, and the computation of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderForm {
    /// Bitcoin's 80 bytes; their double SHA-256 is the hash.
    Plain {
        /// True if the hash itself is the proof of work.
        proof: bool,
    },
    /// Bitcoin's 80 bytes and their hash, followed by the proof of work of another chain's block if
    /// the version announces it.
    AuxPow,
    /// Zcash's 140 bytes and an Equihash solution; the double SHA-256 of all is the hash.
    Equihash,
    /// Another hash function, or other fields: the hash is not recomputed.
    Other,
}

/// Serialization of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionForm {
    /// The form of Bitcoin's first transactions.
    Plain,
    /// With segregated witness (BIP 144).
    Witness,
    /// With segregated witness and Litecoin's extension blocks (LIP 2).
    Mweb,
    /// With Dash's extra payload behind special ones (DIP 2).
    DashSpecial,
    /// Zcash's versions: only the first is written as Bitcoin's, and its identifier recomputed.
    Zcash,
    /// With other fields: the identifier is not recomputed.
    Other,
}

const COIN: u64 = 100_000_000;
const BITCOIN_TESTNET_MAGIC: [u8; 4] = [0x0b, 0x11, 0x09, 0x07];
const BITCOIN_MAGIC: [u8; 4] = [0xf9, 0xbe, 0xb4, 0xd9];
const REGTEST_MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];
const BITCOIN_FIRST: &str = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
const BITCOIN_TESTNET_FIRST: &str =
    "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943";
const BITCOIN_REGTEST_FIRST: &str =
    "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206";

/// The forks of Bitcoin share its first block.
const BITCOIN_FIRSTS: &[&str] = &[BITCOIN_FIRST, BITCOIN_TESTNET_FIRST, BITCOIN_REGTEST_FIRST];

static PARAMS: [ChainParams; 9] = [
    ChainParams {
        id: "btc",
        magics: &[
            BITCOIN_MAGIC,
            BITCOIN_TESTNET_MAGIC,
            // Testnet 4, signet.
            [0x1c, 0x16, 0x3f, 0x28],
            [0x0a, 0x03, 0xcf, 0x40],
            REGTEST_MAGIC,
        ],
        header: HeaderForm::Plain { proof: true },
        transactions: TransactionForm::Witness,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: &[
            BITCOIN_FIRST,
            BITCOIN_TESTNET_FIRST,
            "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
            "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
            BITCOIN_REGTEST_FIRST,
        ],
    },
    ChainParams {
        id: "ltc",
        magics: &[[0xfb, 0xc0, 0xb6, 0xdb], [0xfd, 0xd2, 0xc8, 0xf1], REGTEST_MAGIC],
        // The proof of work is scrypt of the header, which is not the hash.
        header: HeaderForm::Plain { proof: false },
        transactions: TransactionForm::Mweb,
        spends_later: false,
        largest_amount: 84_000_000 * COIN,
        first_blocks: &[
            "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2",
            "4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0",
            "530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9",
        ],
    },
    ChainParams {
        id: "bch",
        magics: &[BITCOIN_MAGIC, BITCOIN_TESTNET_MAGIC, REGTEST_MAGIC],
        header: HeaderForm::Plain { proof: true },
        transactions: TransactionForm::Plain,
        // Blocks are ordered by transaction identifier (November 2018).
        spends_later: true,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "bsv",
        magics: &[BITCOIN_MAGIC, BITCOIN_TESTNET_MAGIC, REGTEST_MAGIC],
        header: HeaderForm::Plain { proof: true },
        transactions: TransactionForm::Plain,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "btg",
        magics: &[],
        // Equihash with the height in the header, from block 491407 on.
        header: HeaderForm::Other,
        transactions: TransactionForm::Witness,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "doge",
        magics: &[[0xc0, 0xc0, 0xc0, 0xc0], [0xfc, 0xc1, 0xb7, 0xdc], REGTEST_MAGIC],
        header: HeaderForm::AuxPow,
        transactions: TransactionForm::Plain,
        spends_later: false,
        // There is no end to new coins; this is what its nodes let a transaction move.
        largest_amount: 10_000_000_000 * COIN,
        first_blocks: &[
            "1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691",
            "bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e",
            "3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5",
        ],
    },
    ChainParams {
        id: "dash",
        magics: &[],
        // The hash is X11: eleven hash functions, one after the other.
        header: HeaderForm::Other,
        transactions: TransactionForm::DashSpecial,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: &["00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6"],
    },
    ChainParams {
        id: "zec",
        magics: &[],
        header: HeaderForm::Equihash,
        transactions: TransactionForm::Zcash,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: &["00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08"],
    },
    ChainParams {
        id: "xvg",
        magics: &[],
        // Five kinds of proof of work, and a time in every transaction.
        header: HeaderForm::Other,
        transactions: TransactionForm::Other,
        spends_later: false,
        largest_amount: 16_555_000_000 * 1_000_000,
        first_blocks: &["00000fc63692467faeb20cdb3b53200dc601d75bdfa1001463304cc790d77278"],
    },
];

impl ChainParams {
    /// Parameters of `chain`; `None` if it is not Bitcoin-like.
    #[must_use]
    pub fn of(chain: ChainId) -> Option<&'static Self> {
        PARAMS.iter().find(|params| params.id == chain.as_str())
    }

    /// The chain's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.id.parse::<ChainId>().map_or(self.id, |chain| chain.info().name)
    }

    /// True if blocks are read in the bytes that nodes store and exchange.
    #[must_use]
    pub const fn reads_raw(&self) -> bool {
        matches!(self.header, HeaderForm::Plain { .. } | HeaderForm::AuxPow)
    }

    /// The chain that a first block is of, as far as that is known.
    #[must_use]
    pub fn chain_of_first_block(hash: &[u8; 32]) -> Option<ChainId> {
        let hash = hex::encode(hash);
        PARAMS.iter().find(|params| params.first_blocks.contains(&&*hash))?.id.parse().ok()
    }

    /// The chain whose main network's blocks stand behind this magic number.
    #[must_use]
    pub fn chain_of_magic(magic: &[u8; 4]) -> Option<ChainId> {
        PARAMS.iter().find(|params| params.magics.first() == Some(magic))?.id.parse().ok()
    }

    /// True if `hash` is that of the main network's first block.
    #[must_use]
    pub fn begins_with(&self, hash: &[u8; 32]) -> bool {
        self.first_blocks.first().is_some_and(|first| *first == hex::encode(hash))
    }

    /// True if `hash` may be this chain's first block: it is, or it is no other chain's either.
    #[must_use]
    pub fn may_begin_with(&self, hash: &[u8; 32]) -> bool {
        let text = hex::encode(hash);
        self.first_blocks.contains(&&*text) || Self::chain_of_first_block(hash).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_of_coins_has_a_row() {
        for chain in ChainId::all() {
            assert_eq!(ChainParams::of(chain).is_some(), chain.info().has_coins(), "{chain}");
        }
    }

    #[test]
    fn a_first_block_identifies_its_chain() {
        let hash = |text: &str| -> [u8; 32] { hex::decode(text).unwrap().try_into().unwrap() };
        let bitcoin = hash(BITCOIN_FIRST);
        let litecoin = hash(PARAMS[1].first_blocks[0]);
        let of = |chain: &str| ChainParams::of(chain.parse().unwrap()).unwrap();
        assert!(of("btc").may_begin_with(&bitcoin) && of("bch").may_begin_with(&bitcoin));
        assert!(!of("btc").may_begin_with(&litecoin) && of("ltc").may_begin_with(&litecoin));
        // A private test network belongs to no chain.
        assert!(of("btc").may_begin_with(&[7; 32]));
        assert_eq!(ChainParams::chain_of_first_block(&litecoin).unwrap().as_str(), "ltc");
        for params in &PARAMS {
            for first in params.first_blocks {
                assert_eq!(first.len(), 64, "{}", params.id);
            }
            assert_eq!(params.reads_raw(), !params.magics.is_empty(), "{}", params.id);
        }
    }
}
