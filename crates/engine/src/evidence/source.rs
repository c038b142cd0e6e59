//! The state of the sources of an assessment: their publications and the time of the last verification.

use std::collections::BTreeMap;

use assay_address::ChainId;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ListId, SourceId};

/// Lists that are blocking under every policy.
pub const ALWAYS_BLOCKING: [&str; 4] = ["ofac-sdn", "uk", "eu", "un"];

/// Kind of data that a source provides.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Sanctions listings.
    Sanctions,
    /// Labels.
    Labels,
    /// Prices in US dollars.
    Prices,
    /// Blocks of a chain.
    Chain,
}

/// State of a source when the facts were gathered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// Name of the source.
    pub id: SourceId,
    /// Kind of data that the source provides.
    pub kind: SourceKind,
    /// Lists that have entries in the newest publication, sorted.
    pub lists: Vec<ListId>,
    /// Dates of issue of the source's publications, sorted.
    pub publications: Vec<Date>,
    /// Time at which the newest publication was last fetched or confirmed to be unchanged.
    pub fetched_at: Timestamp,
    /// SHA-256 of the file of the source's newest publication, in hexadecimal.
    pub digest: String,
    /// Number of entries of the source's newest publication.
    pub entries: u64,
    /// True if the source belongs to the demo data set.
    pub sample: bool,
    /// Numbers of entries of the newest publication that no check of a chain can match, by the chain that they name.
    pub unmatched: BTreeMap<ChainId, u64>,
}

/// Source that is fetched on a schedule, and of which nothing was ever imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverFetched {
    /// Name of the source.
    pub id: SourceId,
    /// Kind of data that the source is to provide.
    pub kind: SourceKind,
    /// Lists that the source is to provide, as its manifest says.
    pub lists: Vec<ListId>,
}

/// The day of an assessment at `now`: a publication that was imported is in force, even if the clock is behind or it is
/// tomorrow already where the list is published.
#[must_use]
pub fn assessment_day(sources: &[SourceState], now: Timestamp) -> Date {
    let lists = sources.iter().filter(|source| source.kind == SourceKind::Sanctions);
    let newest = lists.filter_map(|source| source.publications.last()).max();
    let today = now.to_zoned(TimeZone::UTC).date();
    newest.map_or(today, |newest| today.max(*newest))
}

impl SourceState {
    /// True if the source provides the data that a policy names: a list by its identifier, whatever the source's name;
    /// labels by the source's name.
    #[must_use]
    pub fn provides(&self, name: &str) -> bool {
        match self.kind {
            SourceKind::Sanctions => self.lists.iter().any(|list| list.as_str() == name),
            // A label source is no sanctions list, even under a list's name.
            SourceKind::Labels => self.id.as_str() == name && !ALWAYS_BLOCKING.contains(&name),
            SourceKind::Prices | SourceKind::Chain => false,
        }
    }

    /// Date of issue of the newest publication up to `day`.
    #[must_use]
    pub fn published_by(&self, day: Date) -> Option<Date> {
        self.publications.iter().rev().find(|published| **published <= day).copied()
    }

    /// Date of issue of the last publication before `day`. A listing that first appears on `day` is not in that
    /// publication.
    #[must_use]
    pub fn published_before(&self, day: Date) -> Option<Date> {
        self.publications.iter().rev().find(|published| **published < day).copied()
    }
}
