//! Token stores, and the requests and responses between them and replicas.
//!
//! A replica sends one [`LeaseRequest`] for several windows of one subject. A replica never sends a request again: if
//! no response arrives, the tokens granted are lost, and the next request, which may follow at once, has another
//! sequence number.

use std::fmt;

use assay_tenancy::manifest::LimitName;

use crate::LimitSubject;

/// Request of one replica to a token store, for windows of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// Sequence number, rising with every request of the replica for this subject. A store ignores a request whose
    /// number is not higher than the last number, so that a duplicated message has no effect.
    pub sequence: u64,
    /// Tokens requested and returned, by window.
    pub windows: Vec<WindowRequest>,
}

/// Request for one window: of one limit of the subject, in windows of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRequest {
    /// The limit.
    pub limit: LimitName,
    /// Length of the windows in seconds.
    pub window_seconds: u64,
    /// Most tokens that may be granted in one window, to all replicas together.
    pub allowed: u64,
    /// Tokens requested; may be 0.
    pub requested: u64,
    /// Newest window known to the replica, or 0. The store grants nothing for an older window.
    pub newest_window: u64,
    /// Tokens that the replica returns unspent.
    pub returned: Option<ReturnedTokens>,
}

/// Unspent tokens that a replica returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnedTokens {
    /// The window that the tokens were granted for.
    pub window: u64,
    /// The epoch in which the tokens were granted.
    pub epoch: u64,
    /// Number of tokens.
    pub tokens: u64,
}

/// Response of a token store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseGrant {
    /// Epoch: identifies one uninterrupted life of the store's memory; constant if the store is
    /// durable.
    pub epoch: u64,
    /// One grant for each window of the request, in its order, including those that request no tokens.
    pub windows: Vec<WindowGrant>,
}

/// Grant for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowGrant {
    /// Tokens granted.
    pub granted: u64,
    /// The only window in which the granted tokens may be spent: the store's time divided by the window's length.
    pub window: u64,
    /// Microseconds, by the store's clock, from the store's decision until the window's end.
    pub ends_in: u64,
    /// Tokens that can still be granted in this window.
    pub remaining: u64,
    /// True if nothing is granted because the store has lost its record of earlier grants in this
    /// window.
    pub recovering: bool,
}

/// Token store: grants at most `allowed` tokens in a window to all replicas together, and processes a
/// request at most once.
#[async_trait::async_trait]
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// Takes back the returned tokens, then grants the requested tokens as far as there are any: no token only if no
    /// token is left.
    ///
    /// # Errors
    ///
    /// Returns an error if the store is unreachable or fails. Tokens that the store granted nevertheless are lost.
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError>;
}

/// Failure of a request to a token store.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// The store is unreachable or returned an error.
    #[error("the token store is unreachable or failed: {0}")]
    Unreachable(Box<dyn std::error::Error + Send + Sync>),
    /// The store did not respond in time.
    #[error("the token store did not respond within {0} ms")]
    Timeout(u64),
    /// The response does not have the expected form.
    #[error("the token store returned an invalid response: {0}")]
    InvalidResponse(String),
}
