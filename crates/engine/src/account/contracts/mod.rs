//! Money that passes contracts (`docs/model/accounts.md` C): everybody keeps his own history through swaps, pools, lending,
//! wrapping and unknown protocols, without a table of protocols. Contracts are ledgers like accounts.
//!
//! In the order in which a transaction is booked:
//!
//! - `value`: values of amounts on a day
//! - `exchange`: exchanges, in which everybody keeps his own history
//! - `unpriced`: payments for assets without a price
//! - `rest`: what exchanges leave, payers first
//! - `sources`, `payout`: what a contract's payment is made of
//! - `leave`: the contract's ledger afterwards
//! - `backing`: what backs the tokens that accounts got
//! - `claim`: claims for what was paid in
//!
//! and beside these
//!
//! - `transaction`: what is known about the transaction as a whole
//! - `given`: tokens that accounts gave in it
//! - `state`: the states of accounts beside their ledgers
//! - `holding`: tokens and claims with their layers
//! - `masses`: money by origin, exact until it is divided once

mod backing;
mod claim;
pub(super) mod exchange;
mod given;
mod holding;
mod leave;
mod masses;
mod payout;
mod rest;
mod sources;
mod state;
#[cfg(test)]
mod tests;
mod transaction;
mod unpriced;
mod value;

pub use holding::{Held, Holding, Lot, Lots, Tie};
pub use state::{AccountState, AccountStates};
pub use transaction::Named;
pub use value::{DayPrices, DayValues};

use self::{
    exchange::{Flow, Trade, exchanges},
    given::Given,
    rest::{Outflow, PaidShares},
    transaction::Transaction,
    unpriced::Unpriced,
};
use super::{
    AssetNumber, LedgerBook, MoneyEnds, MovementKind,
    netting::Edge,
    shares::{Hop, Shares},
};
use crate::ledger::OwnerNumber;
use jiff::civil::Date;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The netted transfers of a transaction, in the order of the transaction.
#[derive(Debug, Default)]
pub(super) struct NettedTransaction {
    /// Of scored assets.
    pub(super) scored: Vec<(AssetNumber, Edge)>,
    /// Of tokens outside the table. New units come from nobody, destroyed ones go to nobody.
    pub(super) tokens: Vec<(AssetNumber, Edge)>,
}

/// Facts about a transaction that the rules need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'t> {
    pub(super) ends: &'t MoneyEnds,
    pub(super) day: Date,
    pub(super) values: &'t DayValues,
    pub(super) initiator: Option<OwnerNumber>,
    pub(super) named: &'t [Named],
}

/// A part of a transaction that enters its receiver's ledger.
#[derive(Clone, Debug)]
pub(super) struct Receipt {
    pub(super) asset: AssetNumber,
    pub(super) edge: Edge,
    pub(super) kind: MovementKind,
    /// Breakdown before the hop.
    pub(super) shares: Shares,
    pub(super) hop: Hop,
    /// Breakdown of what enters the ledger, if it is another one.
    pub(super) kept: Option<Shares>,
}

/// Books the transfers of a transaction, and returns what enters ledgers, in order. The ledgers have paid by then.
pub(super) fn book(
    netted: NettedTransaction,
    circumstances: Circumstances<'_>,
    book: &mut impl LedgerBook,
) -> Vec<Receipt> {
    let mut transaction = Transaction::new(circumstances, book);
    let flow = |(asset, edge): &(AssetNumber, Edge)| {
        let Edge { from, to, amount } = *edge;
        Flow { from, to, asset: *asset, amount }
    };
    let mut flows: Vec<Flow> = netted.scored.iter().map(flow).collect();
    let paid = paid_shares(&flows, &transaction);
    let trades = exchanges(&mut flows, circumstances.values, |flow| transaction.may_trade(flow));
    let mut receipts = trade(&trades, &paid, &mut transaction);
    let unpriced = Unpriced::of(&netted, circumstances);
    for (asset, edge) in netted.tokens {
        transaction.give(asset, edge);
    }
    let outflows = transaction.pay(&flows, |flow| {
        let found = paid.get(&(flow.from, flow.asset)).cloned().unwrap_or_default();
        (found, unpriced.as_ref().is_some_and(|it| it.is_conversion(flow)))
    });
    receipts.extend(outflows.into_iter().flat_map(receipts_of));
    let contributors = transaction.back_tokens();
    transaction.keep_claims(&contributors);
    transaction.book.states_mut().prune();
    receipts
}

