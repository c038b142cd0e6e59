//! Assay's custom resources: group `assay.dev`, version `v1alpha1`.
//!
//! Most kinds have the specs of manifests: their types and rules are those of `assay-tenancy` and
//! `assay-engine`. This crate adds the status, the scope and the printer columns.
//!
//! - [`kinds`]: the kinds that are also manifests; [`ApiKey`], [`RiskService`] and [`Installation`] exist in
//!   clusters only
//! - [`status`]: the statuses that the operator writes
//! - [`definitions`]: the `CustomResourceDefinition` objects, as `crds/manifests` has them in YAML
#![expect(clippy::duplicated_attributes, reason = "columns of one kind may have the same type")]

mod api_key;
mod console;
pub mod definitions;
mod egress;
mod installation;
pub mod kinds;
mod risk_service;
pub mod status;
mod telemetry;

pub use api_key::{ApiKey, ApiKeySpec, RotationSpec};
pub use assay_tenancy::manifest::SecretKey;
pub use console::{ClientSecretKey, ConsoleSpec, PersonRole, RoleRuleSpec};
pub use egress::{CaBundle, EgressSpec};
pub use installation::{Installation, InstallationSpec};
pub use kinds::{ChainSource, IntelSource, Plan, RateLimit, RiskPolicy, Tenant};
pub use risk_service::{
    ConnectionsSpec, ExposureSpec, HttpRouteSpec, ImagePullPolicy, IngressSpec,
    InvalidImagePullPolicy, RiskService, RiskServiceSpec, ScalingSpec,
};
pub use telemetry::TelemetrySpec;

/// The API group of all kinds.
pub const GROUP: &str = "assay.dev";
/// The prefix of the names of all annotations and labels.
pub const PREFIX: &str = "assay.dev/";
/// The label with the instance name of the installation that an object belongs to.
pub const INSTANCE_LABEL: &str = "assay.dev/instance";
