//! The contract of chain graphs, and the properties of embedded graphs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod conformance;
mod embedded_failures;
mod embedded_files;
