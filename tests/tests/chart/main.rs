//! The chart: rendered objects, refused values, installations in a cluster. Without Helm or a cluster, tests that need
//! these are skipped with a message.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod alerts;
mod definitions;
mod evaluation;
mod examples;
mod generated;
mod installed;
mod linted;
mod objects;
mod probe;
mod release;

mod rendered;
mod security;
mod values;

use std::path::{Path, PathBuf};

/// A file of the project.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Contents of a file of the project.
pub(crate) fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Path of the chart.
pub(crate) fn chart() -> String {
    file("charts/assay").display().to_string()
}
