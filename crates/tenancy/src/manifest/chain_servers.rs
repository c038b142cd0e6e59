//! The chain servers of a followed chain in a cluster: their number and their volumes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ResourceQuantity, schema::field_rule};

/// The smallest volume.
pub(crate) const SMALLEST_VOLUME: ResourceQuantity = ResourceQuantity::gibibytes(1);
/// The most replicas of a chain.
pub(crate) const MOST_REPLICAS: u8 = 16;

/// The volume of each chain server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".size",
        "!isQuantity(self.size) || quantity(self.size).compareTo(quantity('1Gi')) >= 0",
        "must be at least 1Gi",
    ),
    field_rule(
        ".size",
        "!isQuantity(self.size) || !isQuantity(oldSelf.size) \
            || quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",
        "a volume can grow and never shrink: make another ChainSource for smaller volumes",
    ),
    field_rule(
        ".storageClass",
        "!has(self.storageClass) || self.storageClass.matches('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$')",
        "use lowercase letters, digits, hyphens and dots, with a letter or digit first and last",
    ),
    field_rule(
        ".storageClass",
        "has(self.storageClass) == has(oldSelf.storageClass) \
            && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",
        "cannot be changed: make another ChainSource for another storage class",
    ),
]))]
pub struct VolumeSpec {
    /// Size of each volume, such as `600Gi`: at least `1Gi`. The size can grow if the storage class can expand
    /// volumes, and never shrink. Default `20Gi`.
    pub size: ResourceQuantity,
    /// Name of the `StorageClass` of the volumes. Immutable. Unset: the cluster's default class.
    #[schemars(length(min = 1, max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
}

impl Default for VolumeSpec {
    fn default() -> Self {
        Self { size: ResourceQuantity::gibibytes(20), storage_class: None }
    }
}
