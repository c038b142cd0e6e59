//! The ledger of a contract after a payout (`docs/model/accounts.md` C7): severe money over all ledgers never becomes less.

use ruint::aliases::U256;

use super::{
    super::{AccountLedger, AssetNumber, LedgerBook, origin::OriginCode, shares::Shares},
    masses::{Masses, whole},
    payout::Used,
    transaction::Transaction,
    value::{Value, part, product_over},
};
use crate::ledger::OwnerNumber;

impl<B: LedgerBook> Transaction<'_, B> {
    /// Takes a payout out of a contract's ledger: severe money as far as the payout holds it, its own origin first.
    pub(super) fn leave(
        &mut self,
        contract: OwnerNumber,
        (asset, amount): (AssetNumber, u128),
        shares: &Shares,
        used: &Used,
    ) {
        if contract == OwnerNumber::NOBODY {
            return;
        }
        let paid = Masses::of(shares, amount);
        let ledger = self.book.ledger_mut(contract, asset);
        let removed = take_out(ledger, amount, &paid);
        self.change_places(contract, asset, (&removed, &paid), used);
    }

    /// Lets histories change places, if lots in another asset were used: what left the ledger and not with the payout is now in
    /// the ledger of the lots' asset.
    fn change_places(
        &mut self,
        contract: OwnerNumber,
        asset: AssetNumber,
        (removed, paid): (&Masses, &Masses),
        Used(used): &Used,
    ) {
        let total = used.iter().fold(Value::ZERO, |sum, (_, value)| sum.saturating_add(*value));
        let unit = self.about.values.unit(asset);
        for (other, value) in used {
            let other_unit = self.about.values.unit(*other);
            if self.book.ledger(contract, *other).is_none_or(|ledger| ledger.balance == 0) {
                continue;
            }
            let ledger = self.book.ledger_mut(contract, *other);
            let mut held = Masses::of(&ledger.shares, ledger.balance);
            let most = whole(ledger.balance);
            let mut origins: Vec<(OriginCode, u8)> =
                removed.0.iter().chain(&paid.0).map(|mass| (mass.origin, mass.hops)).collect();
            origins.sort_unstable();
            origins.dedup_by_key(|(origin, _)| *origin);
            for (origin, hops) in origins {
                let (gone, went) = (removed.far(origin), paid.far(origin));
                // In units of the other asset, for the part that its lots had of the payout.
                let converted = |mass: U256, is_up: bool| {
                    product_over([mass, unit, *value], [total, other_unit], is_up)
                };
                let is_severe = origin.is_severe();
                let known = held.far(origin);
                let far = if gone >= went {
                    known.saturating_add(converted(gone - went, is_severe))
                } else {
                    known.saturating_sub(converted(went - gone, !is_severe))
                };
                if !far.is_zero() || !known.is_zero() {
                    held.mass(origin, hops).far = far.min(most);
                }
            }
            let surplus = held.total().saturating_sub(most);
            if !surplus.is_zero() {
                let benign = held.benign();
                held.scale_benign(benign.saturating_sub(surplus), benign);
            }
            let shares = held.over(U256::from(ledger.balance));
            ledger.shares = shares;
        }
    }
}

/// Pays an amount out of a ledger and returns what left it.
fn take_out(ledger: &mut AccountLedger, amount: u128, paid: &Masses) -> Masses {
    let held = Masses::of(&ledger.shares, ledger.balance);
    if ledger.balance <= amount {
        ledger.pay(amount);
        return held;
    }
    let mut left = held.clone();
    for mass in &mut left.0 {
        mass.far = mass.far.saturating_sub(paid.far(mass.origin));
    }
    let matched = |is_severe: bool| {
        let gone = held.0.iter().zip(&left.0).filter(|(it, _)| it.is_severe() == is_severe);
        gone.fold(U256::ZERO, |sum, (held, left)| sum.saturating_add(held.far - left.far))
    };
    let (severe_matched, benign_matched) = (matched(true), matched(false));
    let unknown = whole(ledger.balance).saturating_sub(held.total());
    let unknown_paid = whole(amount).saturating_sub(paid.total()).min(unknown);
    let unknown_left = unknown - unknown_paid;
    let mut short = whole(amount)
        .saturating_sub(severe_matched)
        .saturating_sub(benign_matched)
        .saturating_sub(unknown_paid);
    let more_severe = paid.severe().saturating_sub(severe_matched).min(short);
    if !more_severe.is_zero() {
        let severe_left = left.severe();
        let taken = severe_left.min(more_severe);
        for mass in left.0.iter_mut().filter(|mass| mass.is_severe()) {
            mass.far -= part(mass.far, taken, severe_left, false);
        }
        short -= taken;
    }
    let benign_left = left.benign().saturating_add(unknown_left);
    let taken = short.min(benign_left);
    if !taken.is_zero() {
        left.scale_benign(benign_left - taken, benign_left);
        short -= taken;
    }
    if !short.is_zero() {
        let severe_left = left.severe();
        let kept = severe_left.saturating_sub(short);
        for mass in left.0.iter_mut().filter(|mass| mass.is_severe()) {
            mass.far = part(mass.far, kept, severe_left, true);
        }
    }
    for (left, held) in left.0.iter_mut().zip(&held.0) {
        left.near = part(held.near, left.far, held.far, false);
    }
    ledger.balance -= amount;
    ledger.shares = left.over(U256::from(ledger.balance));
    let mut removed = held;
    for (mass, left) in removed.0.iter_mut().zip(&left.0) {
        mass.far = mass.far.saturating_sub(left.far);
    }
    removed
}
