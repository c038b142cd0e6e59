//! Extent of test searches and measurements.

use std::env;

/// True under `./tests/run --full`, which sets `ASSAY_FULL` and takes more time.
#[must_use]
pub fn is_full() -> bool {
    env::var_os("ASSAY_FULL").is_some()
}
