//! The activity of an account: its own payments by transaction, in micro-dollars, with the other owners
//! (`docs/model/patterns.md` P14).

use std::collections::BTreeMap;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    parties::{Parties, PartyKind},
    worth::Worth,
};
use crate::{
    account::{AccountPayments, AccountView, AssetNumber, MovementKind, Payment},
    ledger::{OwnerNumber, TransactionNumber},
    patterns::activity::{Activity, Coins, OwnTransaction, Party, StateBefore, chosen, is_active},
    patterns::rules::{DORMANT_AFTER, OWN_TRANSACTIONS},
};

/// The payments of an account as a check reads them.
pub(super) struct OwnPayments<'a> {
    pub(super) view: &'a dyn AccountView,
    pub(super) owner: OwnerNumber,
    pub(super) payments: &'a AccountPayments,
}

/// Activity of an account.
#[derive(Default)]
pub(super) struct AccountActivity {
    /// The transactions with payments between the account and other owners: at most as many as on other chains.
    pub(super) activity: Activity,
    /// Number of transactions that were read, those with contracts alone included.
    pub(super) transactions: u64,
}

impl OwnPayments<'_> {
    /// The activity of the account.
    pub(super) fn activity(
        &self,
        parties: &mut Parties<'_>,
        worth: &mut Worth<'_>,
    ) -> AccountActivity {
        let AccountPayments { sums, payments, left_out } = self.payments;
        let (read, is_cut) = self.chosen(worth);
        let may_have_slept = !is_cut && self.may_have_slept();
        let mut balances = Balances::default();
        let (mut active, mut latest) = (None, Timestamp::MIN);
        let mut transactions: Vec<OwnTransaction> = Vec::new();
        for of_transaction in payments.chunk_by(|one, other| one.transaction == other.transaction) {
            let number = of_transaction.first().map(|it| it.transaction);
            let Some(number) = number.filter(|it| !is_cut || read.contains(it)) else { continue };
            // Times of blocks may go backward; windows of time need them in order.
            latest = latest.max(self.view.time(number));
            let mut own = self.transaction((number, latest), of_transaction, parties, worth);
            if may_have_slept {
                let balance = balances.worth(self.view, latest, worth);
                own.before = StateBefore { balance, active };
                if self.pays(of_transaction) || is_active(own.spending, own.income, balance) {
                    active = Some(latest);
                }
                balances.book(self.owner, of_transaction);
            }
            if own.income > 0 || own.spending > 0 {
                transactions.push(own);
            }
        }
        let sum = |of: fn(&OwnTransaction) -> u128| {
            transactions.iter().map(of).fold(0, u128::saturating_add)
        };
        let activity = Activity {
            received: sum(|own| own.income),
            sent: sum(|own| own.spending),
            is_whole: sums.is_empty() && *left_out == 0 && !is_cut && worth.is_whole,
            transactions,
        };
        AccountActivity { activity, transactions: read.len() as u64 }
    }

    /// The transactions that are read, and true if some are left out: as on other chains, those that moved most and the
    /// newest of the rest.
    fn chosen(&self, worth: &mut Worth<'_>) -> (FxHashSet<TransactionNumber>, bool) {
        let all = || {
            let payments = &self.payments.payments;
            payments.chunk_by(|one, other| one.transaction == other.transaction)
        };
        let number = |of: &[Payment]| of.first().map(|it| it.transaction);
        if all().count() <= OWN_TRANSACTIONS {
            return (all().filter_map(number).collect(), false);
        }
        let mut moved: BTreeMap<TransactionNumber, (u128, Timestamp)> = BTreeMap::new();
        for of_transaction in all() {
            let Some(number) = number(of_transaction) else { continue };
            let time = self.view.time(number);
            let values = of_transaction.iter().filter_map(|payment| {
                Some(worth.of(self.view.scored(payment.asset)?, payment.amount, time))
            });
            moved.insert(number, (values.fold(0, u128::saturating_add), time));
        }
        let (numbers, is_cut) = chosen(moved);
        (numbers.into_iter().collect(), is_cut)
    }

    /// The asset of the largest payment, in base units, between the account and another one in a transaction; the chain's
    /// first asset if there is none.
    pub(super) fn asset_with(
        &self,
        transaction: TransactionNumber,
        other: OwnerNumber,
    ) -> AssetNumber {
        let payments = &self.payments.payments;
        let first = payments.partition_point(|payment| payment.transaction < transaction);
        let of_transaction = payments.iter().skip(first);
        let of_transaction = of_transaction.take_while(|it| it.transaction == transaction);
        let with = of_transaction.filter(|it| it.from == other || it.to == other);
        with.max_by_key(|it| it.amount).map_or(AssetNumber(0), |it| it.asset)
    }

    /// True if the account made one of the payments, also to a contract, or paid a fee.
    fn pays(&self, of_transaction: &[Payment]) -> bool {
        of_transaction.iter().any(|payment| payment.from == self.owner)
    }

    /// True if the account made no payment for as long as a dormant one. Only then its balances are worth computing.
    fn may_have_slept(&self) -> bool {
        let AccountPayments { sums, payments, left_out } = self.payments;
        if !sums.is_empty() || *left_out > 0 {
            return false;
        }
        let (mut last, mut may_have_slept) = (None::<Timestamp>, false);
        for payment in payments {
            let is_paying = payment.from == self.owner;
            if last.is_some() && !is_paying {
                continue;
            }
            let time = self.view.time(payment.transaction);
            let pause = last.map(|last| time.duration_since(last));
            may_have_slept |= pause.is_some_and(|pause| pause >= DORMANT_AFTER);
            last = Some(time);
        }
        may_have_slept
    }

    /// A transaction with the other owners. Contracts are none, and who gives one asset for another pays nobody.
    fn transaction(
        &self,
        (number, time): (TransactionNumber, Timestamp),
        payments: &[Payment],
        parties: &mut Parties<'_>,
        worth: &mut Worth<'_>,
    ) -> OwnTransaction {
        let mut sides = [Side::default(), Side::default()];
        let valued = payments.iter().filter(|payment| payment.kind != MovementKind::Fee);
        for payment in valued {
            let Some(asset) = self.view.scored(payment.asset) else { continue };
            let is_received = payment.to == self.owner;
            let other = if is_received { payment.from } else { payment.to };
            let amount = worth.of(asset, payment.amount, time);
            let [received, sent] = &mut sides;
            let side = if is_received { received } else { sent };
            side.all = side.all.saturating_add(amount);
            if payment.kind == MovementKind::New {
                side.moved = side.moved.saturating_add(amount);
                continue;
            }
            let category = match parties.kind(other) {
                PartyKind::Contract => continue,
                PartyKind::End(category) => Some(category),
                PartyKind::Owner => None,
            };
            side.add(Party { owner: other, amount, category, may_be_change: false });
        }
        let [received, sent] = &mut sides;
        let (less, more) = (received.all.min(sent.all), received.all.max(sent.all));
        if less > 0 && less.saturating_mul(2) >= more {
            received.parties.retain(|party| party.category.is_some());
            sent.parties.retain(|party| party.category.is_some());
            for side in [&mut *received, &mut *sent] {
                side.moved = side.parties.iter().map(|party| party.amount).sum();
            }
        }
        let [received, sent] = sides;
        OwnTransaction {
            number,
            position: number.0,
            time,
            sent: sent.all,
            received: received.all,
            income: received.moved,
            spending: sent.moved,
            payers: received.parties,
            payees: sent.parties,
            before: StateBefore::default(),
            dusted: 0,
            own_dust: 0,
            coins: Coins::default(),
        }
    }
}

