//! Exact amounts, and how a trace splits them.

use std::ops::{Add, AddAssign};

use ruint::aliases::U256;

use crate::fixed::Fraction;

/// Amounts are base units times two to this power, so that splitting a satoshi over a hundred addresses
/// loses nothing significant.
const SCALE_BITS: u32 = 32;

/// An amount of a trace, separated into the last 90 days and the time before, so that the recent amount
/// never exceeds the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mass {
    /// Moved before the last 90 days.
    pub earlier: u128,
    /// Moved in the last 90 days.
    pub recent: u128,
}

impl Mass {
    /// An amount in base units; recent or not.
    #[must_use]
    pub const fn of(amount: u128, recent: bool) -> Self {
        let scaled = amount.saturating_mul(1 << SCALE_BITS);
        if recent {
            Self { earlier: 0, recent: scaled }
        } else {
            Self { earlier: scaled, recent: 0 }
        }
    }

    /// An amount of a trace in base units, rounded down.
    #[must_use]
    pub const fn unscaled(amount: u128) -> u128 {
        amount >> SCALE_BITS
    }

    /// The total of both.
    #[must_use]
    pub const fn total(self) -> u128 {
        self.earlier.saturating_add(self.recent)
    }

    /// True if the mass is 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.earlier == 0 && self.recent == 0
    }

    /// The lesser of both, for each period.
    #[must_use]
    pub fn at_most(self, most: Self) -> Self {
        Self { earlier: self.earlier.min(most.earlier), recent: self.recent.min(most.recent) }
    }

    /// The product with a fraction, rounded down for each period.
    #[must_use]
    pub fn times(self, fraction: Fraction) -> Self {
        let one = U256::from(Fraction::ONE.billionths());
        let times = |amount| share(amount, fraction.billionths().into(), one);
        Self { earlier: times(self.earlier), recent: times(self.recent) }
    }

    /// Splits the amount in proportion to `weights`.
    #[must_use]
    pub fn split(self, weights: &[u128]) -> Vec<Self> {
        let earlier = split(self.earlier, weights);
        let recent = split(self.recent, weights);
        earlier.into_iter().zip(recent).map(|(earlier, recent)| Self { earlier, recent }).collect()
    }
}

impl Add for Mass {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            earlier: self.earlier.saturating_add(other.earlier),
            recent: self.recent.saturating_add(other.recent),
        }
    }
}

impl AddAssign for Mass {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// An amount in base units, in the unit of a trace.
#[must_use]
pub const fn scaled(amount: u128) -> u128 {
    amount.saturating_mul(1 << SCALE_BITS)
}

/// The share of `total` for one of several weights that sum to `sum`, rounded down.
#[must_use]
pub fn share(total: u128, weight: u128, sum: U256) -> u128 {
    let product = U256::from(total) * U256::from(weight);
    product.checked_div(sum).and_then(|share| u128::try_from(share).ok()).unwrap_or(0)
}

/// Splits `total` in proportion to `weights` by largest remainder, ties by index: the parts are integers and
/// sum exactly to the total. If all weights are 0, all parts are.
#[must_use]
pub fn split(total: u128, weights: &[u128]) -> Vec<u128> {
    let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum + U256::from(*weight));
    if sum.is_zero() || total == 0 {
        return vec![0; weights.len()];
    }
    if let [_] = weights {
        return vec![total];
    }
    let mut parts = Vec::with_capacity(weights.len());
    let mut remainders = Vec::with_capacity(weights.len());
    let mut missing = total;
    for (index, weight) in weights.iter().enumerate() {
        let (quotient, remainder) = (U256::from(total) * U256::from(*weight)).div_rem(sum);
        let part = u128::try_from(quotient).unwrap_or(u128::MAX);
        missing = missing.saturating_sub(part);
        parts.push(part);
        remainders.push((std::cmp::Reverse(remainder), index));
    }
    // Fewer are missing than there are weights: each remainder is less than one unit.
    let missing = usize::try_from(missing).unwrap_or(usize::MAX).min(remainders.len());
    if missing > 0 && missing < remainders.len() {
        remainders.select_nth_unstable(missing);
    }
    for (_, index) in remainders.into_iter().take(missing) {
        if let Some(part) = parts.get_mut(index) {
            *part += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn remainders_go_to_the_largest_first_and_then_in_order() {
        assert_eq!(split(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(split(11, &[1, 1, 1]), [4, 4, 3]);
        assert_eq!(split(7, &[5, 3, 2]), [4, 2, 1]);
        assert_eq!(split(5, &[0, 3, 0]), [0, 5, 0]);
        assert_eq!(split(5, &[0, 0]), [0, 0]);
        assert_eq!(split(5, &[9]), [5]);
    }

    proptest! {
        #[test]
        fn parts_are_exact_and_within_one_unit(
            total in any::<u128>(),
            weights in prop::collection::vec(0..=u128::from(u64::MAX), 1..20),
        ) {
            let parts = split(total, &weights);
            let sum: u128 = weights.iter().sum();
            if sum > 0 {
                prop_assert_eq!(parts.iter().sum::<u128>(), total);
                for (part, weight) in parts.iter().zip(&weights) {
                    let exact = U256::from(total) * U256::from(*weight);
                    let low = U256::from(*part) * U256::from(sum);
                    let unit = U256::from(sum);
                    prop_assert!(low < exact + unit && exact < low + unit);
                }
            }
        }
    }
}
