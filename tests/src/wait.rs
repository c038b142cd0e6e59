//! Waiting for a condition.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Waits until `holds` returns true, for at most a minute, and returns the time that it took.
///
/// # Panics
///
/// Panics if the time limit passes.
pub fn wait_until(what: &str, holds: impl FnMut() -> bool) -> Duration {
    wait_at_most(Duration::from_mins(1), what, holds)
}

/// Waits until `holds` returns true, for at most `patience`, and returns the time that it took.
///
/// # Panics
///
/// Panics if the time limit passes.
pub fn wait_at_most(patience: Duration, what: &str, holds: impl FnMut() -> bool) -> Duration {
    wait_every(Duration::from_millis(5), patience, what, holds)
}

/// As [`wait_at_most`], with a call every `interval`, for a `holds` that takes some time itself.
///
/// # Panics
///
/// Panics if the time limit passes.
pub fn wait_every(
    interval: Duration,
    patience: Duration,
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < patience, "waited in vain: {what}");
        thread::sleep(interval);
    }
    start.elapsed()
}
