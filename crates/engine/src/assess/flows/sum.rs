//! The power sum of flow parts.
//!
//! A sum is exact until one final rounding, so splitting a flow part does not change the sum, and a riskier
//! classification never lowers the sum.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use ruint::aliases::U256;

use super::{
    Flows,
    basis::{Basis, Decay},
    parts::{DirectionalFlows, Part, PartClaim},
};
use crate::{
    assessment::ScoringComponent,
    evidence::Tier,
    fixed::{Fraction, Power, PowerSum},
    ledger::Mass,
    taxonomy::RISKY_FROM,
};

/// A tenth (1/10) of all funds must be recent for the last 90 days to count in full.
const RECENT_ONE_IN: u32 = 10;

const BASES: [Basis; 5] =
    [Basis::Lifetime, Basis::Recent, Basis::Amount, Basis::Outstanding, Basis::RecentOutstanding];

/// The largest power sum of a selection of flow parts, with the ledger and the basis of the sum.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) struct LargestSum {
    sum: PowerSum,
    ledger: usize,
    basis: Basis,
}

impl LargestSum {
    /// Score of the flows together.
    pub(in crate::assess) fn standalone_risk(&self) -> Fraction {
        self.sum.root()
    }
}

/// A flow part's weight `e x r^2.5` (effective share `e`, risk `r`) in a [`LargestSum`].
pub(in crate::assess) struct WeightedPart {
    pub(in crate::assess) tier: Tier,
    pub(in crate::assess) weight: u128,
    pub(in crate::assess) component: ScoringComponent,
    pub(in crate::assess) place: PartPlace,
}

/// Place of a flow part among all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::assess) struct PartPlace {
    directional: usize,
    part: usize,
}

/// Selection of parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) struct PartSelection {
    /// Selects flow parts of this tier and stronger; `None` selects nothing.
    pub(in crate::assess) weakest: Option<Tier>,
    /// Selects flow parts of risky categories only.
    pub(in crate::assess) risky_only: bool,
    /// The claims whose weight decays with the distance.
    pub(in crate::assess) decay: Decay,
}

impl PartSelection {
    /// The claim by which a flow part counts; `None` if the part does not count.
    fn counted_claim<'p, 'f>(self, part: &'p Part<'f>, basis: Basis) -> Option<&'p PartClaim<'f>> {
        let weakest = self.weakest.filter(|_| part.counted)?;
        part.strongest(basis, self.decay, |claim| {
            claim.tier.at_least(weakest) && (!self.risky_only || claim.severity >= RISKY_FROM)
        })
    }
}

impl Flows<'_> {
    /// The largest sum of the selected flow parts over all ledgers and bases, both directions together.
    pub(in crate::assess) fn strongest(&self, selection: PartSelection) -> LargestSum {
        let mut best = LargestSum { sum: PowerSum::default(), ledger: 0, basis: Basis::Lifetime };
        let ledgers = self.directions.iter().map(|flows| flows.ledger + 1).max().unwrap_or(0);
        for ledger in 0..ledgers {
            for basis in BASES {
                let directions = self.directions.iter().filter(|flows| flows.ledger == ledger);
                let sum = directions
                    .map(|flows| flows.sum(selection, basis))
                    .fold(PowerSum::default(), PowerSum::plus);
                if sum > best.sum {
                    best = LargestSum { sum, ledger, basis };
                }
            }
        }
        best
    }

    /// Every flow part with a claim of a severity above 0, and the part's weight in `largest`; parts outside
    /// `selection` have the weight 0.
    pub(in crate::assess) fn weighted(
        &self,
        largest: LargestSum,
        selection: PartSelection,
    ) -> Vec<WeightedPart> {
        let mut weighted = Vec::new();
        for (directional, flows) in self.directions.iter().enumerate() {
            let weights = flows.weights(selection, largest.basis);
            let parts = flows.parts.iter().enumerate().zip(weights);
            let risky = parts.filter(|((_, part), _)| part.is_risk());
            weighted.extend(risky.map(|((index, part), weight)| {
                let claim =
                    selection.counted_claim(part, largest.basis).or_else(|| part.shown_claim());
                WeightedPart {
                    tier: claim.map_or(part.flow.tier, |claim| claim.tier),
                    weight: if flows.ledger == largest.ledger { weight } else { 0 },
                    component: flows.component(part, claim, selection.decay),
                    place: PartPlace { directional, part: index },
                }
            }));
        }
        weighted
    }
}

impl Flows<'_> {
    /// These flows without the money of some parts.
    pub(in crate::assess) fn without(&self, places: &BTreeSet<PartPlace>) -> Self {
        let mut flows = self.clone();
        for PartPlace { directional, part } in places {
            let parts = flows.directions.get_mut(*directional).map(|flows| &mut flows.parts);
            if let Some(part) = parts.and_then(|parts| parts.get_mut(*part)) {
                part.counted = false;
            }
        }
        flows
    }
}

