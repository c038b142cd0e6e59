//! Fixed-point arithmetic: numbers in [0, 1] with nine decimals and the few functions a score needs.
//!
//! Scores use no floating-point operations. Every function is exact up to a stated rounding and never decreases when
//! its arguments increase, so that more risk never rounds to less.

use ruint::aliases::U256;

/// Billionths in one.
const ONE: u64 = 1_000_000_000;
/// The scale of a [`PowerSum`]: 10^18 stand for one.
const POWER_ONE: u64 = 1_000_000_000_000_000_000;

/// A number in [0, 1], counted in billionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u64);

impl Fraction {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(ONE);
    /// The smallest amount above [`Fraction::ZERO`]: one billionth.
    pub const UNIT: Self = Self(1);

    /// A number of `billionths`; anything above one counts as one.
    #[must_use]
    pub const fn from_billionths(billionths: u64) -> Self {
        if billionths > ONE { Self::ONE } else { Self(billionths) }
    }

    /// `numerator / denominator`, rounded down; one where the fraction exceeds one, zero where the
    /// denominator is zero.
    #[must_use]
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self::ZERO;
        }
        let billionths = u128::from(numerator) * u128::from(ONE) / u128::from(denominator);
        Self::from_billionths(u64::try_from(billionths).unwrap_or(ONE))
    }

    /// The number in billionths.
    #[must_use]
    pub const fn billionths(self) -> u64 {
        self.0
    }

    /// One minus this.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(ONE - self.0)
    }

    /// The product, rounded down.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let product = u128::from(self.0) * u128::from(other.0) / u128::from(ONE);
        Self::from_billionths(u64::try_from(product).unwrap_or(ONE))
    }

    /// Noisy-OR: `1 - (1 - a)(1 - b)`, rounded down: the probability that at least one of two independent pieces of
    /// evidence holds.
    #[must_use]
    pub fn noisy_or(self, other: Self) -> Self {
        let remaining = (u128::from(self.complement().0) * u128::from(other.complement().0))
            .div_ceil(u128::from(ONE));
        Self(ONE - u64::try_from(remaining).unwrap_or(ONE))
    }

    /// `self^2.5` at the scale of a [`PowerSum`], rounded down.
    #[must_use]
    pub fn power_2_5(self) -> Power {
        let square = u128::from(self.0) * u128::from(self.0);
        let root = (u128::from(self.0) * u128::from(ONE).pow(3)).isqrt();
        let product = square * root / u128::from(POWER_ONE);
        Power(u64::try_from(product).unwrap_or(POWER_ONE))
    }

    /// `-log2(self)` in 2^-32 steps. Zero counts as one billionth, so that the answer is finite.
    ///
    /// Callers use only proportions between logarithms, to split a score into contributions, so the base does not
    /// matter.
    #[must_use]
    pub fn negative_log2(self) -> u64 {
        const FRACTION_BITS: u32 = 32;
        // The mantissa holds 1/self in [1, 2) with 62 fractional bits.
        let inverse = (u128::from(ONE) << 62) / u128::from(self.0.max(1));
        let whole = inverse.ilog2().saturating_sub(62);
        let mut mantissa = inverse >> whole;
        let mut result = u64::from(whole);
        for _ in 0..FRACTION_BITS {
            mantissa = (mantissa * mantissa) >> 62;
            let bit = mantissa >> 63;
            result = (result << 1) | u64::try_from(bit).unwrap_or(1);
            mantissa >>= bit;
        }
        result
    }

    /// `2^-(numerator / denominator)`, within two billionths and rounded down: the decay of evidence over hops.
    #[must_use]
    pub fn half_to_the(numerator: u64, denominator: u64) -> Self {
        const BITS: u32 = 40;
        if denominator == 0 {
            return Self::ZERO;
        }
        let halvings = numerator / denominator;
        if halvings >= 64 {
            return Self::ZERO;
        }
        let remainder = u128::from(numerator % denominator);
        let exponent = (remainder << BITS) / u128::from(denominator);
        // factor runs through 2^-(1/2), 2^-(1/4), ... with 60 fractional bits.
        let mut factor: u128 = 1 << 59;
        let mut result: u128 = 1 << 60;
        for bit in (0..BITS).rev() {
            factor = (factor << 60).isqrt();
            if exponent >> bit & 1 == 1 {
                result = (result * factor) >> 60;
            }
        }
        let billionths = (result * u128::from(ONE)) >> 60 >> halvings;
        Self::from_billionths(u64::try_from(billionths).unwrap_or(ONE))
    }
}

