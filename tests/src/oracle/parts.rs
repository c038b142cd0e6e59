//! Parts: what ended where, and how much of it.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{FlowEnd, FlowPart, ListingSplit, Tier},
    score::Confidence,
    trace::attribution::CarriedLabel,
};
use num_bigint::BigUint;

use super::amounts::{Money, SCALE_BITS, by_largest_remainder};

/// By what parts are told apart, in this order.
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

/// When money of a part moved, seen from the day on which its end was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moved {
    NotListed,
    Undated,
    Before,
    Since,
}

/// What ended somewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) money: Money,
    pub(super) moved: BTreeMap<Moved, BigUint>,
}

/// The parts of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts(pub(super) BTreeMap<Key, Part>);

impl Parts {
    pub(super) fn add(&mut self, key: Key, money: &Money, moved: Moved) {
        let part = self.0.entry(key).or_default();
        part.money.add(money);
        *part.moved.entry(moved).or_default() += money.total();
    }

    /// The parts in base units.
    pub(super) fn flows(&self) -> Vec<FlowPart> {
        let recent = base_units(self.0.values().map(|part| &part.money.recent).collect());
        let earlier = base_units(self.0.values().map(|part| &part.money.earlier).collect());
        let amounts = recent.into_iter().zip(earlier);
        let flow = |((key, part), (recent, earlier)): ((&Key, &Part), (u128, u128))| FlowPart {
            end: key.end,
            entity: key.entity.clone(),
            hops: key.hops,
            tier: key.tier,
            confidence: key.confidence,
            amount: recent + earlier,
            recent,
            listed: key.listed,
            solicited: key.solicited,
            carried: key.carried.clone(),
            listing: part.listing(recent + earlier),
            transactions: Vec::new(),
            paths: Vec::new(),
        };
        let flows = self.0.iter().zip(amounts).map(flow);
        flows.filter(|flow| flow.amount > 0).collect()
    }
}

impl Part {
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
