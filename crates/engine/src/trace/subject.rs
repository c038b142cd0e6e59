//! The beginning of a trace: the subject's own transactions. Change is not income: amounts that the subject paid to
//! itself are subtracted in each transaction before flows are followed (`docs/model/trace.md` T3, T4).

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use rustc_hash::FxHashSet;

use super::{TraceRules, attribution::Attributions, direction::DirectionalTrace};
use crate::{
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    ledger::{Mass, OwnHistory, OwnTransaction, OwnerNumber, TransactionNumber},
    reading::{ChainView, TransactionRead, ViewError, entries_of_each, read_own},
    trace::attribution::is_listed,
    utxo::TransactionKind,
};

/// Length in days of the recent window.
const RECENT_DAYS: i64 = 90;

/// Largest sum of one sender's dust, as a multiple of the largest dust payment.
const DUST_PAYMENTS_OF_ONE_SENDER: u128 = 20;

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

/// The properties of an incoming transaction that decide if the subject solicited the funds.
struct IncomingTransaction {
    own: OwnTransaction,
    /// Number of the largest inputs that are read.
    most: u32,
    income: u128,
    is_recent: bool,
    is_dust: bool,
    is_solicited: bool,
}

impl Subject<'_> {
    /// Begins the direction towards the origins.
    pub(super) fn source(
        self,
        attributions: &dyn Attributions,
    ) -> Result<DirectionalTrace<'_>, ViewError> {
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
        for IncomingTransaction { own, most, income, is_recent, is_dust, is_solicited } in incoming
        {
            if income == 0 {
                continue;
            }
            let solicitation = match (is_dust, is_solicited) {
                (true, _) => Solicitation::Dust,
                (false, true) => Solicitation::Solicited,
                (false, false) => Solicitation::Unsolicited,
            };
            let mut is_listed = |owner| is_listed(view, attributions, owner);
            read_own(view, (own.number, direction), most, &mut is_listed, &mut read)?;
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
    pub(super) fn destination(
        self,
        attributions: &dyn Attributions,
    ) -> Result<DirectionalTrace<'_>, ViewError> {
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

    fn entries_of_each(
        self,
        own: &[OwnTransaction],
        direction: Direction,
    ) -> Result<Vec<u32>, ViewError> {
        entries_of_each(self.view, own, direction, self.rules.read_limits())
    }

    /// The incoming transactions, each with the known properties of its senders.
    fn incoming(self) -> Result<Vec<IncomingTransaction>, ViewError> {
        let Self { view, owner, history, rules, today, .. } = self;
        let since = recent_since(today);
        let most = self.entries_of_each(&history.incoming, Direction::Source)?;
        let mut payees: Option<Payees> = None;
        let mut small: Vec<SmallPayment> = Vec::new();
        let mut read = TransactionRead::default();
        let mut all = Vec::with_capacity(history.incoming.len());
        for (own, most) in history.incoming.iter().zip(most) {
            let income = own.income(own.inputs);
            let is_little = (1..=rules.largest_dust).contains(&income);
            let mut is_solicited = income >= rules.unsolicited_below || own.is_passed_on;
            if is_little || !is_solicited {
                view.read(own.number, Direction::Source, most, &mut read)?;
                let is_mined = read.kind == TransactionKind::Coinbase;
                let all_read = read.is_whole(Direction::Source);
                if is_little && !is_mined && all_read {
                    small.extend(self.small(own.number, income, &read)?);
                }
                is_solicited |= is_mined || !all_read;
            }
            if !is_solicited {
                let payees = match &mut payees {
                    Some(known) => known,
                    unknown => unknown.insert(self.payees()?),
                };
                // The subject took part in a transaction that it signed, even with an input without value.
                is_solicited = !payees.all
                    || read
                        .entries
                        .iter()
                        .any(|input| input.owner == owner || payees.known.contains(&input.owner));
            }
            let is_recent = own.time >= since;
            let own = *own;
            all.push(IncomingTransaction {
                own,
                most,
                income,
                is_recent,
                is_dust: false,
                is_solicited,
            });
        }
        let dust = dust(&small, rules.largest_dust);
        for incoming in &mut all {
            incoming.is_dust = dust.contains(&incoming.own.number);
        }
        Ok(all)
    }

    /// A small payment with its senders' clusters; `None` if the subject's own cluster is among the senders' clusters.
    fn small(
        self,
        number: TransactionNumber,
        income: u128,
        read: &TransactionRead,
    ) -> Result<Option<SmallPayment>, ViewError> {
        let clusters = read.entries.iter().map(|input| self.view.cluster_of(input.owner));
        let senders = clusters.collect::<Result<BTreeSet<_>, ViewError>>()?;
        Ok((!senders.contains(&self.cluster)).then_some(SmallPayment { number, income, senders }))
    }

    /// The owners that the subject paid in the transactions that are read.
    fn payees(self) -> Result<Payees, ViewError> {
        let Self { view, history, .. } = self;
        let most = self.entries_of_each(&history.outgoing, Direction::Destination)?;
        let mut payees = Payees { known: FxHashSet::default(), all: true };
        let (mut spent, mut read) = (0, TransactionRead::default());
        for (own, most) in history.outgoing.iter().zip(most) {
            view.read(own.number, Direction::Destination, most, &mut read)?;
            spent += own.spending(own.inputs);
            payees.all &= read.is_whole(Direction::Destination);
            payees.known.extend(read.entries.iter().map(|output| output.owner));
        }
        payees.all &= spent >= history.statistics.sent;
        Ok(payees)
    }

    /// The unspent amount that the subject received in the last 90 days, which is the recent part of its balance.
    fn held_lately(self, since: Timestamp) -> u128 {
        let recent = self.history.incoming.iter().filter(|own| own.time >= since);
        recent.map(|own| own.unspent.min(own.income(own.inputs))).sum()
    }
}

/// A payment of a negligible amount.
struct SmallPayment {
    number: TransactionNumber,
    income: u128,
    /// The clusters of the payment's senders.
    senders: BTreeSet<OwnerNumber>,
}

/// The transactions whose income is dust: negligible amounts from senders whose such payments to the subject are small
/// in sum. Payments with incomplete data are not dust.
fn dust(small: &[SmallPayment], largest: u128) -> FxHashSet<TransactionNumber> {
    let mut sums: BTreeMap<OwnerNumber, u128> = BTreeMap::new();
    for SmallPayment { income, senders, .. } in small {
        for sender in senders {
            *sums.entry(*sender).or_default() += income;
        }
    }
    let most = largest.saturating_mul(DUST_PAYMENTS_OF_ONE_SENDER);
    let is_little = |sender: &OwnerNumber| sums.get(sender).is_some_and(|sum| *sum <= most);
    let dust = small.iter().filter(|small| small.senders.iter().all(is_little));
    dust.map(|small| small.number).collect()
}

/// The first moment of the last 90 days. The period begins with a UTC day, so that an answer holds for a whole day.
pub(super) fn recent_since(today: Date) -> Timestamp {
    today
        .checked_sub(RECENT_DAYS.days())
        .and_then(|day| day.to_zoned(TimeZone::UTC))
        .map_or(Timestamp::MIN, |midnight| midnight.timestamp())
}

/// The owners that the subject paid.
struct Payees {
    known: FxHashSet<OwnerNumber>,
    /// True if all payments of the subject are known.
    all: bool,
}
