//! Manifests: plans, tenants, rate limits, risk policies and sources. Manifests have the same form in files on a
//! laptop and in custom resources in a cluster.

mod chain_servers;
mod chain_source;
mod former_tenant;
mod intel_format;
mod intel_formats;
mod intel_source;
mod kind;
mod plan;
mod pod_labels;
mod pod_nodes;
mod pod_volumes;
mod pods;
mod rate_limit;
mod read;
mod secret_key;
mod tenant;

pub use chain_servers::VolumeSpec;
pub(crate) use chain_servers::{MOST_REPLICAS, SMALLEST_VOLUME};
pub(crate) use chain_source::{
    CLAIM_OF_TRANSFERS, EXPLORERS_ON_DEMAND, FILES_WITHOUT_BRANCHES, FILES_WITHOUT_CREDENTIALS,
    FIRST_OF_FILES, FOLDER_FORM, FOLLOWED_FILES, HISTORIES_ON_DEMAND, IN_CLAIM,
    LONGEST_FETCH_TIMEOUT, TRONGRID_OF_TRON,
};
pub use chain_source::{ChainMode, ChainProtocol, ChainSourceSpec, TRANSFERS_FOLDER};
pub use former_tenant::FormerTenantSpec;
pub use intel_format::{IntelFormat, IntelFormatKind, UnknownIntelFormat};
pub use intel_source::{FetchSchedule, IntelSourceSpec};
pub(crate) use intel_source::{LONGEST_AGE, PRICES_NOT_MANDATORY};
pub use kind::Kind;
pub use plan::{
    Counts, LimitName, LimitSpec, OnTokenStoreLoss, Per, PlanSpec, RetentionSpec, TraceCeiling,
};
pub(crate) use plan::{
    LARGEST_FALLBACK_SHARE, LONGEST_CACHE, LONGEST_RETENTION, LONGEST_WINDOW, MOST_IN_FLIGHT,
    MOST_REQUESTS, MOST_SCREEN_ROWS,
};
pub(crate) use pod_labels::{LABEL_FORM, RESERVED_LABEL, is_label, is_reserved_label};
pub use pod_nodes::{
    AffinitySpec, LabelOperator, LabelRequirement, LabelSelector, NodeAffinity, NodeOperator,
    NodeRequirement, NodeSelector, NodeSelectorTerm, PodAffinity, PodAffinityTerm, PreferredNodes,
    PreferredPods, TaintEffect, TolerationSpec, TopologySpreadSpec, WhenUnsatisfiable,
};
pub use pod_volumes::{
    ClaimVolume, ConfigMapVolume, EmptyDirVolume, EnvironmentSource, EnvironmentVariable,
    FieldReference, KeyPath, KeyReference, ObjectReference, PodVolume, PodVolumeMount,
    SecretVolume, ValueSource,
};
pub(crate) use pod_volumes::{
    LOG_LEVEL, ONE_GROUP, ONE_REFERENCE, ONE_SOURCE, ONE_VALUE, PREFIX_FORM, RESERVED_VARIABLE,
    RESERVED_VARIABLES, RESERVED_VOLUME, SUB_PATH_FORM, folder_form, is_free_folder,
    is_free_prefix, is_reserved_volume,
};
pub(crate) use pods::{MOST_ENTRIES, RESERVED_ANNOTATION, RESERVED_ANNOTATIONS};
pub use pods::{PodsSpec, ResourceQuantities, ResourcesSpec};
pub use rate_limit::{RateLimitNumber, RateLimitSpec, RateLimitTarget};
pub use read::{API_VERSION, Document, ManifestSpec, ParsedManifest};
pub use secret_key::SecretKey;
pub use tenant::TenantSpec;
