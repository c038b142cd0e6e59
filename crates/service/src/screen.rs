//! Screening of many addresses by lists and labels, one row each, for the API and the command line.

use std::collections::BTreeSet;

use assay_engine::{
    address::CanonicalAddress,
    assess,
    assessment::{Assessment, LabelStatus},
    chain::ChainId,
    evidence::ListingStatus,
    facts::Facts,
    policy::Policy,
    score::{RiskLevel, Score, Verdict},
    taxonomy::Category,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of screening one address by lists and labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Screened {
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
}

/// Parses the address of a row.
///
/// # Errors
///
/// Returns a sentence that describes the error in the address.
pub fn subject(blockchain: &str, address: &str) -> Result<CanonicalAddress, String> {
    let chain: ChainId =
        blockchain.trim().parse().map_err(|error: assay_engine::chain::UnsupportedChain| {
            // The whole list of chains in every row of a file would bury what is wrong.
            format!("unsupported blockchain `{}`", error.submitted)
        })?;
    CanonicalAddress::parse(chain, address.trim())
        .map_err(|error| format!("not a valid {chain} address: {error}"))
}

/// Screens one address. Flows of money are not traced. If the policy requires them, or if `intel` is stale,
/// the verdict is not `allow`.
#[must_use]
pub fn screen(
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
    intel_stale: bool,
) -> Screened {
    let facts = Facts { intel_stale, ..intel.facts(subject) };
    let assessment = assess(subject, &facts, policy, now);
    Screened {
        risk_score: assessment.risk_score,
        risk_level: assessment.risk_level,
        verdict: assessment.verdict,
        categories: categories(&assessment),
        sanctioned: assessment
            .sanctions
            .iter()
            .any(|listing| listing.status == ListingStatus::Active),
        reason: assessment
            .reasons
            .into_iter()
            .next()
            .map(|reason| reason.message)
            .unwrap_or_default(),
    }
}

/// Returns the categories of labels in force that the score rests on.
fn categories(assessment: &Assessment) -> Vec<Category> {
    let labelled = assessment
        .labels
        .iter()
        .filter(|label| label.status == LabelStatus::InForce)
        .map(|label| label.category);
    let scored = assessment.scoring_components.iter().filter_map(|component| component.category);
    labelled.chain(scored).collect::<BTreeSet<_>>().into_iter().collect()
}
