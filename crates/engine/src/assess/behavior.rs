//! Assessment of the owner's behavior patterns, which never change a verdict.

use std::collections::BTreeSet;

use assay_address::{ChainId, LedgerKind};

use super::{
    Rank, Term, TermEvidence,
    flows::{SHARE_WHOLE, decimal, words},
    sentence::sentence,
};
use crate::{
    assessment::{
        Amount, AssessedPattern, ComponentKind, EvidenceKind, EvidenceReference, LargestOccurrence,
        ScoringComponent,
    },
    evidence::{ChainState, Pattern, PatternFact, PatternRole, Tier, UnscoredReason},
    facts::Facts,
    policy::Policy,
    score::Score,
    utxo::coinjoin::CoinjoinKind,
};

#[derive(Default)]
pub(super) struct Findings {
    pub(super) views: Vec<AssessedPattern>,
    /// Patterns that count for the score, each once.
    pub(super) terms: Vec<Term<'static>>,
}

/// Assesses the patterns of an address. Patterns of a service are shown and do not count for the score.
pub(super) fn assess(chain: ChainId, facts: &Facts, policy: &Policy, is_service: bool) -> Findings {
    let ChainState::Followed(followed) = &facts.chain else {
        return Findings::default();
    };
    let mut patterns: Vec<&PatternFact> =
        followed.behavior.iter().flat_map(|behavior| &behavior.patterns).collect();
    patterns.sort_by(|a, b| {
        (a.pattern, b.confidence, a.role, &a.transactions).cmp(&(
            b.pattern,
            a.confidence,
            b.role,
            &b.transactions,
        ))
    });
    let mut findings = Findings::default();
    let mut counted: BTreeSet<Pattern> = BTreeSet::new();
    for fact in patterns {
        let unscored = if fact.role == PatternRole::Victim {
            Some(UnscoredReason::Victim)
        } else if fact.pattern.is_form_of_transaction() {
            Some(UnscoredReason::FormOfTransaction)
        } else if fact.unscored.is_some() {
            fact.unscored
        } else if is_service {
            Some(UnscoredReason::Service)
        } else if counted.contains(&fact.pattern) {
            Some(UnscoredReason::CountedOnce)
        } else {
            None
        };
        let description = sentence(fact, chain);
        if unscored.is_none() {
            counted.insert(fact.pattern);
            findings.terms.push(term(fact, &description, policy));
        }
        findings.views.push(view(fact, unscored, description, chain));
    }
    // Rounding depends on the order.
    findings.terms.sort_by_key(|term| std::cmp::Reverse(term.standalone_risk));
    findings
}

fn view(
    fact: &PatternFact,
    unscored: Option<UnscoredReason>,
    description: String,
    chain: ChainId,
) -> AssessedPattern {
    let millionths = fact.amount.min(fact.whole).saturating_mul(SHARE_WHOLE.into());
    let share = millionths.checked_div(fact.whole).unwrap_or(0);
    let details = &fact.details;
    let is_of_accounts = chain.info().ledger == LedgerKind::Account;
    let coins = |amount: u128| Amount {
        value: amount.to_string(),
        asset: if is_of_accounts { "USD" } else { chain.info().native().code }.to_owned(),
        usd: is_of_accounts.then(|| format!("{}.{:02}", amount / 100, amount % 100)),
        price_day: None,
    };
    AssessedPattern {
        pattern: fact.pattern,
        role: fact.role,
        description,
        scored: unscored.is_none(),
        unscored_reason: unscored,
        contribution: Score::ZERO,
        confidence: fact.confidence,
        count: fact.count,
        first_seen: fact.period.0,
        last_seen: fact.period.1,
        amount: coins(fact.amount),
        share: decimal(u64::try_from(share).unwrap_or(SHARE_WHOLE)),
        largest: LargestOccurrence {
            amount: coins(details.amount),
            parties: details.parties,
            payments: details.payments,
            length: details.length,
            duration_seconds: details.seconds,
            threshold: details.threshold.map(coins),
            coinjoin: details.coinjoin.map(CoinjoinKind::as_str),
        },
        transactions: fact.transactions.clone(),
    }
}

/// The patterns, each with its contribution to the score.
pub(super) fn with_contributions(
    mut views: Vec<AssessedPattern>,
    components: &[ScoringComponent],
) -> Vec<AssessedPattern> {
    for view in views.iter_mut().filter(|view| view.scored) {
        let component = components.iter().find(|it| it.pattern == Some(view.pattern));
        view.contribution = component.map_or(Score::ZERO, |component| component.contribution);
    }
    views
}

fn term(fact: &PatternFact, description: &str, policy: &Policy) -> Term<'static> {
    let severity = policy.pattern_severity(fact.pattern);
    let standalone_risk = policy.risk(severity, fact.confidence);
    Term {
        rank: Rank::Behavior,
        standalone_risk,
        claim: None,
        evidence: TermEvidence::from(ScoringComponent {
            kind: ComponentKind::Behavior,
            pattern: Some(fact.pattern),
            standalone_score: Score::from_fraction(standalone_risk),
            detail: format!("{}: {description}", words(fact.pattern.as_str())),
            tier: Some(Tier::Behavior),
            severity: Some(severity),
            confidence: Some(fact.confidence),
            evidence: fact
                .transactions
                .iter()
                .map(|transaction| EvidenceReference {
                    kind: EvidenceKind::Transaction,
                    reference: transaction.clone(),
                })
                .collect(),
            ..ScoringComponent::default()
        }),
    }
}
