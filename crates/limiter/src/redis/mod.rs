//! Token store of short windows: counters in Redis, changed by one script.
//!
//! The script implements [`TokenLedger`](crate::TokenLedger) by the server's own clock. Subjects are spread over
//! a fixed number of buckets. All keys of a bucket lie in one slot of a cluster, with the record of the
//! bucket's epoch: a server that loses its memory loses counters and record together, and a record that
//! survives alone names another run of the server. One request is one call of one script, on one slot.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    LimitSubject,
    ledger::MAX_CLOCK_STEP,
    token_store::{
        LeaseGrant, LeaseRequest, TokenStore, TokenStoreError, WindowGrant, WindowRequest,
    },
};
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "shared")]
mod watch;

/// Number of buckets. The number of buckets must never change, because the first epoch of each bucket is recorded
/// durably.
pub const BUCKETS: u32 = 64;

/// A Lua script for Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// Name in logs.
    pub name: &'static str,
    /// Source text.
    pub text: &'static str,
}

const LEASE: Script =
    Script { name: "lease", text: concat!(include_str!("epoch.lua"), include_str!("lease.lua")) };
const OPEN: Script =
    Script { name: "open", text: concat!(include_str!("epoch.lua"), include_str!("open.lua")) };
const FIRST: Script = Script { name: "first", text: include_str!("first.lua") };

/// All scripts, to be loaded in advance.
pub const SCRIPTS: [Script; 3] = [LEASE, OPEN, FIRST];

/// Error of a script runner or an epoch registry.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Runner of scripts: a connection to Redis of any kind.
#[async_trait::async_trait]
pub trait ScriptRunner: Send + Sync + std::fmt::Debug {
    /// Runs a script on the primary that holds `keys` (all in one slot), at most once for each call if
    /// possible.
    ///
    /// # Errors
    ///
    /// Returns an error if Redis is unreachable or refuses the script.
    async fn run(
        &self,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<i64>, BoxError>;
}

/// Durable record of the buckets that ever had an epoch.
#[async_trait::async_trait]
pub trait EpochRegistry: Send + Sync {
    /// Returns true exactly once for each bucket: at the first call by any replica.
    ///
    /// # Errors
    ///
    /// Returns an error if the record cannot be read or written.
    async fn is_first(&self, bucket: &str) -> Result<bool, BoxError>;
}

/// Token store with counters in Redis.
#[derive(Clone, Debug)]
pub struct RedisTokenStore {
    scripts: Arc<dyn ScriptRunner>,
    /// Identifies this run of this replica.
    replica: u64,
    /// Time for which a Redis that lost its memory grants nothing: see [`Self::new`].
    margin: u64,
    /// True after a request that found a bucket without its epoch, until an epoch is opened in every other bucket.
    forgotten: Arc<AtomicBool>,
}

impl RedisTokenStore {
    /// Creates a store. `replica` is a random number unique to this run of this replica. `margin` (microseconds) is
    /// the time for which a Redis that lost its memory grants nothing, in addition to the windows in which the loss
    /// was noticed. The margin exceeds the difference between the clocks of a primary and its successor, and the time
    /// for which a replaced primary still answers.
    pub fn new(scripts: Arc<dyn ScriptRunner>, replica: u64, margin: u64) -> Self {
        Self { scripts, replica, margin, forgotten: Arc::default() }
    }

    /// Opens an epoch in every bucket when a program starts, and lets the first epoch of an installation grant tokens
    /// at once. A failure is harmless: buckets without an epoch get an epoch by their first request, and grant nothing
    /// until the next window.
    ///
    /// # Errors
    ///
    /// Returns an error if Redis or the registry of epochs fails.
    pub async fn open(&self, epochs: &dyn EpochRegistry) -> Result<(), BoxError> {
        for bucket in 0..BUCKETS {
            self.open_bucket(bucket, epochs).await?;
        }
        Ok(())
    }

    /// Opens an epoch in one bucket. Returns true if the epoch has just begun.
    async fn open_bucket(&self, bucket: u32, epochs: &dyn EpochRegistry) -> Result<bool, BoxError> {
        let key = [epoch_key(bucket)];
        let arguments = [self.margin.to_string(), MAX_CLOCK_STEP.to_string()];
        let answer = self.scripts.run(OPEN, &key, &arguments).await?;
        let [epoch, 1] = answer.as_slice() else { return Ok(false) };
        if epochs.is_first(&format!("limits-{bucket}")).await? {
            self.scripts.run(FIRST, &key, &[epoch.to_string()]).await?;
        }
        Ok(true)
    }
}

#[async_trait::async_trait]
impl TokenStore for RedisTokenStore {
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError> {
        let (keys, arguments) = script_call(self.replica, self.margin, subject, request);
        let answer = self
            .scripts
            .run(LEASE, &keys, &arguments)
            .await
            .map_err(TokenStoreError::Unreachable)?;
        if answer.get(1) == Some(&1) {
            self.forgotten.store(true, Ordering::Relaxed);
        }
        parse_grant(&answer, request.windows.len()).ok_or_else(|| {
            TokenStoreError::InvalidResponse(format!(
                "{answer:?} for {} windows",
                request.windows.len()
            ))
        })
    }
}

/// Returns the keys and arguments of a request.
fn script_call(
    replica: u64,
    margin: u64,
    subject: &LimitSubject,
    request: &LeaseRequest,
) -> (Vec<String>, Vec<String>) {
    let bucket = bucket(subject);
    let mut keys = vec![epoch_key(bucket)];
    let head = [margin, MAX_CLOCK_STEP, replica, request.sequence];
    let mut arguments: Vec<String> = head.iter().map(u64::to_string).collect();
    for WindowRequest { limit, window_seconds, allowed, requested, newest_window, returned } in
        &request.windows
    {
        keys.push(format!("{}:{subject}:{limit}:{window_seconds}", prefix(bucket)));
        let (window, epoch, tokens) = returned
            .map_or((0, 0, 0), |returned| (returned.window, returned.epoch, returned.tokens));
        let numbers =
            [*window_seconds, *allowed, *requested, *newest_window, window, epoch, tokens];
        arguments.extend(numbers.iter().map(u64::to_string));
    }
    (keys, arguments)
}

/// Parses the script's response to a request for `expected` windows; `None` if the response has another form.
#[must_use]
pub fn parse_grant(answer: &[i64], expected: usize) -> Option<LeaseGrant> {
    let (head, rest) = answer.split_at_checked(2)?;
    let epoch = u64::try_from(*head.first()?).ok()?;
    let (windows, odd) = rest.as_chunks::<5>();
    if windows.len() != expected || !odd.is_empty() {
        return None;
    }
    let number = |number: i64| u64::try_from(number).ok();
    let windows = windows.iter().map(|[granted, window, ends_in, remaining, recovering]| {
        Some(WindowGrant {
            granted: number(*granted)?,
            window: number(*window)?,
            ends_in: number(*ends_in)?,
            remaining: number(*remaining)?,
            recovering: *recovering != 0,
        })
    });
    Some(LeaseGrant { epoch, windows: windows.collect::<Option<_>>()? })
}

/// Returns the bucket of a subject: FNV-1a of its name. The bucket of a subject must never change.
fn bucket(subject: &LimitSubject) -> u32 {
    let mut name = String::new();
    // Writing to a string cannot fail.
    let _ = write!(name, "{subject}");
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % BUCKETS
}

fn prefix(bucket: u32) -> String {
    format!("assay:{{limits-{bucket}}}")
}

fn epoch_key(bucket: u32) -> String {
    format!("{}:epoch", prefix(bucket))
}
