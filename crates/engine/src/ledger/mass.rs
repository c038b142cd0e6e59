//! Exact amounts, and their division in a trace (`docs/model/trace.md` T1).

use std::ops::{Add, AddAssign};

use ruint::aliases::U256;

use crate::{fixed::Fraction, ledger::CoinShare};

/// Amounts of a trace are base units times two to this power, so that rounding is insignificant when a satoshi is split
/// over a hundred addresses.
const SCALE_BITS: u32 = 32;

/// An amount of a trace, separated into funds that moved in the last 90 days and earlier ones, so that the recent
/// amount never exceeds the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mass {
    /// Moved before the last 90 days.
    pub earlier: u128,
    /// Moved in the last 90 days.
    pub recent: u128,
}

impl Mass {
    /// The mass of an amount in base units, either all recent or all earlier.
    #[must_use]
    pub const fn from_base_units(amount: u128, recent: bool) -> Self {
        let scaled = amount.saturating_mul(1 << SCALE_BITS);
        if recent {
            Self { earlier: 0, recent: scaled }
        } else {
            Self { earlier: scaled, recent: 0 }
        }
    }

    /// Converts an amount of a trace to base units, rounded down.
    #[must_use]
    pub const fn unscaled(amount: u128) -> u128 {
        amount >> SCALE_BITS
    }

    /// Converts an amount of a trace to base units, rounded up.
    #[must_use]
    pub const fn unscaled_up(amount: u128) -> u128 {
        amount.div_ceil(1 << SCALE_BITS)
    }

    /// The total of the recent and the earlier amount.
    #[must_use]
    pub const fn total(self) -> u128 {
        self.earlier.saturating_add(self.recent)
    }

