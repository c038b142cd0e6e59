//! What was charged and what was answered, as they go in and out of a store.

use assay_tenancy::{Name, key::KeyId};
use jiff::{Timestamp, civil::Date};

/// How often something was charged on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageCount {
    /// What was charged.
    pub charged: Charged,
    /// How often.
    pub count: u64,
}

/// Counts that are written together: once, however often they are sent.
///
/// A writer numbers its batches upwards from 1 and sends none before it knows that the one before was
/// written. So it can send a batch again whose answer was lost: the store remembers the last number of
/// each writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageBatch {
    /// Whoever writes it, by a number that is drawn for its life.
    pub writer: u128,
    /// Its place among the writer's batches.
    pub number: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// The counts.
    pub counts: Vec<UsageCount>,
}

impl UsageBatch {
    /// The writer, as stores write it.
    pub(crate) fn writer_text(&self) -> String {
        format!("{:032x}", self.writer)
    }
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Charged {
    /// Who asked.
    pub tenant: Name,
    /// The UTC day.
    pub day: Date,
    /// With which key.
    pub key: KeyId,
    /// On which plan.
    pub plan: Name,
    /// How it was asked.
    pub operation: Operation,
    /// The verdict.
    pub outcome: String,
}

/// How an address was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// One address.
    Check,
    /// One row of many.
    Screen,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 2] = [Self::Check, Self::Screen];

    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Screen => "screen",
        }
    }
}

/// An answer that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCheck {
    /// Names it.
    pub id: String,
    /// Whose it is.
    pub tenant: Name,
    /// When it was given.
    pub made_at: Timestamp,
    /// The answer, as JSON text.
    pub answer: String,
}

/// What of a tenant's is older than its plan keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Whose.
    pub tenant: Name,
    /// Answers given before.
    pub checks_before: Timestamp,
    /// Usage of days before.
    pub usage_before: Date,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Answers.
    pub checks: u64,
    /// Rows of usage.
    pub usage: u64,
}
