//! Behavior patterns of accounts (`docs/model/patterns.md` P14): those of payments between owners, in micro-dollars of the
//! day, and those that only account chains have.
//!
//! A search reads the account's own payments, which the check has read, and within a budget the payments of the accounts
//! around it. Contracts are no owners: pools and routers pass on everything that they are paid.
//!
//! - `parties`: what other accounts are
//! - `worth`: values of payments
//! - `activity`: the account's own transactions
//! - `dusted`: dust that the account received
//! - `deposits`: deposit addresses, and accounts that a mixing service funded
//! - `neighbors`: payments of other accounts, read within a budget
//! - `layering`, `transfers_around`: funds that pass other accounts
//! - `poisoning`: addresses that look like a victim's counterparties

mod activity;
mod deposits;
mod dusted;
mod layering;
mod neighbors;
mod parties;
mod poisoning;
mod transfers_around;
mod worth;

use super::{
    activity::Activity, circles::cycles_and_scatter_gathers, fans, finding::Finding, own,
    structuring, unscored_if_little,
};
use crate::{
    account::{
        AccountPayments, AccountSubject, Lookalike, UnfollowedTransfer, is_deposit_address,
        transaction_text,
    },
    evidence::{BehaviorFacts, Pattern, PatternDetails, PatternFact, SearchExtent, UnscoredReason},
    ledger::OwnerNumber,
    policy::PatternRules,
};
use activity::OwnPayments;
use layering::{LayerReader, layering};
use neighbors::Neighbors;
use parties::Parties;
use transfers_around::transfers_around;
use worth::Worth;

/// Micro-dollars in a cent, in which patterns are told.
const MICROS_IN_CENT: u128 = 10_000;

/// An account whose behavior is searched.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct AccountPatternSubject<'a> {
    /// The account.
    pub account: AccountSubject<'a>,
    /// The account's own payments.
    pub own: &'a AccountPayments,
    /// The account's own transfers of nothing, and of tokens that are not followed.
    pub unfollowed: &'a [UnfollowedTransfer],
    /// Accounts that look like the account's counterparties.
    pub lookalikes: &'a [Lookalike],
    /// True for accounts that are contracts.
    pub is_contract: &'a dyn Fn(OwnerNumber) -> bool,
    /// Amounts that the policy sets, in micro-dollars.
    pub rules: PatternRules,
    /// Most transactions that the result names for a pattern; [`rules::SHOWN`](super::rules::SHOWN) in answers.
    pub shown: usize,
}

/// The behavior of an account. Amounts are in US cents.
#[must_use]
pub fn account_behavior(of: AccountPatternSubject<'_>) -> BehaviorFacts {
    let AccountPatternSubject { account, own: payments, rules, .. } = of;
    let AccountSubject { view, owner, attributions, prices, .. } = account;
    let mut parties = Parties::new(attributions, of.is_contract);
    let mut worth = Worth::new(prices);
    let own = OwnPayments { view, owner, payments };
    let mut found = own.activity(&mut parties, &mut worth);
    dusted::note_dusters(&own, &mut found.activity, &rules, &mut parties, &mut worth);
    let activity = &found.activity;
    let mut findings = of_own_payments(activity, &rules);
    findings.push(deposits::mixer_funding(&own, activity, &rules, &mut parties, &mut worth));
    findings.push(poisoning::poisoned(&of));
    findings.push(poisoning::poisoner(&of, &rules, &mut parties, &mut worth));

    let is_contract = (of.is_contract)(owner);
    let mut neighbors = Neighbors::new(view, owner);
    if !is_contract {
        findings.extend(of_neighbors(
            (&own, activity),
            &rules,
            &mut LayerReader {
                neighbors: &mut neighbors,
                rules: &rules,
                parties: &mut parties,
                worth: &mut worth,
            },
        ));
    }
    let is_deposit = !is_contract && is_deposit_address(view, owner, attributions);
    if is_deposit {
        findings.push(deposits::deposit_forwarding(activity));
    }
    for finding in &mut findings {
        unscored_if_regular(finding);
        unscored_if_little(activity, &rules, finding);
        if is_contract {
            finding.unscored(UnscoredReason::Contract);
        } else if is_deposit {
            finding.unscored(UnscoredReason::Service);
        }
    }
    let text = |number| Ok(transaction_text(view.chain(), view.txid(number)));
    // The texts of numbers cannot fail.
    let facts = findings.into_iter().filter_map(|it| it.into_fact(&text, of.shown).ok().flatten());
    let mut patterns: Vec<PatternFact> = facts.map(in_cents).collect();
    patterns.sort_by_key(|fact| (fact.pattern, fact.role));
    let searched = SearchExtent {
        addresses: 1,
        all_addresses: 1,
        transactions: found.transactions,
        is_whole: activity.is_whole,
        around: neighbors.transactions(),
        is_whole_around: neighbors.is_whole,
        has_activity_of_others: true,
    };
    BehaviorFacts { patterns, searched }
}

/// The patterns in the account's own payments alone.
fn of_own_payments(activity: &Activity, rules: &PatternRules) -> Vec<Finding> {
    let mut findings = structuring::structuring(activity, rules);
    findings.push(own::rapid_pass_through(activity, rules, activity.is_whole));
    findings.push(own::dormant_reactivation(activity, activity.is_whole));
    findings.extend(own::mixing(activity));
    findings.push(own::dust_received(activity));
    findings.extend(fans::fans(activity, rules));
    findings
}

/// The patterns of payments around the account.
fn of_neighbors(
    (own, activity): (&OwnPayments<'_>, &Activity),
    rules: &PatternRules,
    reader: &mut LayerReader<'_, '_>,
) -> Vec<Finding> {
    let mut findings = layering((own, activity), reader);
    let LayerReader { neighbors, parties, worth, .. } = reader;
    let transfers = transfers_around((own, activity), neighbors, rules, parties, worth);
    let (circles, is_complete) = cycles_and_scatter_gathers(activity, own.owner, transfers);
    neighbors.is_whole &= is_complete;
    findings.extend(circles);
    findings
}

/// Marks a pattern that bots and market makers show day after day as not scored.
fn unscored_if_regular(finding: &mut Finding) {
    let is_of_bots = matches!(finding.pattern, Pattern::RapidPassThrough | Pattern::Cycle);
    if is_of_bots && fans::are_regular(&finding.own_times()) {
        finding.unscored(UnscoredReason::RegularActivity);
    }
}

/// A pattern with its amounts in cents.
fn in_cents(fact: PatternFact) -> PatternFact {
    let cents = |micros: u128| micros / MICROS_IN_CENT;
    PatternFact {
        amount: cents(fact.amount),
        whole: cents(fact.whole),
        details: PatternDetails {
            amount: cents(fact.details.amount),
            threshold: fact.details.threshold.map(cents),
            ..fact.details
        },
        ..fact
    }
}
