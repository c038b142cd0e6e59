//! Exchanges within a transaction (`docs/model/accounts.md` C2): everybody keeps his own history.

use rustc_hash::FxHashSet;

use super::{
    super::{AssetNumber, circles::Circles},
    value::{DayValues, Value},
};
use crate::ledger::OwnerNumber;

/// Bits below which what is left of an amount goes along with it.
const TINY: u32 = 32;

/// True if a rest is too little of an amount to be told apart.
pub(in super::super) const fn is_tiny(rest: u128, amount: u128) -> bool {
    rest <= amount >> TINY
}

/// The netted transfers of one payer, receiver and scored asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Flow {
    pub(in super::super) from: OwnerNumber,
    pub(in super::super) to: OwnerNumber,
    pub(in super::super) asset: AssetNumber,
    pub(super) amount: u128,
}

/// One member's part of an exchange: it got an amount from another member, and gave one of another asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trade {
    /// The number of the circle, in the order of the exchanges.
    pub(super) circle: usize,
    pub(super) member: OwnerNumber,
    pub(super) from: OwnerNumber,
    pub(super) got: (AssetNumber, u128),
    pub(super) gave: (AssetNumber, u128),
}

/// Takes exchanges out of flows: as long as a circle of flows exists, each member gives and gets its least value.
/// `may_trade` tells the flows that may be a part of a circle.
pub(super) fn exchanges(
    flows: &mut Vec<Flow>,
    values: &DayValues,
    may_trade: impl Fn(&Flow) -> bool,
) -> Vec<Trade> {
    let payers: FxHashSet<OwnerNumber> = flows.iter().map(|flow| flow.from).collect();
    if !flows.iter().any(|flow| payers.contains(&flow.to)) {
        return Vec::new();
    }
    let before: Vec<u128> = flows.iter().map(|flow| flow.amount).collect();
    let in_trade: Vec<bool> = flows.iter().map(may_trade).collect();
    let mut search = Circles::among(flows.iter().map(|flow| (flow.from, flow.to)));
    let (mut trades, mut circles) = (Vec::new(), 0);
    while let Some(members) = search.next(|index| {
        in_trade.get(index) == Some(&true) && flows.get(index).is_some_and(|flow| flow.amount > 0)
    }) {
        let value_of = |flow: &Flow| values.value(flow.asset, flow.amount);
        let of_members = members.iter().filter_map(|index| flows.get(*index));
        let least: Value = of_members.map(value_of).min().unwrap_or_default();
        let mut moved: Vec<Flow> = Vec::with_capacity(members.len());
        for index in &members {
            let (Some(flow), Some(whole)) = (flows.get_mut(*index), before.get(*index)) else {
                return trades;
            };
            let mut amount = values.amount(flow.asset, least).min(flow.amount);
            let rest = flow.amount - amount;
            if rest <= 1 || is_tiny(rest, *whole) {
                amount = flow.amount;
            }
            flow.amount -= amount;
            moved.push(Flow { amount, ..*flow });
        }
        if moved.iter().all(|flow| flow.amount == 0) {
            break;
        }
        let next = moved.iter().cycle().skip(1);
        let number = circles;
        circles += 1;
        trades.extend(moved.iter().zip(next).map(|(got, gave)| Trade {
            circle: number,
            member: got.to,
            from: got.from,
            got: (got.asset, got.amount),
            gave: (gave.asset, gave.amount),
        }));
    }
    flows.retain(|flow| flow.amount > 0);
    trades
}
