//! The operator: Assay's custom resources become configuration, keys and workloads.
//!
//! Every kind goes the same visible way: fetch, validate, build, apply, status. Only fetching, applying
//! and status talk to anybody; what is decided is decided by functions of values. The data plane knows
//! nothing of the operator: it serves what is in the store, whether this program runs or not.
//!
//! - [`publish`]: everything that is a manifest on a laptop too, together, to the store
//! - [`plan`], [`rate_limit`], [`risk_policy`], [`tenant`]: what is told of each
//! - [`api_key`]: `ApiKey`, from the random number to the Secret
//! - [`risk_service`]: `RiskService`, from the image to replicas that answer
//! - [`source`]: `IntelSource` and `ChainSource`, from the manifest to what fetches and follows
//! - `pod`, `owned`, `ports`, `egress`: pods and other objects that the operator makes; `jobs`: how they went
//! - `pod_diagnostics`: why pods do not do what they are for
//! - [`leader`]: only one operator writes
//! - [`writer`]: every write to the API server
//! - [`conditions`], [`reason`]: how it stands with an object, in a closed set of words
//! - `compact`: values that are held for long
//! - [`backoff`]: when what failed is tried again
//! - [`health`], [`metrics`]: what the program tells about itself
//! - [`run`]: how all of it is started and stopped; [`settings`]: the flags
//! - `traced`: what traces consist of
//! - [`system`]: the clock and randomness

mod api_key;
mod backoff;
mod client;
mod compact;
mod conditions;
mod egress;
#[cfg(test)]
mod golden;
mod health;
mod in_force;
mod jobs;
mod leader;
mod metrics;
mod network_policy;
mod owned;
mod owned_fields;
mod pod;
mod pod_diagnostics;
mod ports;
mod publish;
mod reason;
mod risk_service;
pub mod run;
pub mod settings;
mod source;
mod system;
mod tracing_spans;
mod writer;
