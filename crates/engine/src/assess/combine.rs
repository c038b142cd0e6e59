//! Combination of all evidence into one score, and the contribution of each piece of evidence.
//!
//! `F = max(flows(all parts), flows(risky parts) (+) terms)`, where `(+)` is noisy-OR, parts are flow parts, and terms
//! are all evidence but flows. The score is the least of `F(all evidence)` and, for every rank `r`, `cap(r) (+)
//! F(evidence stronger than r)`, so that the score does not jump when stronger evidence appears.
//!
//! The score is computed twice: with all flows decayed by their distance, and with severe flows undecayed, which gives
//! 59.9 at most. The higher score counts.
//!
//! Behavior patterns raise the score of the other evidence, but not beyond the range of the verdict: no pattern changes
//! a verdict (`docs/model/score.md` S6.5, S7.3).

use std::{borrow::Cow, cmp::Reverse, collections::BTreeSet};

use super::{
    Rank, Strength, Term, TermEvidence,
    bounds::Room,
    contributions::{FurtherLabels, WeightedComponent, contributions, split, weight},
    decisive::{OfOrigin, Origin},
    flows::{Decay, Flows, LargestSum, PartSelection},
    ranked::RankedScores,
};
use crate::{
    assessment::ScoringComponent,
    evidence::Tier,
    fixed::{Fraction, apportion},
    policy::Policy,
    score::Score,
};

/// Lowest standalone score of a piece of evidence, of investigation tier or stronger, that permits a block.
const BLOCK_NEEDS: Score = Score::from_points(50);

/// Highest score of severe flows without decay by distance: this score leads to a review, never to a block.
const CAP_OF_DISTANCE: Score = Score::from_tenths(599);

/// Bytes of the texts of the labels that an answer shows as components.
const LABEL_TEXTS: usize = 32 * 1024;

/// The score of the evidence, before minimum score rules, and its components with their contributions.
pub(super) struct CombinedScore<'e> {
    pub(super) score: Score,
    pub(super) components: Vec<OfOrigin>,
    pub(super) evidence: Evidence<'e>,
}

pub(super) fn combine<'e>(
    mut terms: Vec<Term<'_>>,
    patterns: Vec<Term<'_>>,
    flows: &'e Flows<'e>,
    policy: &'e Policy,
    capped_tiers: &'e BTreeSet<Tier>,
) -> CombinedScore<'e> {
    // Rounding depends on the order, so there is one order: strongest first, the rest as assessed.
    terms.sort_by_cached_key(|term| (term.rank, Reverse(term.standalone_risk)));
    let evidence = Evidence {
        terms: terms.iter().map(Term::strength).collect(),
        patterns: patterns.iter().map(Term::strength).collect(),
        flows: Cow::Borrowed(flows),
        policy,
        capped_tiers,
    };
    let CountedScore { without_patterns, score, everything } = evidence.score();

    let (items, further) = weighted_components(terms, flows, &everything);
    let budget = |rank| weight(logarithm(evidence.cap(rank).fraction()));
    let mut components = contributions(without_patterns, items, &further, budget);
    components.extend(added(score.minus(without_patterns), patterns));
    components.sort_by_key(|shown| Reverse(shown.component.contribution));
    CombinedScore { score, components, evidence }
}

/// All evidence that has a score, by what counts of it.
#[derive(Clone)]
pub(super) struct Evidence<'e> {
    /// Terms, strongest first.
    terms: Vec<Strength>,
    patterns: Vec<Strength>,
    flows: Cow<'e, Flows<'e>>,
    policy: &'e Policy,
    capped_tiers: &'e BTreeSet<Tier>,
}

/// The score of evidence.
pub(super) struct CountedScore {
    /// The score without behavior patterns, which decides the verdict.
    pub(super) without_patterns: Score,
    pub(super) score: Score,
    /// The sum of all evidence without patterns.
    everything: SelectionScore,
}

