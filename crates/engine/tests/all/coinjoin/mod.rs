//! Tests of the recognition of joint transactions: recall on real joint transactions, and false positives.
//!
//! - [`common`]: transactions to classify
//! - [`data`]: real transactions
//! - [`real`]: recall on real transactions
//! - [`protocols`], [`wasabi`]: each kind of joint transaction, by its rules
//! - [`entry`]: Whirlpool's entry transaction, and similar transactions
//! - [`tests_passed`]: the tests of a recognition, and its confidence
//! - [`payjoin`]: payments that may be `PayJoin`s
//! - [`possible`]: the wider rule for clusters
//! - [`lookalikes`]: transactions that look joint and are not
//! - [`properties`]: properties of any transaction

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
