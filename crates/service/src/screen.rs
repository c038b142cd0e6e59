//! Screening: many addresses by lists and labels, one row each. The same for the API and the command
//! line.

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

/// The risk of one address by lists and labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Screened {
    /// The risk, from 0 to 100.
    pub risk_score: Score,
    /// The band that the score falls in.
    pub risk_level: RiskLevel,
    /// What the policy says to do.
    pub verdict: Verdict,
    /// What the address is, or is tied to, riskiest first.
    pub categories: Vec<Category>,
    /// Whether a sanctions list names the address itself today.
    pub sanctioned: bool,
    /// The weightiest reason, in words.
    pub reason: String,
}

/// Reads a row's address.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn subject(blockchain: &str, address: &str) -> Result<CanonicalAddress, String> {
    let chain: ChainId =
        blockchain.trim().parse().map_err(|error: assay_engine::chain::UnsupportedChain| {
            // The whole list of chains in every row of a file would bury what is wrong.
            format!("unsupported blockchain `{}`", error.submitted)
        })?;
    CanonicalAddress::parse(chain, address.trim())
        .map_err(|error| format!("not a valid {chain} address: {error}"))
}

/// Screens one address. Flows of money are not looked at: where the policy requires them, nothing is
/// allowed; nor is it where it could not be confirmed lately that `intel` is what the store knows.
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

/// Categories that labels in force state and that the score rests on.
fn categories(assessment: &Assessment) -> Vec<Category> {
    let labelled = assessment
        .labels
        .iter()
        .filter(|label| label.status == LabelStatus::InForce)
        .map(|label| label.category);
    let scored = assessment.scoring_components.iter().filter_map(|component| component.category);
    labelled.chain(scored).collect::<BTreeSet<_>>().into_iter().collect()
}
