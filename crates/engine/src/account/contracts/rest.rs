//! Payments that exchanges leave, payers first (`docs/model/accounts.md` C3).

use ruint::aliases::U256;
use rustc_hash::FxHashMap;

use super::{
    super::{
        AssetNumber, LedgerBook,
        shares::{Hop, Shares},
    },
    exchange::{Flow, is_tiny},
    holding::Lot,
    masses::Masses,
    payout::Payout,
    transaction::{PaidLot, Transaction},
    value::{Value, part_of},
};
use crate::ledger::OwnerNumber;

/// Bits below which what does not return what the receiver put in is nothing.
const NOTHING_NEW: u32 = 30;

/// A payment that has left its payer, with its breakdown.
#[derive(Clone, Debug)]
pub(super) struct Outflow {
    pub(super) flow: Flow,
    /// Breakdown at the payer before the hop, or, for [`Hop::Counted`], at the receiver.
    pub(super) shares: Shares,
    pub(super) hop: Hop,
    /// Part of the amount that returns what the receiver put in.
    pub(super) returned: u128,
    /// Part of the amount that a contract pays and no source explains.
    pub(super) excess: u128,
    /// Breakdown of what the payment took from the payer's ledger, if the payer only passed it on.
    replaced: Option<Shares>,
    /// Breakdown of what enters the receiver's ledger, if the receiver passes money on within the transaction.
    pub(super) kept: Option<Shares>,
}

/// A flow with its value.
struct Valued {
    flow: Flow,
    value: Value,
    /// Breakdown of all that the payer pays of the asset within the transaction.
    paid: Shares,
    is_conversion: bool,
}

/// The money that an account passes on within the transaction: of its outflow, the part `passed / sent` is made of what it received.
struct Passage {
    received: Value,
    sent: Value,
    passed: Value,
    /// Breakdown of what it received.
    shares: Shares,
}

impl<B: LedgerBook> Transaction<'_, B> {
    /// Pays flows, which have no circles. `shares` tells the breakdown of all that an account pays of an asset, and whether a
    /// flow is a conversion.
    pub(super) fn pay(
        &mut self,
        flows: &[Flow],
        breakdown: impl Fn(&Flow) -> (Shares, bool),
    ) -> Vec<Outflow> {
        let valued: Vec<Valued> = flows
            .iter()
            .map(|flow| {
                let (paid, is_conversion) = breakdown(flow);
                let value = self.about.values.value(flow.asset, flow.amount);
                Valued { flow: *flow, value, paid, is_conversion }
            })
            .collect();
        for Valued { flow, value, .. } in &valued {
            let sum = self.incoming.entry((flow.from, flow.to)).or_default();
            *sum = sum.saturating_add(*value);
        }
        let mut outflows: Vec<Option<Outflow>> = valued.iter().map(|_| None).collect();
        let mut order: Vec<usize> = Vec::new();
        for Party { owner, incoming, outgoing } in payers_first(flows) {
            let passage = self.passage(owner, (&incoming, &outgoing), &valued, &outflows);
            for index in &outgoing {
                let outflow = valued.get(*index).map(|it| self.pay_flow(it, &passage));
                if let (Some(into), Some(outflow)) = (outflows.get_mut(*index), outflow) {
                    *into = Some(outflow);
                }
            }
            keep_own((&incoming, &outgoing), &passage, &valued, &mut outflows);
            order.extend(incoming);
        }
        order.into_iter().filter_map(|index| outflows.get_mut(index)?.take()).collect()
    }

    fn passage(
        &self,
        payer: OwnerNumber,
        (incoming, outgoing): (&[usize], &[usize]),
        valued: &[Valued],
        outflows: &[Option<Outflow>],
    ) -> Passage {
        let sum = |of: &[usize]| {
            let all = of.iter().filter_map(|index| valued.get(*index)).map(|it| it.value);
            all.fold(Value::ZERO, Value::saturating_add)
        };
        let (received, sent) = (sum(incoming), sum(outgoing));
        // Conversions are in circles: nobody knows what passes through.
        let mut own = incoming.iter().chain(outgoing).filter_map(|index| valued.get(*index));
        let is_resolved = !self.is_end(payer) && !own.any(|it| it.is_conversion);
        let passed = if is_resolved { received.min(sent) } else { Value::ZERO };
        let mut masses = Masses::default();
        if !passed.is_zero() {
            for index in incoming {
                let known = valued.get(*index).zip(outflows.get(*index).and_then(Option::as_ref));
                if let Some((valued, outflow)) = known {
                    masses.add(&outflow.shares, valued.value, outflow.hop);
                }
            }
        }
        Passage { received, sent, passed, shares: masses.over(received) }
    }

    /// Pays one flow.
    fn pay_flow(&mut self, valued: &Valued, passage: &Passage) -> Outflow {
        let Valued { flow, paid, is_conversion, .. } = valued;
        let Flow { from, to, asset, amount } = *flow;
        let mut through = if passage.passed < passage.sent {
            part_of(amount, passage.passed, passage.sent)
        } else {
            amount
        };
        if is_tiny(amount - through, amount) {
            through = amount;
        }
        if is_tiny(through, amount) {
            through = 0;
        }
        let own = amount - through;
        let mut payout = None;
        if own > 0 {
            // Units that nobody had are issued: a loan, perhaps.
            let pays_out = self.is_pool(from) || from == OwnerNumber::NOBODY;
            let is_payout = pays_out && !self.is_end(to);
            let breakdown = (paid, *is_conversion);
            payout = is_payout.then(|| self.payout((from, to), (asset, own), breakdown));
            self.note_paid(valued, own, payout.as_ref());
        }
        // The ledger of a contract may be more severe by now than before its earlier payouts.
        let replaced = (through > 0).then(|| self.shares_of(from, asset, through));
        if through > 0 {
            self.take(from, asset, through);
        }
        if own > 0 {
            match &payout {
                Some(payout) => self.leave(from, (asset, own), &payout.shares, &payout.used),
                None => self.take(from, asset, own),
            }
        }
        let is_resolved = self.is_pool(from) && !is_conversion;
        let (returned, excess) = parts_of(amount, payout.as_ref().filter(|_| is_resolved));
        let (shares, hop) = match (payout, through) {
            (None, 0) => (paid.clone(), self.hop(from)),
            (Some(payout), 0) => (payout.shares, Hop::Counted),
            (payout, _) => {
                let mut masses = Masses::default();
                match payout {
                    Some(payout) => masses.add(&payout.shares, U256::from(own), Hop::Counted),
                    None => masses.add(paid, U256::from(own), self.hop(from)),
                }
                masses.add(&passage.shares, U256::from(through), Hop::Counted);
                (masses.over(U256::from(amount)), Hop::Counted)
            }
        };
        let shares = if *is_conversion { shares.converted() } else { shares };
        Outflow { flow: *flow, shares, hop, returned, excess, replaced, kept: None }
    }

    /// Notes what an account paid of its own, and what it put into a contract or got out on balance.
    fn note_paid(&mut self, valued: &Valued, own: u128, payout: Option<&Payout>) {
        let Flow { from, to, asset, .. } = valued.flow;
        let shares = payout.map_or(&valued.paid, |payout| &payout.shares);
        let shares = if valued.is_conversion { shares.converted() } else { shares.clone() };
        let lot = Lot { asset, amount: own, shares };
        self.paid.push(PaidLot { payer: from, to, lot });
        let value = self.about.values.value(asset, own);
        if self.is_pool(from) && to != OwnerNumber::NOBODY {
            self.lower_put_in(to, from, value);
        }
        if self.is_pool(to) && !self.is_end(from) {
            let tie = self.book.states_mut().tie_mut(from, to);
            tie.put_in = tie.put_in.saturating_add(value);
        }
    }
}

