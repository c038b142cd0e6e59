//! The components that decide a verdict: the smallest set of them without which the verdict would be milder.
//!
//! The score is the highest of what the evidence gives and what minimum score rules demand. A rule that reaches the
//! verdict by itself is therefore in every such set, and so is each piece of evidence that reaches it alone, because
//! evidence never lowers a score. Only the rest has to be searched. Every score is computed as that of an assessment,
//! without the evidence of the removed components.

use std::collections::BTreeSet;

use super::{combine::Evidence, flows::PartPlace};
use crate::{
    assessment::{Decisive, ScoringComponent},
    policy::Policy,
    score::{Score, Verdict},
};

/// Largest number of components of which every subset is searched.
const MOST_SEARCHED: usize = 10;

/// The evidence or the rule behind a component.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Terms by their positions.
    pub(super) terms: BTreeSet<usize>,
    pub(super) flows: BTreeSet<PartPlace>,
    /// The score to which a rule raises a lower score.
    rule: Option<Score>,
}

impl Origin {
    pub(super) fn term(index: usize) -> Self {
        Self { terms: BTreeSet::from([index]), ..Self::default() }
    }

    pub(super) fn flow(place: PartPlace) -> Self {
        Self { flows: BTreeSet::from([place]), ..Self::default() }
    }

    pub(super) fn rule(score: Score) -> Self {
        Self { rule: Some(score), ..Self::default() }
    }

    /// Adds the evidence of another component.
    pub(super) fn add(&mut self, other: Self) {
        self.terms.extend(other.terms);
        self.flows.extend(other.flows);
    }
}

/// A component with its origin. A component without an origin changes no verdict.
#[derive(Clone, Debug)]
pub(super) struct OfOrigin {
    pub(super) component: ScoringComponent,
    pub(super) origin: Origin,
}

impl From<ScoringComponent> for OfOrigin {
    fn from(component: ScoringComponent) -> Self {
        Self { component, origin: Origin::default() }
    }
}

/// Finds the components that decided `verdict`; `None` if it is no `review` or `block`, or if the policy gives it
/// without any evidence.
pub(super) fn find(
    components: &[OfOrigin],
    evidence: &Evidence<'_>,
    verdict: Verdict,
    is_incomplete: bool,
    policy: &Policy,
) -> Option<Decisive> {
    if !matches!(verdict, Verdict::Review | Verdict::Block) {
        return None;
    }
    // `policy.verdict` gives no `indeterminate`, so that the block threshold alone tells both apart.
    let is_reached = |score: Score| match policy.verdict(score) {
        Verdict::Block => true,
        Verdict::Review => verdict == Verdict::Review,
        Verdict::Allow | Verdict::Indeterminate => false,
    };
    let (mut decisive, mut candidates) = (Vec::new(), Vec::new());
    for (index, OfOrigin { origin, component }) in components.iter().enumerate() {
        if origin.rule.is_some_and(is_reached) {
            decisive.push(index);
        } else if !origin.flows.is_empty()
            || !origin.terms.is_empty() && component.standalone_score > Score::ZERO
        {
            candidates.push(index);
        }
    }
    let search = Search { components, evidence, is_reached: &is_reached };
    let (found, smallest) = search.smallest(&candidates)?;
    decisive.extend(found);
    decisive.sort_unstable();

    let of_evidence = evidence.without(&search.origins(&decisive)).score().score;
    let left = components.iter().enumerate().filter(|(index, _)| !decisive.contains(index));
    let score = left.filter_map(|(_, shown)| shown.origin.rule).fold(of_evidence, Score::max);
    let without = policy.verdict(score);
    let is_withheld = is_incomplete && without == Verdict::Allow;
    let review = policy.spec().thresholds.review;
    Some(Decisive {
        components: decisive,
        risk_score: if is_withheld { score.max(review) } else { score },
        verdict: if is_withheld { Verdict::Indeterminate } else { without },
        smallest,
    })
}

/// Search among pieces of evidence.
struct Search<'a, 'e> {
    components: &'a [OfOrigin],
    evidence: &'a Evidence<'e>,
    is_reached: &'a dyn Fn(Score) -> bool,
}

impl Search<'_, '_> {
    /// The evidence of components together.
    fn origins(&self, components: &[usize]) -> Origin {
        let mut all = Origin::default();
        for shown in components.iter().filter_map(|index| self.components.get(*index)) {
            all.add(shown.origin.clone());
        }
        all
    }

    /// True if the verdict is milder without these components.
    fn is_milder_without(&self, removed: &[usize]) -> bool {
        let left = self.evidence.without(&self.origins(removed));
        !(self.is_reached)(left.score_without_patterns())
    }

    /// The smallest set of candidates without which the verdict is milder, and true if it is the smallest for sure;
    /// `None` if the verdict stays without all of them.
    fn smallest(&self, candidates: &[usize]) -> Option<(Vec<usize>, bool)> {
        if self.is_milder_without(&[]) {
            return Some((Vec::new(), true));
        }
        if !self.is_milder_without(candidates) {
            return None;
        }
        let others = |one: &usize| -> Vec<usize> {
            candidates.iter().copied().filter(|other| other != one).collect()
        };
        // Each of these reaches the verdict alone.
        let (needed, rest): (Vec<usize>, Vec<usize>) =
            candidates.iter().copied().partition(|one| !self.is_milder_without(&others(one)));
        if self.is_milder_without(&needed) {
            return Some((needed, true));
        }
        if rest.len() <= MOST_SEARCHED {
            let found = (1..=rest.len()).find_map(|size| self.first_of_size(&needed, &rest, size));
            return found.map(|found| (found, true));
        }
        Some((self.minimal(&needed, &rest), false))
    }

    /// The first set of `size` of `rest`, in the order of components, that decides together with `needed`.
    fn first_of_size(&self, needed: &[usize], rest: &[usize], size: usize) -> Option<Vec<usize>> {
        if size == 0 {
            return self.is_milder_without(needed).then(|| needed.to_vec());
        }
        rest.iter().enumerate().find_map(|(position, one)| {
            let later = rest.get(position + 1..).unwrap_or_default();
            if later.len() + 1 < size {
                return None;
            }
            let with: Vec<usize> = needed.iter().copied().chain([*one]).collect();
            self.first_of_size(&with, later, size - 1)
        })
    }

    /// A set that decides and of which each component is needed: the first components of `rest` that suffice, the
    /// largest contributions first, less those without which the others suffice.
    fn minimal(&self, needed: &[usize], rest: &[usize]) -> Vec<usize> {
        let with = |more: &[usize]| -> Vec<usize> { needed.iter().chain(more).copied().collect() };
        let (mut enough, mut too_few) = (rest.len(), 0);
        while enough - too_few > 1 {
            let middle = usize::midpoint(too_few, enough);
            let first = rest.get(..middle).unwrap_or_default();
            if self.is_milder_without(&with(first)) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        let mut found = rest.get(..enough).unwrap_or_default().to_vec();
        for one in found.clone().into_iter().rev() {
            let others: Vec<usize> = found.iter().copied().filter(|other| *other != one).collect();
            if self.is_milder_without(&with(&others)) {
                found = others;
            }
        }
        with(&found)
    }
}

#[cfg(test)]
mod tests;