/// The breakdowns of all that each account pays of each asset, before anything is paid.
fn paid_shares<B: LedgerBook>(flows: &[Flow], transaction: &Transaction<'_, B>) -> PaidShares {
    let mut totals: FxHashMap<(OwnerNumber, AssetNumber), u128> = FxHashMap::default();
    for flow in flows {
        let total = totals.entry((flow.from, flow.asset)).or_default();
        *total = total.saturating_add(flow.amount);
    }
    let shares = totals.into_iter().map(|((owner, asset), total)| {
        ((owner, asset), transaction.shares_of(owner, asset, total))
    });
    shares.collect()
}

/// Trades: each member gives from its ledger, and gets the same value with its own history.
fn trade<B: LedgerBook>(
    trades: &[Trade],
    paid: &PaidShares,
    transaction: &mut Transaction<'_, B>,
) -> Vec<Receipt> {
    let of = |owner: OwnerNumber, asset: AssetNumber| {
        paid.get(&(owner, asset)).cloned().unwrap_or_default()
    };
    let mut receipts = Vec::with_capacity(trades.len());
    for circle in trades.chunk_by(|one, next| one.circle == next.circle) {
        let mut gifts: Vec<(OwnerNumber, Shares)> =
            circle.iter().map(|trade| (trade.member, of(trade.member, trade.gave.0))).collect();
        gifts.sort_by_key(|(_, shares)| Reverse(shares.severe()));
        for trade in circle {
            let Trade { member, from, got: (asset, amount), gave: (given, given_amount), .. } =
                *trade;
            if amount == 0 || given_amount == 0 {
                continue;
            }
            transaction.take(member, given, given_amount);
            // What comes from one member may have been bought with what another one gave.
            let bought_with = gifts.iter().find(|(giver, _)| *giver != member);
            if let Some((_, shares)) = bought_with {
                transaction.note_trade(trade, shares);
            }
            receipts.push(Receipt {
                asset,
                edge: Edge { from, to: member, amount },
                kind: MovementKind::Exchange,
                shares: of(member, given),
                hop: Hop::Counted,
                kept: None,
            });
        }
    }
    receipts
}

/// The receipts of a payment: what returns the receiver's own money, and what no source explains, apart.
fn receipts_of(outflow: Outflow) -> Vec<Receipt> {
    let Outflow {
        flow: Flow { from, to, asset, amount }, shares, hop, returned, excess, kept, ..
    } = outflow;
    let parts = [
        (returned, MovementKind::Returned),
        (amount - returned - excess, MovementKind::Payment),
        (excess, MovementKind::Excess),
    ];
    let parts = parts.into_iter().filter(|(amount, _)| *amount > 0);
    let receipt = |(amount, kind)| Receipt {
        asset,
        edge: Edge { from, to, amount },
        kind,
        shares: shares.clone(),
        hop,
        kept: kept.clone(),
    };
    parts.map(receipt).collect()
}

impl<B: LedgerBook> Transaction<'_, B> {
    /// Takes units of a token with their layers from the giver.
    fn give(&mut self, asset: AssetNumber, Edge { from, to, amount }: Edge) {
        let held = Held::Token(asset);
        let mut holding = Holding { units: amount, ..Holding::default() };
        if self.holds_tokens(from) && self.book.states().holding(from, held).is_some() {
            holding = self.book.states_mut().holding_mut(from, held).split(amount);
        }
        if from == OwnerNumber::NOBODY && to != OwnerNumber::NOBODY && self.minted.insert(to) {
            let is_person = !self.is_end(to) && !self.book.states().is_contract(to);
            if is_person && self.has_severe_lots(to) {
                self.minted_with_severe.push(to);
            }
        }
        self.given.push(Given { from, to, asset, holding, units: amount });
    }
}
