//! Behavior of the address: patterns, which alone never reach review.

use super::{Rank, Term};
use crate::{
    assessment::{
        AssessedPattern, ComponentKind, EvidenceKind, EvidenceReference, ScoringComponent,
    },
    evidence::{ChainState, PatternFact, PatternRole, Tier},
    facts::Facts,
    policy::Policy,
    score::Score,
};

#[derive(Default)]
pub(super) struct Findings {
    pub(super) views: Vec<AssessedPattern>,
    pub(super) terms: Vec<Term>,
}

pub(super) fn assess(facts: &Facts, policy: &Policy) -> Findings {
    let ChainState::Followed(chain) = &facts.chain else {
        return Findings::default();
    };
    let mut patterns: Vec<&PatternFact> = chain.patterns.iter().flatten().collect();
    patterns.sort_by(|a, b| {
        (a.pattern, a.role, b.confidence, &a.transactions).cmp(&(
            b.pattern,
            b.role,
            a.confidence,
            &b.transactions,
        ))
    });
    let scored = |fact: &PatternFact| fact.role != PatternRole::Victim;
    Findings {
        views: patterns
            .iter()
            .map(|fact| AssessedPattern {
                pattern: fact.pattern,
                role: fact.role,
                scored: scored(fact),
                confidence: fact.confidence,
                transactions: fact.transactions.clone(),
            })
            .collect(),
        terms: patterns
            .into_iter()
            .filter(|fact| scored(fact))
            .map(|fact| term(fact, policy))
            .collect(),
    }
}

fn term(fact: &PatternFact, policy: &Policy) -> Term {
    let severity = policy.pattern_severity(fact.pattern);
    let standalone_risk = policy.risk(severity, fact.confidence);
    Term {
        rank: Rank::Behavior,
        standalone_risk,
        claim: None,
        component: ScoringComponent {
            kind: ComponentKind::Behavior,
            standalone_score: Score::from_fraction(standalone_risk),
            detail: format!("pattern {}", fact.pattern.as_str()),
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
        },
    }
}
