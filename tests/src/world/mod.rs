//! Chains with lists and labels, made for a question: what does the engine say about an address?
//!
//! - [`claims`]: listings and labels
//! - [`joint`]: joint transactions of every kind, and transactions that look like them
//! - [`mod@assess`]: the engine's answer
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod assess;
pub mod claims;
pub mod joint;

pub use assay_test_chains::{ChainBuilder, Form, Utxo, total};
pub use assess::{World, tip};
pub use claims::{Claim, Claims};
pub use joint::{JointKind, Party};
