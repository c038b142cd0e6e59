//! The beginning of a trace: the subject's own transactions. Change is no income: the amounts that the subject
//! paid to itself are subtracted, transaction by transaction, before any flow is followed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use super::{Attribute, Clusters, TraceRules, direction::DirectionalTrace, mass::Mass};
use crate::{
    evidence::{Direction, FlowEnd, Solicitation, UnresolvedReason},
    utxo::{History, HistoryEntry, ScriptOwner, TransactionKind, Txid},
};

/// Length in days of the recent window.
const RECENT_DAYS: i64 = 90;

/// All dust of one sender is at most so many times the largest payment of dust.
const DUST_PAYMENTS_OF_ONE_SENDER: u128 = 20;

/// A subject whose money is to be traced.
#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    pub(super) owner: &'s ScriptOwner,
    pub(super) history: &'s History,
    pub(super) clusters: &'s Clusters,
    pub(super) rules: TraceRules,
    pub(super) today: Date,
}

impl Subject<'_> {
    /// The beginning towards the origins.
    pub(super) fn source<'a>(self, attribute: &'a Attribute<'a>) -> DirectionalTrace<'a> {
        let Self { owner, history, clusters, rules, today } = self;
        let since = recent_since(today);
        let income = |entry: &HistoryEntry| entry.received - entry.change();
        let seen: u128 = history.incoming.iter().map(income).sum();
        // Amounts received by transactions too small to be read: without a time, they count as earlier. Amounts
        // sent beyond those received are from before the first recorded block.
        let statistics = &history.statistics;
        let unread = statistics.received.saturating_sub(seen);
        let before = statistics.sent.saturating_sub(statistics.received);
        let whole = seen.saturating_add(unread).saturating_add(before);

        let mut trace = DirectionalTrace::new(Direction::Source, owner, whole, rules, attribute);
        let payees = Payees::of(history);
        let dust = self.dust();
        for entry in sorted_by_txid(&history.incoming) {
            let income = income(entry);
            if income > 0 {
                let transaction = &entry.transaction;
                let mass = Mass::of(income, transaction.time >= since);
                let solicitation = if dust.contains(&transaction.txid) {
                    Solicitation::Dust
                } else if is_solicited(owner, entry, income, &rules, &payees) {
                    Solicitation::Solicited
                } else {
                    Solicitation::Unsolicited
                };
                trace.begin(transaction, mass, solicitation, entry.sent, clusters);
            }
        }
        for (amount, reason) in
            [(unread, UnresolvedReason::TraceLimit), (before, UnresolvedReason::UnknownOrigin)]
        {
            trace.aggregate(FlowEnd::Unresolved(reason), 1, Mass::of(amount, false));
        }
        trace
    }

    /// The beginning towards the destinations.
    pub(super) fn destination<'a>(self, attribute: &'a Attribute<'a>) -> DirectionalTrace<'a> {
        let Self { owner, history, clusters, rules, today } = self;
        let since = recent_since(today);
        let spending = |entry: &HistoryEntry| entry.sent - entry.change();
        let seen: u128 = history.outgoing.iter().map(spending).sum();
        let statistics = &history.statistics;
        let unread = statistics.sent.saturating_sub(seen);
        let held = statistics.received.saturating_sub(statistics.sent);
        let whole = seen.saturating_add(unread).saturating_add(held);

        let mut trace =
            DirectionalTrace::new(Direction::Destination, owner, whole, rules, attribute);
        for entry in sorted_by_txid(&history.outgoing) {
            let spending = spending(entry);
            if spending > 0 {
                let transaction = &entry.transaction;
                let mass = Mass::of(spending, transaction.time >= since);
                let solicitation = Solicitation::Solicited;
                trace.begin(transaction, mass, solicitation, entry.received, clusters);
            }
        }
        let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        trace.aggregate(limit, 1, Mass::of(unread, false));
        let recent = held_lately(history, since).min(held);
        let balance = Mass::of(held - recent, false) + Mass::of(recent, true);
        trace.aggregate(FlowEnd::Unspent, 0, balance);
        trace
    }

    /// The transactions whose income is dust: next to nothing, of senders whose such payments to the subject
    /// are little together. In doubt it is no dust.
    fn dust(self) -> BTreeSet<Txid> {
        let Self { owner, history, clusters, rules, .. } = self;
        let small = history.incoming.iter().filter_map(|entry| {
            let income = entry.received - entry.change();
            let inputs = &entry.transaction.inputs;
            let all_read = inputs.largest.len() as u64 >= inputs.count && inputs.unknown == 0;
            let is_small = (1..=rules.largest_dust).contains(&income)
                && entry.transaction.kind != TransactionKind::Coinbase
                && all_read;
            let senders: BTreeSet<&ScriptOwner> =
                inputs.largest.iter().map(|input| clusters.of(&input.output.owner)).collect();
            (is_small && !senders.contains(clusters.of(owner))).then_some((
                entry.transaction.txid,
                income,
                senders,
            ))
        });
        let small: Vec<(Txid, u128, BTreeSet<&ScriptOwner>)> = small.collect();
        let mut sums: BTreeMap<&ScriptOwner, u128> = BTreeMap::new();
        for (_, income, senders) in &small {
            for sender in senders {
                *sums.entry(sender).or_default() += income;
            }
        }
        let most = rules.largest_dust.saturating_mul(DUST_PAYMENTS_OF_ONE_SENDER);
        let is_little = |sender: &&ScriptOwner| sums.get(*sender).is_some_and(|sum| *sum <= most);
        let dust = small.into_iter().filter(|(_, _, senders)| senders.iter().all(is_little));
        dust.map(|(txid, ..)| txid).collect()
    }
}

