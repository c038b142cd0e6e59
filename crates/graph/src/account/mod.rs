//! Recorded transfers of account chains: one file per chain in the data directory (`chains/eth.transfers`).
//!
//! The file is append-only. A program reads all of it at its start; one program at a time appends to it. Blocks count
//! from the commit of their writer on, all at once: an interrupted writer leaves the state before.
//!
//! - `codec`: transactions as bytes
//! - `file`: the layout of the file: its heads and its frames
//! - `memory`: the graph in memory, with the ledgers that follow from the transfers
//! - `reader`: reading in the order of the chain
//! - `view`: account graphs whose reads may fail
//! - `writer`: appending

mod codec;
mod file;
mod memory;
mod reader;
#[cfg(test)]
mod tests;
mod view;
mod writer;

use assay_address::ChainId;
use jiff::Timestamp;

pub use memory::{AccountLedgers, AccountTransactions, MemoryAccounts, RecordCounts};
pub use reader::{RecordedBlocks, RecordedTransactions, RecordedTransfers};
pub use view::AccountGraphView;
pub use writer::TransferWriter;

use crate::{EmbeddedGraphs, GraphError, blocking};

/// Maximum number of transfers in the file of a chain, which programs hold in memory.
pub const MAX_RECORDED_TRANSFERS: u64 = 10_000_000;

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

impl EmbeddedGraphs {
    /// The recorded transfers of an account chain; `None` if the chain has none. The call blocks its thread
    /// ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is incomplete or is no such file.
    pub fn recorded_transfers(
        &self,
        chain: ChainId,
    ) -> Result<Option<RecordedTransfers>, GraphError> {
        blocking(|| RecordedTransfers::open(&self.transfers_path(chain), chain))
    }

    /// The chains that have recorded transfers, in the order of [`ChainId::all`].
    #[must_use]
    pub fn chains_with_transfers(&self) -> Vec<ChainId> {
        ChainId::all().filter(|chain| self.transfers_path(*chain).is_file()).collect()
    }

    /// Opens the recorded transfers of a chain for appending, and creates the file with the first commit. `sample` tells
    /// that a new file is to hold demo data.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another writer exists, and the errors of [`Self::recorded_transfers`].
    pub fn transfer_writer(
        &self,
        chain: ChainId,
        sample: bool,
    ) -> Result<TransferWriter, GraphError> {
        blocking(|| TransferWriter::open(&self.transfers_path(chain), chain, sample))
    }
}
