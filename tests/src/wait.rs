//! Waiting for what is to happen.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Waits until `holds`, for at most a minute, on a machine as busy as it may be, and tells how long it took.
///
/// # Panics
///
/// Where it never does.
pub fn wait_until(what: &str, holds: impl FnMut() -> bool) -> Duration {
    wait_at_most(Duration::from_mins(1), what, holds)
}

/// Waits until `holds`, for at most `patience`, and tells how long it took.
///
/// # Panics
///
/// Where it never does.
pub fn wait_at_most(patience: Duration, what: &str, holds: impl FnMut() -> bool) -> Duration {
    wait_every(Duration::from_millis(5), patience, what, holds)
}

/// As [`wait_at_most`], looking once every `interval`: where looking takes a while itself.
///
/// # Panics
///
/// Where it never does.
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
