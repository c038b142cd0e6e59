//! The catalogue of everything an answer can name: categories, tiers, heuristics, patterns.

use assay_engine::{
    MODEL_VERSION,
    evidence::{Pattern, Tier},
    policy::{Policy, Thresholds},
    score::Score,
    taxonomy::Category,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Everything an answer can name, with the severities of the caller's policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Catalogue {
    /// Names the model.
    pub model_version: String,
    /// Names the caller's policy.
    pub policy_revision: String,
    /// Where bands and verdicts begin.
    pub thresholds: CatalogueThresholds,
    /// Entity categories.
    pub categories: Vec<CatalogueCategory>,
    /// Strengths of evidence, strongest first.
    pub tiers: Vec<CatalogueTier>,
    /// How addresses are tied to each other.
    pub heuristics: Vec<CatalogueHeuristic>,
    /// Patterns of behaviour.
    pub patterns: Vec<CataloguePattern>,
}

/// Where bands and verdicts begin.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueThresholds {
    /// First score of the medium band.
    pub medium: Score,
    /// First score of the high band.
    pub high: Score,
    /// First score of the severe band.
    pub severe: Score,
    /// First score that asks for a review.
    pub review: Score,
    /// First score that blocks.
    pub block: Score,
}

/// An entity category.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogueCategory {
    /// The identifier.
    pub id: &'static str,
    /// What belongs to it.
    pub definition: &'static str,
    /// The caller's severity, 0 to 100.
    pub severity: u8,
    /// The severity unless a policy says otherwise.
    pub default_severity: u8,
    /// Basis of the default severity: the publications that it follows.
    pub severity_basis: &'static str,
    /// Whether its entities hold or move other people's funds. Flows through a service are shown and not
    /// scored.
    pub is_service: bool,
    /// Whether they are virtual asset service providers; null where it depends.
    pub is_vasp: Option<bool>,
}

/// A strength of evidence.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueTier {
    /// The identifier.
    pub id: &'static str,
    /// The highest score that such evidence and weaker can reach together.
    pub cap: Score,
}

/// How addresses are tied to each other.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CatalogueHeuristic {
    /// The identifier.
    pub id: &'static str,
    /// What it looks at.
    pub definition: &'static str,
    /// The strength of what it finds.
    pub tier: Tier,
    /// Whether this version of Assay detects it.
    pub supported: bool,
}

/// A pattern of behaviour.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CataloguePattern {
    /// The identifier.
    pub id: &'static str,
    /// What counts as it.
    pub definition: &'static str,
    /// The caller's severity, 0 to 100.
    pub severity: u8,
    /// The severity unless a policy says otherwise.
    pub default_severity: u8,
    /// Whether this version of Assay detects it.
    pub supported: bool,
}

const HEURISTICS: [CatalogueHeuristic; 2] = [
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
        supported: false,
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
                supported: false,
            })
            .collect(),
    }
}