impl Evidence<'_> {
    /// The score of this evidence.
    pub(super) fn score(&self) -> CountedScore {
        let scores = RankedScores::of(&self.terms);
        let (without, everything) = self.score_of(&scores);
        let (with, _) = self.score_of(&scores.with_patterns(&self.patterns));
        let score = with.min(highest_of_verdict(without, self.policy)).max(without);
        CountedScore { without_patterns: without, score, everything }
    }

    /// The score of this evidence without behavior patterns.
    pub(super) fn score_without_patterns(&self) -> Score {
        self.score_of(&RankedScores::of(&self.terms)).0
    }

    /// This evidence without that of some components.
    pub(super) fn without(&self, removed: &Origin) -> Self {
        let terms = self.terms.iter().enumerate();
        let terms = terms.filter(|(index, _)| !removed.terms.contains(index));
        Self {
            terms: terms.map(|(_, term)| *term).collect(),
            patterns: self.patterns.clone(),
            flows: Cow::Owned(self.flows.without(&removed.flows)),
            ..*self
        }
    }

    fn score_of(&self, scores: &RankedScores) -> (Score, SelectionScore) {
        let below_block = self.policy.spec().thresholds.block.just_below();
        let (mut strict, everything) = self.score_by(scores, Decay::All);
        if !can_block(&self.terms, &self.flows) {
            strict = strict.min(below_block);
        }
        let decay = Decay::Below(self.policy.spec().undecayed_from);
        let (distant, everything_at_any_distance) = self.score_by(scores, decay);
        let distant = distant.min(CAP_OF_DISTANCE).min(below_block);
        if distant > strict { (distant, everything_at_any_distance) } else { (strict, everything) }
    }

    fn score_by(&self, scores: &RankedScores, decay: Decay) -> (Score, SelectionScore) {
        let everything = strength(scores, &self.flows, Some(Rank::Behavior), decay);
        let mut value = everything.value;
        let mut stronger: Option<Rank> = None;
        for rank in Rank::ALL {
            let without = strength(scores, &self.flows, stronger, decay);
            value = value.min(self.cap(rank).fraction().noisy_or(without.value));
            stronger = Some(rank);
        }
        (Score::from_fraction(value), everything)
    }

    fn cap(&self, rank: Rank) -> Score {
        let contradicted = rank.tier().is_some_and(|tier| self.capped_tiers.contains(&tier));
        let cap = rank.cap(self.policy);
        if contradicted { cap.min(self.policy.spec().thresholds.block.just_below()) } else { cap }
    }
}

/// The highest score that has the same verdict as `score`.
fn highest_of_verdict(score: Score, policy: &Policy) -> Score {
    let thresholds = &policy.spec().thresholds;
    if score < thresholds.review {
        thresholds.review.just_below()
    } else if score < thresholds.block {
        thresholds.block.just_below()
    } else {
        Score::MAXIMUM
    }
}

/// The components of patterns, whose contributions sum to `points`.
fn added(points: Score, patterns: Vec<Term<'_>>) -> impl Iterator<Item = OfOrigin> {
    let weights: Vec<u128> =
        patterns.iter().map(|term| u128::from(logarithm(term.standalone_risk))).collect();
    let tenths = apportion(points.tenths().into(), &weights);
    patterns.into_iter().zip(tenths).map(|(term, tenths)| {
        // No pattern changes a verdict, so that none is decisive.
        OfOrigin::from(ScoringComponent {
            contribution: Score::from_tenths(u16::try_from(tenths).unwrap_or(u16::MAX)),
            ..term.into_component()
        })
    })
}

/// The value of `F` for a selection of evidence.
struct SelectionScore {
    value: Fraction,
    /// The largest power sum of the selected flow parts. `flows_alone` is true if `flows(all parts)` exceeds
    /// `flows(risky parts) (+) terms`.
    largest: LargestSum,
    selection: PartSelection,
    flows_alone: bool,
}

