//! The demo data set: small, fictitious and equal on every machine, to try Assay out without any list.
//!
//! Its addresses are hashes of names, so that no key for them exists. Its lists and its Bitcoin
//! chain are fictitious too. Every answer from it states `environment: sample`.
//!
//! - `world`: parties, with their listings and labels
//! - `scenario`: payments between them; `chain`: the blocks that hold these
//! - `load`: loads all of it into a store
//! - `examples`: addresses that show Assay's features

mod chain;
mod examples;
mod load;
mod scenario;
mod world;

pub use chain::{SampleChain, ScenarioError};
pub use examples::{Example, examples, transfer};
pub use load::{SampleKey, SampleLoadError, load};
pub use world::{SAMPLE_LIST, labels, publications};
