//! Parameters by which the blocks of each Bitcoin-like chain are read, from the chain's own node software.

use assay_address::ChainId;

/// Acceptance of blocks of test networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestNetworks {
    /// Blocks of test networks are refused: their coins have no value.
    Refused,
    /// Blocks of test networks are accepted.
    Allowed,
}

impl TestNetworks {
    /// Returns `Allowed` if `said` is true.
    #[must_use]
    pub const fn allowed_if(said: bool) -> Self {
        if said { Self::Allowed } else { Self::Refused }
    }
}

/// Parameters for reading the blocks of a chain.
#[derive(Debug)]
pub struct ChainParams {
    /// The chain's identifier.
    id: &'static str,
    /// Magic numbers, the four bytes before each block in a node's block files: of the main network, then of test
    /// networks. Chains that are not read from files have at most the main network's magic number.
    pub magics: &'static [[u8; 4]],
    /// Contents of a block's header, and the computation of its hash.
    pub header: HeaderForm,
    /// The main network's difficulty limit (`powLimit`): the easiest target that a header may state, in the form of its
    /// `bits`. `None` if the difficulty limit is not known.
    pub limit: Option<u32>,
    /// Serialization of a transaction.
    pub transactions: TransactionForm,
    /// True if a transaction may spend an output of a transaction that comes later in the same block.
    pub spends_later: bool,
    /// Largest amount of an output, or of all outputs of a transaction, in base units.
    pub largest_amount: u64,
    /// Hashes of first blocks: of the main network, then of test networks. The list is empty if a first block does not
    /// identify the chain.
    pub first_blocks: &'static [&'static str],
}

/// Contents of a block's header, and the computation of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderForm {
    /// Bitcoin's 80 bytes; their double SHA-256 is the hash.
    Plain {
        /// The hash that must meet the header's target.
        work: WorkHash,
    },
    /// Bitcoin's 80 bytes and their hash, followed by the proof of work of another chain's block if the version
    /// announces it. The proof of work is scrypt's, of the header itself or of the other chain's header.
    AuxPow,
    /// Zcash's 140 bytes and an Equihash solution; the double SHA-256 of all is the hash.
    Equihash,
    /// Another hash function, or other fields: the hash is not verified.
    Other,
}

/// Hash function of a proof of work: its result over a header must meet the header's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkHash {
    /// The double SHA-256, which is the block's hash as well.
    DoubleSha256,
    /// scrypt with N = 1024, r = 1, p = 1. The block's hash remains the double SHA-256.
    Scrypt,
}

/// Serialization of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionForm {
    /// The form of Bitcoin's first transactions.
    Plain,
    /// Bitcoin's form with segregated witness (BIP 144).
    Witness,
    /// Bitcoin's form with segregated witness and Litecoin's extension blocks (LIP 2).
    Mweb,
    /// Bitcoin's form with Dash's extra payload after special transactions (DIP 2).
    DashSpecial,
    /// Zcash's versions. Only version 1 has Bitcoin's form, in which the identifier is verified.
    Zcash,
    /// Other fields than Bitcoin's: the identifier is not verified.
    Other,
}

/// The easiest target that any test network allows, in the form of a header's `bits`: regtest's.
pub const TEST_NETWORK_LIMIT: u32 = 0x207f_ffff;

const COIN: u64 = 100_000_000;
const SHA_HEADER: HeaderForm = HeaderForm::Plain { work: WorkHash::DoubleSha256 };
/// Difficulty limit of 224 bits: Bitcoin and its forks.
const LIMIT_224: Option<u32> = Some(0x1d00_ffff);
/// Difficulty limit of 236 bits: scrypt and X11 chains.
const LIMIT_236: Option<u32> = Some(0x1e0f_ffff);
/// Difficulty limit of 243 bits: Equihash chains.
const LIMIT_243: Option<u32> = Some(0x1f07_ffff);
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
        header: SHA_HEADER,
        limit: LIMIT_224,
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
        header: HeaderForm::Plain { work: WorkHash::Scrypt },
        limit: LIMIT_236,
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
        header: SHA_HEADER,
        limit: LIMIT_224,
        transactions: TransactionForm::Plain,
        // Blocks are ordered by transaction identifier (November 2018).
        spends_later: true,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "bsv",
        magics: &[BITCOIN_MAGIC, BITCOIN_TESTNET_MAGIC, REGTEST_MAGIC],
        header: SHA_HEADER,
        limit: LIMIT_224,
        transactions: TransactionForm::Plain,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "btg",
        magics: &[[0xe1, 0x47, 0x6d, 0x44]],
        // Equihash with the height in the header, from block 491407 on.
        header: HeaderForm::Other,
        limit: LIMIT_243,
        transactions: TransactionForm::Witness,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: BITCOIN_FIRSTS,
    },
    ChainParams {
        id: "doge",
        magics: &[[0xc0, 0xc0, 0xc0, 0xc0], [0xfc, 0xc1, 0xb7, 0xdc], REGTEST_MAGIC],
        header: HeaderForm::AuxPow,
        limit: LIMIT_236,
        transactions: TransactionForm::Plain,
        spends_later: false,
        // The number of coins has no limit; the nodes limit the amount of a transaction to this.
        largest_amount: 10_000_000_000 * COIN,
        first_blocks: &[
            "1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691",
            "bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e",
            "3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5",
        ],
    },
    ChainParams {
        id: "dash",
        magics: &[[0xbf, 0x0c, 0x6b, 0xbd]],
        // The hash is X11: eleven hash functions, one after the other.
        header: HeaderForm::Other,
        limit: LIMIT_236,
        transactions: TransactionForm::DashSpecial,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: &["00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6"],
    },
    ChainParams {
        id: "zec",
        magics: &[[0x24, 0xe9, 0x27, 0x64]],
        header: HeaderForm::Equihash,
        limit: LIMIT_243,
        transactions: TransactionForm::Zcash,
        spends_later: false,
        largest_amount: 21_000_000 * COIN,
        first_blocks: &["00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08"],
    },
    ChainParams {
        id: "xvg",
        magics: &[],
        // The chain has five kinds of proof of work, and a time in every transaction.
        header: HeaderForm::Other,
        limit: None,
        transactions: TransactionForm::Other,
        spends_later: false,
        largest_amount: 16_555_000_000 * 1_000_000,
        first_blocks: &["00000fc63692467faeb20cdb3b53200dc601d75bdfa1001463304cc790d77278"],
    },
];

