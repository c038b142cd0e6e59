//! Patterns with many counterparties within a short time: fan-in, fan-out, gather-scatter and dust sent
//! (`docs/model/patterns.md` P3, P8).

use std::collections::BTreeSet;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use rustc_hash::FxHashSet;

use super::{
    activity::{Activity, Party},
    finding::Finding,
    own::seconds,
    rules::{
        BURST_TIMES, DUSTED_OWNERS, FAN_PARTIES, GATHER_PARTIES, REGULAR_DAYS, REGULAR_SPAN,
        SCATTER_WITHIN, SCATTERED_PERCENT, WINDOW, confidence, is_percent_of,
    },
    transfers::fan::{FanWindow, fan_windows},
};
use crate::{
    evidence::{Direction, Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::OwnerNumber,
    policy::PatternRules,
};

/// A transfer with the index of its transaction.
type Transfer = (usize, Timestamp, Party);

/// Finds fan-ins, fan-outs, gather-scatters and sent dust.
pub(super) fn fans(activity: &Activity, rules: &PatternRules) -> Vec<Finding> {
    let incoming: Vec<Transfer> = activity.transfers(Direction::Source, rules.dust).collect();
    let outgoing = paid_to_others(activity, rules);
    let received = Finding::new(Pattern::FanIn, PatternRole::Recipient, activity.received);
    let paid = Finding::new(Pattern::FanOut, PatternRole::Actor, activity.sent);
    vec![
        fan(activity, received, &incoming),
        fan(activity, paid, &outgoing),
        gather_scatter(activity, &incoming, &outgoing),
        dust_sent(activity, rules),
    ]
}

/// The owner's payments above dust to other owners, without possible change at new addresses.
fn paid_to_others(activity: &Activity, rules: &PatternRules) -> Vec<Transfer> {
    let paid = activity.transfers(Direction::Destination, rules.dust);
    paid.filter(|(_, _, party)| !party.may_be_change).collect()
}

fn windows_of(transfers: &[Transfer], fewest: u64) -> Vec<FanWindow> {
    let parties = transfers.iter().map(|(_, time, party)| (*time, party.owner));
    fan_windows(parties, WINDOW.unsigned_abs(), u32::try_from(fewest).unwrap_or(u32::MAX))
}

fn fan(activity: &Activity, mut finding: Finding, transfers: &[Transfer]) -> Finding {
    let mut windows = windows_of(transfers, FAN_PARTIES);
    if windows.is_empty() {
        return finding;
    }
    // A business has smaller days, too. Windows far above these are bursts.
    let usual = windows_of(transfers, FAN_PARTIES / 2);
    if is_regular(&usual, transfers) {
        let mut parties: Vec<u32> = usual.iter().map(|window| window.parties).collect();
        parties.sort_unstable();
        let median = parties.get(parties.len() / 2).copied().unwrap_or_default();
        let is_burst = |window: &FanWindow| window.parties > median.saturating_mul(BURST_TIMES);
        if windows.iter().any(is_burst) {
            windows.retain(is_burst);
        } else {
            finding.unscored(UnscoredReason::RegularActivity);
        }
    }
    for window in windows {
        let within = transfers.get(window.transfers.clone()).unwrap_or_default();
        add(activity, within, window.parties.into(), (FAN_PARTIES, 30), &mut finding);
    }
    finding
}

/// True if the owner regularly pays many others on many days, as businesses do.
pub(super) fn pays_regularly(activity: &Activity, rules: &PatternRules) -> bool {
    let outgoing = paid_to_others(activity, rules);
    is_regular(&windows_of(&outgoing, FAN_PARTIES / 2), &outgoing)
}

/// True if the windows lie on many days over a long time, as the payments of a business do.
fn is_regular(windows: &[FanWindow], transfers: &[Transfer]) -> bool {
    let firsts = windows.iter().filter_map(|window| transfers.get(window.transfers.start));
    are_regular(&firsts.map(|(_, time, _)| *time).collect::<Vec<_>>())
}

/// True if the times lie on many days over a long time.
pub(super) fn are_regular(times: &[Timestamp]) -> bool {
    let days: BTreeSet<Date> =
        times.iter().map(|time| time.to_zoned(TimeZone::UTC).date()).collect();
    days.len() >= REGULAR_DAYS
        && days
            .first()
            .zip(days.last())
            .is_some_and(|(first, last)| last.duration_since(*first) >= REGULAR_SPAN)
}

/// Adds an occurrence with the transfers of a window to a finding.
fn add(
    activity: &Activity,
    transfers: &[Transfer],
    parties: u64,
    (fewest, most): (u64, u64),
    into: &mut Finding,
) {
    let mut details = PatternDetails {
        amount: transfers.iter().map(|(_, _, party)| party.amount).sum(),
        parties: Some(parties),
        ..PatternDetails::default()
    };
    if let (Some((_, first, _)), Some((_, last, _))) = (transfers.first(), transfers.last()) {
        details.seconds = seconds(*first, *last);
    }
    into.occurs(confidence(parties, fewest, most), details);
    for (index, ..) in transfers {
        if let Some(own) = activity.transactions.get(*index) {
            into.show_own(own);
        }
    }
}

/// Finds windows in which many pay the owner, followed by payments of nearly the same amount to many others. Each
/// payment is part of one window.
fn gather_scatter(activity: &Activity, incoming: &[Transfer], outgoing: &[Transfer]) -> Finding {
    let mut finding = Finding::new(Pattern::GatherScatter, PatternRole::Actor, activity.received);
    let mut windows = windows_of(incoming, GATHER_PARTIES);
    windows.sort_by_key(|window| window.transfers.start);
    let (mut scattering, mut free) = (Vec::new(), 0);
    for window in windows {
        let gathered = incoming.get(window.transfers.clone()).unwrap_or_default();
        let (Some((first, ..)), Some((_, until, _))) = (gathered.first(), gathered.last()) else {
            continue;
        };
        let payers: FxHashSet<OwnerNumber> =
            gathered.iter().map(|(_, _, party)| party.owner).collect();
        let from = outgoing.partition_point(|(index, ..)| index <= first).max(free);
        let later = outgoing.get(from..).unwrap_or_default();
        let in_time = |(_, time, _): &&Transfer| time.duration_since(*until) <= SCATTER_WITHIN;
        let end = from + later.iter().take_while(in_time).count();
        let scattered: Vec<Transfer> = outgoing
            .get(from..end)
            .unwrap_or_default()
            .iter()
            .filter(|(_, _, party)| !payers.contains(&party.owner))
            .copied()
            .collect();
        let others: FxHashSet<OwnerNumber> =
            scattered.iter().map(|(_, _, party)| party.owner).collect();
        let sum = |transfers: &[Transfer]| -> u128 {
            transfers.iter().map(|(_, _, party)| party.amount).sum()
        };
        if (others.len() as u64) < GATHER_PARTIES
            || !is_percent_of(sum(&scattered), SCATTERED_PERCENT, sum(gathered))
        {
            continue;
        }
        free = end;
        let parties = window.parties.into();
        add(activity, gathered, parties, (GATHER_PARTIES, 15), &mut finding);
        for (index, ..) in &scattered {
            if let Some(own) = activity.transactions.get(*index) {
                finding.show_own(own);
            }
        }
        scattering.push(window);
    }
    if is_regular(&scattering, incoming) {
        finding.unscored(UnscoredReason::RegularActivity);
    }
    finding
}

/// Finds windows in which the owner sends dust to many others.
fn dust_sent(activity: &Activity, rules: &PatternRules) -> Finding {
    let mut finding = Finding::new(Pattern::Dusting, PatternRole::Actor, activity.sent);
    let all = activity.transfers(Direction::Destination, 0);
    let dust: Vec<Transfer> = all.filter(|(_, _, party)| party.amount <= rules.dust).collect();
    for window in windows_of(&dust, DUSTED_OWNERS) {
        let within = dust.get(window.transfers.clone()).unwrap_or_default();
        add(activity, within, window.parties.into(), (DUSTED_OWNERS, 50), &mut finding);
    }
    finding
}
