//! Significance of absolute amounts: a curve that saturates.

use super::{AmountRules, CurvePoint, Quantity};
use crate::fixed::Power;

/// The curve of one unit, as `score^2.5` over amounts in whole units: linear between its points, with falling slopes,
/// so that one sum never scores more than the sum's halves together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmountCurve {
    points: Vec<(Quantity, Power)>,
    unsolicited_up_to: Quantity,
    dust_up_to: Option<Quantity>,
    stop_trace_below: Quantity,
    structuring_below: Option<Vec<Quantity>>,
}

/// Default size of dust: this fraction (1/1000) of the largest unsolicited amount, so one dollar where the largest
/// unsolicited amount is 1,000 US dollars.
const DUST_ONE_IN: u128 = 1_000;

/// Default thresholds of structuring, as multiples of the largest unsolicited amount: 1,000 US dollars (transfers of
/// virtual assets with originator and beneficiary information under FATF Recommendation 16), 3,000 (the same in the
/// United States, 31 CFR 1010.410) and 10,000 (reports of currency transactions there, 31 CFR 1010.311).
const STRUCTURING_TIMES: [u128; 3] = [1, 3, 10];

impl AmountCurve {
    pub(super) fn new(rules: &AmountRules) -> Self {
        let points = power_points(&rules.curve).collect();
        Self {
            points,
            unsolicited_up_to: rules.unsolicited_up_to,
            dust_up_to: rules.dust_up_to,
            stop_trace_below: rules.stop_trace_below,
            structuring_below: rules.structuring_below.clone(),
        }
    }

    /// `score^2.5` of an amount in base units of `decimals`, rounded down: the fraction of the riskiest funds' weight
    /// that the amount has regardless of its share.
    #[must_use]
    pub fn weight(&self, amount: u128, decimals: u8) -> Power {
        let (mut low, mut low_power) = (0_u128, Power::default());
        for (point, power) in &self.points {
            let high = point.base_units(decimals);
            if amount < high {
                let rise = u128::from(power.units() - low_power.units());
                let share = Power::share(amount - low, high - low, rise);
                return low_power.plus(share);
            }
            (low, low_power) = (high, *power);
        }
        low_power
    }

    /// The largest sum of unsolicited funds of one category, in base units, that is not scored.
    #[must_use]
    pub fn unsolicited_ceiling(&self, decimals: u8) -> u128 {
        self.unsolicited_up_to.base_units(decimals)
    }

    /// The largest payment, in base units, that is dust.
    #[must_use]
    pub fn largest_dust(&self, decimals: u8) -> u128 {
        match self.dust_up_to {
            Some(amount) => amount.base_units(decimals),
            None => self.unsolicited_ceiling(decimals) / DUST_ONE_IN,
        }
    }

    /// The thresholds of structuring, in base units.
    #[must_use]
    pub fn structuring_thresholds(&self, decimals: u8) -> Vec<u128> {
        if let Some(thresholds) = &self.structuring_below {
            return thresholds.iter().map(|it| it.base_units(decimals)).collect();
        }
        let once = self.unsolicited_ceiling(decimals);
        STRUCTURING_TIMES.iter().map(|times| once.saturating_mul(*times)).collect()
    }

    /// The amount in base units below which a flow of a small share is not followed.
    #[must_use]
    pub fn stop_trace_below(&self, decimals: u8) -> u128 {
        self.stop_trace_below.base_units(decimals)
    }
}

fn power_points(curve: &[CurvePoint]) -> impl Iterator<Item = (Quantity, Power)> {
    curve.iter().map(|point| (point.amount, point.score.fraction().power_2_5()))
}

/// True if no segment of the curve rises faster than the previous segment.
pub(super) fn bends_down(curve: &[CurvePoint]) -> bool {
    let mut before = (0_u128, 0_u64);
    let mut slope: Option<(u128, u128)> = None;
    for (amount, power) in power_points(curve) {
        let amount = amount.base_units(8);
        let rise = u128::from(power.units().saturating_sub(before.1));
        let run = amount.saturating_sub(before.0);
        if let Some((earlier_rise, earlier_run)) = slope
            && rise.saturating_mul(earlier_run) > earlier_rise.saturating_mul(run)
        {
            return false;
        }
        slope = Some((rise, run));
        before = (amount, power.units());
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ruint::aliases::U256;

    use super::*;
    use crate::fixed::PowerSum;
    use crate::policy::PolicySpec;

    fn dollars() -> AmountCurve {
        AmountCurve::new(&PolicySpec::default().amounts["USD"])
    }

    #[test]
    fn the_points_are_met_and_the_end_saturates() {
        let curve = dollars();
        let worth = |dollars: u128| {
            PowerSum::weighted([(1, curve.weight(dollars * 100, 2))], U256::ONE).root()
        };
        for (amount, percent) in [
            (10_000, 25),
            (100_000, 50),
            (1_000_000, 75),
            (10_000_000, 100),
            (u128::MAX / 100, 100),
        ] {
            assert_eq!(worth(amount).billionths() / 1000, percent * 10_000, "{amount}");
        }
        assert_eq!(curve.weight(0, 2), Power::default());
    }

    proptest! {
        #[test]
        fn halves_together_are_worth_no_less(a in 0..2_000_000_000_u128, b in 0..2_000_000_000_u128) {
            let curve = dollars();
            let whole = curve.weight(a + b, 2).units();
            let halves = curve.weight(a, 2).units() + curve.weight(b, 2).units();
            // Each rounds down by less than one unit.
            prop_assert!(whole <= halves + 2);
            prop_assert!(whole >= curve.weight(a, 2).units());
        }
    }
}
