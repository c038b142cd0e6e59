//! The custom resources whose specs are those of manifests: names, scopes and printer columns. The field `.spec.0` of
//! such a type holds the spec.

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

/// Declares the kinds: description, names, spec, status, and the printer columns that other kinds lack (name, type,
/// path, and a description where the name is ambiguous).
macro_rules! kinds {
    ($(
        $doc:tt
        $object:ident($spec:ty): $kind:tt, $plural:tt, $short:tt, $status:tt,
        [$(($column:tt, $type:tt, $path:tt $(, $about:tt)?),)*]
    )*) => {$(
        #[doc = $doc]
        #[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[kube(
            group = "assay.dev",
            version = "v1alpha1",
            kind = $kind,
            plural = $plural,
            shortname = $short,
            category = "assay",
            status = $status,
            doc = $doc,
            derive = "PartialEq",
            $(printcolumn(
                name = $column,
                type_ = $type,
                json_path = $path,
                $(description = $about)?
            ),)*
        )]
        pub struct $object(pub $spec);
    )*};
}

kinds! {
    "A plan: the API access, limits, cache lifetime and retention of the tenants on it."
    PlanObject(PlanSpec): "Plan", "plans", "pln", "PlanStatus", [
        ("API", "boolean", ".spec.apiAccess"),
        ("Tenants", "integer", ".status.tenants"),
    ]
    "A customer of the API: its plan, its risk policy, and the namespaces that may hold its keys."
    TenantObject(TenantSpec): "Tenant", "tenants", "tnt", "TenantStatus", [
        ("Plan", "string", ".spec.plan"),
        ("Policy", "string", ".spec.policy"),
        ("Suspended", "boolean", ".spec.suspended"),
    ]
    "Replaces numbers in the limits of a plan or a tenant, permanently or until a given time."
    RateLimitObject(RateLimitSpec): "RateLimit", "ratelimits", "rl", "RateLimitStatus", [
        ("Plan", "string", ".spec.target.plan"),
        ("Tenant", "string", ".spec.target.tenant"),
        ("Limit", "string", ".spec.limits[*].name"),
        ("Requests", "string", ".spec.limits[*].requests"),
        ("Until", "string", ".spec.until"),
    ]
    "A risk policy: severities, thresholds, lists and mandatory sources. Unset fields keep their defaults."
    RiskPolicyObject(PolicySpec): "RiskPolicy", "riskpolicies", "rpol", "RiskPolicyStatus", [
        ("Revision", "string", ".status.revision"),
        ("Review", "number", ".spec.thresholds.review"),
        ("Block", "number", ".spec.thresholds.block"),
    ]
    "A sanctions list, label set or file of prices that is fetched on a schedule."
    IntelSourceObject(IntelSourceSpec): "IntelSource", "intelsources", "isrc", "IntelSourceStatus", [
        ("Format", "string", ".spec.format"),
        ("Mandatory", "boolean", ".spec.mandatory"),
        ("Verified", "date", ".status.verifiedAt"),
    ]
    "The node or indexer that a blockchain is read from. A chain has at most one source."
    ChainSourceObject(ChainSourceSpec): "ChainSource", "chainsources", "csrc", "ChainSourceStatus", [
        ("Chain", "string", ".spec.chain"),
        ("Mode", "string", ".spec.mode"),
        ("Tip", "integer", ".status.tipHeight"),
        ("Lag", "date", ".status.tipTime", "Age of the newest block"),
        ("Servers", "string", ".status.servers"),
        ("Disk", "string", ".status.diskUsed"),
    ]
}
