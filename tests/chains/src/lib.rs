//! Chains for tests: blocks of transactions whose amounts add up, all from a seed.
//!
//! - [`account_chain`]: a long account chain
//! - [`assembler`]: identifiers, heights and times of transactions and blocks
//! - [`builder`]: a chain that grows payment by payment
//! - [`random_chain`]: random small chains of everything that a graph must keep
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a wrong generator stops the test"
)]

pub mod account_chain;
pub mod assembler;
pub mod builder;
pub mod random_chain;

pub use assembler::{BlockAssembler, Utxo, total, utxos_of};
pub use builder::{ChainBuilder, Form};
pub use random_chain::{AmountRange, Habits, TestChain};
