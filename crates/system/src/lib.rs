//! Clock and randomness of the operating system. No other code reads these from the system.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

/// Source of the present time. Tests pass a clock of their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns the system's clock, to the millisecond.
    #[must_use]
    pub fn system() -> Self {
        Self::new(now)
    }

    /// Creates a clock that returns the results of `read`.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Returns the present time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// Returns the present time of the system's clock, to the millisecond.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "all other code gets the time from here")]
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// Returns 64 random bits.
#[must_use]
pub fn random_u64() -> u64 {
    rand::random()
}

/// Returns 128 random bits.
#[must_use]
pub fn random_u128() -> u128 {
    rand::random()
}

/// Returns a new identifier that sorts by time (UUID version 7).
#[must_use]
pub fn new_id(now: Timestamp) -> Uuid {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &rand::random()).into_uuid()
}

/// Returns a random number from 0 to 1, for delays that should differ between programs.
#[must_use]
pub fn random_fraction() -> f64 {
    rand::random()
}
