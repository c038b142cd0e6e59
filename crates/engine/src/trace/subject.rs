//! The first level: the subject's own transactions. Change is no income: the amounts that the subject paid
//! to itself are subtracted, transaction by transaction, before any flow is followed.

use std::collections::BTreeSet;

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use super::{
    TraceRules,
    ends::Ends,
    level::Level,
    mass::Mass,
    state::{PathId, Paths, Route, State, StateKey},
};
use crate::{
    evidence::{FlowEnd, UnresolvedReason},
    utxo::{History, HistoryEntry, ScriptOwner, SideEntry, TransactionKind},
};

/// Length in days of the recent window.
const RECENT_DAYS: i64 = 90;

/// The start of both directions: the first level, the flows that ended before it, the paths, and the
/// total in base units.
pub(super) struct Start {
    pub(super) source: (Level, Ends, Paths, u128),
    pub(super) destination: (Level, Ends, Paths, u128),
}

pub(super) fn begin(
    subject: &ScriptOwner,
    history: &History,
    rules: &TraceRules,
    today: Date,
) -> Start {
    let since = recent_since(today);
    Start {
        source: source(subject, history, rules, since),
        destination: destination(subject, history, rules, since),
    }
}

/// The first moment of the last 90 days: they begin with a UTC day, so that an answer holds for a day.
fn recent_since(today: Date) -> Timestamp {
    today
        .checked_sub(RECENT_DAYS.days())
        .and_then(|day| day.to_zoned(TimeZone::UTC))
        .map_or(Timestamp::MIN, |midnight| midnight.timestamp())
}

fn source(
    subject: &ScriptOwner,
    history: &History,
    rules: &TraceRules,
    since: Timestamp,
) -> (Level, Ends, Paths, u128) {
    let (mut level, mut ends, mut paths) =
        (Level::first(), Ends::keeping(rules.paths_per_part), Paths::default());
    let payees = Payees::of(history);
    let mut seen = 0_u128;
    for entry in sorted_by_txid(&history.incoming) {
        let income = entry.received - entry.change();
        if income == 0 {
            continue;
        }
        seen += income;
        let transaction = &entry.transaction;
        let mass = Mass::of(income, transaction.time >= since);
        let solicited = is_solicited(subject, entry, income, rules, &payees);
        let end = match transaction.kind {
            TransactionKind::Payment => None,
            TransactionKind::Coinbase => Some(FlowEnd::Mining),
            TransactionKind::Coinjoin(kind) => Some(FlowEnd::Coinjoin(kind)),
        };
        if let Some(end) = end {
            let path = paths.step(None, transaction.txid, None);
            ends.plain(end, 1, solicited, &[], mass, whole(mass, path));
            continue;
        }
        // The counterparties in the order of the inputs; then unknown inputs, and those that were not read.
        let counterparties = counterparties_of(&transaction.inputs.largest, subject);
        let read: u128 =
            counterparties.iter().map(|counterparty| u128::from(counterparty.output.value)).sum();
        let unknown = transaction.inputs.unknown;
        let unread =
            transaction.inputs.total.saturating_sub(entry.sent + read).saturating_sub(unknown);
        let mut weights: Vec<u128> =
            counterparties.iter().map(|counterparty| counterparty.output.value.into()).collect();
        weights.extend([unknown, unread]);
        let mut shares = mass.split(&weights).into_iter();
        for (counterparty, mass) in counterparties.iter().zip(&mut shares) {
            let path = paths.step(None, transaction.txid, Some(&counterparty.output.owner));
            let key = StateKey { output: counterparty.outpoint, solicited, carried: vec![] };
            level.states.add(key, state(counterparty, mass, transaction.time, path), &paths);
        }
        let path = paths.step(None, transaction.txid, None);
        for (mass, reason) in
            shares.zip([UnresolvedReason::UnknownOrigin, UnresolvedReason::TraceLimit])
        {
            let end = FlowEnd::Unresolved(reason);
            ends.plain(end, 1, solicited, &[], mass, whole(mass, path));
        }
    }
    // Amounts received by transactions too small to be read: without a time, they count as earlier. Amounts
    // sent beyond those received are from before the first recorded block.
    let statistics = &history.statistics;
    let unread = statistics.received.saturating_sub(seen);
    let before = statistics.sent.saturating_sub(statistics.received);
    ends.aggregate(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 1, Mass::of(unread, false));
    ends.aggregate(
        FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin),
        1,
        Mass::of(before, false),
    );
    let received = seen.saturating_add(unread).saturating_add(before);
    (level, ends, paths, received)
}

