//! All manifests together, with risk policies compiled by the engine: the one function for the files of a
//! laptop and the objects of a cluster.
//!
//! - [`resolve()`]: the directory of all documents, or every problem
//! - [`resolve_manifests`]: the same of manifests that were parsed before
//! - [`reconcile`]: as many desired manifests as are consistent; the others stay as they were

mod reconcile;
mod resolve;

pub use reconcile::{DesiredManifests, ManifestRefusal, Reconciled, reconcile};
pub use resolve::{
    Manifest, Manifests, ResolvedManifests, resolve, resolve_manifests, resolve_onto,
};
