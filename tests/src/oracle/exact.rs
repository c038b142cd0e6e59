//! Difference between whole units and exact fractions under the same decisions.

use assay_engine::{evidence::Direction, utxo::TransactionKind};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Arithmetic, SCALE_BITS},
    drive::Haste,
    follow::{Means, follow},
    ledger::Ledger,
};

/// The largest differences between whole units and fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// Of a part in its final amount: millionths of a base unit.
    pub base_units: u64,
    /// Largest difference of a part in units of a trace, before it is rounded to base units, in
    /// thousandths of the bound in the document.
    pub of_allowed: u64,
    /// Flows that make up one part.
    pub flows: u64,
}

impl Deviation {
    /// The larger of both in everything.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            base_units: self.base_units.max(other.base_units),
            of_allowed: self.of_allowed.max(other.of_allowed),
            flows: self.flows.max(other.flows),
        }
    }
}

impl Case {
    /// Follows the money of the case in exact fractions too, with the decisions that whole units led to.
    ///
    /// # Panics
    ///
    /// Panics if the difference exceeds the bound that `docs/scoring.md` promises.
    #[must_use]
    pub fn deviation(&self) -> Deviation {
        let ledger = Ledger::new(&self.blocks);
        let directions = [Direction::Source, Direction::Destination];
        let deviations = directions.map(|direction| self.deviation_of(&ledger, direction));
        deviations.into_iter().fold(Deviation::default(), Deviation::max)
    }

    fn deviation_of(&self, ledger: &Ledger<'_>, direction: Direction) -> Deviation {
        let haste = Haste::default();
        let units = Means { arithmetic: Arithmetic::Units, decided: None, haste };
        let rounded = follow(self, ledger, direction, units);
        let denominator = denominator(self, ledger, direction);
        let arithmetic = Arithmetic::Fractions(denominator.clone());
        let fractions = Means { arithmetic, decided: Some(rounded.decisions), haste };
        let exact = follow(self, ledger, direction, fractions);
        let amounts = rounded.parts.amounts();
        let mut worst = Deviation::default();
        for (key, part) in &exact.parts.0 {
            let name = || format!("seed {}, {direction:?}, {key:?}", self.seed);
            let flows = &part.money.flows;
            let allowed = flows * 2_u32 * u32::from(key.hops) * &denominator;
            let units = rounded.parts.0.get(key).map(|part| part.money.total());
            let difference =
                difference(&(units.unwrap_or_default() * &denominator), &part.money.total());
            // The subject's own balance took no hop, and is exact.
            let exact = difference == BigUint::ZERO;
            assert!(exact || difference < allowed, "too far in units of a trace: {}", name());

            let base_unit = &denominator << SCALE_BITS;
            let amount = amounts.get(key).copied().unwrap_or_default();
            let finally = self::difference(&(&base_unit * amount), &part.money.total());
            let allowed_finally = &base_unit * 2_u32 + &allowed;
            assert!(finally < allowed_finally, "too far in base units: {}", name());
            worst = worst.max(Deviation {
                base_units: small(finally * 1_000_000_u32 / base_unit),
                of_allowed: if exact { 0 } else { small(difference * 1_000_u32 / allowed) },
                flows: small(flows.clone()),
            });
        }
        for key in rounded.parts.0.keys() {
            assert!(exact.parts.0.contains_key(key), "only in whole units: {key:?}");
        }
        worst
    }
}

/// A number that every split divides without a remainder: money passes a transaction at most once,
/// and is divided there by the value of the transaction.
fn denominator(case: &Case, ledger: &Ledger<'_>, direction: Direction) -> BigUint {
    let mut product = BigUint::from(1_u32);
    let largest = usize::try_from(case.rules.transfers_per_address).expect("a number");
    for transaction in &ledger.transactions {
        if transaction.kind == TransactionKind::Payment && transaction.total() > 0 {
            product *= transaction.total();
        }
    }
    // The subject's own side of its transactions is out.
    let begins = match direction {
        Direction::Source => ledger.incoming(&case.subject, largest),
        Direction::Destination => ledger.outgoing(&case.subject, largest),
    };
    for transaction in begins {
        let own = match direction {
            Direction::Source => transaction.given_by(&case.subject),
            Direction::Destination => transaction.got_by(&case.subject),
        };
        if transaction.kind == TransactionKind::Payment && transaction.total() > own {
            product *= transaction.total() - own;
        }
    }
    product
}

fn difference(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { b - a }
}

fn small(number: BigUint) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
