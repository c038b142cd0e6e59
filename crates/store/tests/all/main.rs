//! Every backend of the store from outside: what all of them must do, and what each of them does beyond.
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
