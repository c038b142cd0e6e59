//! Quotas: tokens granted of a limit in a long window, counted in the database so that the loss of a cache cannot reset
//! the counts.
//!
//! The number of a window is the database's time divided by the window's length. Servers take the number from the
//! answers.

use std::{num::NonZeroU32, time::Duration};

use async_trait::async_trait;

use crate::StoreError;

/// The counter of one limit of one subject, in windows of one length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuotaCounter {
    /// The plan, tenant or key that the limit applies to.
    pub subject: String,
    /// The limit's name.
    pub limit: String,
    /// The length of the windows in seconds.
    pub window_seconds: NonZeroU32,
}

/// A request for an amount of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaRequest {
    /// The counter.
    pub counter: QuotaCounter,
    /// The most tokens that may be granted in one window, to all servers together.
    pub allowed: u64,
    /// The amount requested; less may be granted.
    pub wanted: u64,
}

/// The answer to a [`QuotaRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaGrant {
    /// The amount granted.
    pub granted: u64,
    /// The window in which the granted amount may be spent.
    pub window_number: u64,
    /// The amount that may still be granted in the window, to all servers together.
    pub remaining: u64,
    /// The time from the answer to the end of the window; zero if the window has ended. An end that is computed from a
    /// moment before the request was sent is never too late.
    pub until_end: Duration,
}

/// A granted amount that was not spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaReturn {
    /// The counter.
    pub counter: QuotaCounter,
    /// The window for which the amount was granted.
    pub window_number: u64,
    /// The amount.
    pub count: u64,
}

/// The store of quotas.
#[async_trait]
pub trait QuotaStore: std::fmt::Debug + Send + Sync {
    /// Grants amounts of several limits in one statement: of each limit, the requested amount as far as it is left, and
    /// never more than is allowed, even if many servers ask at the same time. The answers are in the order of the
    /// requests. A second request for the same counter is granted nothing.
    async fn reserve(&self, requests: &[QuotaRequest]) -> Result<Vec<QuotaGrant>, StoreError>;

    /// Returns amounts that were not spent. Each amount must have been granted, and is returned once.
    async fn give_back(&self, returns: &[QuotaReturn]) -> Result<(), StoreError>;

    /// Records that limits in `bucket` have an epoch in Redis. True at the first call for the bucket, false from then
    /// on.
    async fn first_epoch(&self, bucket: &str) -> Result<bool, StoreError>;

    /// Deletes the counters of windows that ended two days ago or earlier. Returns how many.
    async fn purge_quotas(&self) -> Result<u64, StoreError>;
}
