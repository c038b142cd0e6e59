//! The only place that asks the system for the time and for random numbers.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

/// Tells the time. Tests give it any time they like.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's clock, to the millisecond.
    #[must_use]
    pub fn system() -> Self {
        Self::new(now)
    }

    /// A clock that shows what `tell` says.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// The time by the system's clock, to the millisecond.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is where the time comes from")]
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// Sixty-four random bits.
#[must_use]
pub fn random_u64() -> u64 {
    rand::random()
}

/// A hundred and twenty-eight random bits.
#[must_use]
pub fn random_u128() -> u128 {
    rand::random()
}

/// A new identifier that sorts by time (UUID version 7).
#[must_use]
pub fn new_id(now: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &rand::random()).into_uuid()
}
