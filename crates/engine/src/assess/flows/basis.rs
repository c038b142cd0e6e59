//! The basis on which amounts are compared, and the claims that distance lowers.

/// Basis on which effective shares are computed. The basis with the largest sum counts for all
/// parts: a choice per part would make the sum depend on how money is split, and a riskier
/// classification of money could lower it (`docs/decisions.md` shows the cases).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::assess) enum Basis {
    /// A part's share of all money of its direction.
    Lifetime,
    /// The same over the last 90 days; less where less than a tenth of all money is recent.
    Recent,
    /// The amount of direct money by itself. Amounts lie on the policy's curve from the riskiest down, so that
    /// each part gets the rise of the curve over its own stretch.
    Amount,
}

/// The claims whose weight decays with the distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::assess) enum Decay {
    /// All of them.
    All,
    /// Those below a severity: graver ones weigh the same at any distance.
    Below(u8),
}

impl Decay {
    pub(super) const fn applies_to(self, severity: u8) -> bool {
        match self {
            Self::All => true,
            Self::Below(from) => severity < from,
        }
    }
}
