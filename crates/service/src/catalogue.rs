//! The catalogue of categories, tiers, heuristics and patterns that answers name.

use assay_engine::{
    MODEL_VERSION,
    evidence::{Pattern, Tier},
    policy::{FIXED_RULES, Policy, RuleVerdict, Thresholds},
    score::Score,
    taxonomy::Category,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Catalogue of the terms in answers, with the severities of the caller's policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Catalogue {
    /// Version of the risk model.
    pub model_version: String,
    /// Identifier of the content of the caller's policy.
    pub policy_revision: String,
    /// Lowest scores of risk levels and verdicts.
    pub thresholds: CatalogueThresholds,
    /// Entity categories.
    pub categories: Vec<CatalogueCategory>,
    /// Strengths of evidence, strongest first.
    pub tiers: Vec<CatalogueTier>,
    /// Heuristics that associate addresses.
    pub heuristics: Vec<CatalogueHeuristic>,
    /// Behavior patterns.
    pub patterns: Vec<CataloguePattern>,
    /// Minimum score rules in force under the caller's policy.
    pub rules: Vec<CatalogueRule>,
}

/// Lowest scores of risk levels and verdicts.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueThresholds {
    /// Lowest score of the risk level `medium`.
    pub medium: Score,
    /// Lowest score of the risk level `high`.
    pub high: Score,
    /// Lowest score of the risk level `severe`.
    pub severe: Score,
    /// Lowest score of the verdict `review`.
    pub review: Score,
    /// Lowest score of the verdict `block`.
    pub block: Score,
}

/// An entity category.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogueCategory {
    /// Identifier in answers.
    pub id: &'static str,
    /// Definition of the category.
    pub definition: &'static str,
    /// Severity under the caller's policy, 0 to 100.
    pub severity: u8,
    /// Severity by default, 0 to 100.
    pub default_severity: u8,
    /// Basis of the default severity: the publications that it follows.
    pub severity_basis: &'static str,
    /// True if entities of the category hold or move other people's funds. Flows through a service are shown and not
    /// scored.
    pub is_service: bool,
    /// True if entities of the category are virtual asset service providers (VASPs); null if that depends on the
    /// entity.
    pub is_vasp: Option<bool>,
}

/// A strength of evidence.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueTier {
    /// Identifier in answers.
    pub id: &'static str,
    /// Highest score that evidence of this tier and of weaker tiers can reach together.
    pub cap: Score,
}

/// A heuristic that associates addresses.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueHeuristic {
    /// Identifier in answers.
    pub id: &'static str,
    /// Definition of the heuristic.
    pub definition: &'static str,
    /// Tier of the heuristic's findings.
    pub tier: Tier,
    /// True if this version of Assay applies the heuristic.
    pub supported: bool,
}

/// A behavior pattern.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CataloguePattern {
    /// Identifier in answers.
    pub id: &'static str,
    /// Definition of the pattern.
    pub definition: &'static str,
    /// Severity under the caller's policy, 0 to 100.
    pub severity: u8,
    /// Severity by default, 0 to 100.
    pub default_severity: u8,
    /// True if this version of Assay detects the pattern.
    pub supported: bool,
}

/// A minimum score rule: it raises the score to the threshold of its verdict.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogueRule {
    /// Identifier in answers: `rule` of a scoring component.
    pub id: String,
    /// Situation in which the rule fires.
    pub description: String,
    /// Lowest verdict that the rule leads to. `block` needs evidence of the tier `investigation` or stronger.
    pub verdict: RuleVerdict,
    /// True if every policy has the rule, and no policy changes it.
    pub fixed: bool,
}

