//! Random dollars of a subject that are walked back to a payer whose payments are not read: at each receipt by its part of what the
//! account held then, as haircut shares go.

use assay_engine::{
    account::{AccountAddress, AccountView, Asset, AssetNumber, MovementKind, Payment, Valuation},
    ledger::OwnerNumber,
};
use assay_graph::account::MemoryAccounts;
use jiff::Timestamp;

use super::{
    draws::{DrawnDollar, Draws},
    masses::{Demands, Shares, balances_after, given},
};

/// Most dollars that are walked back at once.
const MOST_DOLLARS: u32 = 64;
/// Most accounts on the way of one dollar.
const MOST_STEPS: u32 = 50;
/// Of so many dollars, half are drawn from all money received, a quarter from that of the last 90 days, a quarter from what is held.
const ROUND: u32 = 4;

/// The payers, each with an asset, at whom dollars arrive that were drawn, in the order of the draws. `is_known` tells whether the
/// payments of an account in an asset are read in a block; `recent_since` is the begin of the last 90 days.
pub(super) fn drawn_payers(
    (accounts, subject): (&MemoryAccounts, OwnerNumber),
    is_known: impl Fn(AccountAddress, Asset, u64) -> bool,
    (values, recent_since): (&mut Valuation<'_>, Timestamp),
    draws: &Draws,
) -> Vec<(AccountAddress, Asset)> {
    let payments = accounts.ledgers().payments();
    let demands = Demands::of_subject(accounts, subject, values, recent_since);
    let mut walk =
        Walk { accounts, payments, balances: balances_after(accounts, payments), values };
    let mut payers = Vec::new();
    for number in 0..MOST_DOLLARS {
        let mut dollar = draws.dollar(number);
        let base = match number % ROUND {
            0 | 1 => 0,
            2 => 1,
            _ => 2,
        };
        let Some(start) = walk.start((subject, &demands), base, &mut dollar) else { continue };
        let payer = walk.back(start, &is_known, &mut dollar);
        payers.extend(payer.filter(|payer| !payers.contains(payer)));
    }
    payers
}

/// A dollar on its way back.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// It came with a payment, by its index.
    Payment(usize),
    /// An account held it in an asset before a payment, by its index.
    Held(OwnerNumber, AssetNumber, usize),
}

struct Walk<'a, 'v, 'p> {
    accounts: &'a MemoryAccounts,
    payments: &'a [Payment],
    /// The balance of each payment's receiver right after it.
    balances: Vec<u128>,
    values: &'v mut Valuation<'p>,
}

impl Walk<'_, '_, '_> {
    /// The begin of a dollar's way: one of all received (base 0), of the last 90 days (1), or held (2).
    fn start(
        &self,
        (subject, demands): (OwnerNumber, &Demands),
        base: usize,
        dollar: &mut DrawnDollar,
    ) -> Option<Position> {
        let share = |shares: &Shares| shares.get(base).copied().map_or(0, u128::from);
        if base == 2 {
            let held = demands.held();
            let chosen = choose(held.iter().map(|(_, shares)| share(shares)), dollar)?;
            let (asset, _) = held.get(chosen)?;
            return Some(Position::Held(subject, *asset, self.payments.len()));
        }
        let receipts = self.payments.iter().enumerate().rev();
        let receipts = receipts.filter(|(_, it)| it.to == subject && !it.kind.is_own_money());
        let receipts: Vec<usize> = receipts.map(|(index, _)| index).collect();
        let chosen = choose(demands.receipts().iter().map(share), dollar)?;
        Some(Position::Payment(*receipts.get(chosen)?))
    }

    /// Walks back to a payer that is not known; `None` if the dollar comes from an end, or from nobody.
    fn back(
        &mut self,
        start: Position,
        is_known: &impl Fn(AccountAddress, Asset, u64) -> bool,
        dollar: &mut DrawnDollar,
    ) -> Option<(AccountAddress, Asset)> {
        let mut position = start;
        for _ in 0..MOST_STEPS {
            let index = match position {
                Position::Payment(index) => index,
                Position::Held(owner, asset, before) => {
                    self.receipt_of(owner, asset, before, dollar)?
                }
            };
            let payment = self.payments.get(index)?;
            let is_end = payment.from == OwnerNumber::NOBODY
                || payment.kind == MovementKind::New
                || self.accounts.ledgers().ends().get(payment.from).is_some();
            let (owner, asset) = if payment.kind == MovementKind::Exchange {
                let gave = given(self.accounts, payment, self.values);
                let chosen = choose(gave.iter().map(|(_, worth)| *worth), dollar)?;
                (payment.to, gave.get(chosen)?.0)
            } else if is_end {
                return None;
            } else {
                (payment.from, payment.asset)
            };
            let party = (self.accounts.address(owner)?, self.accounts.asset(asset)?);
            let block = self.accounts.transaction(payment.transaction).map_or(0, |it| it.block);
            if !is_known(party.0, party.1, block) {
                return Some(party);
            }
            position = Position::Held(owner, asset, index);
        }
        None
    }

    /// The receipt from which a dollar comes that an account held before a payment. Of what it held after a receipt, the receipt is as
    /// much as it is of the balance.
    fn receipt_of(
        &self,
        owner: OwnerNumber,
        asset: AssetNumber,
        before: usize,
        dollar: &mut DrawnDollar,
    ) -> Option<usize> {
        let earlier = self.payments.iter().zip(&self.balances).take(before).enumerate().rev();
        let mut receipts =
            earlier.filter(|(_, (payment, _))| payment.to == owner && payment.asset == asset);
        receipts
            .find(|(_, (payment, balance))| dollar.below(**balance) < payment.amount)
            .map(|(index, _)| index)
    }
}

/// The index of a weight by which a number falls; `None` if all are 0.
fn choose(weights: impl Iterator<Item = u128> + Clone, dollar: &mut DrawnDollar) -> Option<usize> {
    let whole = weights.clone().fold(0, u128::saturating_add);
    let mut left = dollar.below(whole);
    let mut weights = weights;
    weights.position(|weight| {
        let is_chosen = left < weight;
        left = left.saturating_sub(weight);
        is_chosen
    })
}
