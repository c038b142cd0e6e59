//! Chains with lists and labels, and the engine's assessments of their addresses.
//!
//! - [`claims`]: listings and labels
//! - [`joint`]: joint transactions of every kind, and transactions that look like them
//! - [`mod@assess`]: assessments of the engine
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod assess;
pub mod claims;
pub mod joint;

pub use assay_test_chains::{ChainBuilder, Form, Utxo, total};
pub use assess::{World, tip};
pub use claims::{Claim, Claims};
pub use joint::{JointKind, Party};
