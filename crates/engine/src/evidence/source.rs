//! The state of the sources behind an assessment: what they published and when that was last verified.

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ListId, SourceId};

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
    /// Date of issue of its newest publication.
    pub published_on: Option<Date>,
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
    /// Whether the source is, or carries, what a policy calls `name`.
    #[must_use]
    pub fn provides(&self, name: &str) -> bool {
        self.id.as_str() == name || self.lists.iter().any(|list| list.as_str() == name)
    }
}