/// The parts of an amount that return what the receiver put in, and that no source explains.
fn parts_of(amount: u128, payout: Option<&Payout>) -> (u128, u128) {
    let Some(payout) = payout else { return (0, 0) };
    let is_nothing = |rest: u128| rest <= amount >> NOTHING_NEW;
    let returned = payout.returned.min(amount);
    let rest = amount - returned;
    if is_nothing(rest) {
        return (amount, 0);
    }
    let excess = payout.excess.min(rest);
    if is_nothing(excess) {
        return (returned, 0);
    }
    (returned, if is_nothing(rest - excess) { rest } else { excess })
}

/// An account that passes money on keeps what this took from its ledger.
fn keep_own(
    (incoming, outgoing): (&[usize], &[usize]),
    passage: &Passage,
    valued: &[Valued],
    outflows: &mut [Option<Outflow>],
) {
    if passage.passed.is_zero() {
        return;
    }
    let mut own = Masses::default();
    for index in outgoing {
        let Some(sent) = valued.get(*index) else { continue };
        let replaced = outflows.get(*index).and_then(|it| it.as_ref()?.replaced.as_ref());
        own.add(replaced.unwrap_or(&sent.paid), sent.value, Hop::Counted);
    }
    let own = own.over(passage.sent);
    for index in incoming {
        let Some(Some(outflow)) = outflows.get_mut(*index) else { continue };
        let mut kept = Masses::default();
        kept.add(&outflow.shares, passage.received - passage.passed, outflow.hop);
        kept.add(&own, passage.passed, Hop::Counted);
        outflow.kept = Some(kept.over(passage.received));
    }
}

/// An account with the positions of the flows that it gets and pays.
struct Party {
    owner: OwnerNumber,
    incoming: Vec<usize>,
    outgoing: Vec<usize>,
}

/// The accounts of flows, each after those that pay it, in the order of the transaction.
fn payers_first(flows: &[Flow]) -> Vec<Party> {
    let mut positions: FxHashMap<OwnerNumber, usize> = FxHashMap::default();
    let mut parties: Vec<Party> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        for owner in [flow.from, flow.to] {
            let next = parties.len();
            let position = *positions.entry(owner).or_insert(next);
            if position == next {
                parties.push(Party { owner, incoming: Vec::new(), outgoing: Vec::new() });
            }
            let Some(party) = parties.get_mut(position) else { continue };
            let own = if owner == flow.from { &mut party.outgoing } else { &mut party.incoming };
            own.push(index);
        }
    }
    let mut waits_for: Vec<usize> = parties.iter().map(|party| party.incoming.len()).collect();
    let is_first = |position: &usize| waits_for.get(*position) == Some(&0);
    let mut order: Vec<usize> = (0..parties.len()).filter(is_first).collect();
    let mut next = 0;
    while let Some(party) = order.get(next).and_then(|position| parties.get(*position)) {
        next += 1;
        let payees = party.outgoing.iter().filter_map(|index| flows.get(*index)).map(|it| it.to);
        for position in payees.filter_map(|payee| positions.get(&payee).copied()) {
            let Some(left) = waits_for.get_mut(position) else { continue };
            *left -= 1;
            if *left == 0 {
                order.push(position);
            }
        }
    }
    // Circles are left only around parties at which money ends.
    order.extend((0..parties.len()).filter(|position| waits_for.get(*position) != Some(&0)));
    let mut parties: Vec<Option<Party>> = parties.into_iter().map(Some).collect();
    let taken = order.into_iter().map(|position| parties.get_mut(position)?.take());
    taken.flatten().collect()
}

/// The breakdown of all that an account pays of an asset.
pub(super) type PaidShares = FxHashMap<(OwnerNumber, AssetNumber), Shares>;
