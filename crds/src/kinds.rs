//! The kinds whose specs are those of manifests: their names, scopes and printer columns. `.spec.0` is
//! the spec.

use assay_engine::policy::PolicySpec;
use assay_tenancy::manifest::{
    ChainSourceSpec, IntelSourceSpec, PlanSpec, RateLimitSpec, TenantSpec,
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::{
    ChainSourceStatus, IntelSourceStatus, PlanStatus, RateLimitStatus, RiskPolicyStatus,
    TenantStatus,
};

/// A plan: the API access, limits, cache lifetime and retention of the tenants on it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "Plan",
    plural = "plans",
    shortname = "pln",
    category = "assay",
    status = "PlanStatus",
    doc = "A plan: the API access, limits, cache lifetime and retention of the tenants on it.",
    derive = "PartialEq",
    printcolumn(name = "API", type_ = "boolean", json_path = ".spec.apiAccess"),
    printcolumn(name = "Tenants", type_ = "integer", json_path = ".status.tenants")
)]
pub struct PlanObject(pub PlanSpec);

/// A customer of the API: its plan, its risk policy, and the namespaces that may hold its keys.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "Tenant",
    plural = "tenants",
    shortname = "tnt",
    category = "assay",
    status = "TenantStatus",
    doc = "A customer of the API: its plan, its risk policy, and the namespaces that may hold its keys.",
    derive = "PartialEq",
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.plan"),
    printcolumn(name = "Policy", type_ = "string", json_path = ".spec.policy"),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspended")
)]
pub struct TenantObject(pub TenantSpec);

/// Replaces numbers in the limits of a plan or a tenant, permanently or until a given time.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "RateLimit",
    plural = "ratelimits",
    shortname = "rl",
    category = "assay",
    status = "RateLimitStatus",
    doc = "Replaces numbers in the limits of a plan or a tenant, permanently or until a given time.",
    derive = "PartialEq",
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.target.plan"),
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.target.tenant"),
    printcolumn(name = "Limit", type_ = "string", json_path = ".spec.limits[*].name"),
    printcolumn(name = "Requests", type_ = "string", json_path = ".spec.limits[*].requests"),
    printcolumn(name = "Until", type_ = "string", json_path = ".spec.until")
)]
pub struct RateLimitObject(pub RateLimitSpec);

/// A risk policy: severities, thresholds, lists and mandatory sources. Unset fields keep their defaults.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "RiskPolicy",
    plural = "riskpolicies",
    shortname = "rpol",
    category = "assay",
    status = "RiskPolicyStatus",
    doc = "A risk policy: severities, thresholds, lists and mandatory sources. Unset fields keep their defaults.",
    derive = "PartialEq",
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(name = "Review", type_ = "number", json_path = ".spec.thresholds.review"),
    printcolumn(name = "Block", type_ = "number", json_path = ".spec.thresholds.block")
)]
pub struct RiskPolicyObject(pub PolicySpec);

/// A sanctions list or label set that is fetched on a schedule.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "IntelSource",
    plural = "intelsources",
    shortname = "isrc",
    category = "assay",
    status = "IntelSourceStatus",
    doc = "A sanctions list or label set that is fetched on a schedule.",
    derive = "PartialEq",
    printcolumn(name = "Format", type_ = "string", json_path = ".spec.format"),
    printcolumn(name = "Mandatory", type_ = "boolean", json_path = ".spec.mandatory"),
    printcolumn(name = "Verified", type_ = "date", json_path = ".status.verifiedAt")
)]
pub struct IntelSourceObject(pub IntelSourceSpec);

/// The node or indexer that a blockchain is read from. A chain has at most one source.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "ChainSource",
    plural = "chainsources",
    shortname = "csrc",
    category = "assay",
    status = "ChainSourceStatus",
    doc = "The node or indexer that a blockchain is read from. A chain has at most one source.",
    derive = "PartialEq",
    printcolumn(name = "Chain", type_ = "string", json_path = ".spec.chain"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Tip", type_ = "integer", json_path = ".status.tipHeight"),
    printcolumn(
        name = "Lag",
        type_ = "date",
        json_path = ".status.tipTime",
        description = "Age of the newest block"
    ),
    printcolumn(name = "Servers", type_ = "string", json_path = ".status.servers"),
    printcolumn(name = "Disk", type_ = "string", json_path = ".status.diskUsed")
)]
pub struct ChainSourceObject(pub ChainSourceSpec);
