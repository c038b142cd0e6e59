//! A block as every reader gives it, whatever it was read from.

use std::fmt;

use assay_engine::utxo::{OutPoint, ScriptOwner, Txid};
use jiff::Timestamp;

/// A block's place in its chain. Hashes are in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockHead {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// The hash of the block before it; zeros for the first of all.
    pub parent: [u8; 32],
    /// Its own time.
    pub time: Timestamp,
}

impl fmt::Debug for BlockHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, hash, parent, time } = self;
        let (hash, parent) = (hash_text(hash), hash_text(parent));
        write!(formatter, "block {height} {hash} of {time} after {parent}")
    }
}

/// A hash, as it is written.
pub(crate) fn hash_text(hash: &[u8; 32]) -> String {
    hex::encode(hash)
}

/// Reads a hash, as it is written.
pub(crate) fn parse_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok()?;
    Some(hash)
}

/// A block. What its transactions spend is resolved later ([`super::resolve`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainBlock {
    /// Its place in the chain.
    pub head: BlockHead,
    /// Its transactions, in order.
    pub transactions: Vec<ChainTransaction>,
}

impl ChainBlock {
    /// How many inputs and outputs its transactions have.
    #[must_use]
    pub fn legs(&self) -> usize {
        let legs = |read: &ChainTransaction| read.inputs.len() + read.outputs.len();
        self.transactions.iter().map(legs).sum()
    }
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTransaction {
    /// Its identifier.
    pub txid: Txid,
    /// Whether it makes new coins.
    pub coinbase: bool,
    /// What it spends; empty for a coinbase.
    pub inputs: Vec<ChainInput>,
    /// What it makes.
    pub outputs: Vec<Coin>,
    /// What enters it from nowhere that shows, or leaves it so.
    pub hidden: Hidden,
}

/// An output that is spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainInput {
    /// Which.
    pub output: OutPoint,
    /// What the source says of it, where it says anything.
    pub coin: Option<Coin>,
}

/// What an output is worth and who can spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coin {
    /// Who can spend it.
    pub owner: ScriptOwner,
    /// Its value in base units.
    pub value: u64,
}

/// Value that enters or leaves a transaction without being one of its inputs or outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// None.
    #[default]
    None,
    /// So much comes out of Zcash's shielded pools, in base units.
    FromPool(u64),
    /// So much goes into them.
    IntoPool(u64),
    /// All that the outputs are worth comes out of a place that the chain's coins do not show: Dash's
    /// credit pool.
    FromNowhere,
}
