//! Differences between whole units and fractions under the same decisions: `docs/model/trace.md` T16.

use std::collections::BTreeMap;

use assay_engine::evidence::Direction;
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{FINE_BITS, Precision, SCALE_BITS},
    drive::UnreadTransactions,
    ledger::Ledger,
    trace::trace,
};

/// The largest differences between whole units and fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// Difference of an exposure part's final amount, in millionths of a base unit.
    pub base_units: u64,
    /// Largest difference of an exposure part's mass in units of a trace, before the mass is rounded to base units, in
    /// millionths of the bound in the document.
    pub of_allowed: u64,
    /// Largest difference of an exposure part's decayed mass, in millionths of the bound.
    pub decayed_of_allowed: u64,
    /// Number of shares into which the flows of a direction were split.
    pub shares: u64,
}

impl Deviation {
    /// The larger value of each field.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            base_units: self.base_units.max(other.base_units),
            of_allowed: self.of_allowed.max(other.of_allowed),
            decayed_of_allowed: self.decayed_of_allowed.max(other.decayed_of_allowed),
            shares: self.shares.max(other.shares),
        }
    }
}

impl Case {
    /// Traces the case in fractions too, with the decisions of whole units.
    ///
    /// # Panics
    ///
    /// Panics if the difference exceeds the bound of `docs/model/trace.md` T16.3.
    #[must_use]
    pub fn deviation(&self) -> Deviation {
        let ledger = Ledger::new(&self.blocks, self.clusters());
        let directions = [Direction::Source, Direction::Destination];
        let deviations = directions.map(|direction| self.deviation_of(&ledger, direction));
        deviations.into_iter().fold(Deviation::default(), Deviation::max)
    }

    fn deviation_of(&self, ledger: &Ledger<'_>, direction: Direction) -> Deviation {
        let traced = trace(self, ledger, direction, Precision::Fine, UnreadTransactions::default());
        let amounts: BTreeMap<_, _> = traced.parts.amounts();
        let unit = BigUint::from(1_u32) << FINE_BITS;
        let base_unit = &unit << SCALE_BITS;
        let allowed = &unit * 2_u32 * traced.shares;
        let allowed_decayed = &allowed * 2_u32;
        let millionths = |difference: &BigUint, of: &BigUint| {
            if *of == BigUint::ZERO { 0 } else { small(difference * 1_000_000_u32 / of) }
        };
        let mut worst = Deviation { shares: traced.shares, ..Deviation::default() };
        for (key, part) in &traced.parts.0 {
            let name = || format!("seed {}, {direction:?}, {key:?}", self.seed);
            let fine = part.mass.fine_total();
            let mass = difference(&(part.mass.total() * &unit), &fine);
            // What was split nowhere is exact.
            let is_exact = mass == BigUint::ZERO;
            assert!(is_exact || mass < allowed, "too far in units of a trace: {}", name());
            let decayed = difference(&(part.decayed.total() * &unit), &part.decayed.fine_total());
            let is_exact = decayed == BigUint::ZERO;
            assert!(is_exact || decayed < allowed_decayed, "decayed too far: {}", name());
            let finally = difference(&(&base_unit * amounts[key]), &fine);
            let allowed_finally = &base_unit * 2_u32 + &allowed;
            assert!(finally < allowed_finally, "too far in base units: {}", name());
            worst = worst.max(Deviation {
                base_units: millionths(&finally, &base_unit),
                of_allowed: millionths(&mass, &allowed),
                decayed_of_allowed: millionths(&decayed, &allowed_decayed),
                shares: traced.shares,
            });
        }
        worst
    }
}

fn difference(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { b - a }
}

fn small(number: BigUint) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
