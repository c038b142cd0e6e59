//! Plans, tenants, rate limits and API keys: the callers of the API, their limits and their risk policies.
//!
//! The crate is pure, and does not depend on the engine: the caller of [`resolve()`] compiles risk policies. Other
//! crates store manifests and serve the API.
//!
//! - [`manifest`]: the manifests (YAML on a laptop, custom resources in a cluster)
//! - [`manifest::ParsedManifest`]: a manifest, parsed once; its spec is a variant of [`manifest::ManifestSpec`]
//! - [`resolve()`]: resolves all manifests to one [`Directory`], or reports every problem
//! - [`directory`]: a tenant's plan, policy and effective limits
//! - [`schema`], [`period`]: the rules that a cluster's API server checks
//! - [`key`]: the format of API keys, and their hashes

mod compact;
pub mod directory;
pub mod key;
pub mod manifest;
mod name;
pub mod period;
mod quantity;
mod resolve;
pub mod schema;
mod text_form;
mod unusable;
mod web_url;

pub use compact::CompactJson;
pub use directory::Directory;
pub use name::{InvalidManifestName, Name};
pub use period::{InvalidPeriod, Period};
pub use quantity::{InvalidResourceQuantity, ResourceQuantity};
pub use resolve::{
    Cause, FieldProblem, ManifestMap, ManifestProblem, PodsProblem, Resolution, pods_problems,
    resolve, resolve_manifests, resolve_onto,
};
pub use unusable::unusable_fields;
pub use web_url::{WEB_URL_FORM, is_web_url};
