//! The transactions of the subject's owner, each with its counterparties (`docs/model/patterns.md` P1). Amounts are in base
//! units, on account chains in micro-dollars.

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;

use super::rules::{ACTIVITY_PERCENT, OWN_TRANSACTIONS, is_percent_of};
use crate::{
    evidence::{Direction, Pattern},
    ledger::{OwnerNumber, TransactionNumber},
    reading::TransactionEntry,
    taxonomy::Category,
    utxo::TransactionKind,
};

/// A counterparty in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    /// Cluster of the counterparty.
    pub(super) owner: OwnerNumber,
    /// Amount that moved between the counterparty and the subject's owner.
    pub(super) amount: u128,
    /// Category that lists or labels assign to the counterparty.
    pub(super) category: Option<Category>,
    /// True for the largest of several payees of a payment without change to the owner: this payee may be the owner's
    /// change at a new address.
    pub(super) may_be_change: bool,
}

/// A transaction of the owner.
#[derive(Clone, Debug)]
pub(super) struct OwnTransaction {
    pub(super) number: TransactionNumber,
    pub(super) position: u64,
    pub(super) time: Timestamp,
    /// Amount that the owner put in, and amount that the owner got out.
    pub(super) sent: u128,
    pub(super) received: u128,
    /// Amount received net of change.
    pub(super) income: u128,
    /// Amount sent net of change, fees included.
    pub(super) spending: u128,
    /// Counterparties that paid the income.
    pub(super) payers: Vec<Party>,
    /// Counterparties that the transaction paid.
    pub(super) payees: Vec<Party>,
    /// Balance of the owner before the transaction, and the last time before it at which the owner was active.
    pub(super) before: StateBefore,
    /// Number of distinct owners that receive dust.
    pub(super) dusted: u64,
    /// Dust that the owner receives.
    pub(super) own_dust: u128,
    /// Inputs and outputs, on chains that have them.
    pub(super) coins: Coins,
}

/// State of the owner before a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateBefore {
    /// Balance of the transactions that were read.
    pub(super) balance: u128,
    /// The last time at which the owner paid, or was paid more than a negligible part of its balance.
    pub(super) active: Option<Timestamp>,
}

/// Inputs and outputs of a transaction, for forms of transactions and for searches of neighboring transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct Coins {
    pub(super) kind: TransactionKind,
    pub(super) forms: Vec<Pattern>,
    /// Dust that the transaction pays in total.
    pub(super) dust: u128,
    /// Number of inputs, known or not, and their total in base units.
    pub(super) inputs_count: u64,
    pub(super) inputs_total: u128,
    /// True if all of the transaction's inputs and outputs are known.
    pub(super) is_whole: bool,
    pub(super) inputs: Vec<TransactionEntry>,
    pub(super) outputs: Vec<TransactionEntry>,
}

/// The owner's transactions that were read, in the order of the chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    pub(super) transactions: Vec<OwnTransaction>,
    /// Total income of the transactions that were read.
    pub(super) received: u128,
    /// Total spending of the transactions that were read.
    pub(super) sent: u128,
    /// True if all transactions of the owner were read.
    pub(super) is_whole: bool,
}

impl Activity {
    /// The payments above `dust` to the owner (`Source`) or from the owner (`Destination`), in the order of the chain:
    /// the index of the transaction, its time, and the counterparty.
    pub(super) fn transfers(
        &self,
        direction: Direction,
        dust: u128,
    ) -> impl Iterator<Item = (usize, Timestamp, Party)> {
        self.transactions.iter().enumerate().flat_map(move |(index, own)| {
            let parties = match direction {
                Direction::Source => &own.payers,
                Direction::Destination => &own.payees,
            };
            let above = parties.iter().filter(move |party| party.amount > dust);
            above.map(move |party| (index, own.time, *party))
        })
    }

    /// The transaction of a number, if the transaction was read.
    pub(super) fn transaction(&self, number: TransactionNumber) -> Option<&OwnTransaction> {
        self.transactions.iter().find(|own| own.number == number)
    }

    /// Amount that the owner received by a transaction, net of change.
    pub(super) fn income_of(&self, number: TransactionNumber) -> u128 {
        self.transaction(number).map_or(0, |own| own.income)
    }
}

/// True if the owner was active by a transaction: it paid, or was paid more than a negligible part of its balance.
pub(super) const fn is_active(spending: u128, income: u128, balance: u128) -> bool {
    spending > 0 || income > 0 && is_percent_of(income, ACTIVITY_PERCENT, balance)
}

/// The transactions to read, largest amounts first, and true if some transactions are left out.
pub(super) fn chosen(
    moved: BTreeMap<TransactionNumber, (u128, Timestamp)>,
) -> (Vec<TransactionNumber>, bool) {
    let mut all: Vec<(Reverse<u128>, Reverse<Timestamp>, TransactionNumber)> = moved
        .into_iter()
        .map(|(number, (sum, time))| (Reverse(sum), Reverse(time), number))
        .collect();
    all.sort_unstable();
    let is_cut = all.len() > OWN_TRANSACTIONS;
    if is_cut {
        let mut newest = all.split_off(OWN_TRANSACTIONS / 2);
        newest.sort_by_key(|(_, time, _)| *time);
        all.extend(newest.into_iter().take(OWN_TRANSACTIONS / 2));
    }
    (all.into_iter().map(|(_, _, number)| number).collect(), is_cut)
}
