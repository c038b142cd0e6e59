//! Laundering schemes with stolen or listed money, and innocent people whom the rules must not mistake for launderers.
//!
//! - [`launderer`]: the moves
//! - [`scheme`]: random sequences of moves, and the schemes that the engine lets pass
//! - [`properties`]: properties of verdicts over random schemes
//! - [`tricks`]: one scheme for each known evasion of the rules
//! - [`beyond`]: schemes longer or wider than a trace
//! - [`unsolicited`]: people to whom money came that they did not ask for, or that a thief gave back
//! - [`weakening`]: schemes that weaken what an answer rests on
//! - [`innocents`]: one person for each known way to be mistaken for a launderer
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod beyond;
pub mod innocents;
pub mod launderer;
pub mod properties;
pub mod scheme;
pub mod tricks;
pub mod unsolicited;
pub mod weakening;

use std::sync::Arc;

use assay_engine::{assessment::Assessment, utxo::ScriptOwner};

use crate::world::World;

pub use beyond::beyond_a_trace;
pub use innocents::innocents;
pub use launderer::{Launderer, Move};
pub use scheme::{Ending, Scene, Scheme, Violation, violations};
pub use tricks::tricks;

/// A world, and an address in it to check.
#[derive(Clone, Debug)]
pub struct Example {
    /// Summary of the example in one line.
    pub title: String,
    /// The world.
    pub world: Arc<World>,
    /// Owner of the address.
    pub subject: ScriptOwner,
    /// The verdict under the rules of the time before any rule against this scheme, if known.
    pub before: Option<&'static str>,
}

impl Example {
    /// Sets the verdict under earlier rules.
    #[must_use]
    pub fn with_earlier_verdict(self, before: &'static str) -> Self {
        Self { before: Some(before), ..self }
    }

    /// The engine's answer about the address.
    #[must_use]
    pub fn assess(&self) -> Assessment {
        self.world.assess(&self.subject)
    }
}
