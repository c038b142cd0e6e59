//! Arithmetic of the oracle: in whole units as the engine must, or in exact fractions.

use num_bigint::BigUint;

/// A unit of a trace is a base unit divided by two to this power.
pub(super) const SCALE_BITS: u64 = 32;

/// Unit of amounts.
#[derive(Clone, Debug)]
pub(super) enum Arithmetic {
    /// Units of a trace; the remainder of a split goes to the largest remainders.
    Units,
    /// Units of a trace divided by this number, which every split divides without a remainder.
    Fractions(BigUint),
}

impl Arithmetic {
    /// An amount in base units.
    pub(super) fn amount(&self, base_units: u128) -> BigUint {
        let units = BigUint::from(base_units) << SCALE_BITS;
        match self {
            Self::Units => units,
            Self::Fractions(denominator) => units * denominator,
        }
    }

    /// `total` in proportion to `weights`; nothing where they are all zero.
    pub(super) fn split(&self, total: &BigUint, weights: &[u128]) -> Vec<BigUint> {
        match self {
            Self::Units => by_largest_remainder(total, &to_big(weights)),
            Self::Fractions(_) => {
                let weights = to_big(weights);
                let sum: BigUint = weights.iter().sum();
                let exact = |weight: &BigUint| {
                    if *total == BigUint::ZERO || *weight == BigUint::ZERO {
                        return BigUint::ZERO;
                    }
                    let product = total * weight;
                    assert_eq!(&product % &sum, BigUint::ZERO, "a split that is not exact");
                    product / &sum
                };
                weights.iter().map(exact).collect()
            }
        }
    }
}

pub(super) fn to_big(numbers: &[u128]) -> Vec<BigUint> {
    numbers.iter().copied().map(BigUint::from).collect()
}

/// Each part rounded down; the units that are missing go one by one to the largest remainders, ties to
/// the lower index.
pub(super) fn by_largest_remainder(total: &BigUint, weights: &[BigUint]) -> Vec<BigUint> {
    let sum: BigUint = weights.iter().sum();
    if sum == BigUint::ZERO {
        return vec![BigUint::ZERO; weights.len()];
    }
    let mut parts: Vec<BigUint> = weights.iter().map(|weight| total * weight / &sum).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // Sorting keeps the order of equals.
    order.sort_by_key(|index| std::cmp::Reverse(total * &weights[*index] % &sum));
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

/// An amount on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Money {
    /// Moved before the last 90 days.
    pub(super) earlier: BigUint,
    /// Moved within them.
    pub(super) recent: BigUint,
    /// Number of flows in the sum.
    pub(super) flows: BigUint,
}

impl Money {
    pub(super) fn of(amount: BigUint, recent: bool) -> Self {
        let flows = BigUint::from(1_u32);
        if recent {
            Self { earlier: BigUint::ZERO, recent: amount, flows }
        } else {
            Self { earlier: amount, recent: BigUint::ZERO, flows }
        }
    }

    pub(super) fn total(&self) -> BigUint {
        &self.earlier + &self.recent
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.total() == BigUint::ZERO
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.earlier += &other.earlier;
        self.recent += &other.recent;
        self.flows += &other.flows;
    }

    /// Both amounts, apart, in proportion to `weights`.
    pub(super) fn split(&self, arithmetic: &Arithmetic, weights: &[u128]) -> Vec<Self> {
        let earlier = arithmetic.split(&self.earlier, weights);
        let recent = arithmetic.split(&self.recent, weights);
        let both = earlier.into_iter().zip(recent);
        both.map(|(earlier, recent)| Self { earlier, recent, flows: self.flows.clone() }).collect()
    }
}
