//! Patterns in the owner's transactions alone: rapid pass-through, dormant reactivation, mixing, dust, and forms of
//! transactions (`docs/model/patterns.md` P2, P5 to P8).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    activity::{Activity, OwnTransaction, Party, StateBefore},
    finding::Finding,
    rules::{
        DORMANT_AFTER, DUSTED_OWNERS, PASSED_OF_ALL_PERCENT, PASSED_PAYMENTS, PASSED_PERCENT,
        PASSED_WITHIN, REACTIVATED_PERCENT, REACTIVATION_WINDOW, confidence, is_percent_of,
    },
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole, UnscoredReason},
    policy::PatternRules,
    taxonomy::Category,
    utxo::TransactionKind,
};

/// The seconds from one moment to a later moment.
pub(super) fn seconds(from: Timestamp, to: Timestamp) -> Option<u64> {
    u64::try_from(to.duration_since(from).as_secs()).ok()
}

/// Finds received payments that the owner passes on within [`PASSED_WITHIN`].
pub(super) fn rapid_pass_through(
    activity: &Activity,
    rules: &PatternRules,
    is_whole: bool,
) -> Finding {
    let whole = activity.received;
    let mut finding = Finding::new(Pattern::RapidPassThrough, PatternRole::Actor, whole);
    if !is_whole {
        // All that it received is not known.
        return finding;
    }
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
                taken.push(*out);
                *rest -= take;
            }
        }
        if !is_percent_of(passed, PASSED_PERCENT, own.income) {
            continue;
        }
        let amount = passed.min(own.income);
        finding.occurs(0, PatternDetails { amount, ..PatternDetails::default() });
        finding.show_own(own);
        for out in taken {
            finding.show_own(out);
            longest = longest.max(seconds(own.time, out.time).unwrap_or_default());
        }
    }
    // The longest stay of all, not of one occurrence.
    finding.details.seconds = Some(longest);
    finding.confidence = confidence(finding.count, PASSED_PAYMENTS, 10);
    let is_most = is_percent_of(finding.amount, PASSED_OF_ALL_PERCENT, whole);
    if finding.count < PASSED_PAYMENTS || !is_most {
        finding.count = 0;
    }
    finding
}

/// Finds movements of half of the balance after a year without activity. Negligible income is not activity.
pub(super) fn dormant_reactivation(activity: &Activity, is_whole: bool) -> Finding {
    let mut finding = Finding::new(Pattern::DormantReactivation, PatternRole::Actor, activity.sent);
    if !is_whole {
        // The balance and the pauses are not known.
        return finding;
    }
    for (index, own) in activity.transactions.iter().enumerate() {
        let StateBefore { balance, active } = own.before;
        let pause = active.map(|active| own.time.duration_since(active));
        if let Some(pause) = pause.filter(|pause| *pause >= DORMANT_AFTER && own.spending > 0) {
            let since = activity.transactions.iter().skip(index);
            let awake: Vec<&OwnTransaction> = since
                .take_while(|later| later.time.duration_since(own.time) <= REACTIVATION_WINDOW)
                .filter(|later| later.spending > 0)
                .collect();
            let moved: u128 = awake.iter().map(|later| later.spending).sum();
            if balance > 0 && is_percent_of(moved, REACTIVATED_PERCENT, balance) {
                for later in &awake {
                    finding.show_own(later);
                }
                let details = PatternDetails {
                    amount: moved,
                    seconds: u64::try_from(pause.as_secs()).ok(),
                    ..PatternDetails::default()
                };
                finding.occurs(80, details);
            }
        }
    }
    finding
}

/// Finds payments to and from mixing services, and joint transactions. Such payments and transactions are scored as
/// exposure.
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
                finding.occurs(95, PatternDetails { amount, ..PatternDetails::default() });
                finding.show_own(own);
            }
        }
        let TransactionKind::Coinjoin(kind) = own.coins.kind else { continue };
        let (finding, kinds, amount) = if own.sent > 0 {
            (&mut took_part, &mut kinds, own.sent)
        } else {
            (&mut was_paid, &mut kinds_paid, own.received)
        };
        let details = PatternDetails { amount, ..PatternDetails::default() };
        finding.occurs(kind.confidence().percent(), details);
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

/// Finds dust that the owner received by transactions that send dust to many others too.
pub(super) fn dust_received(activity: &Activity) -> Finding {
    let mut finding = Finding::new(Pattern::Dusting, PatternRole::Victim, activity.received);
    for own in &activity.transactions {
        if own.sent == 0 && own.own_dust > 0 && own.dusted >= DUSTED_OWNERS {
            let details = PatternDetails {
                amount: own.own_dust,
                parties: Some(own.dusted),
                ..PatternDetails::default()
            };
            finding.occurs(confidence(own.dusted, DUSTED_OWNERS, 50), details);
            finding.show_own(own);
        }
    }
    finding
}

/// Finds the forms of the owner's transactions, separately for transactions that the owner paid and transactions that
/// paid the owner. For transactions that paid the owner, only forms that concern payees are reported.
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
        for form in own.coins.forms.iter().filter(concerns) {
            let new = || Finding::new(*form, role, whole);
            let finding = findings.entry((*form, role)).or_insert_with(new);
            let amount = match (form, role) {
                (Pattern::DustOutput, PatternRole::Actor) => own.coins.dust,
                (Pattern::DustOutput, _) => own.own_dust,
                _ => amount,
            };
            let coinjoin = match own.coins.kind {
                TransactionKind::Coinjoin(kind) => Some(kind),
                TransactionKind::Payment | TransactionKind::Coinbase => None,
            };
            finding.occurs(100, PatternDetails { amount, coinjoin, ..PatternDetails::default() });
            finding.show_own(own);
        }
    }
    findings.into_values().collect()
}
