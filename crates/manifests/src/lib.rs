//! All manifests put together, with risk policies compiled by the engine: the one way in, for the files
//! of a laptop and the objects of a cluster alike.
//!
//! - [`resolve()`]: everything, or every problem
//! - [`settle`]: as much of what is wished as goes together; the rest stays as it was

mod resolve;
mod settle;

pub use resolve::resolve;
pub use settle::{Refusal, Settled, Specs, Wishes, settle};
