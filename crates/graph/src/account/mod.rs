//! Graphs of account chains: recorded transfers, and the ledgers that follow from them.
//!
//! - `codec`: transactions as bytes, for digests
//! - `comparisons`: comparison of ledgers with the balances that a node states
//! - `ends`: the accounts at which money ends
//! - `memory`: graphs in memory, the reference
//! - `numbering`: the rules of graphs in memory and in a store
//! - `store`: graphs in a store: one folder per chain in the data directory (`chains/eth.accounts`)
//! - `view`: account graphs whose reads may fail

mod codec;
mod comparisons;
mod ends;
mod memory;
mod numbering;
mod store;
#[cfg(test)]
mod tests;
mod view;

use jiff::Timestamp;

pub use comparisons::LedgerComparisons;
pub use ends::AccountEnds;
pub use memory::{AccountLedgers, AccountTransactions, KnownLedgers, MemoryAccounts};
pub use numbering::RecordCounts;
pub use store::{
    AccountBlock, AccountGraphWriter, AccountSnapshot, EmbeddedAccounts, InternalTransfers,
    LedgerRebuild, RebuildStep, RecordedBlocks, RecordedContent, SourceNotes,
};
pub use view::AccountGraphView;

/// A block of an account chain, without its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedBlock {
    /// Height.
    pub height: u64,
    /// Time.
    pub time: Timestamp,
}

/// Description of the recorded transfers of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedState {
    /// The first recorded block. Earlier transfers are unknown.
    pub first: RecordedBlock,
    /// The newest recorded block.
    pub tip: RecordedBlock,
    /// Number of blocks, counting those that were recorded without transfers.
    pub blocks: u64,
    /// Number of transactions, counting the records of a block outside of transactions as one.
    pub transactions: u64,
    /// Number of transfers.
    pub transfers: u64,
    /// Number of transactions without a stated sender, apart from records outside of transactions.
    pub without_initiator: u64,
    /// Digest of the recorded blocks. The same blocks have the same digest, in one run or in several.
    pub digest: [u8; 32],
    /// True if the transfers are demo data.
    pub sample: bool,
}