fn destination(
    subject: &ScriptOwner,
    history: &History,
    rules: &TraceRules,
    since: Timestamp,
) -> (Level, Ends, Paths, u128) {
    let (mut level, mut ends, mut paths) =
        (Level::first(), Ends::keeping(rules.paths_per_part), Paths::default());
    let mut seen = 0_u128;
    for entry in sorted_by_txid(&history.outgoing) {
        let spending = entry.sent - entry.change();
        if spending == 0 {
            continue;
        }
        seen += spending;
        let transaction = &entry.transaction;
        let mass = Mass::of(spending, transaction.time >= since);
        if let TransactionKind::Coinjoin(kind) = transaction.kind {
            let path = paths.step(None, transaction.txid, None);
            ends.plain(FlowEnd::Coinjoin(kind), 1, true, &[], mass, whole(mass, path));
            continue;
        }
        let counterparties = counterparties_of(&transaction.outputs.largest, subject);
        let read: u128 =
            counterparties.iter().map(|counterparty| u128::from(counterparty.output.value)).sum();
        let unread = transaction.outputs.total.saturating_sub(entry.received + read);
        let mut weights: Vec<u128> =
            counterparties.iter().map(|counterparty| counterparty.output.value.into()).collect();
        weights.extend([unread, transaction.fee()]);
        let mut shares = mass.split(&weights).into_iter();
        for (counterparty, mass) in counterparties.iter().zip(&mut shares) {
            let path = paths.step(None, transaction.txid, Some(&counterparty.output.owner));
            let key = StateKey { output: counterparty.outpoint, solicited: true, carried: vec![] };
            level.states.add(key, state(counterparty, mass, transaction.time, path), &paths);
        }
        let path = paths.step(None, transaction.txid, None);
        let ended = [FlowEnd::Unresolved(UnresolvedReason::TraceLimit), FlowEnd::Fee];
        for (mass, end) in shares.zip(ended) {
            ends.plain(end, 1, true, &[], mass, whole(mass, path));
        }
    }
    let statistics = &history.statistics;
    let unread = statistics.sent.saturating_sub(seen);
    ends.aggregate(FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 1, Mass::of(unread, false));
    let held = statistics.received.saturating_sub(statistics.sent);
    let recent = held_lately(history, since).min(held);
    ends.aggregate(FlowEnd::Unspent, 0, Mass::of(held - recent, false) + Mass::of(recent, true));
    (level, ends, paths, seen.saturating_add(unread).saturating_add(held))
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

/// The entries of others than the subject, by index.
fn counterparties_of<'a>(entries: &'a [SideEntry], subject: &ScriptOwner) -> Vec<&'a SideEntry> {
    let mut counterparties: Vec<&SideEntry> =
        entries.iter().filter(|entry| entry.output.owner != *subject).collect();
    counterparties.sort_by_key(|entry| entry.index);
    counterparties
}

/// Entries in an order that does not depend on how they were read.
fn sorted_by_txid(entries: &[HistoryEntry]) -> Vec<&HistoryEntry> {
    let mut entries: Vec<&HistoryEntry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.transaction.txid);
    entries
}

fn state(entry: &SideEntry, mass: Mass, moved_at: Timestamp, path: PathId) -> State {
    State { owner: entry.output.owner.clone(), mass, moved_at, route: whole(mass, path) }
}

/// The route of an amount that took one path.
const fn whole(mass: Mass, path: PathId) -> Route {
    Route { path, amount: mass.total() }
}
