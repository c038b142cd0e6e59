//! Sum of the parts of flows.
//!
//! Everything here is exact until one final rounding for a sum, so that splitting a part changes
//! nothing and calling it riskier never lowers a sum.

use std::{cmp::Reverse, collections::BTreeMap};

use ruint::aliases::U256;

use super::{
    Flows,
    parts::{DirectionalFlows, Part, PartClaim},
};
use crate::{
    assessment::ScoringComponent,
    evidence::Tier,
    fixed::{Fraction, Power, PowerSum},
    taxonomy::RISKY_FROM,
};

/// Basis on which effective shares are computed. The basis with the largest sum counts for all
/// parts: a choice per part would make the sum depend on how money is split, and a riskier
/// classification of money could lower it (`docs/scoring.md` shows the cases).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// A part's share of all money of its direction.
    Lifetime,
    /// The same over the last 90 days.
    Recent,
    /// The amount by itself. Amounts lie on the policy's curve from the riskiest down, so that each
    /// part gets the rise of the curve over its own stretch.
    Amount,
}

const BASES: [Basis; 3] = [Basis::Lifetime, Basis::Recent, Basis::Amount];

/// The largest power sum of a choice of parts, and how it was read.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) struct Reading {
    sum: PowerSum,
    ledger: usize,
    basis: Basis,
}

impl Reading {
    /// Score of the flows together.
    pub(in crate::assess) fn standalone_risk(&self) -> Fraction {
        self.sum.root()
    }
}

/// A part's weight `e x r^2.5` in a [`Reading`].
pub(in crate::assess) struct Weighted {
    pub(in crate::assess) tier: Tier,
    pub(in crate::assess) weight: u128,
    pub(in crate::assess) component: ScoringComponent,
}

/// Selection of parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::assess) struct Choice {
    /// Parts of this tier and stronger; `None` takes nothing.
    pub(in crate::assess) weakest: Option<Tier>,
    /// Parts of risky categories only.
    pub(in crate::assess) risky_only: bool,
}

impl Choice {
    /// The claim by which a part counts; `None` if it does not count.
    fn counted_claim(self, part: &Part) -> Option<&PartClaim> {
        let weakest = self.weakest.filter(|_| part.counted)?;
        part.strongest(|claim| {
            claim.tier.at_least(weakest) && (!self.risky_only || claim.severity >= RISKY_FROM)
        })
    }
}

impl Flows {
    /// The ledger and basis on which the chosen parts weigh most, both directions together.
    pub(in crate::assess) fn strongest(&self, choice: Choice) -> Reading {
        let mut best = Reading { sum: PowerSum::default(), ledger: 0, basis: Basis::Lifetime };
        let ledgers = self.directions.iter().map(|flows| flows.ledger + 1).max().unwrap_or(0);
        for ledger in 0..ledgers {
            for basis in BASES {
                let directions = self.directions.iter().filter(|flows| flows.ledger == ledger);
                let sum = directions
                    .map(|flows| flows.sum(choice, basis))
                    .fold(PowerSum::default(), PowerSum::plus);
                if sum > best.sum {
                    best = Reading { sum, ledger, basis };
                }
            }
        }
        best
    }

    /// Every part that can carry risk, with its weight in `reading` where `choice` takes it and none
    /// where it does not.
    pub(in crate::assess) fn weighted(&self, reading: Reading, choice: Choice) -> Vec<Weighted> {
        let mut weighted = Vec::new();
        for flows in &self.directions {
            let weights = flows.weights(choice, reading.basis);
            let risky = flows.parts.iter().zip(weights).filter(|(part, _)| part.is_risk());
            weighted.extend(risky.map(|(part, weight)| {
                let claim = choice.counted_claim(part).or_else(|| part.strongest(|_| true));
                Weighted {
                    tier: claim.map_or(part.flow.tier, |claim| claim.tier),
                    weight: if flows.ledger == reading.ledger { weight } else { 0 },
                    component: flows.component(part, claim),
                }
            }));
        }
        weighted
    }
}

impl DirectionalFlows {
    fn sum(&self, choice: Choice, basis: Basis) -> PowerSum {
        let chosen = self.chosen(choice);
        match basis {
            Basis::Lifetime => PowerSum::weighted(
                chosen.map(|(part, power)| (part.flow.amount, power)),
                self.whole(|part| part.flow.amount),
            ),
            Basis::Recent => PowerSum::weighted(
                chosen.map(|(part, power)| (part.flow.recent, power)),
                self.whole(|part| part.flow.recent),
            ),
            Basis::Amount => {
                let steps = self.steps(chosen);
                PowerSum::of_products(steps.values().map(|step| (step.rise, step.power)))
            }
        }
    }

    /// The parts that count, each with its risk to the power 2.5.
    fn chosen(&self, choice: Choice) -> impl Iterator<Item = (&Part, Power)> {
        self.parts
            .iter()
            .filter_map(move |part| choice.counted_claim(part).map(|claim| (part, claim.power)))
    }

    /// `e x r^2.5` of every part, comparable among all parts on one basis.
    fn weights(&self, choice: Choice, basis: Basis) -> Vec<u128> {
        let steps = self.steps(self.chosen(choice));
        let (lifetime, recent) =
            (self.whole(|part| part.flow.amount), self.whole(|part| part.flow.recent));
        let weight = |part: &Part, power: Power| {
            let step = steps.get(&Reverse(power));
            let power = u128::from(power.units());
            match basis {
                Basis::Lifetime => proportion(part.flow.amount, lifetime, power),
                Basis::Recent => proportion(part.flow.recent, recent, power),
                Basis::Amount => step.map_or(0, |step| {
                    let product = step.rise.times(step.power);
                    proportion(part.flow.amount, U256::from(step.amount), product.units().into())
                }),
            }
        };
        let weigh = |part| choice.counted_claim(part).map_or(0, |claim| weight(part, claim.power));
        self.parts.iter().map(weigh).collect()
    }

    /// Score that a part would have alone, on its best basis.
    pub(super) fn alone(&self, part: &Part) -> Fraction {
        let Some(claim) = part.strongest(|_| part.counted) else {
            return Fraction::ZERO;
        };
        let share = |amount, whole| PowerSum::weighted([(amount, claim.power)], whole);
        let height = self
            .curve
            .as_ref()
            .map_or_else(Power::default, |curve| curve.weight(part.flow.amount, self.decimals));
        share(part.flow.amount, self.whole(|part| part.flow.amount))
            .max(share(part.flow.recent, self.whole(|part| part.flow.recent)))
            .max(PowerSum::of_products([(height, claim.power)]))
            .root()
    }

    /// The sum of all parts, chosen or not.
    pub(super) fn whole(&self, amount: impl Fn(&Part) -> u128) -> U256 {
        self.parts.iter().fold(U256::ZERO, |sum, part| sum + U256::from(amount(part)))
    }

    /// The amounts of `chosen` parts laid on the curve from the riskiest down, one step for each risk.
    fn steps<'a>(
        &self,
        chosen: impl Iterator<Item = (&'a Part, Power)>,
    ) -> BTreeMap<Reverse<Power>, Step> {
        let mut steps: BTreeMap<Reverse<Power>, Step> = BTreeMap::new();
        let Some(curve) = &self.curve else {
            return steps;
        };
        for (part, power) in chosen {
            let step = steps.entry(Reverse(power)).or_default();
            step.power = power;
            step.amount = step.amount.saturating_add(part.flow.amount);
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

/// One stretch of the amount curve: all amounts of one risk.
#[derive(Default)]
struct Step {
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
