//! The contract of chain graphs, for the backends of this crate and for one outside it; and the
//! properties of single backends.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod backends;
mod embedded_failures;
mod embedded_files;
mod graph_backends;
mod ordered_maps;

assay_graph::graph_conformance!(
    embedded => crate::backends::embedded(),
    postgres => crate::backends::postgres().await,
    outside => crate::ordered_maps::fresh(),
);
