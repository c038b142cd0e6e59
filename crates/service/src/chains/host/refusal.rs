//! The reasons why a question has no answer.

use assay_address::ChainId;
use assay_chain_protocol::message::RefusalCode;
use assay_engine::ledger::BlockId;

use crate::chains::{messages::types::InvalidAnswer, subject::ReadError};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RefusalReason {
    /// The server has no graph of the chain.
    #[error("there is no graph of {0} here")]
    NoGraph(ChainId),
    /// The question cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// The lists and labels of the server are older than those of the question.
    #[error("lists and labels have the revision {known} here, not {wanted}")]
    ListsBehind {
        /// The revision here.
        known: u64,
        /// The least revision of the question.
        wanted: u64,
    },
    /// The newest block is older than the one of the question.
    #[error("the newest block here is {known}, not {wanted}")]
    BlocksBehind {
        /// Its height.
        known: u64,
        /// The least height of the question.
        wanted: u64,
    },
    /// The server is on another branch than the question names.
    #[error("block {height} is not {hash} here: the server is on another branch", height = .0.height, hash = hex::encode(.0.hash))]
    OtherBranch(BlockId),
    /// The state is not held, or not any more.
    #[error("no state of the name `{0}` is held here")]
    NotHeld(String),
    /// As many states are held as the server allows.
    #[error("other servers copy the graph already: as many as may at a time")]
    TooManyCopies,
    /// As many traces are running as the server allows.
    #[error("{0} traces are running, the most of this server")]
    Busy(usize),
    /// The deadline of the question passed.
    #[error("the answer took longer than {0} ms")]
    DeadlineExceeded(u32),
    /// The graph cannot be read.
    #[error(transparent)]
    Failed(#[from] ReadError),
}

impl RefusalReason {
    /// The reason as a client reads it.
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

/// A question that holds something that this release does not know.
impl From<InvalidAnswer> for RefusalReason {
    fn from(InvalidAnswer(problem): InvalidAnswer) -> Self {
        Self::Invalid(format!("the message cannot be read: {problem}"))
    }
}
