//! The `assay` program: its commands, settings and texts for the terminal.
//!
//! - [`commands`]: one module for each command
//! - [`settings`]: settings from flags, environment and file
//! - `render`: texts for the terminal

pub mod commands;
mod render;
pub mod settings;

pub use commands::run;
