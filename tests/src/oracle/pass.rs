//! Division of money that passes a transaction.

use assay_engine::{
    evidence::{FlowEnd, UnresolvedReason},
    utxo::TransactionKind,
};

use super::{
    amounts::Money,
    follow::{Flow, State, Walk},
    ledger::{Leg, Transaction},
};

impl Walk<'_> {
    /// Money goes back over the inputs of a transaction. Of the subject's own transactions (no hops
    /// yet) the subject's inputs are excluded. `room` is the number of inputs that are read.
    pub(super) fn back_through(
        &mut self,
        transaction: &Transaction<'_>,
        flow: &Flow,
        hops: u8,
        room: usize,
    ) {
        match transaction.kind {
            TransactionKind::Coinbase => self.end_in(transaction, FlowEnd::Mining, hops, flow),
            TransactionKind::Coinjoin(kind) => {
                self.end_in(transaction, FlowEnd::Coinjoin(kind), hops, flow);
            }
            TransactionKind::Payment => {
                let mut legs = transaction.inputs(room).read;
                let mut all = transaction.total();
                if hops == 0 {
                    legs.retain(|leg| *leg.owner != self.case.subject);
                    all -= transaction.given_by(&self.case.subject);
                }
                let read: u128 = legs.iter().map(|leg| leg.value).sum();
                let rest = [
                    (FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), transaction.unknown()),
                    (
                        FlowEnd::Unresolved(UnresolvedReason::TraceLimit),
                        all - transaction.unknown() - read,
                    ),
                ];
                self.split(transaction, flow, hops, &legs, rest);
            }
        }
    }

    /// Money goes on over the outputs of a transaction, of which `room` are read.
    pub(super) fn on_through(
        &mut self,
        transaction: &Transaction<'_>,
        flow: &Flow,
        hops: u8,
        room: usize,
    ) {
        if let TransactionKind::Coinjoin(kind) = transaction.kind {
            self.end_in(transaction, FlowEnd::Coinjoin(kind), hops, flow);
            return;
        }
        let mut legs = transaction.outputs(room).read;
        let mut all = transaction.paid();
        let fee = transaction.total() - all;
        if hops == 0 {
            legs.retain(|leg| *leg.owner != self.case.subject);
            all -= transaction.got_by(&self.case.subject);
        }
        let read: u128 = legs.iter().map(|leg| leg.value).sum();
        let rest =
            [(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), all - read), (FlowEnd::Fee, fee)];
        self.split(transaction, flow, hops, &legs, rest);
    }

    /// Puts shares of money at the outputs that `legs` name; the shares of `rest` end.
    pub(super) fn split(
        &mut self,
        transaction: &Transaction<'_>,
        flow: &Flow,
        hops: u8,
        legs: &[Leg<'_>],
        rest: [(FlowEnd, u128); 2],
    ) {
        let weights: Vec<u128> = legs
            .iter()
            .map(|leg| leg.value)
            .chain(rest.iter().map(|(_, weight)| *weight))
            .collect();
        let sum: u128 = weights.iter().sum();
        let along = |share: &Money, weight: u128| {
            if hops == 0 || sum == 0 {
                return share.total();
            }
            &flow.path.amount * weight / sum
        };
        let mut shares = flow.money.split(&self.means.arithmetic, &weights);
        let ended = shares.split_off(legs.len());
        for (leg, share) in legs.iter().zip(shares) {
            let amount = along(&share, leg.value);
            let path = flow.path.on(transaction.txid, Some(leg.owner), amount);
            let (owner, carried) = (leg.owner.clone(), flow.carried.clone());
            let state = State { output: leg.output, owner, asked: flow.asked, carried };
            self.arrive(state, &share, path);
        }
        for ((end, weight), share) in rest.into_iter().zip(ended) {
            let path = flow.path.on(transaction.txid, None, along(&share, weight));
            let flow = Flow { money: share, path, ..flow.clone() };
            self.end(end, hops + 1, &flow);
        }
    }
}
