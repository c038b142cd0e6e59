//! Extent of searches and measurements.

use std::env;

/// True under `./tests/run --full`, which takes more time: it sets `ASSAY_FULL`.
#[must_use]
pub fn is_full() -> bool {
    env::var_os("ASSAY_FULL").is_some()
}
