//! Reasons for which a question gets no answer.

use assay_address::ChainId;
use assay_chain_protocol::message::RefusalCode;
use assay_engine::ledger::BlockId;

use crate::chains::{messages::types::InvalidAnswer, subject::ReadError};

/// Reason for which a question gets no answer.
#[derive(Debug, thiserror::Error)]
pub enum RefusalReason {
    /// The server has no graph of the chain.
    #[error("there is no graph of {0} here")]
    NoGraph(ChainId),
    /// The question cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// The server's lists and labels have a lower revision than the question requires.
    #[error("lists and labels have the revision {known} here, not {wanted}")]
    ListsBehind {
        /// The revision of the server.
        known: u64,
        /// The lowest revision that the question accepts.
        wanted: u64,
    },
    /// The server's newest block is lower than the question requires.
    #[error("the newest block here is {known}, not {wanted}")]
    BlocksBehind {
        /// The height of the server's newest block.
        known: u64,
        /// The lowest height that the question accepts.
        wanted: u64,
    },
    /// The server is on another branch than the question names.
    #[error("block {height} is not {hash} here: the server is on another branch", height = .0.height, hash = hex::encode(.0.hash))]
    OtherBranch(BlockId),
    /// The server does not, or no longer, hold the state.
    #[error("the server does not hold a state named `{0}`")]
    NotHeld(String),
    /// The server holds the largest number of states.
    #[error("other servers are copying the graph, the largest number at a time: ask again later")]
    TooManyCopies,
    /// The server runs the largest number of traces.
    #[error("{0} traces are running, the largest number of this server")]
    Busy(usize),
    /// The deadline of the question passed.
    #[error("the answer took longer than {0} ms")]
    DeadlineExceeded(u32),
    /// The graph cannot be read.
    #[error(transparent)]
    Failed(#[from] ReadError),
}

impl RefusalReason {
    /// Returns the refusal code for the answer.
    #[must_use]
    pub const fn code(&self) -> RefusalCode {
        match self {
            Self::NoGraph(_) | Self::NotHeld(_) => RefusalCode::NotFound,
            Self::Invalid(_) => RefusalCode::Invalid,
            Self::ListsBehind { .. } | Self::BlocksBehind { .. } | Self::OtherBranch(_) => {
                RefusalCode::Behind
            }
            Self::Busy(_) | Self::TooManyCopies => RefusalCode::Busy,
            Self::DeadlineExceeded(_) => RefusalCode::DeadlineExceeded,
            Self::Failed(_) => RefusalCode::Failed,
        }
    }
}

/// Refuses a question with a value that this release does not know.
impl From<InvalidAnswer> for RefusalReason {
    fn from(InvalidAnswer(problem): InvalidAnswer) -> Self {
        Self::Invalid(format!("the message cannot be read: {problem}"))
    }
}
