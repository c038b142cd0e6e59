//! A pattern on its way to a fact: its occurrences with their transactions.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::activity::OwnTransaction;
use crate::{
    evidence::{Pattern, PatternDetails, PatternFact, PatternRole, UnscoredReason},
    reading::{ChainView, TransactionNumber, ViewError},
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
    /// Funds that took part, and all of their direction, in base units.
    pub(super) amount: u128,
    pub(super) whole: u128,
    pub(super) details: PatternDetails,
    /// Its transactions, in the order of the chain.
    pub(super) transactions: BTreeMap<u64, (TransactionNumber, Timestamp)>,
}

impl Finding {
    /// A pattern of which no occurrence is known yet.
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

    /// Counts an occurrence of this confidence.
    pub(super) fn occurs(&mut self, confidence: u8, amount: u128) {
        self.count += 1;
        self.confidence = self.confidence.max(confidence);
        self.amount = self.amount.saturating_add(amount);
    }

    /// Notes a transaction that shows it.
    pub(super) fn show(&mut self, position: u64, number: TransactionNumber, time: Timestamp) {
        self.transactions.insert(position, (number, time));
    }

    /// Notes a transaction of the owner that shows it.
    pub(super) fn show_own(&mut self, own: &OwnTransaction) {
        self.show(own.position, own.number, own.time);
    }

    /// Raises the details to those of another occurrence, where they are larger.
    pub(super) fn detail(&mut self, details: &PatternDetails) {
        let known = &mut self.details;
        known.parties = known.parties.max(details.parties);
        known.length = known.length.max(details.length);
        known.seconds = known.seconds.max(details.seconds);
        known.threshold = known.threshold.max(details.threshold);
    }

    /// The fact with the first `shown` transactions; `None` without an occurrence.
    pub(super) fn into_fact(
        self,
        view: &dyn ChainView,
        shown: usize,
    ) -> Result<Option<PatternFact>, ViewError> {
        let (Some((_, (_, from))), Some((_, (_, to)))) =
            (self.transactions.first_key_value(), self.transactions.last_key_value())
        else {
            return Ok(None);
        };
        if self.count == 0 {
            return Ok(None);
        }
        let period = (*from, *to);
        let shown = self.transactions.values().take(shown);
        let transactions =
            shown.map(|(number, _)| Ok::<_, ViewError>(view.txid(*number)?.to_string()));
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
