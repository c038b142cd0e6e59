//! Tests of every backend of the store from outside: the contract of all backends, and the further behavior of each.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod backends;
mod contract;
mod shared;
mod sqlite_file;
