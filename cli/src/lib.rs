//! The `assay` command line, and the program that serves the API.
//!
//! - [`commands`]: one module a command
//! - [`settings`]: flags, environment and file
//! - `render`: texts for a terminal, from values

pub mod commands;
mod render;
pub mod settings;

pub use commands::run;