/// A risk raised to the power 2.5, in units of 10^-18: the summand of a [`PowerSum`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power(u64);

impl Power {
    /// The power in units of 10^-18.
    #[must_use]
    pub const fn units(self) -> u64 {
        self.0
    }

    /// The product, rounded down.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let product = u128::from(self.0) * u128::from(other.0) / u128::from(POWER_ONE);
        Self(u64::try_from(product).unwrap_or(POWER_ONE))
    }

    /// The sum of both powers, at most one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).min(POWER_ONE))
    }

    /// The difference of both powers, at least zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `units x part / whole`, rounded down.
    #[must_use]
    pub fn share(part: u128, whole: u128, units: u128) -> Self {
        if whole == 0 {
            return Self::default();
        }
        let scaled = U256::from(part) * U256::from(units.min(POWER_ONE.into())) / U256::from(whole);
        Self(u64::try_from(scaled).unwrap_or(POWER_ONE).min(POWER_ONE))
    }
}

/// `sum(share x risk^2.5)`: the sum of flows before the root is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PowerSum(u128);

impl PowerSum {
    /// `sum(amount x power) / whole`, exact until one final rounding down, so that splitting an
    /// amount changes nothing. Zero where the whole is zero.
    #[must_use]
    pub fn weighted(parts: impl IntoIterator<Item = (u128, Power)>, whole: U256) -> Self {
        if whole.is_zero() {
            return Self::default();
        }
        let sum = parts.into_iter().fold(U256::ZERO, |sum, (amount, power)| {
            sum.saturating_add(U256::from(amount).saturating_mul(U256::from(power.0)))
        });
        Self(u128::try_from(sum / whole).unwrap_or(u128::from(POWER_ONE)))
    }

    /// `sum(share x power)`, exact until one final rounding down. The shares sum to one at most.
    #[must_use]
    pub fn of_products(parts: impl IntoIterator<Item = (Power, Power)>) -> Self {
        let sum = parts.into_iter().fold(0_u128, |sum, (share, power)| {
            sum.saturating_add(u128::from(share.0) * u128::from(power.0))
        });
        Self(sum / u128::from(POWER_ONE))
    }

