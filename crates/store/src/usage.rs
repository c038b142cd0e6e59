//! Charges and kept checks.

use std::{borrow::Cow, fmt, sync::Arc};

use assay_tenancy::{Name, key::KeyId};
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};

use crate::{
    StoreError,
    checks::{CheckKey, CheckPage, CheckQuery, CheckSummary, FoundCheck},
    coordination::quotas::QuotaCounter,
};

/// The store of charges and kept checks.
#[async_trait]
pub trait UsageStore: std::fmt::Debug + Send + Sync {
    /// Adds a batch of charges. A batch that was added before changes nothing.
    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError>;

    /// Charges from one day to another, both included, by tenant and day.
    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError>;

    /// Keeps the answers of checks.
    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError>;

    /// A kept check of a tenant.
    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError>;

    /// A page of the kept checks of a tenant.
    async fn find_checks(&self, tenant: &Name, query: &CheckQuery)
    -> Result<CheckPage, StoreError>;

    /// Deletes charges and checks of one tenant that are older than its plan keeps them.
    async fn purge_tenant(&self, purge: &Purge) -> Result<PurgeCounts, StoreError>;

    /// Forgets writers that have added no batch since `before`. Returns how many.
    async fn purge_usage_writers(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// The recorded use of long windows of limits, for a server that counts limits by itself.
    async fn quota_uses(&self) -> Result<Vec<QuotaUse>, StoreError>;

    /// Records the use of windows, each in the place of what was recorded of the window before.
    async fn record_quota_uses(&self, uses: &[QuotaUse]) -> Result<(), StoreError>;

    /// Forgets windows that ended before a time. Returns how many.
    async fn purge_quota_uses(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// Use of one window of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// The counter.
    pub counter: QuotaCounter,
    /// The number of the window.
    pub window_number: u64,
    /// The number of tokens spent.
    pub used: u64,
}

/// The number of charges with the same properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageCount {
    /// The properties of the charges.
    pub charged: ChargeKey,
    /// The number.
    pub count: u64,
}

/// Charges that are added together, and exactly once, even if the batch is sent again.
///
/// A writer numbers its batches upwards from 1 and sends each batch only after the batch before was stored. The store
/// remembers the last number of each writer, so that a batch can be sent again when its answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageBatch {
    /// The writer: a random number of its process.
    pub writer: u128,
    /// The number of the batch.
    pub number: u64,
    /// Time at which the batch of charges was created.
    pub made_at: Timestamp,
    /// The charges.
    pub counts: Vec<UsageCount>,
}

impl UsageBatch {
    /// The writer as databases store it.
    pub(crate) fn writer_text(&self) -> String {
        format!("{:032x}", self.writer)
    }
}

/// The properties by which charges are counted: charges with equal properties are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChargeKey {
    /// The tenant.
    pub tenant: Name,
    /// The UTC day.
    pub day: Date,
    /// The key.
    pub key: KeyId,
    /// The plan.
    pub plan: Name,
    /// The operation.
    pub operation: Operation,
    /// The verdict.
    pub verdict: Cow<'static, str>,
}

/// An operation that is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A check of one address.
    Check,
    /// One row of a screening.
    Screen,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 2] = [Self::Check, Self::Screen];

    /// The identifier of the operation in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Screen => "screen",
        }
    }
}

/// The kept answer of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCheck {
    /// The check's identifier.
    pub id: String,
    /// The tenant that requested the check.
    pub tenant: Name,
    /// Time of the answer to the check.
    pub made_at: Timestamp,
    /// The answer: JSON text.
    pub answer: AnswerText,
    /// Properties by which the check is found; `None` if the text is no answer to a check.
    pub summary: Option<Arc<CheckSummary>>,
}

impl KeptCheck {
    /// The check of an answer.
    #[must_use]
    pub fn new(id: String, tenant: Name, made_at: Timestamp, answer: String) -> Self {
        let summary = CheckSummary::of_answer(&answer).map(Arc::new);
        Self { id, tenant, made_at, answer: answer.into(), summary }
    }

    /// The check of an answer whose properties are known, except the caller's reference.
    #[must_use]
    pub fn with_summary(
        id: String,
        tenant: Name,
        made_at: Timestamp,
        answer: AnswerText,
        summary: Option<Arc<CheckSummary>>,
        reference: Option<String>,
    ) -> Self {
        let summary = match (summary, reference) {
            (Some(summary), Some(reference)) => {
                Some(Arc::new(CheckSummary::clone(&summary).with_reference(&reference)))
            }
            (summary, _) => summary,
        };
        Self { id, tenant, made_at, answer, summary }
    }

    /// The position of the check among the checks of its tenant.
    #[must_use]
    pub fn key(&self) -> CheckKey {
        CheckKey { made_at: self.made_at.as_millisecond(), id: self.id.clone() }
    }

    /// The check as a search finds it; `None` if the query does not find it.
    #[must_use]
    pub fn found_by(&self, query: &CheckQuery) -> Option<FoundCheck> {
        let (key, summary) = (self.key(), self.summary.as_deref()?);
        let is_found = query.after.as_ref().is_none_or(|after| key < *after)
            && query.filter.matches(&key, summary);
        is_found.then(|| FoundCheck { key, summary: summary.clone() })
    }
}

/// Text of a kept answer. Answers with the same assessment share its text, so that a repeated answer needs little memory
/// until it is written.
#[derive(Clone, Debug)]
pub struct AnswerText {
    /// Text before the assessment's members; the whole text if no assessment is known.
    before: Box<str>,
    assessment: Option<Arc<str>>,
    /// Text after the assessment's members.
    after: Box<str>,
}

impl AnswerText {
    /// The text of an answer that contains the members of an assessment, a JSON object, from a position on.
    #[must_use]
    pub fn with_assessment(text: &str, assessment: &Arc<str>, position: usize) -> Self {
        let split = || {
            let (before, rest) = text.split_at_checked(position)?;
            let after = rest.strip_prefix(members(assessment)?)?;
            let assessment = Some(Arc::clone(assessment));
            Some(Self { before: before.into(), assessment, after: after.into() })
        };
        split().unwrap_or_else(|| text.to_owned().into())
    }

    /// The text in parts: before the assessment's members, the assessment if it is known, and after its members.
    pub(crate) fn parts(&self) -> (&str, Option<&Arc<str>>, &str) {
        (&self.before, self.assessment.as_ref(), &self.after)
    }
}

/// The members of a JSON object, without its braces.
#[must_use]
pub fn members(object: &str) -> Option<&str> {
    object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
}

impl fmt::Display for AnswerText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.before)?;
        formatter.write_str(self.assessment.as_deref().and_then(members).unwrap_or_default())?;
        formatter.write_str(&self.after)
    }
}

impl From<String> for AnswerText {
    fn from(text: String) -> Self {
        Self { before: text.into(), assessment: None, after: Box::default() }
    }
}

impl PartialEq for AnswerText {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for AnswerText {}

/// Times before which records of a tenant are deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The tenant.
    pub tenant: Name,
    /// Checks from before this time are deleted.
    pub checks_before: Timestamp,
    /// Charges of days before this one are deleted.
    pub usage_before: Date,
}

/// The number of rows that a purge deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeCounts {
    /// Checks.
    pub checks: u64,
    /// Rows of charges.
    pub usage: u64,
}
