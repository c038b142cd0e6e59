//! Chains with lists and labels, made for a question: what does the engine say about an address?
//!
//! - [`chain`]: a chain that grows payment by payment
//! - [`claims`]: listings and labels
//! - [`joint`]: joint transactions of every kind, and transactions that look like them
//! - [`mod@assess`]: the engine's answer
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod assess;
pub mod chain;
pub mod claims;
pub mod joint;

pub use assess::World;
pub use chain::{ChainBuilder, Coin, Form};
pub use claims::{Claim, Claims};
pub use joint::{JointKind, Party};
