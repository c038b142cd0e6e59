//! Resolution of all manifests, with risk policies compiled by the engine: the same functions serve the files of a
//! laptop and the objects of a cluster.
//!
//! - [`resolve()`]: the directory of all documents, or every problem
//! - [`resolve_manifests`]: the directory of manifests that were parsed before
//! - [`reconcile`]: applies the desired manifests that are consistent, and refuses the other desired manifests

mod reconcile;
mod resolve;

pub use reconcile::{DesiredManifests, ManifestRefusal, Reconciled, reconcile};
pub use resolve::{
    Manifest, Manifests, ResolvedManifests, resolve, resolve_manifests, resolve_onto,
};
