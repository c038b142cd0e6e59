//! The kinds whose specs are those of manifests: where they live, what `kubectl get` shows. `.spec.0` is
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

/// What tenants on a plan may do: access, limits, cache, retention.
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
    doc = "What tenants on a plan may do: access, limits, cache, retention.",
    derive = "PartialEq",
    printcolumn(name = "API", type_ = "boolean", json_path = ".spec.apiAccess"),
    printcolumn(name = "Tenants", type_ = "integer", json_path = ".status.tenants")
)]
pub struct PlanObject(pub PlanSpec);

/// A customer: its plan, its risk policy, and the namespaces that may hold its keys.
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
    doc = "A customer: its plan, its risk policy, and the namespaces that may hold its keys.",
    derive = "PartialEq",
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.plan"),
    printcolumn(name = "Policy", type_ = "string", json_path = ".spec.policy"),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspended")
)]
pub struct TenantObject(pub TenantSpec);

/// Other numbers for limits of a plan or a tenant, for ever or until a time.
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
    doc = "Other numbers for limits of a plan or a tenant, for ever or until a time.",
    derive = "PartialEq",
    printcolumn(name = "Plan", type_ = "string", json_path = ".spec.target.plan"),
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.target.tenant"),
    printcolumn(name = "Limit", type_ = "string", json_path = ".spec.limits[*].name"),
    printcolumn(name = "Requests", type_ = "string", json_path = ".spec.limits[*].requests"),
    printcolumn(name = "Until", type_ = "string", json_path = ".spec.until")
)]
pub struct RateLimitObject(pub RateLimitSpec);

/// What is risky and what to do about it; what is left out keeps its default.
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
    doc = "What is risky and what to do about it: severities, thresholds, lists, sources.",
    derive = "PartialEq",
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.revision"),
    printcolumn(name = "Review", type_ = "number", json_path = ".spec.thresholds.review"),
    printcolumn(name = "Block", type_ = "number", json_path = ".spec.thresholds.block")
)]
pub struct RiskPolicyObject(pub PolicySpec);

/// A list or label set that is fetched on a schedule.
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
    doc = "A list or label set that is fetched on a schedule.",
    derive = "PartialEq",
    printcolumn(name = "Format", type_ = "string", json_path = ".spec.format"),
    printcolumn(name = "Mandatory", type_ = "boolean", json_path = ".spec.mandatory"),
    printcolumn(name = "Verified", type_ = "date", json_path = ".status.verifiedAt")
)]
pub struct IntelSourceObject(pub IntelSourceSpec);

/// Where a chain is read from. A chain has one source.
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
    doc = "Where a chain is read from.",
    derive = "PartialEq",
    printcolumn(name = "Chain", type_ = "string", json_path = ".spec.chain"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Tip", type_ = "integer", json_path = ".status.tipHeight")
)]
pub struct ChainSourceObject(pub ChainSourceSpec);
