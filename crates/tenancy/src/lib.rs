//! Who may ask, how often, and by which policy: plans, tenants, rate limits and API keys.
//!
//! Pure, like the engine, and without knowledge of it: what a risk policy says is compiled by whoever
//! calls [`resolve()`]. Storing and serving happens elsewhere.
//!
//! - [`manifest`]: what people write (YAML on a laptop, custom resources in a cluster)
//! - [`manifest::Manifest`]: a manifest, parsed once; its spec is a variant of [`manifest::ManifestSpec`]
//! - [`resolve()`]: from all manifests to one [`Directory`], or every problem at once
//! - [`directory`]: what the programs ask: a tenant's plan, policy and effective limits
//! - [`schema`]: the rules that a cluster checks by itself
//! - [`key`]: the format of API keys and how they are kept

mod compact;
pub mod directory;
pub mod key;
pub mod manifest;
mod name;
mod period;
mod resolve;
pub mod schema;

pub use compact::CompactJson;
pub use directory::Directory;
pub use name::{InvalidName, Name};
pub use period::{InvalidPeriod, Period};
pub use resolve::{
    Cause, FieldProblem, Manifests, Problem, Resolved, resolve, resolve_manifests, resolve_onto,
};