const HEURISTICS: [CatalogueHeuristic; 9] = [
    CatalogueHeuristic {
        id: "same_key",
        definition: "One key, script or account controls both addresses: the same account on EVM \
                     chains and TRON, the same public key hash as P2PKH, P2WPKH or P2SH-P2WPKH.",
        tier: Tier::OnChainProof,
        supported: true,
    },
    CatalogueHeuristic {
        id: "co_spend",
        definition: "Inputs spent together, joint transactions of several people left out, belong to \
                     one party.",
        tier: Tier::Investigation,
        supported: true,
    },
    CatalogueHeuristic {
        id: "change",
        definition: "The output of a payment by which what is left returns to the payer, as far as forms of \
                     addresses, new addresses and round amounts tell. Only shown: no score rests on it.",
        tier: Tier::Heuristic,
        supported: true,
    },
    CatalogueHeuristic {
        id: "co_spend_suspected",
        definition: "Inputs spent together by a payment that may be a PayJoin, of payer and payee. Only \
                     shown: no score rests on it.",
        tier: Tier::Heuristic,
        supported: true,
    },
    CatalogueHeuristic {
        id: "creation",
        definition: "The creation of a contract: by the address, of the address, or by the account that \
                     created the address. Only shown: no score rests on it.",
        tier: Tier::OnChainProof,
        supported: true,
    },
    CatalogueHeuristic {
        id: "first_payment",
        definition: "An input of the first payment that the address received; on account chains the \
                     payer of the first native coins.",
        tier: Tier::OnChainProof,
        supported: true,
    },
    CatalogueHeuristic {
        id: "resource_delegation",
        definition: "Energy or bandwidth that one account lends the other, which pays for transactions. It is \
                     rented out for fees and moves no money. Only shown: no score rests on it.",
        tier: Tier::OnChainProof,
        supported: true,
    },
    CatalogueHeuristic {
        id: "sweeps_to_service",
        definition: "A deposit address: at least two accounts paid it, and everything that it paid went \
                     to one custodial service. Only shown: it is not the service.",
        tier: Tier::Heuristic,
        supported: true,
    },
    CatalogueHeuristic {
        id: "payments",
        definition: "Payments between both addresses, split over the inputs or outputs of a \
                     transaction in proportion to their value.",
        tier: Tier::OnChainProof,
        supported: true,
    },
];

/// The catalogue under a policy.
#[must_use]
pub fn catalogue(policy: &Policy) -> Catalogue {
    let Thresholds { medium, high, severe, review, block } = policy.spec().thresholds;
    Catalogue {
        model_version: MODEL_VERSION.to_owned(),
        policy_revision: policy.revision().to_string(),
        thresholds: CatalogueThresholds { medium, high, severe, review, block },
        categories: Category::ALL
            .iter()
            .map(|category| {
                let info = category.info();
                CatalogueCategory {
                    id: info.id,
                    definition: info.definition,
                    severity: policy.severity(*category),
                    default_severity: info.severity,
                    severity_basis: info.evidence,
                    is_service: info.service,
                    is_vasp: info.vasp,
                }
            })
            .collect(),
        tiers: Tier::ALL
            .map(|tier| CatalogueTier { id: tier.as_str(), cap: policy.cap(tier) })
            .to_vec(),
        heuristics: HEURISTICS.to_vec(),
        patterns: Pattern::ALL
            .iter()
            .map(|pattern| CataloguePattern {
                id: pattern.as_str(),
                definition: pattern.definition(),
                severity: policy.pattern_severity(*pattern),
                default_severity: pattern.severity(),
                supported: true,
            })
            .collect(),
        rules: rules(policy),
    }
}

/// The policy's rules, then the rules that every policy has.
fn rules(policy: &Policy) -> Vec<CatalogueRule> {
    let of_policy = policy.rules().iter().map(|rule| CatalogueRule {
        id: rule.id.clone(),
        description: rule.description.clone(),
        verdict: rule.verdict,
        fixed: false,
    });
    let fixed = FIXED_RULES.iter().map(|rule| CatalogueRule {
        id: rule.id.to_owned(),
        description: rule.description.to_owned(),
        verdict: RuleVerdict::Review,
        fixed: true,
    });
    of_policy.chain(fixed).collect()
}

#[cfg(test)]
mod tests {
    use assay_engine::policy::PolicySpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_those_of_the_callers_policy_and_the_fixed_ones() {
        let spec: PolicySpec = serde_json::from_value(json!({"rules": [
            {"id": "direct_mixing", "enabled": false},
            {"id": "atm", "description": "Funds of ATMs", "categories": ["atm"], "verdict": "block"},
        ]}))
        .unwrap();
        let rules = catalogue(&Policy::compile(spec).unwrap()).rules;
        let ids: Vec<_> = rules.iter().map(|rule| (rule.id.as_str(), rule.fixed)).collect();
        assert_eq!(
            ids,
            [
                ("direct_listed_counterparty", false),
                ("severe_category_exposure", false),
                ("direct_illicit_income", false),
                ("mixed_income", false),
                ("atm", false),
                ("listed_advisory", true),
                ("listing_recently_expired", true),
                ("cluster_listed", true),
                ("cluster_listed_counterparty", true),
                ("severe_funds_held", true),
                ("funds_taken", true),
                ("listed_token_dealing", true),
            ]
        );
        let atm = rules.iter().find(|rule| rule.id == "atm").unwrap();
        assert_eq!((atm.description.as_str(), atm.verdict), ("Funds of ATMs", RuleVerdict::Block));
    }
}
