//! Helpers of several tests.

pub(crate) use assay_tests::wait_until;
use serde_json::Value;

/// An answer without values that differ between runs, for snapshots.
pub(crate) fn without_volatile_fields(mut answer: Value) -> Value {
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
