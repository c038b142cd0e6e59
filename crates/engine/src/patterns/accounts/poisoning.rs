//! Address poisoning: transfers of dust, of nothing or of worthless tokens with accounts that look like a victim's
//! counterparties, so that the victim copies the wrong address (`docs/model/patterns.md` P14.4).

use std::collections::BTreeMap;

use super::{AccountPatternSubject, parties::Parties, worth::Worth};
use crate::{
    account::{AccountAddress, AccountView, UnfollowedTransfer, look_alike},
    evidence::{Pattern, PatternDetails, PatternRole, UnscoredReason},
    ledger::{OwnerNumber, TransactionNumber},
    patterns::finding::Finding,
    policy::PatternRules,
};

/// Most accounts with worthless transfers of the account that are looked up, the newest ones.
const MOST_EXAMINED: usize = 20;
/// Most owners with worthless transfers of the account whose earlier counterparties are read: those of the newest ones.
const MOST_VICTIMS: usize = 3;
/// Most earlier payments of such an owner that are read in each asset: poisoners imitate who was paid last.
const MOST_EARLIER: usize = 20;
/// Most payments of the account that are searched for dust, the newest ones.
const MOST_PAYMENTS: usize = 1_000;
/// Confidence in percent: by chance, one pair of accounts in 268 million is alike.
const CONFIDENCE: u8 = 95;

/// Finds the poisoning that the account suffered.
pub(super) fn poisoned(of: &AccountPatternSubject<'_>) -> Finding {
    let view = of.account.view;
    let mut finding = Finding::new(Pattern::AddressPoisoning, PatternRole::Victim, 0);
    for lookalike in of.lookalikes {
        finding.occurs(CONFIDENCE, PatternDetails::default());
        for number in &lookalike.transactions {
            finding.show(number.0, (*number, view.time(*number)), true);
        }
    }
    finding
}

/// Finds the poisoning that the account carries out: worthless transfers with owners that dealt with an account before
/// that it looks like. Transfers that others sent are not scored: anybody can name anybody in a worthless transfer.
pub(super) fn poisoner(
    of: &AccountPatternSubject<'_>,
    rules: &PatternRules,
    parties: &mut Parties<'_>,
    worth: &mut Worth<'_>,
) -> Finding {
    let mut finding = Finding::new(Pattern::AddressPoisoning, PatternRole::Actor, 0);
    let view = of.account.view;
    let Some(own) = view.address(of.account.owner) else { return finding };
    let mut newest: Vec<(AccountAddress, Worthless)> =
        worthless_transfers(of, own, rules, worth).into_iter().collect();
    newest.sort_by_key(|(account, it)| (std::cmp::Reverse(it.last), *account));
    let owners = newest.into_iter().take(MOST_EXAMINED).filter_map(|(account, worthless)| {
        let owner = view.owner(account)?;
        (!parties.kind(owner).is_service()).then_some((owner, worthless))
    });
    let victims: Vec<(OwnerNumber, Worthless)> = owners.take(MOST_VICTIMS).collect();
    let mut has_sent = false;
    for (victim, worthless) in victims {
        if !has_alike_counterparty((view, victim), (own, worthless.first), rules, worth) {
            continue;
        }
        finding.occurs(CONFIDENCE, PatternDetails::default());
        has_sent |= worthless.is_sent;
        for number in [worthless.first, worthless.last] {
            finding.show(number.0, (number, view.time(number)), true);
        }
    }
    if !has_sent {
        finding.unscored(UnscoredReason::LittleReceived);
    }
    finding.details.parties = Some(finding.count);
    finding
}

/// The worthless transfers of an account with one other account.
#[derive(Clone, Copy)]
struct Worthless {
    first: TransactionNumber,
    last: TransactionNumber,
    /// True if the account itself made one of them.
    is_sent: bool,
}

/// The worthless transfers of the account, by the other account: of nothing and of tokens that are not followed, and dust
/// that it paid.
fn worthless_transfers(
    of: &AccountPatternSubject<'_>,
    own: AccountAddress,
    rules: &PatternRules,
    worth: &mut Worth<'_>,
) -> BTreeMap<AccountAddress, Worthless> {
    let AccountPatternSubject { account, own: payments, unfollowed, .. } = *of;
    let view = account.view;
    let mut found: BTreeMap<AccountAddress, Worthless> = BTreeMap::new();
    let mut add = |other: AccountAddress, number, is_sent| {
        if other == own || other.is_unowned() {
            return;
        }
        let new = Worthless { first: number, last: number, is_sent };
        let known = found.entry(other).or_insert(new);
        known.first = known.first.min(number);
        known.last = known.last.max(number);
        known.is_sent |= is_sent;
    };
    for UnfollowedTransfer { transaction, initiator, transfer } in unfollowed {
        let other = if transfer.from == own { transfer.to } else { transfer.from };
        add(other, *transaction, *initiator == Some(own));
    }
    for payment in payments.payments.iter().rev().take(MOST_PAYMENTS) {
        let is_paid = payment.kind.is_payment() && payment.from == account.owner;
        let Some(asset) = view.scored(payment.asset).filter(|_| is_paid) else { continue };
        let time = view.time(payment.transaction);
        if worth.of(asset, payment.amount, time) <= rules.dust
            && let Some(other) = view.address(payment.to)
        {
            add(other, payment.transaction, payment.is_initiated != Some(false));
        }
    }
    found
}

/// True if an owner dealt above dust, before a transaction, with another account that looks like this one.
fn has_alike_counterparty(
    (view, owner): (&dyn AccountView, OwnerNumber),
    (alike, before): (AccountAddress, TransactionNumber),
    rules: &PatternRules,
    worth: &mut Worth<'_>,
) -> bool {
    view.ledgers(owner).into_iter().any(|(asset, _)| {
        let Some(scored) = view.scored(asset) else { return false };
        let earlier = view.payments_before(owner, asset, before, MOST_EARLIER);
        earlier.into_iter().filter(|it| it.kind.is_payment()).any(|payment| {
            let other = if payment.to == owner { payment.from } else { payment.to };
            let time = view.time(payment.transaction);
            let Some(address) = view.address(other) else { return false };
            address != alike
                && look_alike(view.chain(), address, alike)
                && worth.of(scored, payment.amount, time) > rules.dust
        })
    })
}