impl DirectionalFlows<'_> {
    fn sum(&self, selection: PartSelection, basis: Basis) -> PowerSum {
        let chosen = self.chosen(selection, basis);
        match basis {
            Basis::Lifetime | Basis::Recent | Basis::Outstanding | Basis::RecentOutstanding => {
                PowerSum::weighted(
                    chosen.map(|chosen| (chosen.amount, chosen.power)),
                    self.whole(basis),
                )
            }
            Basis::Amount => {
                let steps = self.steps(chosen);
                PowerSum::of_products(steps.values().map(|step| (step.rise, step.power)))
            }
        }
    }

    /// The selected flow parts that count.
    fn chosen(&self, selection: PartSelection, basis: Basis) -> impl Iterator<Item = SelectedPart> {
        self.parts.iter().filter_map(move |part| SelectedPart::of(part, selection, basis))
    }

    /// The weight `e x r^2.5` (effective share `e`, risk `r`) of every flow part, on one basis.
    fn weights(&self, selection: PartSelection, basis: Basis) -> Vec<u128> {
        let steps = match basis {
            Basis::Amount => self.steps(self.chosen(selection, basis)),
            _ => BTreeMap::new(),
        };
        let whole = self.whole(basis);
        let weight = |SelectedPart { power, amount }| match steps.get(&Reverse(power)) {
            Some(step) => {
                let product = step.rise.times(step.power);
                proportion(amount, U256::from(step.amount), product.units().into())
            }
            None if basis == Basis::Amount => 0,
            None => proportion(amount, whole, power.units().into()),
        };
        let parts = self.parts.iter();
        parts.map(|part| SelectedPart::of(part, selection, basis).map_or(0, weight)).collect()
    }

    /// The standalone score of a flow part, on the basis that gives the highest score.
    pub(super) fn alone(&self, part: &Part<'_>, decay: Decay) -> Fraction {
        let selection = PartSelection { weakest: Some(Tier::Behavior), risky_only: false, decay };
        let on = |basis| {
            let Some(SelectedPart { power, amount }) = SelectedPart::of(part, selection, basis)
            else {
                return PowerSum::default();
            };
            match (basis, self.curve) {
                (Basis::Amount, Some(curve)) => {
                    PowerSum::of_products([(curve.weight(amount, self.decimals), power)])
                }
                (Basis::Amount, None) => PowerSum::default(),
                _ => PowerSum::weighted([(amount, power)], self.whole(basis)),
            }
        };
        BASES.map(on).into_iter().max().unwrap_or_default().root()
    }

    /// The total of which a basis computes shares: the sum of all flow parts, selected or not, without returned funds.
    fn whole(&self, basis: Basis) -> U256 {
        let sum = |amount: &dyn Fn(&Part<'_>) -> u128| {
            let parts = self.parts.iter().filter(|part| part.is_of_whole());
            parts.map(amount).fold(U256::ZERO, |sum, amount| sum + U256::from(amount))
        };
        let recent =
            |recent: U256, whole: U256| recent.max(whole.div_ceil(U256::from(RECENT_ONE_IN)));
        let moved = |amount: fn(&Mass) -> u128| sum(&|part| amount(&part.flow.mass));
        let outstanding =
            |amount: fn(&Mass) -> u128| sum(&|part| part.outstanding(amount(&part.flow.mass)));
        match basis {
            Basis::Lifetime => moved(|mass| mass.total()),
            Basis::Recent => recent(moved(|mass| mass.recent), moved(|mass| mass.total())),
            Basis::Outstanding => outstanding(|mass| mass.total()),
            Basis::RecentOutstanding => {
                recent(outstanding(|mass| mass.recent), outstanding(|mass| mass.total()))
            }
            Basis::Amount => U256::ZERO,
        }
    }

    /// Stacks the amounts of `chosen` parts along the amount curve, the riskiest first: one step for each risk.
    fn steps(
        &self,
        chosen: impl Iterator<Item = SelectedPart>,
    ) -> BTreeMap<Reverse<Power>, CurveStep> {
        let mut steps: BTreeMap<Reverse<Power>, CurveStep> = BTreeMap::new();
        let Some(curve) = self.curve else {
            return steps;
        };
        for SelectedPart { power, amount } in chosen {
            let step = steps.entry(Reverse(power)).or_default();
            step.power = power;
            step.amount = step.amount.saturating_add(amount);
        }
        let (mut total, mut reached) = (0_u128, Power::default());
        for step in steps.values_mut() {
            total = total.saturating_add(step.amount);
            let height = curve.weight(total, self.decimals);
            step.rise = height.minus(reached);
            reached = height;
        }
        steps
    }
}

/// A selected flow part that counts on a basis.
#[derive(Clone, Copy)]
struct SelectedPart {
    /// The part's risk to the power 2.5.
    power: Power,
    /// The amount that counts, in the unit of the basis.
    amount: u128,
}

impl SelectedPart {
    fn of(part: &Part<'_>, selection: PartSelection, basis: Basis) -> Option<Self> {
        let claim = selection.counted_claim(part, basis)?;
        Some(Self { power: claim.power, amount: part.amount(claim, basis, selection.decay) })
    }
}

/// A section of the amount curve: all amounts of one risk.
#[derive(Default)]
struct CurveStep {
    power: Power,
    amount: u128,
    rise: Power,
}

/// `amount x power / whole`, rounded down.
fn proportion(amount: u128, whole: U256, power: u128) -> u128 {
    if whole.is_zero() {
        return 0;
    }
    u128::try_from(U256::from(amount) * U256::from(power) / whole).unwrap_or(u128::MAX)
}
