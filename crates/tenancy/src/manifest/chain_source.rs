//! Chain sources: the node or indexer from which a chain is read.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Period, WEB_URL_FORM,
    manifest::{PodsSpec, SecretKey, VolumeSpec},
    period::between,
    schema::field_rule,
};

/// Longest time that a check may spend on fetching.
pub(crate) const LONGEST_FETCH_TIMEOUT: Period = Period::from_seconds(60);

/// The node or indexer from which a chain is read. A chain has at most one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".chain",
        "self.chain.matches('^[a-z0-9]+$')",
        "write a chain's identifier, such as btc",
    ),
    field_rule(
        ".chain",
        "self.chain == oldSelf.chain",
        "a source stays with its chain: make another ChainSource for another one",
    ),
    field_rule(
        ".startHeight",
        "self.startHeight == oldSelf.startHeight",
        "a chain that was begun stays with its first block: delete its graph and the ChainSource to \
         begin anew",
    ),
    field_rule(".endpoint", "self.endpoint.matches('^https?://')", "write an http or https URL"),
    field_rule(
        ".endpoint",
        "!self.endpoint.matches('^https?://') || self.endpoint.matches('^https?://[^/?#\\\\s]+\\\\S*$')",
        WEB_URL_FORM,
    ),
    field_rule(
        ".endpoint",
        "!self.endpoint.matches('^[a-z]+://[^/]*@')",
        "must not hold a password: put `user:password` in a file and name it in credentialsFile",
    ),
    field_rule(
        ".protocol",
        "self.mode != 'on_demand' || self.protocol != 'rpc'",
        "a node's JSON-RPC knows no address histories: on_demand needs `esplora`",
    ),
    field_rule(
        ".startHeight",
        "self.mode != 'on_demand' || self.startHeight == 0",
        "histories fetched on demand begin with an address's first transaction",
    ),
    field_rule(
        ".credentialsSecret",
        "!has(self.credentialsSecret) || !has(self.credentialsFile)",
        "the credentials are in credentialsFile already: leave one of them out",
    ),
    field_rule(
        ".acceptBranch",
        "!has(self.acceptBranch) || self.acceptBranch.matches('^[0-9A-Fa-f]{64}$')",
        "the hash of a block has 64 hexadecimal digits",
    ),
    between("fetchTimeout", Period::from_seconds(1), LONGEST_FETCH_TIMEOUT),
]))]
pub struct ChainSourceSpec {
    /// Identifier of the chain, such as `btc`. Immutable.
    #[schemars(length(min = 1, max = 16))]
    pub chain: String,
    /// Way in which the chain is read: `follow` reads every block, `on_demand` the histories of checked addresses.
    pub mode: ChainMode,
    /// Protocol of the endpoint: `rpc` (a node) or `esplora` (an indexer).
    pub protocol: ChainProtocol,
    /// URL of the node or indexer (http or https), without credentials.
    #[schemars(length(max = 2048))]
    pub endpoint: String,
    /// Path of a file that holds `user:password`, a node's cookie or a token in one line. The file lies below the
    /// `source-dir` of the machine, or one of its `credentials-dirs`, and is read for every request.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Key of a Secret that holds `user:password` or a token, in the operator's namespace; instead of `credentialsFile`
    /// in a cluster. The Secret has the label `assay.dev/source-credentials: "true"`, and the annotation
    /// `assay.dev/source-hosts` with the `host:port` of the endpoint; otherwise the chain is not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<SecretKey>,
    /// Height of the first block that is read, with mode `follow`. Funds from earlier blocks have no known origin.
    /// Immutable. Default 0, the whole chain.
    #[serde(default)]
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub start_height: u64,
    /// Longest time that one check spends on fetching, with mode `on_demand`, such as `2s`: `1s` to `60s`. The next
    /// check continues where this check ended. Default `2s`.
    #[serde(default = "default_fetch_timeout")]
    pub fetch_timeout: Period,
    /// Accepts blocks of a test network as those of the chain. Default `false`: an endpoint that serves a test network is refused,
    /// unless the installation holds the demo data set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_test_network: bool,
    /// Hash of a block (64 hexadecimal digits) on a branch that chain servers accept although the branch replaces
    /// more blocks than a reorganization does, with mode `follow`. The block is above the fork, so that no other
    /// branch is accepted. Unset: a chain server stays on its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_branch: Option<String>,
    /// Suspends reading; recorded blocks stay, and checks go on using them. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Number of chain servers, with mode `follow` in a cluster: 1 to 16. Each chain server has a volume with the whole
    /// graph: more servers answer more checks, and one server can fail or be replaced. Default 1.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: u8,
    /// Volume of each chain server, with mode `follow` in a cluster.
    #[serde(default)]
    pub volume: VolumeSpec,
    /// Pods of the chain servers, with mode `follow` in a cluster.
    #[serde(default)]
    pub pods: PodsSpec,
}

const fn default_replicas() -> u8 {
    1
}

const fn default_fetch_timeout() -> Period {
    Period::from_seconds(2)
}

/// Way in which a chain is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainMode {
    /// Reads every block and then new blocks as they appear.
    Follow,
    /// Fetches the history of an address when it is needed for a check, and keeps it for some hours.
    OnDemand,
}

/// Protocol of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainProtocol {
    /// JSON-RPC of a node such as Bitcoin Core.
    Rpc,
    /// HTTP API of an Esplora indexer.
    Esplora,
}