/// The first moment of the last 90 days: they begin with a UTC day, so that an answer holds for a day.
fn recent_since(today: Date) -> Timestamp {
    today
        .checked_sub(RECENT_DAYS.days())
        .and_then(|day| day.to_zoned(TimeZone::UTC))
        .map_or(Timestamp::MIN, |midnight| midnight.timestamp())
}

/// The unspent amounts of the last 90 days: held money is as recent as its arrival.
fn held_lately(history: &History, since: Timestamp) -> u128 {
    let lately = history.incoming.iter().filter(|entry| entry.transaction.time >= since);
    lately
        .map(|entry| {
            let unspent = entry.outputs.iter().filter(|output| !output.spent);
            let unspent: u128 = unspent.map(|output| u128::from(output.value)).sum();
            unspent.min(entry.received - entry.change())
        })
        .sum()
}

/// The owners that the subject ever paid, as far as its payments were read.
struct Payees<'a> {
    known: BTreeSet<&'a ScriptOwner>,
    all: bool,
}

impl<'a> Payees<'a> {
    fn of(history: &'a History) -> Self {
        let entries = &history.outgoing;
        let spent: u128 = entries.iter().map(|entry| entry.sent - entry.change()).sum();
        let sides = entries.iter().map(|entry| &entry.transaction.outputs);
        Self {
            all: spent >= history.statistics.sent
                && sides.clone().all(|side| side.largest.len() as u64 >= side.count),
            known: sides
                .flat_map(|side| &side.largest)
                .map(|output| &output.output.owner)
                .collect(),
        }
    }
}

/// True if a transfer is solicited. A transfer is unsolicited if the subject never paid any of the
/// senders, passed nothing of it on, and it is a small amount. In doubt it is solicited.
fn is_solicited(
    subject: &ScriptOwner,
    entry: &HistoryEntry,
    income: u128,
    rules: &TraceRules,
    payees: &Payees<'_>,
) -> bool {
    let inputs = &entry.transaction.inputs;
    let all_read = inputs.largest.len() as u64 >= inputs.count && inputs.unknown == 0;
    income >= rules.unsolicited_below
        || entry.transaction.kind == TransactionKind::Coinbase
        || entry.outputs.iter().any(|output| output.spent)
        || !payees.all
        || !all_read
        // The subject took part in a transaction that it signed, even with an input without value.
        || inputs
            .largest
            .iter()
            .any(|input| input.output.owner == *subject || payees.known.contains(&input.output.owner))
}

/// Entries in an order that does not depend on how they were read.
fn sorted_by_txid(entries: &[HistoryEntry]) -> Vec<&HistoryEntry> {
    let mut entries: Vec<&HistoryEntry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.transaction.txid);
    entries
}
