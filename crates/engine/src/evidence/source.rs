//! The state of the sources behind an assessment: what they published and when that was last verified.

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    names::{ListId, SourceId},
    policy::ALWAYS_BLOCKING,
};

/// What a source carries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Sanctions listings.
    Sanctions,
    /// Labels.
    Labels,
    /// Blocks of a chain.
    Chain,
}

/// A source as it stood when facts were gathered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// Its name.
    pub id: SourceId,
    /// What it carries.
    pub kind: SourceKind,
    /// The lists its newest publication holds entries of, sorted.
    pub lists: Vec<ListId>,
    /// Dates of issue of its publications, sorted.
    pub publications: Vec<Date>,
    /// When its newest publication was last obtained or confirmed to be unchanged.
    pub fetched_at: Timestamp,
    /// SHA-256 of its newest publication's file, in hexadecimal.
    pub digest: String,
    /// How many entries its newest publication holds.
    pub entries: u64,
    /// Whether it is made up, for trying Assay out.
    pub sample: bool,
}

impl SourceState {
    /// Whether the source carries what a policy calls `name`: a list by its entries, whatever the source
    /// they came from is called; a label source by its own name.
    #[must_use]
    pub fn provides(&self, name: &str) -> bool {
        match self.kind {
            SourceKind::Sanctions => self.lists.iter().any(|list| list.as_str() == name),
            // Whatever it is called, it is no sanctions list.
            SourceKind::Labels => self.id.as_str() == name && !ALWAYS_BLOCKING.contains(&name),
            SourceKind::Chain => false,
        }
    }

    /// Date of issue of the newest publication up to `day`.
    #[must_use]
    pub fn published_by(&self, day: Date) -> Option<Date> {
        self.publications.iter().rev().find(|published| **published <= day).copied()
    }

    /// The last publication before that of `day`, with which a listing of `day` was not there yet.
    #[must_use]
    pub fn published_before(&self, day: Date) -> Option<Date> {
        self.publications.iter().rev().find(|published| **published < day).copied()
    }
}
