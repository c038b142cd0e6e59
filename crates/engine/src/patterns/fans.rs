//! Patterns of many owners on the other side within a short time: fan-in, fan-out, gather-scatter and dust sent
//! (`docs/model/patterns.md` P3, P8).

use std::collections::BTreeSet;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use rustc_hash::FxHashSet;

use super::{
    activity::{Activity, Party},
    finding::Finding,
    rules::{
        DUSTED_OWNERS, FAN_PARTIES, GATHER_PARTIES, PatternRules, REGULAR_DAYS, REGULAR_SPAN,
        SCATTER_WITHIN, SCATTERED_PERCENT, WINDOW, confidence, is_percent_of,
    },
    transfers::fan::{FanWindow, fan_windows},
};
use crate::{
    evidence::{Direction, Pattern, PatternDetails, PatternRole, UnscoredReason},
    reading::OwnerNumber,
};

/// A transfer with the index of its transaction.
type Transfer = (usize, Timestamp, Party);

/// All of these patterns.
pub(super) fn fans(activity: &Activity, rules: &PatternRules) -> Vec<Finding> {
    let incoming: Vec<Transfer> = activity.transfers(Direction::Source, rules.dust).collect();
    let outgoing: Vec<Transfer> = activity.transfers(Direction::Destination, rules.dust).collect();
    vec![
        fan(activity, Pattern::FanIn, &incoming, activity.received),
        fan(activity, Pattern::FanOut, &outgoing, activity.sent),
        gather_scatter(activity, &incoming, &outgoing),
        dust_sent(activity, rules),
    ]
}

fn windows_of(transfers: &[Transfer], fewest: u64) -> Vec<FanWindow> {
    let parties = transfers.iter().map(|(_, time, party)| (*time, party.owner));
    fan_windows(parties, WINDOW.unsigned_abs(), u32::try_from(fewest).unwrap_or(u32::MAX))
}

fn fan(activity: &Activity, pattern: Pattern, transfers: &[Transfer], whole: u128) -> Finding {
    let mut finding = Finding::new(pattern, PatternRole::Actor, whole);
    for window in windows_of(transfers, FAN_PARTIES) {
        let within = transfers.get(window.transfers.clone()).unwrap_or_default();
        add(activity, within, window.parties.into(), (FAN_PARTIES, 30), &mut finding);
    }
    if finding.count > 0 {
        // A business has smaller days, too.
        let usual = windows_of(transfers, FAN_PARTIES / 2);
        let firsts = usual.iter().filter_map(|window| transfers.get(window.transfers.start));
        let days = firsts.map(|(_, time, _)| day(*time)).collect();
        unscored_if_regular(&days, &mut finding);
    }
    finding
}

/// Adds the transfers of a window.
fn add(
    activity: &Activity,
    transfers: &[Transfer],
    parties: u64,
    (fewest, most): (u64, u64),
    into: &mut Finding,
) {
    let amount = transfers.iter().map(|(_, _, party)| party.amount).sum();
    into.occurs(confidence(parties, fewest, most), amount);
    into.detail(&PatternDetails { parties: Some(parties), ..PatternDetails::default() });
    for (index, ..) in transfers {
        if let Some(own) = activity.transactions.get(*index) {
            into.show_own(own);
        }
    }
}

fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// What is found on many days over a long time is a business.
fn unscored_if_regular(days: &BTreeSet<Date>, finding: &mut Finding) {
    if let (Some(first), Some(last)) = (days.first(), days.last())
        && days.len() >= REGULAR_DAYS
        && last.duration_since(*first) >= REGULAR_SPAN
    {
        finding.unscored = Some(UnscoredReason::RegularActivity);
    }
}

/// Windows in which many pay, followed by payments of most of it to many others.
fn gather_scatter(activity: &Activity, incoming: &[Transfer], outgoing: &[Transfer]) -> Finding {
    let mut finding = Finding::new(Pattern::GatherScatter, PatternRole::Actor, activity.received);
    let mut days = BTreeSet::new();
    for window in windows_of(incoming, GATHER_PARTIES) {
        let gathered = incoming.get(window.transfers.clone()).unwrap_or_default();
        let (Some((first, ..)), Some((_, until, _))) = (gathered.first(), gathered.last()) else {
            continue;
        };
        let payers: FxHashSet<OwnerNumber> =
            gathered.iter().map(|(_, _, party)| party.owner).collect();
        let from = outgoing.partition_point(|(index, ..)| index <= first);
        let later = outgoing.get(from..).unwrap_or_default();
        let in_time = |(_, time, _): &&Transfer| time.duration_since(*until) <= SCATTER_WITHIN;
        let scattered: Vec<Transfer> = later
            .iter()
            .take_while(in_time)
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
        days.insert(day(*until));
        add(activity, gathered, window.parties.into(), (GATHER_PARTIES, 15), &mut finding);
        for (index, ..) in &scattered {
            if let Some(own) = activity.transactions.get(*index) {
                finding.show_own(own);
            }
        }
    }
    unscored_if_regular(&days, &mut finding);
    finding
}

/// Windows in which the owner sends dust to many.
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
