//! Tests of the engine's public interface: the risk model, and the recognition of joint transactions.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod coinjoin;
mod model;
