//! Splitting a score into contributions that sum exactly to the score.
//!
//! Noisy-OR is a sum in logarithms, so each piece of evidence has the weight `-log(1 - standalone_risk)`. The cap of a
//! rank limits the total weight of the rank's evidence and all weaker evidence; stronger evidence gets weight first.
//! The tenths of the score are divided in proportion to the resulting weights, by largest remainder.

use std::collections::BTreeMap;

use ruint::aliases::U256;

use super::{
    Rank,
    decisive::{OfOrigin, Origin},
};
use crate::{
    assessment::{ComponentKind, ScoringComponent},
    fixed::{Fraction, apportion},
    score::Score,
};

/// Weights are logarithms times 2^24, so that a logarithm can be split into small fractions.
const SCALE_BITS: u32 = 24;

/// The weight of a logarithm that [`crate::fixed::Fraction::negative_log2`] computed: the logarithm times 2^24.
pub(super) fn weight(logarithm: u64) -> u128 {
    u128::from(logarithm) << SCALE_BITS
}

/// Splits the weight of a logarithm in proportion.
pub(super) fn split(logarithm: u64, proportions: &[u128]) -> Vec<u128> {
    // A logarithm is below 2^38, so that the shift loses nothing.
    apportion(logarithm << SCALE_BITS, proportions).into_iter().map(u128::from).collect()
}

/// A piece of evidence and its weight.
pub(super) struct WeightedComponent {
    pub(super) rank: Rank,
    pub(super) weight: u128,
    pub(super) component: ScoringComponent,
    pub(super) origin: Origin,
}

/// Labels that count and are not shown one by one: they are one component together.
#[derive(Default)]
pub(super) struct FurtherLabels {
    count: u64,
    /// Their weights, those of a rank together.
    weights: BTreeMap<Rank, u128>,
    /// The highest standalone score of one of them.
    strongest: Fraction,
    origin: Origin,
}

impl FurtherLabels {
    pub(super) fn add(
        &mut self,
        rank: Rank,
        weight: u128,
        standalone_risk: Fraction,
        origin: Origin,
    ) {
        self.origin.add(origin);
        self.count += 1;
        *self.weights.entry(rank).or_default() += weight;
        self.strongest = self.strongest.max(standalone_risk);
    }

    /// The component of all these labels; `None` if there are none.
    fn component(&self) -> Option<OfOrigin> {
        (self.count > 0).then(|| OfOrigin {
            component: ScoringComponent {
                kind: ComponentKind::Ownership,
                standalone_score: Score::from_fraction(self.strongest),
                detail: format!("further labels: {}", self.count),
                ..ScoringComponent::default()
            },
            origin: self.origin.clone(),
        })
    }
}

/// The components of `items` and of `further` labels, largest contribution first; contributions sum exactly to `score`.
/// `budget` is the total weight that the cap of a rank permits for that rank and all weaker ranks.
pub(super) fn contributions(
    score: Score,
    items: Vec<WeightedComponent>,
    further: &FurtherLabels,
    budget: impl Fn(Rank) -> u128,
) -> Vec<OfOrigin> {
    let mut asked: BTreeMap<Rank, u128> = further.weights.clone();
    for item in &items {
        *asked.entry(item.rank).or_default() += item.weight;
    }
    let granted = granted_weights(&asked, budget);
    let granted_of = |rank: Rank, weight: u128| match (asked.get(&rank), granted.get(&rank)) {
        (Some(asked), Some(granted)) if *asked > 0 => {
            let share = U256::from(weight) * U256::from(*granted) / U256::from(*asked);
            u128::try_from(share).unwrap_or(weight)
        }
        _ => 0,
    };
    let mut weights: Vec<u128> =
        items.iter().map(|item| granted_of(item.rank, item.weight)).collect();
    weights.push(further.weights.iter().map(|(rank, weight)| granted_of(*rank, *weight)).sum());
    let tenths = apportion(score.tenths().into(), &weights);
    let components = items
        .into_iter()
        .map(|WeightedComponent { component, origin, .. }| OfOrigin { component, origin })
        .chain(further.component());
    let mut components: Vec<OfOrigin> = components
        .zip(tenths)
        .map(|(mut shown, tenths)| {
            let tenths = u16::try_from(tenths).unwrap_or(u16::MAX);
            shown.component.contribution = Score::from_tenths(tenths);
            shown
        })
        .collect();
    components.sort_by_key(|shown| std::cmp::Reverse(shown.component.contribution));
    components
}

/// The weight that each rank gets, at most the weight of the rank's evidence (`asked`).
///
/// A rank and all weaker ranks together get at most the rank's budget; within this budget the rank's own evidence comes
/// first. In logarithms, this rule is the least of `F(all)` and `cap(r) (+) F(stronger than r)`, where `F` is the
/// combined score and `r` the rank.
fn granted_weights(
    asked: &BTreeMap<Rank, u128>,
    budget: impl Fn(Rank) -> u128,
) -> BTreeMap<Rank, u128> {
    let mut from_here_on: BTreeMap<Rank, u128> = BTreeMap::new();
    let mut weaker = 0;
    for rank in Rank::ALL.into_iter().rev() {
        let own = asked.get(&rank).copied().unwrap_or(0);
        weaker = (own + weaker).min(budget(rank));
        from_here_on.insert(rank, weaker);
    }
    let mut left = u128::MAX;
    from_here_on
        .into_iter()
        .map(|(rank, allowed)| {
            let available = allowed.min(left);
            let own = asked.get(&rank).copied().unwrap_or(0).min(available);
            left = available - own;
            (rank, own)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::Policy;

    fn caps(rank: Rank) -> u128 {
        weight(rank.cap(&Policy::default()).fraction().complement().negative_log2())
    }

    #[test]
    fn a_certain_listing_leaves_nothing_for_weaker_evidence() {
        let certain = weight(Fraction::ZERO.negative_log2());
        let asked = BTreeMap::from([(Rank::OfficialList, certain), (Rank::Community, certain)]);
        let granted = granted_weights(&asked, caps);
        assert_eq!((granted[&Rank::OfficialList], granted[&Rank::Community]), (certain, 0));
    }

    proptest! {
        #[test]
        fn no_rank_and_its_weaker_ones_exceed_its_budget(asked in prop::collection::vec(0..1_u128 << 62, 7)) {
            let asked: BTreeMap<_, _> = Rank::ALL.into_iter().zip(asked).collect();
            let granted = granted_weights(&asked, caps);
            for rank in Rank::ALL {
                let from_here_on: u128 = granted.range(rank..).map(|(_, weight)| weight).sum();
                prop_assert!(from_here_on <= caps(rank));
                prop_assert!(granted[&rank] <= asked[&rank]);
            }
        }

        #[test]
        fn contributions_sum_exactly(score in 0..=1000_u16, weights in prop::collection::vec((0..7_usize, 1..1_u128 << 62), 1..9)) {
            let items = weights.into_iter().map(|(rank, weight)| WeightedComponent {
                rank: Rank::ALL[rank], weight, component: ScoringComponent::default(), origin: Origin::default(),
            }).collect();
            let components = contributions(Score::from_tenths(score), items, &FurtherLabels::default(), caps);
            let sum: u16 = components.iter().map(|shown| shown.component.contribution.tenths()).sum();
            prop_assert_eq!(sum, score);
        }
    }
}
