//! C3: payments that exchanges leave, payers first.

use num_traits::Zero;

use super::{
    super::Exact,
    booking::{Booking, PaidLot},
    exchanges::Flow,
    funds::{Funds, is_tiny},
    state::{Account, AssetIndex, NOBODY},
    values::Values,
};

/// A flow that has left its payer.
struct Arrived {
    /// At the receiver, after the hop.
    funds: Funds,
    /// As much money as was sent, of the payer's ledger at that moment.
    replaced: Funds,
    /// Money that enters the receiver's ledger instead, if it passes money on.
    kept: Option<Funds>,
}

/// The money that passes through an account, by value.
struct Passage {
    received: Exact,
    sent: Exact,
    passed: Exact,
    /// All that it received.
    funds: Funds,
}

impl Booking<'_> {
    /// Pays flows, and returns what enters ledgers.
    pub(super) fn pay(&mut self, flows: &[Flow]) -> Vec<(Account, AssetIndex, Funds)> {
        for flow in flows {
            let value = self.values.of(flow.coin, &flow.amount);
            let sum = self.paid_values.entry((flow.from, flow.to)).or_insert_with(Exact::zero);
            *sum += value;
        }
        let mut arrived: Vec<Option<Arrived>> = flows.iter().map(|_| None).collect();
        for payer in payers_first(flows) {
            let passage = self.passage(payer, flows, &arrived);
            for (index, flow) in flows.iter().enumerate().filter(|(_, it)| it.from == payer) {
                let (funds, replaced) = self.pay_one(flow, &passage);
                arrived[index] = Some(Arrived { funds, replaced, kept: None });
            }
            if !passage.passed.is_zero() {
                keep_own(payer, (flows, &self.values), &passage, &mut arrived);
            }
        }
        let receipts = flows.iter().zip(arrived).filter_map(|(flow, arrived)| {
            let Arrived { funds, kept, .. } = arrived?;
            Some((flow.to, flow.coin, kept.unwrap_or(funds)))
        });
        receipts.collect()
    }

    fn passage(&self, account: Account, flows: &[Flow], arrived: &[Option<Arrived>]) -> Passage {
        let value = |flow: &Flow| self.values.of(flow.coin, &flow.amount);
        let received: Exact = flows.iter().filter(|it| it.to == account).map(value).sum();
        let sent: Exact = flows.iter().filter(|it| it.from == account).map(value).sum();
        let passed =
            if self.is_end(account) { Exact::zero() } else { received.clone().min(sent.clone()) };
        let mut funds = Funds::none();
        for (flow, arrived) in flows.iter().zip(arrived).filter(|(flow, _)| flow.to == account) {
            if let Some(arrived) = arrived {
                funds.add(&arrived.funds.times(self.values.unit(flow.coin)));
            }
        }
        Passage { received, sent, passed, funds }
    }

    /// Pays a flow: returns its money at the receiver, and as much of its payer's own at that moment.
    fn pay_one(&mut self, flow: &Flow, passage: &Passage) -> (Funds, Funds) {
        let Flow { from, to, coin, amount } = flow;
        let mut through = amount * &passage.passed / &passage.sent;
        if is_tiny(&(amount - &through), amount) {
            through.clone_from(amount);
        }
        if is_tiny(&through, amount) {
            through = Exact::zero();
        }
        let own = amount - &through;
        let mut funds = Funds::none();
        let mut replaced = self.of_payments(flow, amount);
        if !through.is_zero() {
            funds.add(&passage.funds.shared_by(&through));
            replaced = self.payment(*from, *coin, &through).shared_by(amount);
        }
        if own.is_zero() {
            self.take(*from, *coin, &through);
            return (funds, replaced);
        }
        let mine = self.of_payments(flow, &own);
        let pays_out = (self.is_pool(*from) || *from == NOBODY) && !self.is_end(*to);
        if pays_out {
            let payout = self.payout((*from, *to), *coin, &mine);
            self.note_paid(flow, &payout.funds);
            self.take(*from, *coin, &through);
            self.leave((*from, *coin), &payout);
            funds.add(&payout.funds);
        } else {
            self.note_paid(flow, &mine);
            self.take(*from, *coin, amount);
            funds.add(&if self.is_end(*from) { mine } else { mine.after_hop() });
        }
        (funds, replaced)
    }

    /// Notes what an account paid of its own, and the net value that it put into a contract or got out.
    fn note_paid(&mut self, flow: &Flow, funds: &Funds) {
        let Flow { from, to, coin, .. } = *flow;
        self.paid.push(PaidLot { payer: from, to, coin, funds: funds.clone() });
        let value = self.values.of(coin, &funds.amount);
        if self.is_pool(from) && to != NOBODY {
            self.state.add_put_in(to, from, &-value.clone());
        }
        if self.is_pool(to) && !self.is_end(from) {
            self.state.add_put_in(from, to, &value);
        }
    }
}

/// Keeps the own history of an account for as much as it passes on.
fn keep_own(
    account: Account,
    (flows, values): (&[Flow], &Values),
    passage: &Passage,
    arrived: &mut [Option<Arrived>],
) {
    let mut own = Funds::none();
    for (flow, arrived) in flows.iter().zip(&*arrived).filter(|(it, _)| it.from == account) {
        if let Some(Arrived { replaced, .. }) = arrived {
            own.add(&replaced.times(values.unit(flow.coin)));
        }
    }
    let share = &passage.passed / &passage.received;
    let incoming = flows.iter().zip(arrived).filter(|(flow, _)| flow.to == account);
    for (flow, arrived) in incoming {
        if let Some(Arrived { funds, kept, .. }) = arrived {
            let mut keeps = own.shared_by(&(&flow.amount * &share));
            keeps.add(&funds.shared_by(&(&flow.amount - &keeps.amount)));
            *kept = Some(keeps);
        }
    }
}

/// The accounts of flows, each after those that pay it, in the order of the flows.
fn payers_first(flows: &[Flow]) -> Vec<Account> {
    let mut waiting: Vec<Account> = Vec::new();
    for account in flows.iter().flat_map(|flow| [flow.from, flow.to]) {
        if !waiting.contains(&account) {
            waiting.push(account);
        }
    }
    let payers = |of: Account, done: &[Account]| {
        flows.iter().filter(|flow| flow.to == of && !done.contains(&flow.from)).count()
    };
    let mut order: Vec<Account> =
        waiting.iter().copied().filter(|account| payers(*account, &[]) == 0).collect();
    let mut next = 0;
    while next < order.len() {
        let payer = order[next];
        next += 1;
        for flow in flows.iter().filter(|flow| flow.from == payer) {
            if !order.contains(&flow.to) && payers(flow.to, &order[..next]) == 0 {
                order.push(flow.to);
            }
        }
    }
    // Circles are left around ends only.
    let left: Vec<Account> = waiting.into_iter().filter(|it| !order.contains(it)).collect();
    order.extend(left);
    order
}
