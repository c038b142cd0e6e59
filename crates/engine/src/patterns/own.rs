//! Patterns that the transactions of the owner show by themselves: structuring, rapid pass-through, dormant
//! reactivation, mixing, dust, and forms of transactions (`docs/model/patterns.md` P2, P4 to P8).

use std::collections::BTreeMap;

use super::{
    activity::{Activity, OwnTransaction, Party},
    finding::Finding,
    rules::{
        AWAKE, AWAKE_PERCENT, DORMANT, DUSTED_OWNERS, JUST_BELOW_PERCENT, PASSED_OF_ALL_PERCENT,
        PASSED_PAYMENTS, PASSED_PERCENT, PASSED_WITHIN, PatternRules, STRUCTURED_TRANSFERS, WINDOW,
        confidence, is_percent_of,
    },
};
use crate::{
    evidence::{Direction, Pattern, PatternDetails, PatternRole, UnscoredReason},
    reading::OwnerNumber,
    taxonomy::Category,
    utxo::TransactionKind,
};

/// Transfers of structured sums: at least [`STRUCTURED_TRANSFERS`] within a window, just below one threshold, and at
/// least half of all transfers of the window. Those received are of one payer.
pub(super) fn structuring(activity: &Activity, rules: &PatternRules) -> Vec<Finding> {
    let role = |direction| match direction {
        Direction::Source => PatternRole::Recipient,
        Direction::Destination => PatternRole::Actor,
    };
    let mut findings = Vec::new();
    for direction in [Direction::Destination, Direction::Source] {
        let whole = activity.whole(direction);
        let mut finding = Finding::new(Pattern::Structuring, role(direction), whole);
        let mut by_payer: BTreeMap<Option<OwnerNumber>, Vec<(&OwnTransaction, Party)>> =
            BTreeMap::new();
        for (index, _, party) in activity.transfers(direction, rules.dust) {
            let Some(own) = activity.transactions.get(index) else { continue };
            let payer = (direction == Direction::Source).then_some(party.owner);
            by_payer.entry(payer).or_default().push((own, party));
        }
        for transfers in by_payer.values() {
            for threshold in rules.thresholds.iter().filter(|threshold| **threshold > 0) {
                structured(transfers, *threshold, &mut finding);
            }
        }
        findings.push(finding);
    }
    findings
}

/// Finds the windows of one threshold, each transfer in one of them at most.
fn structured(transfers: &[(&OwnTransaction, Party)], threshold: u128, into: &mut Finding) {
    let is_just_below = |party: &Party| {
        party.amount < threshold && is_percent_of(party.amount, JUST_BELOW_PERCENT, threshold)
    };
    let mut rest = transfers;
    while let Some((first, party)) = rest.first() {
        let end = rest.partition_point(|(own, _)| own.time.duration_since(first.time) <= WINDOW);
        let (window, after) = rest.split_at(end);
        let below = window.iter().filter(|(_, party)| is_just_below(party));
        let count = below.clone().count();
        if !is_just_below(party) || count < STRUCTURED_TRANSFERS || count * 2 < window.len() {
            rest = rest.split_first().map_or(&[], |(_, rest)| rest);
            continue;
        }
        let mut amount = 0;
        for (own, party) in below {
            amount += party.amount;
            into.show_own(own);
        }
        into.occurs(confidence(count as u64, 5, 10), amount);
        into.detail(&PatternDetails {
            threshold: Some(threshold),
            parties: Some(count as u64),
            ..PatternDetails::default()
        });
        rest = after;
    }
}

/// Payments that leave again within [`PASSED_WITHIN`].
pub(super) fn rapid_pass_through(activity: &Activity, rules: &PatternRules) -> Finding {
    let whole = activity.received;
    let mut finding = Finding::new(Pattern::RapidPassThrough, PatternRole::Actor, whole);
    // What each payment of the owner may still stand for.
    let mut left: Vec<(&OwnTransaction, u128)> = activity
        .transactions
        .iter()
        .filter(|own| own.spending > 0)
        .map(|own| (own, own.spending))
        .collect();
    let mut longest = 0;
    for own in activity.transactions.iter().filter(|own| own.income > rules.dust) {
        let (mut passed, mut taken) = (0, Vec::new());
        let from = left.partition_point(|(out, _)| out.position <= own.position);
        for (out, rest) in left.iter_mut().skip(from) {
            if out.time.duration_since(own.time) > PASSED_WITHIN || passed >= own.income {
                break;
            }
            let take = (*rest).min(own.income - passed);
            if take > 0 {
                passed += take;
                taken.push((*out, take));
                *rest -= take;
            }
        }
        if !is_percent_of(passed, PASSED_PERCENT, own.income) {
            continue;
        }
        finding.occurs(0, passed.min(own.income));
        finding.show_own(own);
        for (out, _) in taken {
            finding.show_own(out);
            longest = longest.max(out.time.duration_since(own.time).as_secs());
        }
    }
    finding.details.seconds = u64::try_from(longest).ok();
    finding.confidence = confidence(finding.count, PASSED_PAYMENTS, 10);
    let is_most = is_percent_of(finding.amount, PASSED_OF_ALL_PERCENT, whole);
    if finding.count < PASSED_PAYMENTS || !is_most {
        finding.count = 0;
    }
    finding
}