    /// True if the mass is 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.earlier == 0 && self.recent == 0
    }

    /// The smaller of two amounts, for each period (recent and earlier).
    #[must_use]
    pub fn at_most(self, most: Self) -> Self {
        Self { earlier: self.earlier.min(most.earlier), recent: self.recent.min(most.recent) }
    }

    /// The product with a fraction, rounded down for each period.
    #[must_use]
    pub fn times(self, fraction: Fraction) -> Self {
        let one = u128::from(Fraction::ONE.billionths());
        let times = |amount| share(amount, fraction.billionths().into(), one);
        Self { earlier: times(self.earlier), recent: times(self.recent) }
    }

    /// The share for one of several weights that sum to `sum`, rounded up for each period; 0 if all weights are 0.
    #[must_use]
    pub fn share_up(self, weight: u128, sum: u128) -> Self {
        let share = |amount| {
            let (part, remainder) = times_over(amount, weight, sum);
            part + u128::from(remainder > 0)
        };
        Self { earlier: share(self.earlier), recent: share(self.recent) }
    }

    /// A share of the mass, rounded down for each period.
    #[must_use]
    pub fn part(self, share: CoinShare) -> Self {
        Self { earlier: share.of_amount(self.earlier), recent: share.of_amount(self.recent) }
    }

    /// The difference of two amounts, for each period; at least 0.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            earlier: self.earlier.saturating_sub(other.earlier),
            recent: self.recent.saturating_sub(other.recent),
        }
    }

    /// Splits the amount in proportion to `weights` and replaces the content of `parts` with the result.
    pub fn split(self, weights: &[u128], parts: &mut Vec<Self>, scratch: &mut SplitScratch) {
        parts.clear();
        parts.resize(weights.len(), Self::default());
        if self.earlier > 0 {
            scratch.split(self.earlier, weights);
            for (part, amount) in parts.iter_mut().zip(&scratch.parts) {
                part.earlier = *amount;
            }
        }
        if self.recent > 0 {
            scratch.split(self.recent, weights);
            for (part, amount) in parts.iter_mut().zip(&scratch.parts) {
                part.recent = *amount;
            }
        }
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

/// Converts an amount in base units to the unit of a trace.
#[must_use]
pub const fn scaled(amount: u128) -> u128 {
    amount.saturating_mul(1 << SCALE_BITS)
}

/// The share of `total` for one of several weights that sum to `sum`, rounded down; 0 if all weights are 0.
#[must_use]
pub fn share(total: u128, weight: u128, sum: u128) -> u128 {
    times_over(total, weight, sum).0
}

/// `total * weight / sum`, rounded down, and the remainder; both 0 if `sum` is 0. `weight` is at most `sum`.
fn times_over(total: u128, weight: u128, sum: u128) -> (u128, u128) {
    if sum == 0 {
        return (0, 0);
    }
    if let Some(product) = total.checked_mul(weight) {
        return (product / sum, product % sum);
    }
    if let (Ok(weight), Ok(sum)) = (u64::try_from(weight), u64::try_from(sum)) {
        return times_over_words(total, weight, sum);
    }
    let (quotient, remainder) = (U256::from(total) * U256::from(weight)).div_rem(U256::from(sum));
    let narrow = |wide: U256| u128::try_from(wide).unwrap_or(u128::MAX);
    (narrow(quotient), narrow(remainder))
}

/// Computes `total * weight / sum` and the remainder for the usual case of weights below 2^64, by long division in
/// words of 64 bits.
fn times_over_words(total: u128, weight: u64, sum: u64) -> (u128, u128) {
    const WORD: u32 = u64::BITS;
    const LOW: u128 = u64::MAX as u128;
    let (weight, sum) = (u128::from(weight), u128::from(sum));
    let low = (total & LOW) * weight;
    let high = (total >> WORD) * weight + (low >> WORD);
    // The quotient is at most `total`, so that what is beyond two words leaves only a remainder.
    let above = (high >> WORD) % sum;
    let middle = (above << WORD) | (high & LOW);
    let last = ((middle % sum) << WORD) | (low & LOW);
    (((middle / sum) << WORD) | (last / sum), last % sum)
}

/// Splits `total` in proportion to `weights` by largest remainder, ties by index: the parts are integers and sum
/// exactly to the total. If all weights are 0, all parts are 0.
#[must_use]
pub fn split(total: u128, weights: &[u128]) -> Vec<u128> {
    let mut scratch = SplitScratch::default();
    scratch.split(total, weights);
    scratch.parts
}

/// Reusable memory for splits.
#[derive(Debug, Default)]
pub struct SplitScratch {
    parts: Vec<u128>,
    remainders: Vec<(std::cmp::Reverse<u128>, usize)>,
}

impl SplitScratch {
    fn split(&mut self, total: u128, weights: &[u128]) {
        self.parts.clear();
        let sum = weights.iter().fold(0_u128, |sum, weight| sum.saturating_add(*weight));
        if sum == 0 || total == 0 {
            self.parts.resize(weights.len(), 0);
            return;
        }
        if let [_] = weights {
            self.parts.push(total);
            return;
        }
        self.remainders.clear();
        let mut missing = total;
        for (index, weight) in weights.iter().enumerate() {
            let (part, remainder) = times_over(total, *weight, sum);
            missing = missing.saturating_sub(part);
            self.parts.push(part);
            if remainder > 0 {
                self.remainders.push((std::cmp::Reverse(remainder), index));
            }
        }
        // Fewer are missing than there are remainders: each remainder is less than one unit.
        let missing = usize::try_from(missing).unwrap_or(usize::MAX).min(self.remainders.len());
        if missing > 0 && missing < self.remainders.len() {
            self.remainders.select_nth_unstable(missing);
        }
        for (_, index) in self.remainders.iter().take(missing) {
            if let Some(part) = self.parts.get_mut(*index) {
                *part += 1;
            }
        }
    }
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
        fn products_over_sums_are_exact(total in any::<u128>(), shifts in (0..128_u32, 0..128_u32), sum in any::<u128>(), weight in any::<u128>()) {
            let (total, sum) = (total >> shifts.0, (sum >> shifts.1).max(1));
            let weight = weight % (sum + u128::from(sum < u128::MAX));
            let exact = U256::from(total) * U256::from(weight);
            let (quotient, remainder) = times_over(total, weight, sum);
            prop_assert_eq!(U256::from(quotient) * U256::from(sum) + U256::from(remainder), exact);
            prop_assert!(remainder < sum);
        }

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
