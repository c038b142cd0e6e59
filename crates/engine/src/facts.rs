//! The facts about an address that an assessment uses, gathered before it starts.

use crate::{
    address::CanonicalAddress,
    evidence::{ChainState, Label, Listing, SourceState},
    score::Confidence,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The facts about one subject. The engine reads nothing else: the same facts, policy and time give
/// the same assessment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Kind of data.
    pub environment: Environment,
    /// Identifier of the data.
    pub data_revision: String,
    /// Every source, by name.
    pub sources: Vec<SourceState>,
    /// Listings of the subject itself, ended ones included.
    pub listings: Vec<Listing>,
    /// Labels of the subject itself, ended ones included.
    pub labels: Vec<Label>,
    /// Other addresses controlled by the same key that are listed or labelled.
    pub same_key: Vec<SameKey>,
    /// The co-spend cluster that the subject belongs to.
    pub cluster: Option<Cluster>,
    /// State of its chain and the flows on it.
    pub chain: ChainState,
    /// True if the database has not confirmed lists and labels for too long.
    pub intel_stale: bool,
}

/// Kind of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Real data.
    #[default]
    Production,
    /// The demo data set.
    Sample,
}

impl Environment {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Sample => "sample",
        }
    }
}

/// Another address that the subject's key controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameKey {
    /// The other address.
    pub address: CanonicalAddress,
    /// Controller of the account.
    pub control: AccountControl,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// Its labels.
    pub labels: Vec<Label>,
}

/// Controller of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountControl {
    /// A key: its holder controls the same account on every chain.
    Key,
    /// A contract on at least one of the chains: the same address need not mean the same party.
    Contract,
    /// Not known. It is treated as a key, so that no listed party is missed, with a warning.
    Unknown,
}

/// Addresses that one party controls, as spending their outputs together shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The smallest member: the cluster's identifier.
    pub id: CanonicalAddress,
    /// Number of its members.
    pub size: u64,
    /// Confidence of the clustering.
    pub confidence: Confidence,
    /// Labels of its members other than the subject.
    pub labels: Vec<Label>,
    /// Listings of its members other than the subject.
    pub listings: Vec<Listing>,
}
