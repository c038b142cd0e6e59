//! The kinds of manifests.

/// The kind of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A [`PlanSpec`](super::PlanSpec).
    Plan,
    /// An [`IntelSourceSpec`](super::IntelSourceSpec).
    IntelSource,
    /// A [`ChainSourceSpec`](super::ChainSourceSpec).
    ChainSource,
    /// A risk policy, whose spec the engine defines.
    RiskPolicy,
    /// A [`TenantSpec`](super::TenantSpec).
    Tenant,
    /// A [`RateLimitSpec`](super::RateLimitSpec).
    RateLimit,
    /// A [`FormerTenantSpec`](super::FormerTenantSpec), which only the operator writes.
    FormerTenant,
}

impl Kind {
    /// Every kind, in the order in which they build on each other.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::IntelSource,
        Self::ChainSource,
        Self::RiskPolicy,
        Self::Tenant,
        Self::RateLimit,
        Self::FormerTenant,
    ];

    /// The kind's name in manifests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::IntelSource => "IntelSource",
            Self::ChainSource => "ChainSource",
            Self::RiskPolicy => "RiskPolicy",
            Self::Tenant => "Tenant",
            Self::RateLimit => "RateLimit",
            Self::FormerTenant => "FormerTenant",
        }
    }
}
