//! The sample world: made up by us, small, the same everywhere. For trying Assay out without any list.
//!
//! Its addresses are hashes of names; nobody has their keys. Its list is nobody's list, its Bitcoin chain
//! nobody's chain. Every answer from it says `environment: sample`.
//!
//! - `world`: who lives there, and what lists and labels say of them
//! - `story`: who paid whom; `chain`: the blocks that come of it
//! - `load`: all of that into a store
//! - `examples`: whom it is worth looking at

mod chain;
mod examples;
mod load;
mod story;
mod world;

pub use chain::{SampleChain, StoryError};
pub use examples::{Example, examples};
pub use load::{LoadError, SampleKey, load};
pub use world::{SAMPLE_LIST, labels, publications};
