//! Blocks of test networks, with their proof of work.

use std::fmt;

use assay_address::ChainId;

use super::{
    LockingScript, Transaction, TxIn, TxOut,
    bytes::{push_height, sha256d, write_count},
};

/// Subsidy of a block before the first halving, in base units.
const FIRST_SUBSIDY: u64 = 50 * 100_000_000;
const HALVING: u64 = 150;
/// Version of blocks that signal no soft fork.
const VERSION: u32 = 0x2000_0000;
/// Target that half of all hashes meet.
pub(super) const BITS: u32 = 0x207f_ffff;
/// Prefix of an output that commits to the block's witnesses (BIP 141).
const COMMITMENT: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];

/// A test network whose blocks this module can mine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Regression test network of Bitcoin.
    BitcoinRegtest,
    /// Regression test network of Litecoin.
    LitecoinRegtest,
}

impl Network {
    /// The chain that the test network belongs to.
    ///
    /// # Panics
    ///
    /// Panics if the engine does not know the chain.
    #[must_use]
    pub fn chain(self) -> ChainId {
        match self {
            Self::BitcoinRegtest => ChainId::BTC,
            Self::LitecoinRegtest => "ltc".parse().expect("a chain"),
        }
    }

    /// Subsidy of a block at `height`, in base units.
    #[must_use]
    pub const fn subsidy(self, height: u64) -> u64 {
        let halvings = height / HALVING;
        if halvings < 64 { FIRST_SUBSIDY >> halvings } else { 0 }
    }

    /// True if a header meets the target of these networks.
    fn is_mined(self, header: &[u8]) -> bool {
        let work = match self {
            Self::BitcoinRegtest => sha256d(header),
            Self::LitecoinRegtest => {
                let mut work = [0; 32];
                let cost = scrypt::Params::new(10, 1, 1).expect("Litecoin's own");
                scrypt::scrypt(header, header, &cost, &mut work).expect("32 bytes");
                work
            }
        };
        // The target is 7fffff and zeros; hashes count from their last byte down.
        let [.., third, second, first] = work;
        (first, second, third) < (0x7f, 0xff, 0xff)
    }
}

/// Hash of a block, in the byte order of blocks; displayed in reverse order, as usual.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHash(pub [u8; 32]);

impl fmt::Display for BlockHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut written = self.0;
        written.reverse();
        formatter.write_str(&hex::encode(written))
    }
}

impl fmt::Debug for BlockHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Height of the block.
    pub height: u64,
    /// Hash of the block.
    pub hash: BlockHash,
    /// Hash of the previous block.
    pub parent: BlockHash,
    /// Version of the header.
    pub version: u32,
    /// Merkle root of the transactions.
    pub merkle_root: [u8; 32],
    /// Seconds since 1970.
    pub time: u32,
    /// Target of the proof of work, in the header's form.
    pub bits: u32,
    /// Nonce with which the hash meets the target.
    pub nonce: u32,
    /// Transactions of the block, the coinbase first.
    pub transactions: Vec<Transaction>,
}

/// Contents of a block to be built.
#[derive(Clone, Debug)]
pub struct BlockTemplate<'a> {
    /// The network.
    pub network: Network,
    /// Height of the block.
    pub height: u64,
    /// The previous block.
    pub parent: BlockHash,
    /// Seconds since 1970; more than the median of the eleven blocks before.
    pub time: u32,
    /// Text that distinguishes the block from others at its height, at most 70 bytes.
    pub mark: &'a str,
    /// Recipient of the subsidy and the fees.
    pub miner: &'a LockingScript,
    /// Fees of the payments, in base units.
    pub fees: u64,
    /// Payments of the block.
    pub payments: Vec<Transaction>,
}

impl BlockTemplate<'_> {
    /// Mines the block.
    ///
    /// # Panics
    ///
    /// Never panics: every second nonce meets the target.
    #[must_use]
    pub fn mine(self) -> Block {
        let mut transactions = vec![self.coinbase()];
        transactions.extend(self.payments);
        let merkle_root =
            merkle_root(transactions.iter().map(|each| sha256d(&each.stripped())).collect());
        let mut block = Block {
            height: self.height,
            hash: BlockHash([0; 32]),
            parent: self.parent,
            version: VERSION,
            merkle_root,
            time: self.time,
            bits: BITS,
            nonce: 0,
            transactions,
        };
        while !self.network.is_mined(&block.header()) {
            block.nonce += 1;
        }
        block.hash = BlockHash(sha256d(&block.header()));
        block
    }

    fn coinbase(&self) -> Transaction {
        let script = [&*push_height(self.height), self.mark.as_bytes()].concat();
        let value = self.network.subsidy(self.height) + self.fees;
        let mut coinbase =
            Transaction::new(vec![TxIn::coinbase(script)], vec![TxOut::new(self.miner, value)]);
        if self.payments.is_empty() {
            return coinbase;
        }
        let reserved = [0; 32];
        let hashes =
            [[0; 32]].into_iter().chain(self.payments.iter().map(Transaction::witness_hash));
        let commitment = sha256d(&[merkle_root(hashes.collect()), reserved].concat());
        coinbase.outputs.push(TxOut { value: 0, script: [&COMMITMENT[..], &commitment].concat() });
        if let Some(input) = coinbase.inputs.first_mut() {
            input.witness = vec![reserved.to_vec()];
        }
        coinbase
    }
}

impl Block {
    /// Serialized header of the block.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        bytes.extend(self.parent.0);
        bytes.extend(self.merkle_root);
        for number in [self.time, self.bits, self.nonce] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// The merkle branch of the transaction at an index, from the leaves up.
    #[must_use]
    pub fn merkle_branch(&self, index: usize) -> Vec<[u8; 32]> {
        let mut level: Vec<[u8; 32]> =
            self.transactions.iter().map(|each| sha256d(&each.stripped())).collect();
        let (mut branch, mut at) = (Vec::new(), index);
        while level.len() > 1 {
            branch.extend(level.get(at ^ 1).or_else(|| level.get(at)).copied());
            level = parents(&level);
            at /= 2;
        }
        branch
    }

    /// Serialized block.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        write_count(&mut bytes, self.transactions.len());
        for transaction in &self.transactions {
            bytes.extend(transaction.bytes());
        }
        bytes
    }
}

/// The root of a merkle tree. On a level with an odd number of hashes, the last one is used twice.
fn merkle_root(mut level: Vec<[u8; 32]>) -> [u8; 32] {
    while level.len() > 1 {
        level = parents(&level);
    }
    level.first().copied().unwrap_or_default()
}

/// The next level of a merkle tree.
fn parents(level: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let parents = level.chunks(2).map(|pair| match pair {
        [left, right] => sha256d(&[*left, *right].concat()),
        _ => sha256d(&pair.repeat(2).concat()),
    });
    parents.collect()
}
