//! Ranks of evidence: the tiers, with one more rank between the two strongest.

use crate::{evidence::Tier, policy::Policy, score::Score};

/// A rank of evidence, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Official lists.
    OfficialList,
    /// The same key as a listed address: a cryptographic fact that contradicting labels do not weaken.
    ListedKey,
    /// Every other cryptographic or on-chain fact.
    OnChainProof,
    /// Investigations.
    Investigation,
    /// Users' reports and scraped lists.
    Community,
    /// Heuristics.
    Heuristic,
    /// Behaviour.
    Behavior,
}

impl Rank {
    /// Every rank, strongest first.
    pub(super) const ALL: [Self; 7] = [
        Self::OfficialList,
        Self::ListedKey,
        Self::OnChainProof,
        Self::Investigation,
        Self::Community,
        Self::Heuristic,
        Self::Behavior,
    ];

    /// The tier whose cap applies to the rank. Flows of that tier count at the rank, except at the rank of listed keys,
    /// at which no flows count.
    pub(super) const fn tier(self) -> Option<Tier> {
        match self {
            Self::OfficialList => Some(Tier::OfficialList),
            Self::ListedKey => None,
            Self::OnChainProof => Some(Tier::OnChainProof),
            Self::Investigation => Some(Tier::Investigation),
            Self::Community => Some(Tier::Community),
            Self::Heuristic => Some(Tier::Heuristic),
            Self::Behavior => Some(Tier::Behavior),
        }
    }

    /// The weakest tier of flows that counts at this rank and at stronger ranks.
    pub(super) fn weakest_flows(self) -> Tier {
        self.tier().unwrap_or(Tier::OfficialList)
    }

    /// The highest score that evidence of this rank and weaker ones can reach together.
    pub(super) fn cap(self, policy: &Policy) -> Score {
        self.tier().map_or(Score::MAXIMUM, |tier| policy.cap(tier))
    }
}

impl From<Tier> for Rank {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::OfficialList => Self::OfficialList,
            Tier::OnChainProof => Self::OnChainProof,
            Tier::Investigation => Self::Investigation,
            Tier::Community => Self::Community,
            Tier::Heuristic => Self::Heuristic,
            Tier::Behavior => Self::Behavior,
        }
    }
}
