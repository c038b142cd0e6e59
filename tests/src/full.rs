//! How much is searched and measured.

use std::env;

/// Whether `./tests/run --full` runs this, which takes its time: it sets `ASSAY_FULL`.
#[must_use]
pub fn is_full() -> bool {
    env::var_os("ASSAY_FULL").is_some()
}
