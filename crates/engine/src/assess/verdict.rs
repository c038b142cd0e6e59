//! Computes the verdict and risk level from the score of the evidence, minimum score rules and missing data.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{
    MinimumScore,
    bounds::bound_flows,
    combine::CombinedScore,
    decisive::{self, OfOrigin, Origin},
};
use crate::{
    assessment::{
        ComponentKind, Decisive, EvidenceKind, EvidenceReference, ScoringComponent, VerdictReason,
    },
    policy::Policy,
    score::{RiskLevel, Score, Verdict},
    taxonomy::{Category, RISKY_FROM},
};

pub(super) struct Outcome {
    pub(super) score: Score,
    pub(super) level: RiskLevel,
    pub(super) verdict: Verdict,
    pub(super) components: Vec<ScoringComponent>,
    /// The components that decided a `review` or a `block`.
    pub(super) decisive: Option<Decisive>,
    pub(super) reasons: Vec<VerdictReason>,
    /// Categories of all components, those that are not shown included.
    pub(super) categories: BTreeSet<Category>,
}

/// Mandatory data that is missing or stale.
pub(super) struct MissingData {
    pub(super) reason: VerdictReason,
    /// Name of the mandatory list or label source that is missing or stale; `None` if no single source provides the
    /// data.
    pub(super) source: Option<String>,
}

pub(super) fn decide(
    combined: CombinedScore<'_>,
    shown: Vec<ScoringComponent>,
    mut minimum_scores: Vec<MinimumScore>,
    missing: &[MissingData],
    policy: &Policy,
) -> Outcome {
    let CombinedScore { mut score, mut components, evidence } = combined;
    components.extend(shown.into_iter().map(OfOrigin::from));
    let mut reasons = Vec::new();

    let review = policy.spec().thresholds.review;
    minimum_scores.sort_by_key(|rule| Reverse(rule.score));
    for rule in minimum_scores {
        let (direction, share, amount) = rule.measured.map_or((None, None, None), |funds| {
            (Some(funds.direction), Some(funds.share), Some(funds.amount))
        });
        let component = ScoringComponent {
            kind: ComponentKind::MinimumScoreRule,
            rule: Some(rule.rule),
            contribution: rule.score.minus(score),
            standalone_score: rule.score,
            detail: rule.reason.message.clone(),
            tier: rule.tier,
            direction,
            share,
            amount,
            evidence: rule.evidence,
            ..ScoringComponent::default()
        };
        components.push(OfOrigin { component, origin: Origin::rule(rule.score) });
        score = score.max(rule.score);
        reasons.push(rule.reason);
    }

    let risky_flows = components.iter().map(|shown| &shown.component).filter(|component| {
        component.kind == ComponentKind::Exposure
            && component.severity.is_some_and(|severity| severity >= RISKY_FROM)
            && component.contribution > Score::ZERO
    });
    if let Some(largest) = risky_flows.max_by_key(|component| component.contribution) {
        reasons.push(VerdictReason { code: "exposure", message: largest.detail.clone() });
    }

    let mut verdict = policy.verdict(score);
    let mut level = policy.level(score);
    if !missing.is_empty() && verdict == Verdict::Allow {
        verdict = Verdict::Indeterminate;
        level = RiskLevel::Unknown;
        components.push(incomplete(review.minus(score), review, missing).into());
        score = score.max(review);
    }
    reasons.extend(missing.iter().map(|missing| missing.reason.clone()));
    let categories = components.iter().filter_map(|shown| shown.component.category).collect();
    bound_flows(&mut components);
    let decisive = decisive::find(&components, &evidence, verdict, !missing.is_empty(), policy);
    let components = components.into_iter().map(|shown| shown.component).collect();
    Outcome { score, level, verdict, components, decisive, reasons, categories }
}

/// The component that raises the score of an incomplete answer, because many callers use the score only.
fn incomplete(
    contribution: Score,
    standalone_score: Score,
    missing: &[MissingData],
) -> ScoringComponent {
    let what: Vec<_> = missing.iter().map(|missing| missing.reason.message.as_str()).collect();
    ScoringComponent {
        kind: ComponentKind::Incomplete,
        contribution,
        standalone_score,
        detail: what.join("; "),
        evidence: missing
            .iter()
            .filter_map(|missing| missing.source.clone())
            .map(|reference| EvidenceReference { kind: EvidenceKind::Source, reference })
            .collect(),
        ..ScoringComponent::default()
    }
}
