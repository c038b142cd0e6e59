//! The sample world: made up by us, small, the same everywhere. For trying Assay out without any list.
//!
//! Its addresses are hashes of names; nobody has their keys. Its list is nobody's list. Every answer from
//! it says `environment: sample`.

mod load;
mod world;

pub use load::{LoadError, SampleKey, load};
pub use world::{Example, SAMPLE_LIST, examples, labels, publications};
