//! Recognising joint transactions: what of real ones is found, what else is taken for one.
//!
//! - [`common`]: transactions to classify, made up and read
//! - [`data`]: the real ones
//! - [`real`]: how many of them are found
//! - [`protocols`]: each kind, by its rules
//! - [`lookalikes`]: what looks joint and is not
//! - [`properties`]: what holds for anything

mod common;
mod data;
mod lookalikes;
mod properties;
mod protocols;
mod real;
