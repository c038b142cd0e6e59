//! Deposit addresses, and new accounts that a mixing service funded (`docs/model/patterns.md` P14.5, P14.6).

use super::{
    activity::OwnPayments,
    parties::{Parties, PartyKind},
    worth::Worth,
};
use crate::{
    evidence::{Pattern, PatternDetails, PatternRole, UnscoredReason},
    patterns::{activity::Activity, finding::Finding},
    policy::PatternRules,
    taxonomy::Category,
};

/// Finds what a deposit address passes on to its service.
pub(super) fn deposit_forwarding(activity: &Activity) -> Finding {
    let mut finding = Finding::new(Pattern::DepositForwarding, PatternRole::Actor, activity.sent);
    finding.unscored(UnscoredReason::Service);
    for own in activity.transactions.iter().filter(|own| own.spending > 0) {
        let details = PatternDetails { amount: own.spending, ..PatternDetails::default() };
        finding.occurs(95, details);
        finding.show_own(own);
    }
    finding
}

/// Finds the first payment above dust to an account if a mixing service made it.
pub(super) fn mixer_funding(
    own: &OwnPayments<'_>,
    activity: &Activity,
    rules: &PatternRules,
    parties: &mut Parties<'_>,
    worth: &mut Worth<'_>,
) -> Finding {
    let mut finding =
        Finding::new(Pattern::MixerFunding, PatternRole::Recipient, activity.received);
    finding.unscored(UnscoredReason::CountedAsExposure);
    if !own.payments.sums.is_empty() || own.payments.left_out > 0 {
        // The first payment is not read.
        return finding;
    }
    let received = own.payments.payments.iter().filter_map(|payment| {
        let is_received = payment.kind.is_payment() && payment.to == own.owner;
        let asset = own.view.scored(payment.asset).filter(|_| is_received)?;
        let time = own.view.time(payment.transaction);
        Some((payment, time, worth.of(asset, payment.amount, time)))
    });
    let first = received.into_iter().find(|(.., amount)| *amount > rules.dust);
    if let Some((payment, time, amount)) = first
        && parties.kind(payment.from) == PartyKind::End(Category::Mixer)
    {
        finding.occurs(95, PatternDetails { amount, ..PatternDetails::default() });
        let number = payment.transaction;
        finding.show(number.0, (number, time), true);
    }
    finding
}
