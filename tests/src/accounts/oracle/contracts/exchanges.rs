//! C2: exchanges, in which everybody keeps his own history.

use num_traits::{One, Zero};

use super::{
    super::{
        Exact,
        netting::{Paid, circle},
    },
    funds::is_tiny,
    state::{Account, AssetIndex},
    values::Values,
};

/// The netted transfers of one payer, receiver and scored asset.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) from: Account,
    pub(super) to: Account,
    pub(super) coin: AssetIndex,
    pub(super) amount: Exact,
}

/// One member's part of an exchange.
#[derive(Debug)]
pub(super) struct Trade {
    pub(super) member: Account,
    pub(super) got: (AssetIndex, Exact),
    pub(super) gave: (AssetIndex, Exact),
}

/// Takes exchanges out of flows: one for each circle, with the parts of its members.
pub(super) fn exchanges(
    flows: &mut Vec<Flow>,
    values: &Values,
    may_trade: impl Fn(&Flow) -> bool,
) -> Vec<Vec<Trade>> {
    let whole: Vec<Exact> = flows.iter().map(|flow| flow.amount.clone()).collect();
    let mut exchanges = Vec::new();
    while let Some(circle) = first_circle(flows, &may_trade) {
        let value = |index: &usize| values.of(flows[*index].coin, &flows[*index].amount);
        let least = circle.iter().map(value).min().expect("a circle has members");
        let mut moved = Vec::new();
        for index in circle {
            let flow = &mut flows[index];
            let mut amount = values.amount(flow.coin, &least);
            let rest = &flow.amount - &amount;
            if rest <= Exact::one() || is_tiny(&rest, &whole[index]) {
                amount.clone_from(&flow.amount);
            }
            flow.amount -= &amount;
            moved.push(Flow { amount, ..flow.clone() });
        }
        let parts = moved.iter().zip(moved.iter().cycle().skip(1));
        let trade = |(got, gave): (&Flow, &Flow)| Trade {
            member: got.to,
            got: (got.coin, got.amount.clone()),
            gave: (gave.coin, gave.amount.clone()),
        };
        exchanges.push(parts.map(trade).collect());
    }
    flows.retain(|flow| !flow.amount.is_zero());
    exchanges
}

/// The flows of the first circle, each followed by one that its receiver pays.
fn first_circle(flows: &[Flow], may_trade: impl Fn(&Flow) -> bool) -> Option<Vec<usize>> {
    let mut pairs: Vec<Paid<Account>> = Vec::new();
    let mut of_pairs = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let is_known = pairs.iter().any(|pair| (pair.from, pair.to) == (flow.from, flow.to));
        if !is_known && !flow.amount.is_zero() && may_trade(flow) {
            pairs.push(Paid { from: flow.from, to: flow.to, amount: flow.amount.clone() });
            of_pairs.push(index);
        }
    }
    let circle = circle(&pairs)?;
    Some(circle.into_iter().map(|pair| of_pairs[pair]).collect())
}
