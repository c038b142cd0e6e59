//! The only place that asks the system for the time and for random numbers.

use jiff::Timestamp;

/// The time, to the millisecond: what the store writes down says no more.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is where the time comes from")]
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Random numbers for a key: for its id, and for its secret.
#[must_use]
pub fn key_numbers() -> (u64, [u128; 2]) {
    (rand::random(), rand::random())
}

/// A random part of one, for what must not happen everywhere at once.
#[must_use]
pub fn jitter() -> f64 {
    rand::random()
}
