//! Errors of resolving blocks.

use std::fmt;

use assay_address::ChainId;
use assay_engine::utxo::{OutPoint, Txid};

/// An input with the output that it spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spend {
    /// Height of the input's block.
    pub height: u64,
    /// Transaction of the input.
    pub txid: Txid,
    /// Index of the input in the transaction.
    pub input: usize,
    /// The spent output.
    pub output: OutPoint,
}

impl fmt::Display for Spend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, txid, input, output } = self;
        write!(formatter, "input {input} of transaction {txid} in block {height} spends {output}")
    }
}

/// An invalid block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A chain that is not of the Bitcoin family.
    #[error("{0} is not a chain of the Bitcoin family")]
    UnsupportedChain(ChainId),
    /// Outputs above the chain's largest amount.
    #[error(
        "transaction {txid} in block {height} makes {amount} base units: there are at most {most}"
    )]
    AmountTooLarge {
        /// The transaction.
        txid: Txid,
        /// Height of the transaction's block.
        height: u64,
        /// The outputs' total.
        amount: u128,
        /// The chain's largest amount.
        most: u64,
    },
    /// Outputs whose total exceeds the total of the inputs.
    #[error(
        "transaction {txid} in block {height} makes {outputs} base units out of {inputs}: it does \
         not add up"
    )]
    OutputsExceedInputs {
        /// The transaction.
        txid: Txid,
        /// Height of the transaction's block.
        height: u64,
        /// Total of the inputs.
        inputs: u128,
        /// Total of the outputs.
        outputs: u128,
    },
    /// An output that is spent twice.
    #[error("{0}, which was spent before it in the same blocks")]
    DoubleSpend(Spend),
    /// An output that its transaction does not have, although the transaction is known.
    #[error("{0}, which that transaction does not have: the source returns invalid data")]
    NoSuchOutput(Spend),
    /// A spent output of the spending transaction itself.
    #[error("{0}, which is an output of the same transaction: the source returns invalid data")]
    OwnOutput(Spend),
    /// A spent output of a transaction that comes later.
    #[error("{0}, an output of a transaction that comes later: the source returns invalid data")]
    LaterOutput(Spend),
    /// A spent output that does not exist.
    #[error("{0}, which does not exist: blocks are missing, or the source returns invalid data")]
    UnknownOutput(Spend),
    /// A spent output that the source describes differently than it is recorded.
    #[error("{spend}: the source says {}", .said_and_recorded.join(", recorded is "))]
    ContradictsRecord {
        /// The spend.
        spend: Spend,
        /// The source's description, and the recorded output.
        said_and_recorded: Box<[String; 2]>,
    },
    /// A coinbase with inputs.
    #[error(
        "coinbase {txid} in block {height} takes coins from a shielded pool, which no coinbase may do"
    )]
    CoinbaseSpends {
        /// The transaction.
        txid: Txid,
        /// Height of the transaction's block.
        height: u64,
    },
}
