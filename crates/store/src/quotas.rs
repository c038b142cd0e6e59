//! Quotas: what of a limit was given out in a long window, counted in a shared store, where a lost cache
//! cannot restore it.
//!
//! A window's number is the database's time divided by its length; servers take both from the answers.

use std::{num::NonZeroU32, time::Duration};

use async_trait::async_trait;

use crate::StoreError;

/// A limit of one payer, in windows of one length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuotaCell {
    /// Whose counter it is: a plan, a tenant or a key.
    pub payer: String,
    /// The limit's name.
    pub limit: String,
    /// The windows' length in seconds.
    pub window_seconds: NonZeroU32,
}

/// A wish to be given some of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaRequest {
    /// Of which one.
    pub cell: QuotaCell,
    /// The most that may be given out in a window, to all servers together.
    pub allowed: u64,
    /// How much is wanted; less is taken too.
    pub want: u64,
}

/// What was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaGrant {
    /// How much.
    pub granted: u64,
    /// The window in which it may be spent.
    pub window_number: u64,
    /// How much may still be given out in it.
    pub remaining: u64,
    /// How long the window lasts from the answer on; nothing where it ended meanwhile. Reckoned from
    /// before the question was sent, its end is never too late.
    pub until_end: Duration,
}

/// What was given and not spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaReturn {
    /// Of which limit.
    pub cell: QuotaCell,
    /// The window for which it was given.
    pub window_number: u64,
    /// How much.
    pub count: u64,
}

/// Quotas of a store.
#[async_trait]
pub trait Quotas {
    /// Gives out of several limits at once, in one statement: as much of each as is wanted and left, and
    /// never more than is allowed, whoever else asks at the same time. The answers are in the order of
    /// the requests. Of a cell that is asked for twice, the second request gets nothing.
    async fn reserve(&self, requests: &[QuotaRequest]) -> Result<Vec<QuotaGrant>, StoreError>;

    /// Takes back what was not spent. It must have been given, and not be given back twice.
    async fn give_back(&self, returns: &[QuotaReturn]) -> Result<(), StoreError>;

    /// Notes that limits in `bucket` had an epoch in Redis: true the first time ever, and false from
    /// then on.
    async fn first_epoch(&self, bucket: &str) -> Result<bool, StoreError>;
}
