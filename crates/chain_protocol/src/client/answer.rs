//! Parsing of servers' answers, and the errors of questions without an answer.

use std::net::SocketAddr;

use http::StatusCode;
use serde::de::DeserializeOwned;

use super::{
    branches::BranchDifference,
    connection::{ReceivedAnswer, SendError},
};
use crate::message::{RefusalCode, RefusedQuestion};

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No server is known for the URL.
    #[error("no chain server was found at {0}")]
    NoServer(String),
    /// The request could not be sent, or the connection broke.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The server refused to answer.
    #[error("the chain server {address} refused to answer: {}", .refusal.detail)]
    Refused {
        /// The server's address.
        address: SocketAddr,
        /// The refusal as the server sent it.
        refusal: RefusedQuestion,
    },
    /// This program cannot parse the server's answer.
    #[error("the chain server {0} gave an answer that cannot be read: {1}")]
    Unreadable(SocketAddr, String),
    /// The server did not answer before the deadline.
    #[error("the chain server {0} did not answer in time")]
    Timeout(SocketAddr),
    /// The servers have sent no byte for a second.
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

/// Parses the answer of the server at `address`.
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

/// Returns the error for an answer with an error status.
pub(super) fn refusal_error(address: SocketAddr, received: &ReceivedAnswer) -> AskError {
    match serde_json::from_slice(&received.body) {
        Ok(refusal) => AskError::Refused { address, refusal },
        // A program between, or another one at this address, answers in its own words.
        Err(_) => AskError::Unreadable(address, format!("status {}", received.status)),
    }
}
