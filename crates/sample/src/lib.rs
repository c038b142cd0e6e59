//! The demo data set: small, fictitious and equal on every machine, to try Assay out without any list.
//!
//! The addresses are hashes of names: no private key for them exists. The lists and the Bitcoin chain are fictitious
//! too. Every answer about demo data states `environment: sample`.
//!
//! - `world`: parties, with their listings and labels
//! - `scenario`: payments between the parties; `chain`: the blocks that hold the payments
//! - `accounts`: transactions on the Ethereum chain
//! - `load`: loads the demo data set into a store
//! - `examples`: addresses that show Assay's features

mod accounts;
mod chain;
mod examples;
mod load;
mod scenario;
mod world;

pub use chain::{SampleChain, ScenarioError};
pub use examples::{Example, examples, transfer};
pub use load::{SampleKey, SampleLoadError, load};
pub use world::{SAMPLE_LIST, labels, publications};
