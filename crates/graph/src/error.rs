//! Errors of chain graphs.

use std::path::PathBuf;

use assay_address::ChainId;
use assay_columns::ColumnsError;
use assay_engine::{
    reading::ViewError,
    utxo::{OutPoint, Txid},
};
use assay_mapped::MappedError;

/// A failure of a graph. The failed call wrote nothing, unless the result of its commit is unknown.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The environment failed.
    #[error(transparent)]
    Environment(#[from] MappedError),
    /// A table failed.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// A view that is not an embedded graph failed.
    #[error("the store of the graph failed: {0}")]
    Backend(Box<dyn std::error::Error + Send + Sync>),
    /// A stored value cannot be read.
    #[error("the graph holds an unreadable {column}: {detail}")]
    Unreadable {
        /// Table and column.
        column: &'static str,
        /// Description of the problem.
        detail: String,
    },
    /// Blocks do not follow one another.
    #[error("block {height} does not follow block {tip} of the {chain} chain: nothing was written")]
    Gap {
        /// The chain.
        chain: ChainId,
        /// The block that does not follow the block before it.
        height: u64,
        /// The height of the graph's newest block.
        tip: u64,
    },
    /// A reorganization is deeper than the undo log.
    #[error(
        "the {chain} chain changed below height {height}, deeper than can be rolled back: delete its \
         graph and ingest it again"
    )]
    TooDeep {
        /// The chain.
        chain: ChainId,
        /// The lowest height that the graph can be rolled back to.
        height: u64,
    },
    /// A transaction moves more base units than a graph can record.
    #[error(
        "transaction {txid} of the {chain} chain moves more than 2^63 - 1 base units: nothing was \
         written"
    )]
    Amount {
        /// The chain.
        chain: ChainId,
        /// The transaction.
        txid: Txid,
    },
    /// A block spends an output that was already spent.
    #[error(
        "transaction {txid} in block {height} of the {chain} chain spends {output}, which was spent \
         before: nothing was written"
    )]
    SpentBefore {
        /// The chain.
        chain: ChainId,
        /// The transaction that spends the output again.
        txid: Txid,
        /// Height of the transaction's block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// Two inputs spend the same output. A backfill detects the double spend when it builds the indexes.
    #[error(
        "somewhere among the blocks of the {0} chain that were loaded, an output is spent twice: their \
         source is wrong; delete the graph and ingest it from another one"
    )]
    SpentTwice(ChainId),
    /// Another program changed the graph in the meantime.
    #[error("the {0} chain's graph changed while blocks were being written: nothing was written")]
    Conflict(ChainId),
    /// Another program writes the chain's graph.
    #[error("another program is ingesting the {0} chain: only one can at a time")]
    Busy(ChainId),
    /// The graph begins at another height than the requested one.
    #[error("the {chain} chain was ingested from height {start} on: it cannot begin at {wanted}")]
    OtherStart {
        /// The chain.
        chain: ChainId,
        /// Height of the graph's first block.
        start: u64,
        /// The requested height.
        wanted: u64,
    },
    /// A chain has more items than the numbers of a record can count.
    #[error("the {chain} chain has more {what} than a graph can number: nothing was written")]
    TooMany {
        /// The chain.
        chain: ChainId,
        /// The counted items, such as `owners`.
        what: &'static str,
    },
    /// The graph follows other assets than the table of scored assets has now.
    #[error(
        "the ledgers of the {0} chain follow other assets than this version of assay does: delete the chain's folder and \
         ingest it again"
    )]
    OtherAssets(ChainId),
    /// An earlier version of the program recorded the transfers, in a file.
    #[error(
        "{path} was made by an earlier version of assay and is not read any more: delete it and run `assay ingest chain \
         {chain} --transfers` with your files again"
    )]
    OldTransfers {
        /// The file.
        path: PathBuf,
        /// The chain.
        chain: ChainId,
    },
    /// A block spends an output whose transaction has fewer outputs.
    #[error(
        "a block of the {chain} chain spends output {index} of transaction number {transaction}, which has \
         fewer: nothing was written"
    )]
    NoSuchOutput {
        /// The chain.
        chain: ChainId,
        /// The number of the output's transaction.
        transaction: u64,
        /// The index of the output.
        index: u32,
    },
    /// The chain already has a graph, or a folder for one.
    #[error(
        "there is a graph of the {chain} chain, or a folder for one, in {path}: stop the programs that use it and \
         delete that folder, then restore"
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// The chain.
        chain: ChainId,
    },
    /// Another process restores the graph.
    #[error("another program restores into {path}; if none does any more, delete that folder")]
    BeingRestored {
        /// The folder.
        path: PathBuf,
    },
    /// A backup is of another chain.
    #[error("the backup is of the {found} chain, not of {chain}")]
    OtherChain {
        /// The requested chain.
        chain: ChainId,
        /// The chain of the backup.
        found: ChainId,
    },
    /// A copied graph has another fingerprint than the original.
    #[error(
        "the copied graph of the {chain} chain has another fingerprint than its origin: it was thrown away"
    )]
    OtherFingerprint {
        /// The chain.
        chain: ChainId,
    },
    /// An earlier version of the program made the graph, in `SQLite`.
    #[error(
        "{path} was made by an earlier version of assay and is not read any more: delete it and run `assay \
         ingest chain {chain}` again"
    )]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The chain.
        chain: ChainId,
    },
}

impl GraphError {
    /// Returns the error of a column's unreadable value.
    #[expect(clippy::needless_pass_by_value, reason = "callers have an error to give away")]
    pub fn unreadable(column: &'static str, detail: impl ToString) -> Self {
        Self::Unreadable { column, detail: detail.to_string() }
    }

    /// True if another program holds the lock of the graph: a later attempt can succeed.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Environment(MappedError::Busy { .. }))
    }
}

impl From<ViewError> for GraphError {
    fn from(error: ViewError) -> Self {
        match error.into_cause().downcast::<Self>() {
            Ok(graph) => *graph,
            Err(error) => Self::Backend(error),
        }
    }
}

impl From<GraphError> for ViewError {
    fn from(error: GraphError) -> Self {
        Self::new(error)
    }
}

/// Returns the error of an unreadable record.
pub(crate) fn damaged(table: &'static str, key: impl ToString) -> GraphError {
    ColumnsError::damaged(table, key).into()
}
