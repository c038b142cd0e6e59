//! The operator: publishes Assay's custom resources as configuration, issues API keys and runs
//! workloads.
//!
//! Every kind is reconciled in the same steps: fetch, validate, build, apply, status. Only fetch, apply and status make
//! requests; validate and build are pure functions. The API does not depend on the operator: it serves the content of
//! the store also while no operator runs.
//!
//! - `publish`: the kinds that are also manifests, published to the store together, and their statuses
//! - `api_key`: `ApiKey`: keys and their Secrets
//! - `risk_service`: `RiskService`: the Deployment of the API and the objects around it
//! - `source`: `IntelSource` and `ChainSource`: the workloads that import lists, and chain servers
//! - `in_force`: the configuration in force, which `publish` gives to `api_key`, `risk_service` and `source`
//! - `scope`: the namespaces whose objects the operator works on
//! - `instance`: the installation of this operator, and the objects that belong to it
//! - `owned`: server-side apply of the objects that the operator creates
//! - `pod`, `pod_shape`, `serving`, `jobs`, `network_policy`, `egress`, `destinations`: parts of the objects that the operator creates
//! - `pod_diagnostics`: causes of pods that do not exist, do not start or fail; `secret_state`: Secrets that pods need
//! - `shared`: the context that all controllers share
//! - `leader`: leader election by a Lease; `writer`: every write to the API server
//! - `watched`, `written`: objects as watches have them; statuses that no watch has delivered yet
//! - `conditions`, `reason`: conditions and their closed set of reasons
//! - `backoff`: delays between retries
//! - `health`, `metrics`, `tracing_spans`: probes, metrics and traces
//! - [`run`]: startup and shutdown; [`settings`]: the command line
//! - [`generate_secrets`]: the subcommand that fills in the Secrets of the chart

mod api_key;
mod backoff;
mod conditions;
mod destinations;
mod egress;
pub mod generate_secrets;
#[cfg(test)]
mod golden;
mod health;
mod in_force;
mod instance;
mod jobs;
mod leader;
mod metrics;
mod network_policy;
mod owned;
mod pod;
mod pod_diagnostics;
mod pod_shape;
mod publish;
mod reason;
mod risk_service;
pub mod run;
mod scope;
mod secret_state;
mod serving;
pub mod settings;
mod shared;
mod source;
mod tracing_spans;
mod watched;
mod writer;
mod written;
