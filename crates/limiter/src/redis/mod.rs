//! The bank of short windows: counters in Redis, changed by one script.
//!
//! The script does what [`Ledger`](crate::Ledger) says, by the server's own clock. Payers are spread over
//! a fixed number of buckets. All keys of a bucket lie in one slot of a cluster, with the record of the
//! bucket's epoch: where a server loses its memory, it loses counters and record together, and a record
//! that survives alone names another run of the server. One draw is one call of one script, on one slot.

use std::{fmt::Write as _, sync::Arc};

use crate::{
    LimitSubject,
    ledger::LONGEST_STEP,
    token_store::{
        LeaseGrant, LeaseRequest, TokenStore, TokenStoreError, WindowGrant, WindowRequest,
    },
};
#[cfg(test)]
pub(crate) mod tests;

/// How many buckets there are. Never change it: each one's past is remembered.
pub const BUCKETS: u32 = 64;

/// A script for Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// What it is called in logs.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

const LEASE: Script =
    Script { name: "lease", text: concat!(include_str!("epoch.lua"), include_str!("lease.lua")) };
const OPEN: Script =
    Script { name: "open", text: concat!(include_str!("epoch.lua"), include_str!("open.lua")) };
const FIRST: Script = Script { name: "first", text: include_str!("first.lua") };

/// Every script, to be loaded beforehand.
pub const SCRIPTS: [Script; 3] = [LEASE, OPEN, FIRST];

/// What goes wrong outside.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Who runs scripts: a connection to Redis, of whatever sort.
#[async_trait::async_trait]
pub trait ScriptRunner: Send + Sync + std::fmt::Debug {
    /// Runs a script on the primary that holds `keys` (all in one slot), at most once for each call if
    /// that can be helped.
    ///
    /// # Errors
    ///
    /// Where Redis cannot be reached or refuses.
    async fn run(
        &self,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<i64>, BoxError>;
}

/// Who remembers, durably, that a bucket ever had an epoch.
#[async_trait::async_trait]
pub trait EpochRegistry: Send + Sync {
    /// Whether this is the first time that anybody asks about `bucket`: true exactly once.
    ///
    /// # Errors
    ///
    /// Where that cannot be known.
    async fn is_first(&self, bucket: &str) -> Result<bool, BoxError>;
}

/// Counters in Redis.
#[derive(Clone, Debug)]
pub struct RedisTokenStore {
    scripts: Arc<dyn ScriptRunner>,
    /// Names this run of this replica among all others.
    replica: u64,
    /// See [`Self::new`].
    margin: u64,
}

impl RedisTokenStore {
    /// `replica` is a random number that no other run of any replica has. `margin` (microseconds) is the
    /// time that a Redis which lost its memory stays silent beyond the windows in which it noticed: more
    /// than the clocks of a primary and its successor differ, and than a primary goes on that does not
    /// know of its successor.
    pub const fn new(scripts: Arc<dyn ScriptRunner>, replica: u64, margin: u64) -> Self {
        Self { scripts, replica, margin }
    }

    /// Sees to it, when a program starts, that every bucket has an epoch, and that the first one of an
    /// installation gives out tokens at once. Nothing breaks where this fails: buckets without an epoch
    /// get one by their first draw, and stay silent until the next window.
    ///
    /// # Errors
    ///
    /// Where Redis or the memory of epochs does not answer.
    pub async fn open(&self, epochs: &dyn EpochRegistry) -> Result<(), BoxError> {
        for bucket in 0..BUCKETS {
            let key = [epoch_key(bucket)];
            let arguments = [self.margin.to_string(), LONGEST_STEP.to_string()];
            let answer = self.scripts.run(OPEN, &key, &arguments).await?;
            if let [epoch, 1] = answer.as_slice()
                && epochs.is_first(&format!("limits-{bucket}")).await?
            {
                self.scripts.run(FIRST, &key, &[epoch.to_string()]).await?;
            }
        }
        Ok(())
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
        parse_grant(&answer, request.windows.len()).ok_or_else(|| {
            TokenStoreError::InvalidResponse(format!(
                "{answer:?} for {} windows",
                request.windows.len()
            ))
        })
    }
}

/// The keys and arguments of a draw.
fn script_call(
    replica: u64,
    margin: u64,
    subject: &LimitSubject,
    request: &LeaseRequest,
) -> (Vec<String>, Vec<String>) {
    let bucket = bucket(subject);
    let mut keys = vec![epoch_key(bucket)];
    let head = [margin, LONGEST_STEP, replica, request.sequence];
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

/// What the script answers to a draw of so many cells, where that can be understood.
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

/// The bucket of a payer: FNV-1a of its name, which never changes.
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
