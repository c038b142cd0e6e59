//! Recognising joint transactions: what of real ones is found, what else is taken for one.
//!
//! - [`common`]: transactions to classify, made up and read
//! - [`data`]: the real ones
//! - [`real`]: how many of them are found
//! - [`protocols`]: each kind, by its rules
//! - [`lookalikes`]: what looks joint and is not
//! - [`properties`]: what holds for anything

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod common;
mod data;
mod lookalikes;
mod properties;
mod protocols;
mod real;
