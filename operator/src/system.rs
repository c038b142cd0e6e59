//! The clock and the random numbers of the operator. Everything else gets them as arguments.

use jiff::Timestamp;

/// The current time in whole milliseconds, which is the precision of the store.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the only reading of the clock")]
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Random numbers for a new key: its id and its secret.
#[must_use]
pub fn key_numbers() -> (u64, [u128; 2]) {
    (rand::random(), rand::random())
}

/// A random number from 0 to 1, for delays that should differ between programs.
#[must_use]
pub fn jitter() -> f64 {
    rand::random()
}
