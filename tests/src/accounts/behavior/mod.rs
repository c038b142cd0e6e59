//! Accounts with known behavior, amid payments of others: test data for the search for patterns on account chains.
//!
//! - [`planted`]: accounts each of which shows one pattern
//! - [`innocents`]: bots, market makers, treasuries, airdrop hunters and payrolls
//! - `town`: people who pay each other at random

pub mod innocents;
pub mod planted;
mod town;
