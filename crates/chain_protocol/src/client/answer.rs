//! Reading what a server answered, and the reasons why there is no answer.

use std::net::SocketAddr;

use http::StatusCode;
use serde::de::DeserializeOwned;

use super::{
    branches::BranchDifference,
    connection::{ReceivedAnswer, SendError},
};
use crate::message::{RefusalCode, RefusedQuestion};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The URL leads to no server.
    #[error("no chain server was found at {0}")]
    NoServer(String),
    /// The server cannot be reached.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The server refused to answer.
    #[error("the chain server {address} refusal_error: {}", .refusal.detail)]
    Refused {
        /// Its address.
        address: SocketAddr,
        /// Its reason.
        refusal: RefusedQuestion,
    },
    /// The answer is not one that this program understands.
    #[error("the chain server {0} gave an answer that cannot be read: {1}")]
    Unreadable(SocketAddr, String),
    /// There was no answer in time.
    #[error("the chain server {0} did not answer in time")]
    Timeout(SocketAddr),
    /// Nothing at all comes from the servers.
    #[error("the chain servers at {0} are silent: nothing has come from them for a second")]
    Silent(String),
    /// The servers have different blocks, and no branch has a majority.
    #[error("{0}")]
    BranchesDiffer(Box<BranchDifference>),
}

impl AskError {
    /// The server's reason, if it refused.
    #[must_use]
    pub const fn refusal(&self) -> Option<RefusalCode> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.code),
            _ => None,
        }
    }
}

/// Reads an answer.
pub(super) fn read<T: DeserializeOwned>(
    address: SocketAddr,
    received: &ReceivedAnswer,
) -> Result<T, AskError> {
    let unreadable = |error: serde_json::Error| AskError::Unreadable(address, error.to_string());
    if received.status == StatusCode::OK {
        return serde_json::from_slice(&received.body).map_err(unreadable);
    }
    Err(refusal_error(address, received))
}

/// The error of a refusal.
pub(super) fn refusal_error(address: SocketAddr, received: &ReceivedAnswer) -> AskError {
    let refusal = serde_json::from_slice(&received.body).unwrap_or_else(|_| RefusedQuestion {
        code: RefusalCode::Failed,
        detail: format!("status {}", received.status),
    });
    AskError::Refused { address, refusal }
}
