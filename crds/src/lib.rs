//! The kinds that Assay adds to a Kubernetes cluster: group `assay.dev`, version `v1alpha1`.
//!
//! What a kind's `spec` says is what the manifests of a laptop say: the types and the rules about them
//! are those of `assay-tenancy` and `assay-engine`. Here they get what only a cluster has: a status, a
//! scope, columns. [`definitions`] is what `crds/manifests` holds as YAML.
//!
//! - [`kinds`]: the kinds that are manifests too; [`ApiKey`] and [`RiskService`] are of clusters only
//! - [`status`]: what the operator says about objects
//! - [`definitions`]: the definitions that a cluster is given
#![expect(clippy::duplicated_attributes, reason = "columns of one kind may have the same type")]

mod api_key;
pub mod definitions;
mod egress;
pub mod kinds;
mod risk_service;
pub mod status;
mod telemetry;

pub use api_key::{ApiKey, ApiKeySpec, RotationSpec};
pub use assay_tenancy::manifest::SecretKey;
pub use egress::{CaBundle, EgressSpec};
pub use kinds::{ChainSource, IntelSource, Plan, RateLimit, RiskPolicy, Tenant};
pub use risk_service::{
    ExposureSpec, HttpRouteSpec, IngressSpec, RiskService, RiskServiceSpec, ScalingSpec,
};
pub use telemetry::TelemetrySpec;

/// The group of all kinds.
pub const GROUP: &str = "assay.dev";
/// What the names of all annotations and labels begin with.
pub const PREFIX: &str = "assay.dev/";
