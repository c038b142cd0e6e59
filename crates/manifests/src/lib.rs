//! All manifests together, with risk policies compiled by the engine: the one function for the files of a
//! laptop and the objects of a cluster.
//!
//! - [`resolve()`]: the directory of all manifests, or every problem
//! - [`reconcile`]: as many desired manifests as are consistent; the others stay as they were

mod reconcile;
mod resolve;

pub use reconcile::{DesiredManifests, Reconciled, Refusal, Specs, reconcile};
pub use resolve::resolve;