    /// The sum of both power sums.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `min(1, sum^0.4)`, rounded to the nearest billionth (halves up), so that a single flow part that is all funds
    /// scores exactly the part's risk although [`Fraction::power_2_5`] rounds down.
    #[must_use]
    pub fn root(self) -> Fraction {
        if self.0 >= u128::from(POWER_ONE) {
            return Fraction::ONE;
        }
        if self.0 == 0 {
            return Fraction::ZERO;
        }
        // With sum = s / 10^18 and root = r / 10^9: r^5 = s^2 x 10^9. The nearest r is the largest
        // for which (2r - 1)^5 <= 32 x s^2 x 10^9; all of it fits in 256 bits.
        let target = U256::from(self.0) * U256::from(self.0) * U256::from(ONE) * U256::from(32_u32);
        let (mut low, mut high) = (0_u64, ONE);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let odd = U256::from(2 * middle - 1);
            if odd * odd * odd * odd * odd <= target {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Fraction(low)
    }
}

/// Splits `total` in proportion to `weights` by largest remainder, ties by index: the parts are integers and sum
/// exactly to the total. If all weights are zero, all parts are zero.
#[must_use]
pub fn apportion(total: u64, weights: &[u128]) -> Vec<u64> {
    let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum + U256::from(*weight));
    if sum.is_zero() {
        return vec![0; weights.len()];
    }
    let mut parts = Vec::with_capacity(weights.len());
    let mut remainders = Vec::with_capacity(weights.len());
    for (index, weight) in weights.iter().enumerate() {
        let (quotient, remainder) = (U256::from(total) * U256::from(*weight)).div_rem(sum);
        parts.push(u64::try_from(quotient).unwrap_or(total));
        remainders.push((std::cmp::Reverse(remainder), index));
    }
    let missing = total.saturating_sub(parts.iter().sum());
    remainders.sort_unstable();
    for (_, index) in remainders.into_iter().take(usize::try_from(missing).unwrap_or(usize::MAX)) {
        if let Some(part) = parts.get_mut(index) {
            *part += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn percent(value: u64) -> Fraction {
        Fraction::ratio(value, 100)
    }

    fn weighted(share_percent: u128, risk: Fraction) -> PowerSum {
        PowerSum::weighted([(share_percent, risk.power_2_5())], U256::from(100_u32))
    }

    #[test]
    fn a_part_of_the_whole_scores_exactly_its_risk() {
        for billionths in [1, 7, 180_000_000, 333_333_333, 800_000_000, 999_999_999, ONE] {
            let risk = Fraction::from_billionths(billionths);
            let alone = weighted(100, risk).root();
            assert!(alone.0.abs_diff(risk.0) <= u64::from(billionths < 1000) * 7, "{billionths}");
        }
    }

    #[test]
    fn known_roots() {
        // 0.49^0.4 = 0.751770..., 0.07^0.4 = 0.345192..., 2 x 0.18^2.5 -> 0.18 x 2^0.4 = 0.237511...
        let part = |share, risk| weighted(share, percent(risk));
        assert_eq!(part(49, 100).root().0 / 1_000_000, 751);
        assert_eq!(part(7, 100).root().0 / 1_000_000, 345);
        assert_eq!(part(100, 18).plus(part(100, 18)).root().0 / 1_000_000, 237);
    }

    #[test]
    fn decay_halves_every_two_point_four_hops() {
        let decay = |hops: u64| Fraction::half_to_the((hops - 1) * 10, 24).0;
        assert_eq!(decay(1), ONE);
        // 2^-(1/2.4) = 0.749153538..., 2^-(2/2.4) = 0.561231024..., 2^-2 exactly at 5.8 hops' distance.
        assert!(decay(2).abs_diff(749_153_538) <= 2, "{}", decay(2));
        assert!(decay(3).abs_diff(561_231_024) <= 2, "{}", decay(3));
        assert_eq!(Fraction::half_to_the(2, 1).0, ONE / 4);
        assert_eq!(Fraction::half_to_the(6_400, 100), Fraction::ZERO);
    }

    #[test]
    fn logarithms_of_powers_of_two_are_exact() {
        assert_eq!(Fraction::ONE.negative_log2(), 0);
        assert_eq!(percent(50).negative_log2(), 1 << 32);
        assert_eq!(percent(25).negative_log2(), 2 << 32);
        assert_eq!(Fraction::ZERO.negative_log2(), Fraction::UNIT.negative_log2());
    }

    proptest! {
        #[test]
        fn functions_never_decrease(a in 0..=ONE, b in 0..=ONE, c in 0..=ONE) {
            let (low, high) = (Fraction(a.min(b)), Fraction(a.max(b)));
            let other = Fraction(c);
            prop_assert!(low.times(other) <= high.times(other));
            prop_assert!(low.noisy_or(other) <= high.noisy_or(other));
            prop_assert!(low.noisy_or(other) >= low.max(other));
            prop_assert!(low.power_2_5() <= high.power_2_5());
            prop_assert!(low.negative_log2() >= high.negative_log2());
            let (low, high) = (low.power_2_5(), high.power_2_5());
            prop_assert!(PowerSum(low.0.into()).root() <= PowerSum(high.0.into()).root());
        }

        #[test]
        fn parts_sum_to_the_whole(total in 0_u64..1_000_000, weights in prop::collection::vec(any::<u128>(), 0..20)) {
            let parts = apportion(total, &weights);
            let expected = if weights.iter().all(|weight| *weight == 0) { 0 } else { total };
            prop_assert_eq!(parts.iter().sum::<u64>(), expected);
        }

        #[test]
        fn splitting_an_amount_changes_nothing(amount in 1..=u128::MAX, cut in any::<u128>(), other in any::<u128>(), risk in 0..=ONE) {
            let power = Fraction(risk).power_2_5();
            let first = cut % amount;
            let whole = U256::from(amount) + U256::from(other);
            prop_assert_eq!(
                PowerSum::weighted([(amount, power), (other, Power(0))], whole),
                PowerSum::weighted([(first, power), (amount - first, power), (other, Power(0))], whole)
            );
        }
    }
}
