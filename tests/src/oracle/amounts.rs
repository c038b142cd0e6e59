//! Arithmetic of the oracle: in whole units, as `docs/model/trace.md` T1 requires, and additionally in fractions.

use assay_engine::{fixed::Fraction, ledger::mass};
use num_bigint::BigUint;

/// A unit of a trace is a base unit divided by two to this power.
pub(super) const SCALE_BITS: u64 = 32;
/// Fractions are units of a trace divided by two to this power, so that their own rounding is negligible.
pub(super) const FINE_BITS: u64 = 256;

/// Precision with which a trace computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Whole units only.
    Units,
    /// Whole units and fractions.
    Fine,
}

/// A number in units of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    /// Whole units, as the rule computes.
    pub(super) units: BigUint,
    /// The number without rounding, in units divided by 2^[`FINE_BITS`]; zero with [`Precision::Units`].
    pub(super) fine: BigUint,
}

impl Number {
    fn add(&mut self, other: &Self) {
        self.units += &other.units;
        self.fine += &other.fine;
    }

    /// Splits the number in proportion to `weights`; into zeros if all weights are zero.
    fn split(&self, weights: &[BigUint]) -> Vec<Self> {
        let sum: BigUint = weights.iter().sum();
        let units = by_largest_remainder(&self.units, weights);
        let fine = |weight: &BigUint| {
            if self.fine == BigUint::ZERO { BigUint::ZERO } else { &self.fine * weight / &sum }
        };
        let both = units.into_iter().zip(weights);
        both.map(|(units, weight)| Self { units, fine: fine(weight) }).collect()
    }

    /// The product, rounded down.
    fn times(&self, fraction: Fraction) -> Self {
        let times = |number: &BigUint| number * fraction.billionths() / 1_000_000_000_u64;
        Self { units: times(&self.units), fine: times(&self.fine) }
    }

    /// The share for a weight, rounded up.
    fn share_up(&self, weight: u128, sum: u128) -> Self {
        if sum == 0 {
            return Self::default();
        }
        Self { units: (&self.units * weight + (sum - 1)) / sum, fine: &self.fine * weight / sum }
    }

    fn less(&self, other: &Self) -> Self {
        let less = |a: &BigUint, b: &BigUint| a - a.min(b);
        Self { units: less(&self.units, &other.units), fine: less(&self.fine, &other.fine) }
    }

    fn at_most(&self, most: &Self) -> Self {
        Self {
            units: (&self.units).min(&most.units).clone(),
            fine: (&self.fine).min(&most.fine).clone(),
        }
    }
}

pub(super) fn to_big(numbers: &[u128]) -> Vec<BigUint> {
    numbers.iter().copied().map(BigUint::from).collect()
}

/// Splits a total by the largest remainder method: parts are rounded down, and the missing units go to the largest
/// remainders, ties to the lower index.
pub(super) fn by_largest_remainder(total: &BigUint, weights: &[BigUint]) -> Vec<BigUint> {
    let sum: BigUint = weights.iter().sum();
    if sum == BigUint::ZERO || *total == BigUint::ZERO {
        return vec![BigUint::ZERO; weights.len()];
    }
    let mut parts: Vec<BigUint> = weights.iter().map(|weight| total * weight / &sum).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // Sorting keeps the order of equals.
    order.sort_by_cached_key(|index| std::cmp::Reverse(total * &weights[*index] % &sum));
    let mut missing = total - parts.iter().sum::<BigUint>();
    for index in order {
        if missing == BigUint::ZERO {
            break;
        }
        parts[index] += 1_u32;
        missing -= 1_u32;
    }
    assert_eq!(missing, BigUint::ZERO, "fewer units are missing than there are parts");
    parts
}

/// The mass of a flow: an amount that is traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mass {
    /// Amount that moved before the last 90 days.
    pub(super) earlier: Number,
    /// Amount that moved within the last 90 days.
    pub(super) recent: Number,
}

impl Mass {
    /// An amount in base units.
    pub(super) fn from_base_units(base_units: u128, recent: bool, precision: Precision) -> Self {
        let units = BigUint::from(base_units) << SCALE_BITS;
        let fine = match precision {
            Precision::Units => BigUint::ZERO,
            Precision::Fine => &units << FINE_BITS,
        };
        let number = Number { units, fine };
        if recent {
            Self { recent: number, ..Self::default() }
        } else {
            Self { earlier: number, ..Self::default() }
        }
    }

    pub(super) fn total(&self) -> BigUint {
        &self.earlier.units + &self.recent.units
    }

    /// The total without rounding.
    pub(super) fn fine_total(&self) -> BigUint {
        &self.earlier.fine + &self.recent.fine
    }

    pub(super) fn is_zero(&self) -> bool {
        self.total() == BigUint::ZERO
    }

    /// True if both numbers are equal in whole units.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.earlier.units == other.earlier.units && self.recent.units == other.recent.units
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.earlier.add(&other.earlier);
        self.recent.add(&other.recent);
    }

    /// Splits both amounts separately in proportion to `weights`.
    pub(super) fn split(&self, weights: &[BigUint]) -> Vec<Self> {
        let earlier = self.earlier.split(weights);
        let recent = self.recent.split(weights);
        let both = earlier.into_iter().zip(recent);
        both.map(|(earlier, recent)| Self { earlier, recent }).collect()
    }

    /// The shares of both amounts for a weight, rounded up.
    pub(super) fn share_up(&self, weight: u128, sum: u128) -> Self {
        Self {
            earlier: self.earlier.share_up(weight, sum),
            recent: self.recent.share_up(weight, sum),
        }
    }

    /// The differences of both amounts, at least zero.
    pub(super) fn less(&self, other: &Self) -> Self {
        Self { earlier: self.earlier.less(&other.earlier), recent: self.recent.less(&other.recent) }
    }

    /// Multiplies both amounts separately by a fraction.
    pub(super) fn times(&self, fraction: Fraction) -> Self {
        Self { earlier: self.earlier.times(fraction), recent: self.recent.times(fraction) }
    }

    pub(super) fn at_most(&self, most: &Self) -> Self {
        Self {
            earlier: self.earlier.at_most(&most.earlier),
            recent: self.recent.at_most(&most.recent),
        }
    }

    /// Converts to the engine's type.
    pub(super) fn to_engine(&self) -> mass::Mass {
        mass::Mass {
            earlier: small(self.earlier.units.clone()),
            recent: small(self.recent.units.clone()),
        }
    }
}

pub(super) fn small(amount: BigUint) -> u128 {
    u128::try_from(amount).expect("an amount of money")
}
