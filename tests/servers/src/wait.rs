//! Waiting for a condition, and load at a rate.

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

/// Waits like [`wait_at_most`], with a call every `interval`, for a `holds` that takes some time itself.
///
/// # Panics
///
/// Panics if the time limit passes.
pub fn wait_every(
    interval: Duration,
    patience: Duration,
    what: &str,
    holds: impl FnMut() -> bool,
) -> Duration {
    let start = Instant::now();
    assert!(holds_within(interval, patience, holds), "waited in vain: {what}");
    start.elapsed()
}

/// Calls `holds` every `interval` until it returns true, for at most `patience`. Returns true if `holds` returned true.
pub fn holds_within(
    interval: Duration,
    patience: Duration,
    mut holds: impl FnMut() -> bool,
) -> bool {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() >= patience {
            return false;
        }
        // The processor is for those that are waited for.
        thread::sleep(interval);
    }
    true
}

/// Repeats `work` with pauses until `is_over`, like a caller that sends requests at a rate.
pub fn repeat(pause: Duration, is_over: impl Fn() -> bool, mut work: impl FnMut()) {
    while !is_over() {
        work();
        // Without pauses it would be another load.
        thread::sleep(pause);
    }
}

/// Waits until the future of `holds` returns true, for at most a minute.
///
/// # Panics
///
/// Panics if the time limit passes.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            // The processor is for those that are waited for.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let done = tokio::time::timeout(Duration::from_mins(1), waiting).await;
    assert!(done.is_ok(), "waited in vain: {what}");
}