/// Computes `F` for the evidence of rank `weakest` and stronger; for no evidence if `weakest` is `None`.
fn strength(
    scores: &RankedScores,
    flows: &Flows<'_>,
    weakest: Option<Rank>,
    decay: Decay,
) -> SelectionScore {
    let any = PartSelection { weakest: weakest.map(Rank::weakest_flows), risky_only: false, decay };
    let risky = PartSelection { risky_only: true, ..any };
    let (all_flows, risky_flows) = (flows.strongest(any), flows.strongest(risky));
    let with_terms = scores.added_to(risky_flows.standalone_risk(), weakest);
    if all_flows.standalone_risk() > with_terms {
        SelectionScore {
            value: all_flows.standalone_risk(),
            largest: all_flows,
            selection: any,
            flows_alone: true,
        }
    } else {
        SelectionScore {
            value: with_terms,
            largest: risky_flows,
            selection: risky,
            flows_alone: false,
        }
    }
}

/// True if evidence of investigation tier or stronger alone scores at least 50: one term (evidence other than flows),
/// or the risky flows of these tiers together.
///
/// Flows count together, because a sum that is split over many addresses or categories scores as much as the undivided
/// sum.
fn can_block(terms: &[Strength], flows: &Flows<'_>) -> bool {
    let needed = BLOCK_NEEDS.fraction();
    let selection =
        PartSelection { weakest: Some(Tier::Investigation), risky_only: true, decay: Decay::All };
    terms.iter().any(|term| term.rank <= Rank::Investigation && term.standalone_risk >= needed)
        || flows.strongest(selection).standalone_risk() >= needed
}

/// Logarithmic weight of a standalone score: noisy-OR adds up in `-log(1 - standalone_risk)`.
fn logarithm(standalone_risk: Fraction) -> u64 {
    standalone_risk.complement().negative_log2()
}

/// Every piece of evidence with its weight, and the labels that are not shown. The weight of a term (evidence other than
/// flows) is the logarithm of the term's score, less the weight of stronger proof of the same claim. The weight of all
/// flows is computed alike and split among the flow parts by `e x r^2.5` (effective share `e`, risk `r`).
fn weighted_components(
    terms: Vec<Term<'_>>,
    flows: &Flows<'_>,
    everything: &SelectionScore,
) -> (Vec<WeightedComponent>, FurtherLabels) {
    let claims = terms.iter().filter_map(|term| term.claim).map(|claim| claim.index() + 1);
    let mut claimed: Vec<u64> = vec![0; claims.max().unwrap_or(0)];
    // Equal scores follow each other.
    let mut last = (Fraction::ZERO, logarithm(Fraction::ZERO));
    let mut added = |term: &Term<'_>| {
        if last.0 != term.standalone_risk {
            last = (term.standalone_risk, logarithm(term.standalone_risk));
        }
        let (_, own) = last;
        let known = term.claim.and_then(|claim| claimed.get_mut(claim.index()));
        let Some(known) = known else { return own };
        let added = own.saturating_sub(*known);
        *known = own.max(*known);
        added
    };
    let mut room = Room::for_texts(LABEL_TEXTS);
    let (mut items, mut further) = (Vec::new(), FurtherLabels::default());
    for (index, term) in terms.into_iter().enumerate() {
        let origin = Origin::term(index);
        let (rank, added) = (term.rank, added(&term));
        let weight = if everything.flows_alone { 0 } else { weight(added) };
        match &term.evidence {
            TermEvidence::Label(label) if !room.take(label.text_bytes()) => {
                further.add(rank, weight, term.standalone_risk, origin);
            }
            _ => items.push(WeightedComponent {
                rank,
                weight,
                component: term.into_component(),
                origin,
            }),
        }
    }
    let parts = flows.weighted(everything.largest, everything.selection);
    let proportions: Vec<u128> = parts.iter().map(|part| part.weight).collect();
    let weights = split(logarithm(everything.largest.standalone_risk()), &proportions);
    items.extend(parts.into_iter().zip(weights).map(|(part, weight)| WeightedComponent {
        rank: part.tier.into(),
        weight,
        component: part.component,
        origin: Origin::flow(part.place),
    }));
    (items, further)
}
