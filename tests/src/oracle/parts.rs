//! Parts: what ended where, and how much of it.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{FlowEnd, FlowPart, FlowPath, ListingSplit, Tier},
    score::Confidence,
    trace::attribution::CarriedLabel,
};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Money, SCALE_BITS, by_largest_remainder},
    paths::{Path, Steps, shown},
};

/// Key by which parts are distinguished, in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) end: FlowEnd,
    pub(super) entity: Option<String>,
    pub(super) hops: u8,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    pub(super) listed: bool,
    pub(super) solicited: bool,
    pub(super) carried: Vec<CarriedLabel>,
}

/// Time at which money of a part moved, relative to the day on which its endpoint was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moved {
    NotListed,
    Undated,
    Before,
    Since,
}

/// Money with the same endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) money: Money,
    pub(super) moved: BTreeMap<Moved, BigUint>,
    pub(super) paths: BTreeMap<Steps, BigUint>,
}

/// The parts of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts(pub(super) BTreeMap<Key, Part>);

impl Parts {
    /// Money that ended; of none nothing is left.
    pub(super) fn add(&mut self, key: Key, money: &Money, moved: Moved, path: &Path) {
        let part = self.0.entry(key).or_default();
        // The subject's balance, and amounts that were not read, have no path.
        if !path.steps.is_empty() {
            *part.paths.entry(path.steps.clone()).or_default() += &path.amount;
        }
        part.money.add(money);
        *part.moved.entry(moved).or_default() += money.total();
    }

    /// Recent and earlier amounts in base units, part by part.
    fn in_base_units(&self) -> Vec<(u128, u128)> {
        let recent = base_units(self.0.values().map(|part| &part.money.recent).collect());
        let earlier = base_units(self.0.values().map(|part| &part.money.earlier).collect());
        recent.into_iter().zip(earlier).collect()
    }

    /// Amount of each part in base units.
    pub(super) fn amounts(&self) -> BTreeMap<&Key, u128> {
        let amounts = self.in_base_units().into_iter().map(|(recent, earlier)| recent + earlier);
        self.0.keys().zip(amounts).collect()
    }

    /// The parts in base units.
    pub(super) fn flows(&self, case: &Case) -> Vec<FlowPart> {
        let flow = |((key, part), (recent, earlier)): ((&Key, &Part), (u128, u128))| FlowPart {
            end: key.end,
            entity: key.entity.clone(),
            hops: key.hops,
            tier: key.tier,
            confidence: key.confidence,
            amount: recent + earlier,
            recent,
            listed: key.listed,
            listed_by: None,
            solicited: key.solicited,
            carried: key.carried.clone(),
            listing: part.listing(recent + earlier),
            transactions: Vec::new(),
            paths: part.paths(recent + earlier, case),
        };
        let flows = self.0.iter().zip(self.in_base_units()).map(flow);
        let mut flows: Vec<FlowPart> = flows.filter(|flow| flow.amount > 0).collect();
        for flow in &mut flows {
            for step in flow.paths.iter().flat_map(|path| &path.steps) {
                if !flow.transactions.contains(&step.transaction) {
                    flow.transactions.push(step.transaction.clone());
                }
            }
        }
        flows
    }
}

impl Part {
    /// The largest paths, no larger than the part.
    fn paths(&self, amount: u128, case: &Case) -> Vec<FlowPath> {
        let mut paths: Vec<(&Steps, &BigUint)> = self.paths.iter().collect();
        // Sorting keeps the order of equals.
        paths.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
        paths.truncate(case.rules.paths_per_part);
        let base_units = |taken: &BigUint| small(taken >> SCALE_BITS).min(amount);
        let paths = paths.into_iter();
        paths.map(|(steps, taken)| shown(steps, base_units(taken), case.chain)).collect()
    }

    fn listing(&self, amount: u128) -> Option<ListingSplit> {
        if self.moved.contains_key(&Moved::NotListed) || self.moved.contains_key(&Moved::Undated) {
            return None;
        }
        let moved = |when| self.moved.get(&when).cloned().unwrap_or_default();
        let weights = [moved(Moved::Before), moved(Moved::Since)];
        let split = by_largest_remainder(&BigUint::from(amount), &weights);
        let [before, since] = [&split[0], &split[1]].map(|amount| small(amount.clone()));
        Some(ListingSplit { before, since })
    }
}

/// Shares the sum of amounts, in base units, out among them.
fn base_units(amounts: Vec<&BigUint>) -> Vec<u128> {
    let weights: Vec<BigUint> = amounts.into_iter().cloned().collect();
    let whole: BigUint = weights.iter().sum::<BigUint>() >> SCALE_BITS;
    by_largest_remainder(&whole, &weights).into_iter().map(small).collect()
}

pub(super) fn small(amount: BigUint) -> u128 {
    u128::try_from(amount).expect("an amount of money")
}
