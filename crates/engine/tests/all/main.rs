//! The engine from outside: the risk model, and how joint transactions are recognised.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod coinjoin;
mod model;
