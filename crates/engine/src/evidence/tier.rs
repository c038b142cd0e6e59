//! Strength of evidence, and the highest score that each strength permits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The strength of a piece of evidence, strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// An official sanctions list.
    OfficialList,
    /// A cryptographic or on-chain fact: the same key, or a freeze by an asset's issuer.
    OnChainProof,
    /// An investigation: curated tag packs, explorers' name tags, co-spend clusters.
    Investigation,
    /// Users' reports and scraped lists.
    Community,
    /// Heuristics: change links, deposit-address reuse.
    Heuristic,
    /// Behaviour alone.
    Behavior,
}

impl Tier {
    /// Every tier, strongest first.
    pub const ALL: [Self; 6] = [
        Self::OfficialList,
        Self::OnChainProof,
        Self::Investigation,
        Self::Community,
        Self::Heuristic,
        Self::Behavior,
    ];

    /// True if this tier is at least as strong as another.
    #[must_use]
    pub fn at_least(self, other: Self) -> bool {
        self <= other
    }

    /// The weaker of two tiers: evidence is as strong as its weakest link.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        self.max(other)
    }

    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OfficialList => "official_list",
            Self::OnChainProof => "on_chain_proof",
            Self::Investigation => "investigation",
            Self::Community => "community",
            Self::Heuristic => "heuristic",
            Self::Behavior => "behavior",
        }
    }
}
