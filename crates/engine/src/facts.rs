//! Everything an assessment may look at, gathered before it starts.

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
    /// Whether the data is real.
    pub environment: Environment,
    /// Names the data.
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
    /// What its chain shows.
    pub chain: ChainState,
    /// Whether it could not be confirmed lately that all of this is what the store knows.
    pub intel_stale: bool,
}

/// Whether data is real.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Real data.
    #[default]
    Production,
    /// The made-up world for trying Assay out.
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
    /// Who controls the account, where that is known.
    pub control: AccountControl,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// Its labels.
    pub labels: Vec<Label>,
}

/// Who controls an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountControl {
    /// A key: whoever has it controls the same account on every chain.
    Key,
    /// A contract on at least one of the chains: the same address need not mean the same party.
    Contract,
    /// Not known. Taken as a key, because a listed party must not slip through, and said so.
    Unknown,
}

/// Addresses that one party controls, as spending their outputs together shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The smallest member: the cluster's identifier.
    pub id: CanonicalAddress,
    /// How many members it has.
    pub size: u64,
    /// How sure the clustering is.
    pub confidence: Confidence,
    /// Labels of its members other than the subject.
    pub labels: Vec<Label>,
    /// Listings of its members other than the subject.
    pub listings: Vec<Listing>,
}
