//! The contract of chain graphs, and the properties of embedded ones.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod embedded_failures;
mod embedded_files;

use std::sync::Arc;

use assay_graph::{EmbeddedGraphs, GraphStore};
use tempfile::TempDir;

/// Embedded graphs in a folder of their own.
fn embedded() -> (Arc<dyn GraphStore>, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Arc::new(EmbeddedGraphs::new(directory.path())), directory)
}

assay_graph::graph_conformance!(
    embedded_graphs => crate::embedded(),
);
