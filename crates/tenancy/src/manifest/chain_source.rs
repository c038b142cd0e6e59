//! Chain sources: where blocks, or single histories, of a chain come from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Period,
    manifest::SecretKey,
    resolve::LONGEST_FETCH_TIMEOUT,
    schema::{between, field_rule},
};

/// Where a chain is read from. A chain has one source.
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
    between("fetchTimeout", Period::from_seconds(1), LONGEST_FETCH_TIMEOUT),
]))]
pub struct ChainSourceSpec {
    /// The chain's identifier, such as `btc`.
    #[schemars(length(min = 1, max = 16))]
    pub chain: String,
    /// How it is read.
    pub mode: ChainMode,
    /// What the endpoint speaks.
    pub protocol: ChainProtocol,
    /// The endpoint: an http or https URL.
    #[schemars(length(max = 2048))]
    pub endpoint: String,
    /// A file with `user:password`, or a node's cookie; read again for every connection.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// In a cluster: the Secret with the same, in the namespace of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<SecretKey>,
    /// Where the chain is followed: the height of the first block. Money from before has no known
    /// origin.
    #[serde(default)]
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub start_height: u64,
    /// Where histories are fetched on demand: longest time that one check spends on fetching. What is
    /// missing then the next check goes on with.
    #[serde(default = "default_fetch_timeout")]
    pub fetch_timeout: Period,
    /// Whether blocks of a test network may stand for the chain's own. Without it such an endpoint is
    /// refused, unless the installation holds sample data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_test_network: bool,
    /// Whether it is left alone for the time being.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

const fn default_fetch_timeout() -> Period {
    Period::from_seconds(2)
}

/// How a chain is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainMode {
    /// Every block is ingested and new ones are followed.
    Follow,
    /// Histories of single addresses are fetched when they are asked for, and kept.
    OnDemand,
}

/// What an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainProtocol {
    /// A node's JSON-RPC.
    Rpc,
    /// Esplora's HTTP interface.
    Esplora,
}
