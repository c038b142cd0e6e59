//! The programs around the engine: the HTTP service and the `assay` command line.
//!
//! - [`serving`]: what a request needs, without HTTP: access, checks, the cache
//! - [`http`]: the API on the wire
//! - [`cli`]: the command line; one module a command
//! - [`import`]: from a list's file or URL to the store
//! - [`keys`]: making API keys
//! - [`manifests`]: from YAML files to a resolved directory
//! - [`sample`]: the made-up world for trying Assay out
//! - [`settings`]: flags, environment and file
//! - [`system`]: the clock and randomness
//! - [`telemetry`]: log lines, traces, metrics to a collector

pub mod chains;
pub mod cli;
pub mod feeds;
pub mod http;
pub mod import;
pub mod keys;
pub mod manifests;
mod render;
pub mod revocations;
pub mod sample;
pub mod serving;
pub mod settings;
pub mod system;
pub mod telemetry;
