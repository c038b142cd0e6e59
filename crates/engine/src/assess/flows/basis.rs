//! The bases on which amounts are compared, and the claims that decay with distance.

/// Basis on which effective shares are computed. The basis with the largest sum counts for all parts: a choice per flow
/// part would make the sum depend on how funds are split, and a riskier classification of funds could lower the sum
/// (`docs/decisions.md` shows the cases).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::assess) enum Basis {
    /// A flow part's share of all funds of the part's direction.
    Lifetime,
    /// A flow part's share of the funds of the last 90 days, reduced if less than a tenth of all funds is recent.
    Recent,
    /// As [`Basis::Lifetime`], of the greatest sums that were outstanding with direct counterparties: funds that go round
    /// do not lower the shares of other funds.
    Outstanding,
    /// As [`Basis::Recent`], with recent funds in proportion to those of [`Basis::Outstanding`].
    RecentOutstanding,
    /// The amount of direct funds, regardless of shares. Amounts are stacked along the policy's curve, the riskiest
    /// flow parts first, and each part gets the rise of the curve over the part's own amount.
    Amount,
}

/// The claims (attributions of an endpoint or a path label) whose weight decays with the distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::assess) enum Decay {
    /// All claims.
    All,
    /// Claims below this severity: more severe claims weigh the same at any distance.
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
