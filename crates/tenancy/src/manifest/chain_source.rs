//! Chain sources: the node, the indexer or the files from which a chain is read.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret_key::{CredentialsKey, credentials_key};
use crate::{
    Period, WEB_URL_FORM,
    manifest::{PodsSpec, SecretKey, VolumeSpec},
    period::between,
    schema::field_rule,
};

/// Form of the location of files of transfers.
pub(crate) const FOLDER_FORM: &str =
    "write the folder of the files of transfers, such as file:///transfers/eth";
/// Location of files in a claim.
pub(crate) const IN_CLAIM: &str =
    "the claim of the files is mounted at /transfers: write file:///transfers, or a folder in it";
/// Protocol of a source with a claim.
pub(crate) const CLAIM_OF_TRANSFERS: &str =
    "a claim holds files of transfers: write protocol `transfers`";
/// Mode of files.
pub(crate) const FOLLOWED_FILES: &str =
    "files of transfers are recorded as they come: write `follow`";
/// First block of files.
pub(crate) const FIRST_OF_FILES: &str =
    "files of transfers begin with their own first block: leave it out";
/// Credentials of files.
pub(crate) const FILES_WITHOUT_CREDENTIALS: &str =
    "files of transfers need no credentials: leave them out";
/// Branches of files.
pub(crate) const FILES_WITHOUT_BRANCHES: &str = "files of transfers have no branches: leave it out";

/// Protocol of histories on demand.
pub(crate) const HISTORIES_ON_DEMAND: &str = "a node's JSON-RPC knows no address histories: on_demand needs `esplora`, or `etherscan`, `blockscout` or \
     `trongrid` for account chains";
/// Mode of the APIs of explorers.
pub(crate) const EXPLORERS_ON_DEMAND: &str =
    "the API of an explorer has no blocks: write mode `on_demand`";
/// Chain of TronGrid.
pub(crate) const TRONGRID_OF_TRON: &str = "TronGrid has TRON only: write chain `trx`";

/// Longest time that a check may spend on fetching.
pub(crate) const LONGEST_FETCH_TIMEOUT: Period = Period::from_seconds(60);

/// Folder of the claim with files of transfers in the pods of chain servers.
pub const TRANSFERS_FOLDER: &str = "/transfers";

/// The node, indexer or files from which a chain is read. A chain has at most one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".chain",
        "self.chain.matches('^[a-z0-9]+(-[a-z0-9]+)*$')",
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
    field_rule(
        ".endpoint",
        "self.protocol == 'transfers' || self.endpoint.matches('^https?://')",
        "write an http or https URL",
    ),
    field_rule(
        ".endpoint",
        "self.protocol != 'transfers' || (self.endpoint.matches('^file:///[^?#\\\\s]+$') && !self.endpoint.contains('/..'))",
        FOLDER_FORM,
    ),
    field_rule(
        ".endpoint",
        "!has(self.filesClaim) || self.endpoint.matches('^file:///transfers(/.*)?$')",
        IN_CLAIM,
    ),
    field_rule(
        ".filesClaim",
        "!has(self.filesClaim) || self.protocol == 'transfers'",
        CLAIM_OF_TRANSFERS,
    ),
    field_rule(
        ".filesClaim",
        "!has(self.filesClaim) || self.filesClaim.matches('^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$')",
        "use lowercase letters, digits, hyphens and dots, with a letter or digit first and last",
    ),
    field_rule(".mode", "self.protocol != 'transfers' || self.mode == 'follow'", FOLLOWED_FILES),
    field_rule(
        ".startHeight",
        "self.protocol != 'transfers' || self.startHeight == 0",
        FIRST_OF_FILES,
    ),
    field_rule(
        ".credentialsSecret",
        "self.protocol != 'transfers' || (!has(self.credentialsSecret) && !has(self.credentialsFile))",
        FILES_WITHOUT_CREDENTIALS,
    ),
    field_rule(
        ".acceptBranch",
        "self.protocol != 'transfers' || !has(self.acceptBranch)",
        FILES_WITHOUT_BRANCHES,
    ),
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
        HISTORIES_ON_DEMAND,
    ),
    field_rule(
        ".mode",
        "!(self.protocol in ['etherscan', 'blockscout', 'trongrid']) || self.mode == 'on_demand'",
        EXPLORERS_ON_DEMAND,
    ),
    field_rule(
        ".chain",
        "self.protocol != 'trongrid' || self.chain == 'trx'",
        TRONGRID_OF_TRON,
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
    /// Protocol of the endpoint: `rpc` (a node), `esplora` (an indexer), `transfers` (files of transfers of an account
    /// chain), or the API of an explorer of account chains, with mode `on_demand`: `etherscan`, `blockscout` or `trongrid`.
    pub protocol: ChainProtocol,
    /// URL of the node or indexer (http or https), without credentials; with protocol `transfers` the folder of the files,
    /// such as `file:///transfers/eth`.
    #[schemars(length(max = 2048))]
    pub endpoint: String,
    /// Name of the `PersistentVolumeClaim` with the files, with protocol `transfers` in a cluster. The claim is in the
    /// operator's namespace, and mounted in each chain server at `/transfers`, read-only. Unset: chain
    /// servers answer from what `assay ingest chain` recorded in their volumes.
    #[schemars(length(min = 1, max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_claim: Option<String>,
    /// Path of a file that holds `user:password`, a node's cookie, a token or the key of an API in one line. The file lies below the
    /// `source-dir` of the machine, or one of its `credentials-dirs`, and is read for every request.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Key of a Secret that holds `user:password`, a token or the key of an API, in the operator's namespace; instead of `credentialsFile`
    /// in a cluster. The Secret has the label `assay.dev/source-credentials: "true"`, and the annotation
    /// `assay.dev/source-hosts` with the `host:port` of the endpoint; otherwise the chain is not followed.
    #[serde(
        default,
        deserialize_with = "credentials_key",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<CredentialsKey>")]
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

impl ChainSourceSpec {
    /// The folder of the files of transfers; `None` for another protocol or a location that names no folder.
    #[must_use]
    pub fn files_folder(&self) -> Option<&Path> {
        let of_files = Some(&*self.endpoint).filter(|_| self.protocol == ChainProtocol::Transfers);
        let path = of_files?.strip_prefix("file://")?;
        let is_plain = path.starts_with('/')
            && path.len() > 1
            && !path.contains("/..")
            && !path.contains(|letter: char| letter.is_whitespace() || "?#".contains(letter));
        is_plain.then(|| Path::new(path))
    }
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
    /// Files of transfers of an account chain, in a folder.
    Transfers,
    /// Etherscan's API, or another one of its form, for histories on chains with Ethereum's accounts.
    Etherscan,
    /// Blockscout's API, for histories on chains with Ethereum's accounts.
    Blockscout,
    /// TronGrid's API, for histories on TRON.
    #[serde(rename = "trongrid")]
    TronGrid,
}

impl ChainProtocol {
    /// True for the API of an explorer of account chains, which has histories of accounts and no blocks.
    #[must_use]
    pub const fn is_account_api(self) -> bool {
        matches!(self, Self::Etherscan | Self::Blockscout | Self::TronGrid)
    }
}
