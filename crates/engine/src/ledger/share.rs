//! Shares of one transaction's funds.

/// A share of funds, from nothing to all of them, in units of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoinShare(u64);

impl CoinShare {
    /// Nothing.
    pub const NOTHING: Self = Self(0);
    /// All funds.
    pub const WHOLE: Self = Self(1 << 32);
    /// The smallest share of one origin that a composition (breakdown of a transaction's funds by origin) records:
    /// 2^-24. Smaller shares count as unknown.
    pub const LEAST: Self = Self(1 << 8);

    /// A share of `units`; more units than the whole count as the whole.
    #[must_use]
    pub const fn from_units(units: u64) -> Self {
        if units > Self::WHOLE.0 { Self::WHOLE } else { Self(units) }
    }

    /// Number of units.
    #[must_use]
    pub const fn units(self) -> u64 {
        self.0
    }

    /// True if the share is nothing.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// The sum of both shares, at most the whole.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self::from_units(self.0.saturating_add(other.0))
    }

    /// The difference of both shares, at least nothing.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The share of an amount, in the amount's unit, rounded down.
    #[must_use]
    pub fn of_amount(self, amount: u128) -> u128 {
        // In halves: no amount of a chain is so large that its upper half overflows.
        let (high, low) = (amount >> 32, amount & u128::from(u32::MAX));
        let units = u128::from(self.0);
        high.saturating_mul(units).saturating_add((low * units) >> 32)
    }
}
