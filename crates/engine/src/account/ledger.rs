//! The balance of an account in one scored asset, and what it is made of (`docs/model/accounts.md` B3, B4).

use super::shares::{Hop, Shares};

/// The balance of an account in one asset, with the breakdown of its money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountLedger {
    /// Balance in base units.
    pub balance: u128,
    /// Breakdown of the balance.
    pub shares: Shares,
    /// Sum of what was paid although the ledger did not hold it: money from before the first known block. Unknown.
    pub missing: u128,
}

impl AccountLedger {
    /// The breakdown of a payment of so much: what the balance lacks is unknown.
    #[must_use]
    pub fn shares_of(&self, amount: u128) -> Shares {
        if self.balance == 0 { Shares::UNKNOWN } else { self.shares.diluted(self.balance, amount) }
    }

    /// Pays an amount: the breakdown of the rest stays.
    pub fn pay(&mut self, amount: u128) {
        self.missing = self.missing.saturating_add(amount.saturating_sub(self.balance));
        self.balance = self.balance.saturating_sub(amount);
        if self.balance == 0 {
            self.shares = Shares::UNKNOWN;
        }
    }

    /// Receives an amount with its breakdown.
    pub fn receive(&mut self, amount: u128, shares: &Shares, by: Hop) {
        if amount > 0 {
            self.shares = self.shares.mixed(self.balance, shares, amount, by);
            // No supply of an asset exceeds 128 bits: readers refuse such amounts.
            self.balance = self.balance.saturating_add(amount);
        }
    }

    /// Sets the balance to what the chain states: the breakdown stays. A balance that was not known is unknown money.
    pub const fn set_balance(&mut self, balance: u128) {
        self.balance = balance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        account::{MoneyOrigin, shares::WHOLE},
        taxonomy::Category,
    };

    const STOLEN: MoneyOrigin = MoneyOrigin::Party(Category::StolenFunds, None);

    #[test]
    fn a_payment_leaves_the_breakdown_and_a_lack_is_unknown() {
        let mut ledger = AccountLedger::default();
        ledger.receive(100, &Shares::wholly(STOLEN), Hop::FromEnd);
        ledger.pay(40);
        assert_eq!((ledger.balance, ledger.shares.far(STOLEN)), (60, WHOLE));
        assert_eq!(ledger.shares_of(120).far(STOLEN), WHOLE / 2);
        ledger.pay(120);
        assert_eq!((ledger.balance, ledger.missing), (0, 60));
        assert_eq!(ledger.shares, Shares::UNKNOWN);
    }

    #[test]
    fn a_rebased_balance_keeps_its_breakdown() {
        let mut ledger = AccountLedger::default();
        ledger.receive(100, &Shares::wholly(STOLEN), Hop::FromEnd);
        ledger.set_balance(110);
        assert_eq!((ledger.balance, ledger.shares.far(STOLEN)), (110, WHOLE));
    }
}
