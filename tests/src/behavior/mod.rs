//! Owners with known behavior, amid payments of others: test data for the search for patterns.
//!
//! - [`planted`]: owners each of whom shows one pattern, in noise
//! - [`payouts`]: people who pay many others, and sums that are split
//! - [`profiles`]: ordinary people and businesses
//! - [`rings`]: owners who pay each other in a circle
//! - `crowd`: people who pay each other at random

mod crowd;
pub mod payouts;
pub mod planted;
pub mod profiles;
pub mod rings;
