//! Accounts that are associated with a subject (`docs/model/accounts.md` B11): the first funder, deposit addresses of a
//! service, and the strongest counterparties. An association moves no money.

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Asset, AssetId,
    ends::ends_money,
    history::AccountPayments,
    step::Payment,
    unit::{MoneyUnit, Valuation},
    view::{AccountAttributions, AccountView},
};
use crate::{
    facts::AccountRole,
    ledger::{OwnerNumber, TransactionNumber},
};

/// Number of a subject's counterparties, the strongest ones, that are examined for deposit addresses.
const EXAMINED: usize = 50;
/// Most payments of a counterparty that are read to recognize a deposit address.
const MOST_RECORDS: usize = 300;
/// Fewest payers of a deposit address, the service aside.
const FEWEST_PAYERS: usize = 2;
/// Number of transactions that are named of a counterparty.
const TRANSACTIONS: usize = 5;

/// An account that paid the subject or was paid by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountCounterparty {
    /// The account.
    pub owner: OwnerNumber,
    /// True if the account made the first payment of native coins to the subject.
    pub is_funder: bool,
    /// Role of the account, where one is recognized.
    pub role: Option<AccountRole>,
    /// Received from and sent to the account, by asset, in base units.
    pub amounts: BTreeMap<AssetId, (u128, u128)>,
    /// The largest transactions with the account, the largest first.
    pub transactions: Vec<TransactionNumber>,
    /// Time of the first payment.
    pub first_seen: Timestamp,
    /// Time of the last payment.
    pub last_seen: Timestamp,
}

/// The accounts that paid the subject or were paid by it in its own payments: the funder first, then by the value of all
/// payments, then by their first payment.
#[must_use]
pub fn counterparties(
    view: &dyn AccountView,
    (subject, own): (OwnerNumber, &[Payment]),
    attributions: &dyn AccountAttributions,
    values: &mut Valuation<'_>,
) -> Vec<AccountCounterparty> {
    let mut sums: FxHashMap<OwnerNumber, Sums> = FxHashMap::default();
    let mut funder = None;
    for payment in own.iter().filter(|it| it.kind.is_payment()) {
        let is_received = payment.to == subject;
        let other = if is_received { payment.from } else { payment.to };
        let Some(asset) = view.scored(payment.asset).filter(|_| other != OwnerNumber::NOBODY)
        else {
            continue;
        };
        if is_received && funder.is_none() && asset.id.asset == Asset::Native {
            funder = Some(other);
        }
        let time = view.time(payment.transaction);
        let (unit, value) = values.value(asset, payment.amount, time);
        // Values of assets without a price are not comparable: they order nothing.
        let value = if unit == MoneyUnit::Dollars { value } else { 0 };
        let sums = sums.entry(other).or_insert_with(|| Sums::new(time));
        sums.last_seen = time;
        sums.value = sums.value.saturating_add(value);
        let (received, sent) = sums.amounts.entry(asset.id).or_default();
        let sum = if is_received { received } else { sent };
        *sum = sum.saturating_add(payment.amount);
        sums.payments.push((value, payment.transaction));
    }
    let mut all: Vec<(OwnerNumber, Sums)> = sums.into_iter().collect();
    all.sort_by_key(|(owner, sums)| {
        (Reverse(funder == Some(*owner)), Reverse(sums.value), sums.first_seen, *owner)
    });
    let mut counterparties = Vec::with_capacity(all.len());
    for (index, (owner, sums)) in all.into_iter().enumerate() {
        let is_deposit = index < EXAMINED && is_deposit_address(view, owner, attributions);
        counterparties.push(AccountCounterparty {
            owner,
            is_funder: funder == Some(owner),
            role: is_deposit.then_some(AccountRole::ServiceDeposit),
            transactions: sums.largest(),
            amounts: sums.amounts,
            first_seen: sums.first_seen,
            last_seen: sums.last_seen,
        });
    }
    counterparties
}

#[derive(Debug)]
struct Sums {
    value: u128,
    amounts: BTreeMap<AssetId, (u128, u128)>,
    payments: Vec<(u128, TransactionNumber)>,
    first_seen: Timestamp,
    last_seen: Timestamp,
}

impl Sums {
    const fn new(time: Timestamp) -> Self {
        Self {
            value: 0,
            amounts: BTreeMap::new(),
            payments: Vec::new(),
            first_seen: time,
            last_seen: time,
        }
    }

    fn largest(&self) -> Vec<TransactionNumber> {
        let mut payments = self.payments.clone();
        payments.sort_by_key(|(value, number)| (Reverse(*value), *number));
        let mut numbers: Vec<TransactionNumber> = Vec::new();
        for (_, number) in payments {
            if !numbers.contains(&number) && numbers.len() < TRANSACTIONS {
                numbers.push(number);
            }
        }
        numbers
    }
}

/// True for a deposit address of a service: at least two accounts paid it, and everything that it paid went to one
/// custodial service. Its first other payment ends that.
#[must_use]
pub fn is_deposit_address(
    view: &dyn AccountView,
    account: OwnerNumber,
    attributions: &dyn AccountAttributions,
) -> bool {
    let is_end = |owner| {
        let attribution = attributions.of_account(owner);
        attribution.and_then(|it| it.end.clone()).filter(ends_money)
    };
    if is_end(account).is_some() {
        return false;
    }
    let mut service = None;
    let mut payers: FxHashSet<OwnerNumber> = FxHashSet::default();
    let AccountPayments { payments, left_out, .. } = view.payments(account, MOST_RECORDS);
    if left_out > 0 {
        return false;
    }
    for payment in payments {
        if !payment.kind.is_payment() {
            continue;
        }
        if payment.to == account {
            payers.insert(payment.from);
        } else if service.is_none_or(|known| known == payment.to) {
            service = Some(payment.to);
        } else {
            return false;
        }
    }
    let Some(service) = service else { return false };
    // The service pays the address's fees.
    payers.remove(&service);
    payers.len() >= FEWEST_PAYERS && is_end(service).is_some_and(|end| end.category.info().service)
}
