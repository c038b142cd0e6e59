//! Structuring: a sum that is split into payments just below a threshold (`docs/model/patterns.md` P4).
//!
//! Payrolls, pensions, rents and withdrawals are many payments of one size too, but each of them is owed to another
//! owner: [`payouts`] recognizes them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    activity::{Activity, OwnTransaction, Party},
    fans,
    finding::Finding,
    own::seconds,
    rules::{
        BATCH_PAYEES, FAN_PARTIES, JUST_BELOW_PERCENT, RECURRING_AFTER, STRUCTURED_TRANSFERS,
        WINDOW, confidence, is_percent_of,
    },
};
use crate::{
    evidence::{Direction, Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::OwnerNumber,
    policy::PatternRules,
};

/// A payment above dust, with the other owner.
type Payment<'a> = (&'a OwnTransaction, Party);

/// Finds structured payments: at least [`STRUCTURED_TRANSFERS`] within a window, just below one threshold, that make up
/// at least half of all payments in the window. Received payments must be from one payer.
pub(super) fn structuring(activity: &Activity, rules: &PatternRules) -> Vec<Finding> {
    let thresholds = || rules.thresholds.iter().copied().filter(|threshold| *threshold > 0);
    let payments = |direction| {
        activity.transfers(direction, rules.dust).filter_map(|(index, _, party)| {
            activity.transactions.get(index).map(|own| (own, party))
        })
    };

    let mut made = Finding::new(Pattern::Structuring, PatternRole::Actor, activity.sent);
    let paid: Vec<Payment<'_>> = payments(Direction::Destination).collect();
    for threshold in thresholds() {
        let is_payout = payouts(&paid, threshold);
        let _windows = structured(&paid, &is_payout, threshold, &mut made);
    }
    if made.count > 0 && fans::pays_regularly(activity, rules) {
        made.unscored(UnscoredReason::RegularActivity);
    }

    let mut received =
        Finding::new(Pattern::Structuring, PatternRole::Recipient, activity.received);
    let mut by_payer: BTreeMap<OwnerNumber, Vec<Payment<'_>>> = BTreeMap::new();
    for (own, party) in payments(Direction::Source) {
        by_payer.entry(party.owner).or_default().push((own, party));
    }
    let mut is_regular = true;
    for payments in by_payer.values() {
        for threshold in thresholds() {
            let windows = structured(payments, &[], threshold, &mut received);
            is_regular &= windows.is_empty() || fans::are_regular(&windows);
        }
    }
    if received.count > 0 && is_regular {
        received.unscored(UnscoredReason::RegularActivity);
    }
    vec![made, received]
}

fn is_just_below(party: &Party, threshold: u128) -> bool {
    party.amount < threshold && is_percent_of(party.amount, JUST_BELOW_PERCENT, threshold)
}

