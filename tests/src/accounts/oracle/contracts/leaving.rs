//! C7: the ledger of a contract after a payout.

use assay_engine::account::OriginCode;
use num_traits::Zero;

use super::{
    super::Exact,
    booking::Booking,
    funds::Funds,
    payouts::Payout,
    state::{Account, AssetIndex, NOBODY},
};

impl Booking<'_> {
    /// Takes a payout out of a contract's ledger.
    pub(super) fn leave(&mut self, (contract, coin): (Account, AssetIndex), payout: &Payout) {
        if contract == NOBODY {
            return;
        }
        let removed = take_out(self.state.ledger_mut(contract, coin), &payout.funds);
        let all: Exact = payout.used.values().sum();
        for (other, value) in &payout.used {
            let mut ledger = self.state.ledger(contract, *other);
            if ledger.amount.is_zero() {
                continue;
            }
            // What left and did not go with the payout is in the other ledger now, and the reverse.
            let rate = self.values.unit(coin) * value / &all / self.values.unit(*other);
            let mut origins: Vec<OriginCode> = removed.parts.keys().copied().collect();
            origins.extend(payout.funds.parts.keys());
            origins.sort_unstable();
            origins.dedup();
            for origin in origins {
                let moved = (removed.far(origin) - payout.funds.far(origin)) * &rate;
                let most = ledger.amount.clone();
                let part = ledger.part_mut(origin);
                part.far = (&part.far + moved).max(Exact::zero()).min(most);
            }
            *self.state.ledger_mut(contract, *other) = ledger.bounded();
        }
    }
}

/// Takes a payment out of a ledger and returns what left it.
fn take_out(ledger: &mut Funds, paid: &Funds) -> Funds {
    if ledger.amount <= paid.amount {
        return std::mem::replace(ledger, Funds::none());
    }
    let held = ledger.clone();
    // Each origin as far as the payment holds it, also the unknown one.
    for (origin, part) in &mut ledger.parts {
        part.far = (&part.far - paid.far(*origin)).max(Exact::zero());
    }
    let unknown = |of: &Funds| (&of.amount - of.severe() - of.benign()).max(Exact::zero());
    let unknown_paid = unknown(paid).min(unknown(&held));
    let severe_gone = held.severe() - ledger.severe();
    let benign_gone = held.benign() - ledger.benign();
    let mut short = (&paid.amount - &severe_gone - benign_gone - &unknown_paid).max(Exact::zero());
    // Then severe money of other origins, as far as the payment is severe.
    let is_benign = |origin: OriginCode| !origin.is_severe();
    let severe = ledger.severe();
    let more =
        (paid.severe() - severe_gone).max(Exact::zero()).min(short.clone()).min(severe.clone());
    ledger.scale(OriginCode::is_severe, (&severe, &(&severe - &more)));
    short -= more;
    // Then benign and unknown money in proportion.
    let benign = ledger.benign() + unknown(&held) - unknown_paid;
    let more = short.clone().min(benign.clone());
    ledger.scale(is_benign, (&benign, &(&benign - &more)));
    short -= more;
    // More severe money only if nothing else is left.
    let severe = ledger.severe();
    let rest = (&severe - short).max(Exact::zero());
    ledger.scale(OriginCode::is_severe, (&severe, &rest));
    for (origin, part) in &mut ledger.parts {
        let before = &held.parts[origin];
        if !before.far.is_zero() {
            part.near = &before.near * &part.far / &before.far;
        }
    }
    ledger.amount = &held.amount - &paid.amount;
    let mut removed = held;
    for (origin, part) in &mut removed.parts {
        part.far -= ledger.far(*origin);
    }
    *ledger = ledger.clone().bounded();
    removed
}