impl ChainParams {
    /// Returns the parameters of `chain`; `None` if it is not Bitcoin-like.
    #[must_use]
    pub fn for_chain(chain: ChainId) -> Option<&'static Self> {
        PARAMS.iter().find(|params| params.id == chain.as_str())
    }

    /// Returns the chain.
    #[must_use]
    pub fn chain(&self) -> Option<ChainId> {
        self.id.parse().ok()
    }

    /// Returns the chain's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.chain().map_or(self.id, |chain| chain.info().name)
    }

    /// True if raw blocks of the chain can be read.
    #[must_use]
    pub const fn reads_raw(&self) -> bool {
        matches!(self.header, HeaderForm::Plain { .. } | HeaderForm::AuxPow)
    }

    /// Returns the chain with this first block, if it identifies one.
    #[must_use]
    pub fn chain_of_first_block(hash: &[u8; 32]) -> Option<ChainId> {
        let hash = hex::encode(hash);
        PARAMS.iter().find(|params| params.first_blocks.contains(&&*hash))?.id.parse().ok()
    }

    /// Describes the network whose blocks follow this magic number; `None` if none is known. If networks share the
    /// number, the first one is named.
    #[must_use]
    pub fn network_of_magic(magic: &[u8; 4]) -> Option<String> {
        let main = PARAMS.iter().find(|params| params.magics.first() == Some(magic));
        if let Some(params) = main {
            return Some(params.name().to_owned());
        }
        let test = PARAMS.iter().find(|params| params.magics.contains(magic))?;
        Some(format!("a test network of {}", test.name()))
    }

    /// Returns the magic numbers of the main network, and those of test networks if they are allowed.
    #[must_use]
    pub fn magics_of(&self, test_networks: TestNetworks) -> &'static [[u8; 4]] {
        match test_networks {
            TestNetworks::Allowed => self.magics,
            TestNetworks::Refused => self.magics.get(..1).unwrap_or(self.magics),
        }
    }

    /// Returns the difficulty limit: the easiest target that a header may state, in the form of its `bits`; with test
    /// networks allowed, the easiest limit of all these networks.
    #[must_use]
    pub fn limit_of(&self, test_networks: TestNetworks) -> u32 {
        match (test_networks, self.limit) {
            (TestNetworks::Refused, Some(limit)) => limit,
            _ => TEST_NETWORK_LIMIT,
        }
    }

    /// Returns the difficulty limit of blocks after a magic number of the chain.
    #[must_use]
    pub fn limit_for_magic(&self, magic: [u8; 4]) -> u32 {
        let main = self.magics.first() == Some(&magic);
        self.limit_of(if main { TestNetworks::Refused } else { TestNetworks::Allowed })
    }

    /// True if `hash` is the hash of the main network's first block.
    #[must_use]
    pub fn begins_with(&self, hash: &[u8; 32]) -> bool {
        self.first_blocks.first().is_some_and(|first| *first == hex::encode(hash))
    }

    /// True if `hash` may be this chain's first block: it is known as such, or unknown for all chains.
    #[must_use]
    pub fn may_begin_with(&self, hash: &[u8; 32]) -> bool {
        let text = hex::encode(hash);
        self.first_blocks.contains(&&*text) || Self::chain_of_first_block(hash).is_none()
    }
}

#[cfg(test)]
mod tests;
