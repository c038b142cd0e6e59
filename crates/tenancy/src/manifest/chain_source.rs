//! Chain sources: where blocks, or single histories, of a chain come from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Period;

/// Where a chain is read from. A chain has one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChainSourceSpec {
    /// The chain's identifier, such as `btc`.
    pub chain: String,
    /// How it is read.
    pub mode: ChainMode,
    /// What the endpoint speaks.
    pub protocol: ChainProtocol,
    /// The endpoint: an http or https URL.
    pub endpoint: String,
    /// A file with `user:password`, or a node's cookie; read again for every connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Where the chain is followed: the height of the first block. Money from before has no known
    /// origin.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_height: u64,
    /// Where histories are fetched on demand: longest time that one check spends on fetching. What is
    /// missing then the next check goes on with.
    #[serde(default = "default_time_bound")]
    pub time_bound: Period,
    /// Whether blocks of a test network may stand for the chain's own. Without it such an endpoint is
    /// refused, unless the installation holds sample data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test_network: bool,
    /// Whether it is left alone for the time being.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(height: &u64) -> bool {
    *height == 0
}

const fn default_time_bound() -> Period {
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
