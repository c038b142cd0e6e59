//! Standalone scores of all evidence but flows, by rank, for sums over the evidence of a rank and stronger.

use std::{cell::RefCell, collections::BTreeMap};

use super::{Rank, Strength};
use crate::fixed::Fraction;

/// The standalone scores that count at each rank: those of the rank's evidence and of stronger evidence.
///
/// Of pieces of evidence that repeat one claim, only the highest score counts. Any other choice could lower a score: if
/// the strongest tier counted, a better proof with less confidence would lower the score; if the highest confidence
/// counted, a more confident rumor would lower the score.
pub(super) struct RankedScores {
    /// Lists of scores. Ranks without evidence of their own share the list of the rank before.
    lists: Vec<Vec<Fraction>>,
    /// The index of each rank's list, in the order of the ranks.
    of_rank: Vec<(Rank, usize)>,
    /// Sums by list and start: the same sum is needed for several ranks.
    sums: RefCell<BTreeMap<(usize, Fraction), Fraction>>,
}

impl RankedScores {
    /// The scores of terms, which are sorted by rank.
    pub(super) fn of(terms: &[Strength]) -> Self {
        let claims = terms.iter().filter_map(|term| term.claim).map(|claim| claim.index() + 1);
        let mut places: Vec<Option<usize>> = vec![None; claims.max().unwrap_or(0)];
        let mut lists: Vec<Vec<Fraction>> = vec![Vec::new()];
        let mut of_rank = Vec::new();
        let mut rest = terms;
        for rank in Rank::ALL {
            let length = rest.partition_point(|term| term.rank <= rank);
            let (own, weaker) = rest.split_at(length);
            rest = weaker;
            if !own.is_empty() {
                let mut scores = lists.last().cloned().unwrap_or_default();
                for term in own {
                    let place = term.claim.and_then(|claim| places.get_mut(claim.index()));
                    let known = place.as_deref().copied().flatten();
                    if let Some(best) = known.and_then(|known| scores.get_mut(known)) {
                        *best = term.standalone_risk.max(*best);
                        continue;
                    }
                    if let Some(place) = place {
                        *place = Some(scores.len());
                    }
                    scores.push(term.standalone_risk);
                }
                lists.push(scores);
            }
            of_rank.push((rank, lists.len() - 1));
        }
        Self { lists, of_rank, sums: RefCell::default() }
    }

    /// These scores with those of patterns, which make no claims and are the weakest evidence.
    pub(super) fn with_patterns(&self, patterns: &[Strength]) -> Self {
        let mut lists = self.lists.clone();
        let mut of_rank = self.of_rank.clone();
        if let Some((_, last)) = of_rank.last_mut().filter(|_| !patterns.is_empty()) {
            let mut scores = lists.last().cloned().unwrap_or_default();
            scores.extend(patterns.iter().map(|pattern| pattern.standalone_risk));
            *last = lists.len();
            lists.push(scores);
        }
        Self { lists, of_rank, sums: RefCell::default() }
    }

    /// Noisy-OR of `start` and the scores of the evidence of rank `weakest` and stronger; of no evidence if `weakest` is
    /// `None`.
    pub(super) fn added_to(&self, start: Fraction, weakest: Option<Rank>) -> Fraction {
        let list = self.of_rank.iter().find(|(rank, _)| Some(*rank) == weakest);
        let Some((list, scores)) = list.and_then(|(_, list)| Some((*list, self.lists.get(*list)?)))
        else {
            return start;
        };
        let sum = || scores.iter().copied().fold(start, Fraction::noisy_or);
        *self.sums.borrow_mut().entry((list, start)).or_insert_with(sum)
    }
}
