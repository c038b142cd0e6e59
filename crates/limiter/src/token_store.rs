//! Banks: who gives out tokens, and what is said between them and replicas.
//!
//! A replica sends a [`LeaseRequest`] for several cells of one payer at once. It never sends the same one twice:
//! where no answer came, what the draw granted is lost, and the next draw is another one.

use std::fmt;

use assay_tenancy::manifest::LimitName;

use crate::LimitSubject;

/// One replica's demand of a bank, for cells of one payer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// Rises with every draw of the replica for this payer. A bank that sees a number again, or a lower
    /// one, does nothing: a message that the network doubled has no effect.
    pub sequence: u64,
    /// What is drawn and given back.
    pub windows: Vec<WindowRequest>,
}

/// What is drawn from one cell: one limit of the payer, in windows of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRequest {
    /// The limit.
    pub limit: LimitName,
    /// The windows' length.
    pub window_seconds: u64,
    /// The most that may be given out in one window, all replicas together.
    pub allowed: u64,
    /// How many tokens are wanted; may be none.
    pub requested: u64,
    /// The newest window that the replica was told of, or 0. The bank gives out nothing for an older one.
    pub newest_window: u64,
    /// Tokens that the replica will not spend.
    pub returned: Option<ReturnedTokens>,
}

/// Tokens that a replica will not spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnedTokens {
    /// The window that they were drawn for.
    pub window: u64,
    /// The epoch in which they were drawn.
    pub epoch: u64,
    /// How many.
    pub tokens: u64,
}

/// A bank's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseGrant {
    /// Names one uninterrupted life of the bank's memory; always the same where it is durable.
    pub epoch: u64,
    /// For each cell of the draw, in its order: also for those of which nothing is wanted.
    pub windows: Vec<WindowGrant>,
}

/// What a bank says of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowGrant {
    /// How many tokens were given.
    pub granted: u64,
    /// The window for which, and only for which, they may be spent: the bank's time by its length.
    pub window: u64,
    /// Microseconds of the bank's clock from when it decided until the window's end.
    pub ends_in: u64,
    /// How many tokens can still be drawn in this window.
    pub remaining: u64,
    /// Whether nothing is given out because the bank does not know what was given out before.
    pub recovering: bool,
}

/// Who gives out tokens. In a window it never gives out more than `allowed`, whoever asks; a draw is
/// done at most once.
#[async_trait::async_trait]
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// Gives back what the draw gives back, then gives out what it wants, as far as there is some:
    /// nothing only where nothing is left.
    ///
    /// # Errors
    ///
    /// Where the bank cannot be reached or fails. What it may have given out nevertheless is lost.
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError>;
}

/// Why a bank did not answer.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// It cannot be reached, or fails.
    #[error("the store of limits does not answer: {0}")]
    Unreachable(Box<dyn std::error::Error + Send + Sync>),
    /// It does not answer in time.
    #[error("the store of limits does not answer within {0} ms")]
    Timeout(u64),
    /// It says what no bank says.
    #[error("the store of limits answers what cannot be understood: {0}")]
    InvalidResponse(String),
}
