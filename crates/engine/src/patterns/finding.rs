//! A pattern that a search collects: its occurrences with their transactions.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::activity::OwnTransaction;
use crate::{
    evidence::{Pattern, PatternDetails, PatternFact, PatternRole, UnscoredReason},
    ledger::TransactionNumber,
    reading::ViewError,
    score::Confidence,
};

/// A pattern in one role, with all of its occurrences.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) pattern: Pattern,
    pub(super) role: PatternRole,
    /// Confidence in percent.
    pub(super) confidence: u8,
    pub(super) unscored: Option<UnscoredReason>,
    pub(super) count: u64,
    /// Funds that took part in the pattern, and all funds of the same direction.
    pub(super) amount: u128,
    pub(super) whole: u128,
    pub(super) details: PatternDetails,
    /// Transactions that show the pattern, by position in the chain.
    pub(super) transactions: BTreeMap<u64, ShownTransaction>,
}

/// A transaction that shows a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownTransaction {
    number: TransactionNumber,
    time: Timestamp,
    /// True for a transaction of the owner.
    is_own: bool,
}

impl Finding {
    /// A pattern without occurrences.
    pub(super) fn new(pattern: Pattern, role: PatternRole, whole: u128) -> Self {
        Self {
            pattern,
            role,
            confidence: 0,
            unscored: None,
            count: 0,
            amount: 0,
            whole,
            details: PatternDetails::default(),
            transactions: BTreeMap::new(),
        }
    }

    /// Counts an occurrence of this confidence. The finding keeps the details of the occurrence with the largest
    /// amount; of equal amounts, the first.
    pub(super) fn occurs(&mut self, confidence: u8, details: PatternDetails) {
        self.count += 1;
        self.confidence = self.confidence.max(confidence);
        self.amount = self.amount.saturating_add(details.amount);
        if self.count == 1 || details.amount > self.details.amount {
            self.details = details;
        }
    }

    /// Adds a transaction, of the owner or of others, that shows the pattern.
    pub(super) fn show(
        &mut self,
        position: u64,
        (number, time): (TransactionNumber, Timestamp),
        is_own: bool,
    ) {
        let shown =
            self.transactions.entry(position).or_insert(ShownTransaction { number, time, is_own });
        shown.is_own |= is_own;
    }

    /// Adds a transaction of the owner that shows the pattern.
    pub(super) fn show_own(&mut self, own: &OwnTransaction) {
        self.show(own.position, (own.number, own.time), true);
    }

    /// Sets the reason for which the pattern is not scored, unless the pattern has one already.
    pub(super) fn unscored(&mut self, reason: UnscoredReason) {
        self.unscored.get_or_insert(reason);
    }

    /// The times of the owner's transactions that show the pattern.
    pub(super) fn own_times(&self) -> Vec<Timestamp> {
        self.transactions.values().filter(|shown| shown.is_own).map(|shown| shown.time).collect()
    }

    /// Converts the finding to a fact with at most `shown` transactions, preferring those of the owner; `None` if the
    /// finding has no occurrence. `text` gives the identifier of a transaction.
    pub(super) fn into_fact(
        self,
        text: &dyn Fn(TransactionNumber) -> Result<String, ViewError>,
        shown: usize,
    ) -> Result<Option<PatternFact>, ViewError> {
        let (Some((_, first)), Some((_, last))) =
            (self.transactions.first_key_value(), self.transactions.last_key_value())
        else {
            return Ok(None);
        };
        if self.count == 0 {
            return Ok(None);
        }
        let period = (first.time, last.time);
        let mut named: Vec<(u64, ShownTransaction)> =
            self.transactions.iter().map(|(position, shown)| (*position, *shown)).collect();
        named.sort_by_key(|(position, shown)| (!shown.is_own, *position));
        named.truncate(shown);
        named.sort_by_key(|(position, _)| *position);
        let transactions = named.iter().map(|(_, shown)| text(shown.number));
        Ok(Some(PatternFact {
            transactions: transactions.collect::<Result<_, _>>()?,
            pattern: self.pattern,
            role: self.role,
            confidence: Confidence::from_percent(self.confidence),
            unscored: self.unscored,
            count: self.count,
            period,
            amount: self.amount,
            whole: self.whole,
            details: self.details,
        }))
    }
}
