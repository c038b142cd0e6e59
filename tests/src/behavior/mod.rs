//! Owners who behave in known ways, amid payments of others: what a search for patterns should find, and what not.
//!
//! - [`planted`]: owners each of whom shows one pattern, in noise
//! - [`profiles`]: ordinary people and businesses
//! - `crowd`: the others

mod crowd;
pub mod planted;
pub mod profiles;
