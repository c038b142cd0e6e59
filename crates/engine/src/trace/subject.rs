//! The beginning of a trace: the subject's own transactions. Change is not income: amounts that the subject paid to
//! itself are subtracted in each transaction before flows are followed (`docs/model/trace.md` T3, T4).

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use super::{
    TraceRules,
    attribution::{Attributions, is_listed},
    direction::DirectionalTrace,
    incoming::IncomingTransaction,
    outstanding::Dealings,
    repayment::Repayments,
};
use crate::{
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    ledger::{Mass, OwnHistory, OwnTransaction, OwnerNumber},
    reading::{ChainView, TransactionRead, ViewError, entries_of_each, read_own},
};

/// Length in days of the recent window.
const RECENT_DAYS: i64 = 90;

/// A subject whose funds are traced.
#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    pub(super) view: &'s dyn ChainView,
    pub(super) owner: OwnerNumber,
    pub(super) cluster: OwnerNumber,
    pub(super) history: &'s OwnHistory,
    pub(super) rules: TraceRules,
    pub(super) today: Date,
}

impl Subject<'_> {
    /// Begins the direction towards the origins.
    pub(super) fn source<'a>(
        self,
        attributions: &'a dyn Attributions,
        dealings: &mut Dealings,
    ) -> Result<DirectionalTrace<'a>, ViewError> {
        let Self { view, owner, cluster, history, rules, .. } = self;
        let incoming = self.incoming()?;
        let seen: u128 = incoming.iter().map(|incoming| incoming.income).sum();
        // Amounts received by transactions too small to be read: without a time, they count as earlier. Amounts
        // sent beyond those received are from before the first recorded block.
        let statistics = &history.statistics;
        let unread = statistics.received.saturating_sub(seen);
        let before = statistics.sent.saturating_sub(statistics.received);
        let whole = seen.saturating_add(unread).saturating_add(before);

        let (subject, direction) = ((owner, cluster), Direction::Source);
        let mut trace = DirectionalTrace::new(direction, subject, whole, rules, attributions);
        trace.own_entries = incoming.iter().map(|it| (it.own.number, it.most)).collect();
        let mut read = TransactionRead::default();
        let mut repayments = Repayments::default();
        for IncomingTransaction { own, most, income, is_recent, mut solicitation } in incoming {
            if income == 0 {
                continue;
            }
            let mut is_listed = |owner| is_listed(view, attributions, owner);
            read_own(view, (own.number, direction), most, &mut is_listed, &mut read)?;
            if solicitation == Solicitation::Solicited
                && repayments.contain(self, attributions, &read)?
            {
                solicitation = Solicitation::PaidBack;
            }
            dealings.add(self, attributions, (direction, &own), &read)?;
            trace.begin(
                view,
                &read,
                Mass::from_base_units(income, is_recent),
                solicitation,
                own.sent,
            )?;
        }
        for (amount, reason) in
            [(unread, UnresolvedReason::TraceLimit), (before, UnresolvedReason::UnknownOrigin)]
        {
            trace.aggregate(FlowEnd::Unresolved(reason), 1, Mass::from_base_units(amount, false));
        }
        Ok(trace)
    }

    /// Begins the direction towards the destinations.
    pub(super) fn destination<'a>(
        self,
        attributions: &'a dyn Attributions,
        dealings: &mut Dealings,
    ) -> Result<DirectionalTrace<'a>, ViewError> {
        let Self { view, owner, cluster, history, rules, today } = self;
        let since = recent_since(today);
        let direction = Direction::Destination;
        let most = self.entries_of_each(&history.outgoing, direction)?;
        let seen: u128 = history.outgoing.iter().map(|own| own.spending(own.inputs)).sum();
        let statistics = &history.statistics;
        let unread = statistics.sent.saturating_sub(seen);
        let held = statistics.received.saturating_sub(statistics.sent);
        let whole = seen.saturating_add(unread).saturating_add(held);

        let subject = (owner, cluster);
        let mut trace = DirectionalTrace::new(direction, subject, whole, rules, attributions);
        let own = history.outgoing.iter().map(|own| own.number);
        trace.own_entries = own.zip(most.iter().copied()).collect();
        let mut read = TransactionRead::default();
        for (own, most) in history.outgoing.iter().zip(most) {
            let spending = own.spending(own.inputs);
            if spending > 0 {
                let mass = Mass::from_base_units(spending, own.time >= since);
                let solicitation = Solicitation::Solicited;
                let mut is_listed = |owner| is_listed(view, attributions, owner);
                read_own(view, (own.number, direction), most, &mut is_listed, &mut read)?;
                dealings.add(self, attributions, (direction, own), &read)?;
                trace.begin(view, &read, mass, solicitation, own.received)?;
            }
        }
        let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        trace.aggregate(limit, 1, Mass::from_base_units(unread, false));
        let recent = self.held_lately(since).min(held);
        let balance =
            Mass::from_base_units(held - recent, false) + Mass::from_base_units(recent, true);
        trace.aggregate(FlowEnd::Unspent, 0, balance);
        Ok(trace)
    }

    pub(super) fn entries_of_each(
        self,
        own: &[OwnTransaction],
        direction: Direction,
    ) -> Result<Vec<u32>, ViewError> {
        entries_of_each(self.view, own, direction, self.rules.read_limits())
    }

    /// The unspent amount that the subject received in the last 90 days, which is the recent part of its balance.
    fn held_lately(self, since: Timestamp) -> u128 {
        let recent = self.history.incoming.iter().filter(|own| own.time >= since);
        recent.map(|own| own.unspent.min(own.income(own.inputs))).sum()
    }
}

/// The first moment of the last 90 days. The period begins with a UTC day, so that an answer holds for a whole day.
#[must_use]
pub fn recent_since(today: Date) -> Timestamp {
    today
        .checked_sub(RECENT_DAYS.days())
        .and_then(|day| day.to_zoned(TimeZone::UTC))
        .map_or(Timestamp::MIN, |midnight| midnight.timestamp())
}
