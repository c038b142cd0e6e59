//! A scenario told on a chain, with what a check must say about everybody in it.
//!
//! Mining, an exchange with deposit addresses and payouts, a theft from it, a peel chain that ends at
//! another exchange, dust to a stranger, a payment of clean and stolen money, a reorganisation of
//! depth 12, and a node that is restarted and killed meanwhile. The same payments on every network,
//! with the same transaction identifiers. Amounts are round, so that each expected number can be
//! checked by hand.
//!
//! - [`cast`]: who is in it
//! - [`payments`]: who paid whom, and when
//! - [`blocks`]: the blocks that this makes
//! - [`everybody`]: what a check must say, written from the rules and not from any program
//! - [`expected`]: how that is written
//! - [`mod@check`]: whether an answer says so
//! - [`files`]: the labels and the sanctions list that the answers rest on
//! - [`play`]: the scenario happening on a node
//! - [`mweb`]: a sequel, where coins go into Litecoin's extension blocks and come out again

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
pub use check::{Wanted, check_scenario, tip_of};
pub use everybody::EXPECTATIONS;
pub use expected::{Expectation, Row};
pub use play::{Follower, Step, play};
