//! A scenario on a chain, with the expected results of a check of each of its parties.
//!
//! Mining, an exchange with deposit addresses and payouts, a theft from the exchange, a peel chain that ends at another
//! exchange, dust to a stranger, a payment of clean and stolen money, a reorganisation of depth 12, and a node that is
//! restarted and killed during the scenario. The same payments on every network, with the same transaction identifiers.
//! Amounts are round, so that each expected number can be checked by hand.
//!
//! - [`cast`]: the parties
//! - [`payments`]: the payments, in order
//! - [`blocks`]: the blocks that result
//! - [`everybody`]: the expected results of checks, computed by hand from the rules
//! - [`expected`]: notation of the expected results
//! - [`mod@check`]: comparison of an answer with the expected one
//! - [`files`]: the labels and the sanctions list of the answers
//! - [`play`]: execution of the scenario on a node
//! - [`mweb`]: a sequel, in which coins go into Litecoin's extension blocks and come out again

pub mod blocks;
pub mod cast;
pub mod check;
pub mod everybody;
pub mod expected;
pub mod files;
pub mod mweb;
pub mod payments;
pub mod play;

pub use blocks::{Moment, Scenario};
pub use cast::{address, lock};
pub use check::{ExpectedAnswer, check_scenario, tip_of};
pub use everybody::EXPECTATIONS;
pub use expected::{Expectation, ExpectedRow};
pub use play::{Follower, Step, play, reorganization_arguments};