/// One direction of a transaction.
#[derive(Default)]
struct Side {
    /// Value of all payments, and of those that count as income or spending.
    all: u128,
    moved: u128,
    parties: Vec<Party>,
    /// Index of each party.
    known: FxHashMap<OwnerNumber, usize>,
}

impl Side {
    fn add(&mut self, party: Party) {
        self.moved = self.moved.saturating_add(party.amount);
        let index = *self.known.entry(party.owner).or_insert(self.parties.len());
        match self.parties.get_mut(index) {
            Some(known) => known.amount = known.amount.saturating_add(party.amount),
            None => self.parties.push(party),
        }
    }
}

/// Balances of the payments so far, by asset, in base units.
#[derive(Default)]
struct Balances(BTreeMap<AssetNumber, u128>);

impl Balances {
    fn worth(&self, view: &dyn AccountView, time: Timestamp, worth: &mut Worth<'_>) -> u128 {
        let of_assets = self.0.iter().filter(|(_, amount)| **amount > 0);
        let values = of_assets.filter_map(|(asset, amount)| {
            view.scored(*asset).map(|asset| worth.of(asset, *amount, time))
        });
        values.fold(0, u128::saturating_add)
    }

    fn book(&mut self, owner: OwnerNumber, payments: &[Payment]) {
        for payment in payments {
            let balance = self.0.entry(payment.asset).or_default();
            *balance = if payment.to == owner {
                balance.saturating_add(payment.amount)
            } else {
                balance.saturating_sub(payment.amount)
            };
        }
    }
}