/// Half of the balance that moves after a year without activity. Dust is no activity.
pub(super) fn dormant_reactivation(activity: &Activity, rules: &PatternRules) -> Finding {
    let mut finding = Finding::new(Pattern::DormantReactivation, PatternRole::Actor, activity.sent);
    if !activity.is_whole {
        // The balance and the pauses are not known.
        return finding;
    }
    let (mut balance, mut last) = (0_u128, None);
    for (index, own) in activity.transactions.iter().enumerate() {
        let pause = last.map(|last| own.time.duration_since(last));
        if let Some(pause) = pause.filter(|pause| *pause >= DORMANT && own.spending > 0) {
            let since = activity.transactions.iter().skip(index);
            let awake: Vec<&OwnTransaction> = since
                .take_while(|later| later.time.duration_since(own.time) <= AWAKE)
                .filter(|later| later.spending > 0)
                .collect();
            let moved: u128 = awake.iter().map(|later| later.spending).sum();
            if balance > 0 && is_percent_of(moved, AWAKE_PERCENT, balance) {
                finding.occurs(80, moved);
                for later in &awake {
                    finding.show_own(later);
                }
                finding.detail(&PatternDetails {
                    seconds: u64::try_from(pause.as_secs()).ok(),
                    ..PatternDetails::default()
                });
            }
        }
        if own.income > rules.dust || own.spending > 0 {
            last = Some(own.time);
        }
        balance = (balance + own.income).saturating_sub(own.spending);
    }
    finding
}

/// Payments to and from mixing services, and joint transactions. Both are scored as exposure.
pub(super) fn mixing(activity: &Activity) -> Vec<Finding> {
    let new = |pattern, role, whole| Finding {
        unscored: Some(UnscoredReason::CountedAsExposure),
        ..Finding::new(pattern, role, whole)
    };
    let (sent, received) = (activity.sent, activity.received);
    let mut into = new(Pattern::MixerUse, PatternRole::Actor, sent);
    let mut out_of = new(Pattern::MixerUse, PatternRole::Recipient, received);
    let mut took_part = new(Pattern::CoinjoinUse, PatternRole::Actor, sent);
    let mut was_paid = new(Pattern::CoinjoinUse, PatternRole::Recipient, received);
    let (mut kinds, mut kinds_paid) = (Vec::new(), Vec::new());
    let mixed = |parties: &[Party]| -> u128 {
        let mixers = parties.iter().filter(|party| party.category == Some(Category::Mixer));
        mixers.map(|party| party.amount).sum()
    };
    for own in &activity.transactions {
        for (finding, amount) in
            [(&mut into, mixed(&own.payees)), (&mut out_of, mixed(&own.payers))]
        {
            if amount > 0 {
                finding.occurs(95, amount);
                finding.show_own(own);
            }
        }
        let TransactionKind::Coinjoin(kind) = own.kind else { continue };
        let (finding, kinds, amount) = if own.sent > 0 {
            (&mut took_part, &mut kinds, own.sent)
        } else {
            (&mut was_paid, &mut kinds_paid, own.received)
        };
        finding.occurs(kind.confidence().percent(), amount);
        finding.show_own(own);
        kinds.push(kind);
    }
    for (finding, kinds) in [(&mut took_part, kinds), (&mut was_paid, kinds_paid)] {
        let first = kinds.first().copied();
        finding.details.coinjoin = first.filter(|first| kinds.iter().all(|kind| kind == first));
    }
    // Of joint transactions, the inputs count: more than what left the owner.
    took_part.whole = took_part.whole.max(took_part.amount);
    was_paid.whole = was_paid.whole.max(was_paid.amount);
    vec![into, out_of, took_part, was_paid]
}

/// Dust that the owner got by transactions that dust many others too.
pub(super) fn dust_received(activity: &Activity) -> Finding {
    let mut finding = Finding::new(Pattern::Dusting, PatternRole::Victim, activity.received);
    for own in &activity.transactions {
        if own.sent == 0 && own.own_dust > 0 && own.dusted >= DUSTED_OWNERS {
            finding.occurs(confidence(own.dusted, DUSTED_OWNERS, 50), own.own_dust);
            finding
                .detail(&PatternDetails { parties: Some(own.dusted), ..PatternDetails::default() });
            finding.show_own(own);
        }
    }
    finding
}

/// The forms of the owner's transactions, apart for those that it paid and those that paid it. Of the latter, only
/// forms count that concern those who are paid.
pub(super) fn forms_of_transactions(activity: &Activity) -> Vec<Finding> {
    let mut findings: BTreeMap<(Pattern, PatternRole), Finding> = BTreeMap::new();
    for own in &activity.transactions {
        let (role, amount, whole) = if own.sent > 0 {
            (PatternRole::Actor, own.spending, activity.sent)
        } else {
            (PatternRole::Recipient, own.income, activity.received)
        };
        let concerns = |form: &&Pattern| match form {
            Pattern::BatchPayout | Pattern::JointTransaction => true,
            Pattern::DustOutput => role == PatternRole::Actor || own.own_dust > 0,
            _ => role == PatternRole::Actor,
        };
        for form in own.forms.iter().filter(concerns) {
            let new = || Finding::new(*form, role, whole);
            let finding = findings.entry((*form, role)).or_insert_with(new);
            finding.occurs(100, amount);
            finding.show_own(own);
        }
    }
    findings.into_values().collect()
}