/// Finds the windows of one threshold, and returns their first times; each payment belongs to at most one window.
/// Payouts, by the index of the payment, are no part of a structuring.
fn structured(
    payments: &[Payment<'_>],
    is_payout: &[bool],
    threshold: u128,
    into: &mut Finding,
) -> Vec<Timestamp> {
    let counts = |index: usize, party: &Party| {
        is_just_below(party, threshold) && !is_payout.get(index).copied().unwrap_or(false)
    };
    // Of the payments before each: how many are just below, what they are worth, and what all are worth.
    let mut before: Vec<(usize, u128, u128)> = Vec::with_capacity(payments.len() + 1);
    let mut sums = (0, 0, 0);
    before.push(sums);
    for (index, (_, party)) in payments.iter().enumerate() {
        if counts(index, party) {
            sums = (sums.0 + 1, sums.1 + party.amount, sums.2 + party.amount);
        } else {
            sums.2 += party.amount;
        }
        before.push(sums);
    }
    let mut windows = Vec::new();
    let (mut from, mut to) = (0, 0);
    while let Some((first, party)) = payments.get(from) {
        let is_in = |own: &OwnTransaction| own.time.duration_since(first.time) <= WINDOW;
        to = to.max(from);
        while payments.get(to).is_some_and(|(own, _)| is_in(own)) {
            to += 1;
        }
        let (Some(start), Some(end)) = (before.get(from), before.get(to)) else { return windows };
        let (count, below, all) = (end.0 - start.0, end.1 - start.1, end.2 - start.2);
        if !counts(from, party) || count < STRUCTURED_TRANSFERS || below * 2 < all {
            from += 1;
            continue;
        }
        let window = payments.get(from..to).unwrap_or_default();
        let shown = window.iter().zip(from..).filter(|((_, party), index)| counts(*index, party));
        let mut last = first.time;
        for ((own, _), _) in shown {
            into.show_own(own);
            last = own.time;
        }
        let details = PatternDetails {
            amount: below,
            threshold: Some(threshold),
            payments: Some(count as u64),
            seconds: seconds(first.time, last),
            ..PatternDetails::default()
        };
        into.occurs(confidence(count as u64, STRUCTURED_TRANSFERS as u64, 10), details);
        windows.push(first.time);
        from = to;
    }
    windows
}

/// Marks the payments just below a threshold that are payouts, each owed to another owner (P4.3). An owner who gets
/// [`STRUCTURED_TRANSFERS`] of them within a window gets no payouts.
fn payouts(payments: &[Payment<'_>], threshold: u128) -> Vec<bool> {
    let mut by_payee: FxHashMap<OwnerNumber, Vec<(Timestamp, u128)>> = FxHashMap::default();
    let mut below: Vec<(usize, &OwnTransaction, Party)> = Vec::new();
    for (index, (own, party)) in payments.iter().enumerate() {
        by_payee.entry(party.owner).or_default().push((own.time, party.amount));
        if is_just_below(party, threshold) {
            below.push((index, own, *party));
        }
    }
    let split = split_to(&below);
    below.retain(|(_, _, party)| !split.contains(&party.owner));

    let mut marked = vec![false; payments.len()];
    let mut mark = |index: usize| {
        if let Some(mark) = marked.get_mut(index) {
            *mark = true;
        }
    };
    // Payees of one transaction.
    for batch in below.chunk_by(|(_, a, _), (_, b, _)| a.position == b.position) {
        if batch.len() >= BATCH_PAYEES {
            for (index, ..) in batch {
                mark(*index);
            }
        }
    }
    // Payees of one window.
    let mut payees: FxHashMap<OwnerNumber, u32> = FxHashMap::default();
    let (mut end, mut marked_until) = (0, 0);
    for (start, (_, first, party)) in below.iter().enumerate() {
        while let Some((_, own, other)) = below.get(end)
            && own.time.duration_since(first.time) <= WINDOW
        {
            *payees.entry(other.owner).or_default() += 1;
            end += 1;
        }
        if payees.len() as u64 >= FAN_PARTIES {
            let window = below.get(marked_until.max(start)..end).unwrap_or_default();
            for (index, ..) in window {
                mark(*index);
            }
            marked_until = end;
        }
        if let Some(count) = payees.get_mut(&party.owner) {
            *count -= 1;
            if *count == 0 {
                payees.remove(&party.owner);
            }
        }
    }
    // Payees who are paid again and again.
    for (index, own, party) in &below {
        let known = by_payee.get(&party.owner).map(Vec::as_slice).unwrap_or_default();
        if recurs(known, own.time, party.amount) {
            mark(*index);
        }
    }
    marked
}

/// The owners to whom enough of the payments go within a window for a structuring.
fn split_to(below: &[(usize, &OwnTransaction, Party)]) -> FxHashSet<OwnerNumber> {
    let mut times: FxHashMap<OwnerNumber, Vec<Timestamp>> = FxHashMap::default();
    for (_, own, party) in below {
        times.entry(party.owner).or_default().push(own.time);
    }
    let is_split = |times: &[Timestamp]| {
        times.windows(STRUCTURED_TRANSFERS).any(|window| {
            let span = window.first().zip(window.last());
            span.is_some_and(|(first, last)| last.duration_since(*first) <= WINDOW)
        })
    };
    times.into_iter().filter(|(_, times)| is_split(times)).map(|(owner, _)| owner).collect()
}

/// True if a payment is the only one to its payee within a window, and the payee gets half to twice as much at another
/// time, at least [`RECURRING_AFTER`] away. `known` are the payee's payments in the order of time.
fn recurs(known: &[(Timestamp, u128)], time: Timestamp, amount: u128) -> bool {
    let distance = |other: Timestamp| -> SignedDuration { other.duration_since(time).abs() };
    let near = known.iter().filter(|(other, _)| distance(*other) <= WINDOW).count();
    let is_alike = |other: u128| other.saturating_mul(2) >= amount && other / 2 <= amount;
    near == 1
        && known.iter().any(|(other, paid)| distance(*other) >= RECURRING_AFTER && is_alike(*paid))
}
