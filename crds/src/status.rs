//! What the operator says about objects: conditions as kstatus reads them, and the facts that a person
//! wants next.
//!
//! - `Ready`: whether what the object says is in force.
//! - `Stalled`: there only while a person has to do something; its message says what.

use assay_tenancy::{
    Period,
    manifest::{Counts, LimitName, Per},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A status: the conditions, and the generation of the object that they are about.
macro_rules! status {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            /// The generation of the object that this is about.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub observed_generation: Option<i64>,
            /// How it stands with the object.
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
                #[serde(skip_serializing_if = "is_nothing")]
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

/// What every status has.
pub trait Status: Default {
    /// How it stands with the object.
    fn conditions(&self) -> &[Condition];

    /// The generation that this is about.
    fn observed_generation(&self) -> Option<i64>;

    /// Says how it stands with a generation of the object.
    fn set(&mut self, generation: Option<i64>, conditions: Vec<Condition>);
}

/// Whether a field has nothing to say: then it is not there at all.
fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

status! {
    /// How it stands with a plan.
    PlanStatus {
        /// How many tenants are on it.
        tenants: Option<u32>,
    }
}

status! {
    /// How it stands with a rate limit.
    RateLimitStatus {
        /// How many tenants its numbers are about.
        tenants: Option<u32>,
        /// Whether its time is over.
        ended: Option<bool>,
    }
}

status! {
    /// How it stands with a tenant.
    TenantStatus {
        /// The limits that hold now, and where each comes from.
        #[schemars(length(max = 8))]
        effective_limits: Vec<EffectiveLimit>,
    }
}

/// A limit that holds now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveLimit {
    /// Its name.
    pub name: LimitName,
    /// How many in one window.
    pub requests: u64,
    /// The window.
    pub window: Period,
    /// What is counted.
    pub counts: Counts,
    /// Whose requests are counted together.
    pub per: Per,
    /// Where the number comes from, such as `Plan business`.
    pub from: String,
    /// Until when it holds; for ever where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

status! {
    /// How it stands with a risk policy.
    RiskPolicyStatus {
        /// The revision in force, as answers name it.
        revision: Option<String>,
        /// How many tenants are judged by it.
        tenants: Option<u32>,
    }
}

status! {
    /// How it stands with a key.
    ApiKeyStatus {
        /// The visible part of the key.
        key_id: Option<String>,
        /// The Secret that holds it.
        secret_name: Option<String>,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// From when on it is refused by itself.
        expires_at: Option<Timestamp>,
        /// When it will be replaced.
        rotates_at: Option<Timestamp>,
        /// The key before it, while that is good.
        previous_key_id: Option<String>,
        /// From when on the key before it is refused.
        previous_expires_at: Option<Timestamp>,
        /// The value of the annotation `assay.dev/rotate` that was obeyed last.
        rotation_request: Option<String>,
    }
}

status! {
    /// How it stands with a list or label set.
    IntelSourceStatus {
        /// When it was last obtained or confirmed unchanged.
        verified_at: Option<Timestamp>,
        /// When what is in force was published.
        published_at: Option<Timestamp>,
        /// The SHA-256 of what is in force.
        digest: Option<String>,
        /// How many entries are in force.
        entries: Option<u64>,
    }
}

status! {
    /// How it stands with a chain.
    ChainSourceStatus {
        /// The height of the newest block that was read.
        tip_height: Option<u64>,
        /// When the newest block that was read was made.
        tip_time: Option<Timestamp>,
    }
}

status! {
    /// How it stands with a running API.
    RiskServiceStatus {
        /// Replicas that there are to be.
        replicas: Option<i32>,
        /// Replicas that answer.
        ready_replicas: Option<i32>,
        /// Fewest replicas that the tenants' limits ask for, within the bounds.
        replica_floor: Option<i32>,
        /// How that number came about.
        replica_floor_because: Option<String>,
        /// The version that answers.
        version: Option<String>,
    }
}
