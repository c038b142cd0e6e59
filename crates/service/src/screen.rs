//! Screening of many addresses, one row each, for the API and the command line: by lists and labels alone, or with
//! flows.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::{Assessment, AssessmentScope},
    evidence::{ChainState, ListingStatus, Unavailable},
    facts::Facts,
    policy::Policy,
    score::{RiskLevel, Score, Verdict},
    taxonomy::Category,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    chains::{self, registry::ChainReaders},
    large::beside_others_if,
};

/// Result of screening one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScreeningResult {
    /// Risk score, from 0 to 100.
    pub risk_score: Score,
    /// Risk level of the score.
    pub risk_level: RiskLevel,
    /// Verdict of the policy.
    pub verdict: Verdict,
    /// Categories of the address and of addresses associated with it, riskiest first.
    pub categories: Vec<Category>,
    /// True if a sanctions list names the address itself today.
    pub sanctioned: bool,
    /// The most important reason, as a sentence.
    pub reason: String,
    /// Evidence that the row covers.
    pub scope: AssessmentScope,
    /// Evidence by which the row was decided.
    pub decided_by: DecidedBy,
}

/// Evidence by which a row was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// Lists and labels.
    ListsAndLabels,
    /// Lists, labels, the address's history and the compositions (origin breakdowns) of its transactions. A check of
    /// the address has the same verdict, and the same score or a lower score.
    Compositions,
    /// All evidence of a check, flows included.
    Trace,
}

impl DecidedBy {
    /// Returns the identifier in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ListsAndLabels => "lists_and_labels",
            Self::Compositions => "compositions",
            Self::Trace => "trace",
        }
    }
}

/// Parses the address of a row.
///
/// # Errors
///
/// Returns a sentence that describes the error in the address.
pub fn subject(blockchain: &str, address: &str) -> Result<CanonicalAddress, String> {
    let chain: ChainId =
        blockchain.trim().parse().map_err(|error: assay_address::UnsupportedChain| {
            // A list of all chains in every row would hide the error.
            format!("unsupported blockchain `{}`", error.submitted)
        })?;
    CanonicalAddress::parse(chain, address.trim())
        .map_err(|error| format!("not a valid {chain} address: {error}"))
}

/// The chains, lists, labels and policy by which rows are screened.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Readers of chains.
    pub chains: &'a ChainReaders,
    /// Lists and labels.
    pub intel: &'a IntelSnapshot,
    /// The policy.
    pub policy: &'a Policy,
    /// The current time.
    pub now: Timestamp,
    /// True if the database has not confirmed lists and labels for too long.
    pub intel_stale: bool,
}

impl Screening<'_> {
    /// Screens one address by lists and labels. The verdict is never `allow` on a chain whose flows are known: a check
    /// also assesses the flows, and may have findings in them.
    #[must_use]
    pub fn by_lists_and_labels(&self, subject: &CanonicalAddress) -> ScreeningResult {
        let mut facts = chains::listed_facts(self.intel, subject);
        if self.chains.is_followed(subject.chain()) {
            facts.chain = ChainState::Unavailable(Unavailable::NotAskedFor);
        }
        self.assess(subject, facts, DecidedBy::ListsAndLabels)
    }

    /// Screens one address by lists, labels and flows. An address whose flows are allowed even at their largest weight,
    /// or would be allowed if no source were missing, is not traced; any other row equals the result of a check.
    pub async fn with_flows(&self, subject: &CanonicalAddress) -> ScreeningResult {
        let Self { chains, intel, policy, now, .. } = *self;
        let mut facts = chains::listed_facts(intel, subject);
        facts.differing_branches = chains.differing_branches(subject.chain());
        if let Some(traced) =
            chains::subject_data_at_most(chains, intel, policy, subject, now).await
        {
            let facts = traced.added_to(facts.clone());
            let at_most = self.assess(subject, facts, DecidedBy::Compositions);
            // A stale block or list makes any verdict except `review` and `block` indeterminate, with or without a
            // trace.
            if matches!(at_most.verdict, Verdict::Allow | Verdict::Indeterminate) {
                return at_most;
            }
        }
        let traced = chains::subject_data(chains, intel, policy, subject, now).await;
        let by = match traced.state {
            ChainState::Followed(_) => DecidedBy::Trace,
            ChainState::NotFollowed | ChainState::Unavailable(_) => DecidedBy::ListsAndLabels,
        };
        self.assess(subject, traced.added_to(facts), by)
    }

    fn assess(&self, subject: &CanonicalAddress, facts: Facts, by: DecidedBy) -> ScreeningResult {
        let facts = Facts { intel_stale: self.intel_stale, ..facts };
        beside_others_if(facts.is_large(), || {
            ScreeningResult::new(assess(subject, &facts, self.policy, self.now), by)
        })
    }
}

impl ScreeningResult {
    /// Returns the row of an assessment.
    #[must_use]
    pub fn new(assessment: Assessment, decided_by: DecidedBy) -> Self {
        let is_active = |status| status == ListingStatus::Active;
        Self {
            risk_score: assessment.risk_score,
            risk_level: assessment.risk_level,
            verdict: assessment.verdict,
            categories: assessment.categories.iter().copied().collect(),
            sanctioned: assessment.sanctions.iter().any(|listing| is_active(listing.status)),
            scope: assessment.scope,
            decided_by,
            reason: assessment
                .reasons
                .into_iter()
                .next()
                .map(|reason| reason.message)
                .unwrap_or_default(),
        }
    }
}
