//! The statuses that the operator writes: conditions in the form that kstatus reads, and fields for `kubectl get`.
//!
//! - `Ready`: the spec is in force; of a source, that its data is there and current.
//! - `Stalled`: present only while a person has to act; its message says how.

use assay_tenancy::{
    Period,
    manifest::{Counts, LimitName, Per},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares a status: `observedGeneration`, `conditions` with their description, and fields of its own.
macro_rules! status {
    (
        $(#[$attribute:meta])*
        $name:ident($conditions:literal) {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            /// `metadata.generation` of the spec that the status describes.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub observed_generation: Option<i64>,
            #[doc = $conditions]
            #[schemars(
                length(max = 16),
                extend(
                    "x-kubernetes-list-type" = "map",
                    "x-kubernetes-list-map-keys" = ["type"]
                )
            )]
            pub conditions: Vec<Condition>,
            $(
                $(#[$field_attribute])*
                #[serde(skip_serializing_if = "is_default")]
                pub $field: $type,
            )*
        }

        impl Status for $name {
            fn conditions(&self) -> &[Condition] {
                &self.conditions
            }

            fn observed_generation(&self) -> Option<i64> {
                self.observed_generation
            }

            fn set(&mut self, generation: Option<i64>, conditions: Vec<Condition>) {
                self.observed_generation = generation;
                self.conditions = conditions;
            }
        }
    };
}

/// The fields that every status has.
pub trait Status: Default {
    /// The conditions.
    fn conditions(&self) -> &[Condition];

    /// The generation of the spec that the status describes.
    fn observed_generation(&self) -> Option<i64>;

    /// Sets the conditions and the generation that they describe.
    fn set(&mut self, generation: Option<i64>, conditions: Vec<Condition>);
}

/// Says whether a field has its default, and is therefore omitted.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

status! {
    /// Observed state of the plan.
    PlanStatus(
        "Conditions: `Ready` (the spec is in force), `Stalled` (a person has to act)."
    ) {
        /// Number of tenants on the plan.
        tenants: Option<u32>,
    }
}

status! {
    /// Observed state of the rate limit.
    RateLimitStatus(
        "Conditions: `Ready` (the spec is in force), `Stalled` (a person has to act)."
    ) {
        /// Number of tenants whose limits the object changes.
        tenants: Option<u32>,
        /// True once the time in `spec.until` has passed: the numbers of the object no longer apply.
        ended: Option<bool>,
    }
}

status! {
    /// Observed state of the tenant.
    TenantStatus(
        "Conditions: `Ready` (the spec is in force), `Stalled` (a person has to act), `NamespacesOwn` (no other tenant \
         lists a namespace of the tenant)."
    ) {
        /// Limits in force for the tenant, each with the object that sets it.
        #[schemars(length(max = 8))]
        effective_limits: Vec<EffectiveLimit>,
    }
}

/// A limit in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveLimit {
    /// Name of the limit in the plan.
    pub name: LimitName,
    /// Most requests, or checks, that the limit allows in one window.
    pub requests: u64,
    /// Length of the window, such as `1s` or `1d`.
    pub window: Period,
    /// Events that the limit counts: requests or checks.
    pub counts: Counts,
    /// Callers whose requests count together: a key, a tenant or all tenants of the plan.
    pub per: Per,
    /// Object that sets `requests`, such as `Plan business` or `RateLimit campaign`.
    pub from: String,
    /// Time at which the `RateLimit` ends and the plan's number applies again. Unset: no end is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

status! {
    /// Observed state of the risk policy.
    RiskPolicyStatus(
        "Conditions: `Ready` (the spec is in force), `Stalled` (a person has to act), `SourcesKnown` (an `IntelSource` \
         provides each mandatory source), `DefaultsKept` (it is not weaker than the defaults)."
    ) {
        /// Digest of the policy in force. Each answer of the API names the digest of the policy that the answer was
        /// computed with.
        revision: Option<String>,
        /// Number of tenants with this policy.
        tenants: Option<u32>,
    }
}

status! {
    /// Observed state of the API key.
    ApiKeyStatus(
        "Conditions: `Ready` (the key is active and in its Secret), `Stalled` (a person has \
         to act)."
    ) {
        /// Identifier of the key: the part of the key that lists and logs show.
        key_id: Option<String>,
        /// Name of the Secret that holds the key.
        secret_name: Option<String>,
        /// Time at which the key was issued.
        created_at: Option<Timestamp>,
        /// Expiry time of the key. Unset: the key does not expire.
        expires_at: Option<Timestamp>,
        /// Time of the next scheduled rotation. Unset: no rotation is scheduled.
        rotates_at: Option<Timestamp>,
        /// Identifier of the key that the rotation replaced, while that key is still active.
        previous_key_id: Option<String>,
        /// Expiry time of the replaced key.
        previous_expires_at: Option<Timestamp>,
        /// Value of the annotation `assay.dev/rotate` for which the key was last rotated.
        rotation_request: Option<String>,
    }
}

status! {
    /// Observed state of the list, label set or prices.
    IntelSourceStatus(
        "Conditions: `Ready` (the source was fetched on its schedule), `Published` (the spec is in force), `Stalled` (a \
         person has to act), `Working` (the operator's `CronJob` fetches the source)."
    ) {
        /// Time of the last successful fetch, including those that found the content unchanged.
        verified_at: Option<Timestamp>,
        /// Publication date that the publisher gives for the content in force; for prices the newest day with a price.
        published_at: Option<Timestamp>,
        /// SHA-256 digest of the file in force.
        digest: Option<String>,
        /// Number of entries in force; for prices the rows of the file.
        entries: Option<u64>,
    }
}

status! {
    /// Observed state of the chain.
    ChainSourceStatus(
        "Conditions: `Ready` (the newest block is recent, or servers read the source during checks), `Published` (the \
         spec is in force), `Stalled` (a person has to act), `Working` (the chain servers run and answer), `BranchesAgree` (they have the blocks of one branch, which is \
         that of their source), `SourceFollowed` (they follow their source), `GraphsReadable` (they can read their graphs)."
    ) {
        /// Number of chain servers that the `StatefulSet` asks for.
        replicas: Option<i32>,
        /// Number of chain servers that are ready.
        ready_replicas: Option<i32>,
        /// Ready and desired chain servers, such as `2/2`.
        servers: Option<String>,
        /// Height of the newest block that a chain server answers from.
        tip_height: Option<u64>,
        /// Time in the header of the newest block. The age of this time is the lag: while a chain server keeps up,
        /// about the time between two blocks of the chain.
        tip_time: Option<Timestamp>,
        /// Blocks per second that the fastest chain server reads, while it is reading earlier blocks. Unset: all
        /// earlier blocks are read.
        blocks_per_second: Option<f64>,
        /// Height of the source's newest block, while a chain server is reading earlier blocks.
        source_height: Option<u64>,
        /// Space that the graph takes on the volume of the largest chain server, such as `598Gi`.
        disk_used: Option<String>,
    }
}

status! {
    /// Observed state of the API's deployment.
    RiskServiceStatus(
        "Conditions: `Ready` (every replica runs the image and is available), `Stalled` (a \
         person has to act), `LimitsCovered` (`maxReplicas` covers what tenants' limits \
         require), `Autoscaled` (the autoscaler has its metrics), `RetentionKept` (expired \
         records are purged daily), `ChainsConfigured` (the servers know the chain servers of \
         every followed chain)."
    ) {
        /// Number of replicas that the Deployment asks for.
        replicas: Option<i32>,
        /// Number of replicas that are ready.
        ready_replicas: Option<i32>,
        /// Number of replicas that the tenants' limits require, between `minReplicas` and `maxReplicas`. The autoscaler
        /// keeps at least this number.
        required_replicas: Option<i32>,
        /// Calculation of `requiredReplicas`, as a sentence with its numbers.
        required_replicas_reason: Option<String>,
        /// Tag or digest of the image that ran when the service was last ready.
        version: Option<String>,
    }
}
