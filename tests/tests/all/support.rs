//! Small helpers.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Waits until `holds`, for at most ten seconds, and tells how long it took.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

/// An answer without what differs from run to run, for snapshots.
pub(crate) fn steady(mut answer: Value) -> Value {
    for field in ["check_id", "assessed_at", "processing_time_ms", "request_id"] {
        if let Some(value) = answer.get_mut(field) {
            *value = Value::from(format!("[{field}]"));
        }
    }
    for source in answer["sources"].as_array_mut().into_iter().flatten() {
        source["fetched_at"] = Value::from("[fetched_at]");
    }
    answer
}
