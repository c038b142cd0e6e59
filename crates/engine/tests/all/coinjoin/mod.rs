//! Recognising joint transactions: what of real ones is found, what else is taken for one.
//!
//! - [`common`]: transactions to classify, made up and read
//! - [`data`]: the real ones
//! - [`real`]: how many of them are found
//! - [`protocols`], [`wasabi`]: each kind of joint transaction, by its rules
//! - [`entry`]: Whirlpool's entry transaction, and what resembles it
//! - [`tests_passed`]: the tests of a recognition, and its confidence
//! - [`payjoin`]: payments that may be `PayJoin`s
//! - [`possible`]: the wider rule for clusters
//! - [`lookalikes`]: what looks joint and is not
//! - [`properties`]: what holds for anything

mod common;
mod data;
mod entry;
mod lookalikes;
mod payjoin;
mod possible;
mod properties;
mod protocols;
mod real;
mod tests_passed;
mod wasabi;
