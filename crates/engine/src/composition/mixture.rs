//! Computation of a transaction's composition (breakdown of the funds by origin) from the transaction's inputs.

use super::{Composition, Origin};
use crate::ledger::CoinShare;

/// Sums up the inputs of one transaction by origin. One such value is reused for all transactions in turn.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// Sums by the code of the origin: amounts times units of a share.
    sums: Box<[u128]>,
    /// Codes of the origins that have a sum.
    codes: Vec<u8>,
    mixed: u128,
    labelled: u128,
}

impl Default for Mixture {
    fn default() -> Self {
        Self { sums: vec![0; Origin::CODES].into(), codes: Vec::new(), mixed: 0, labelled: 0 }
    }
}

impl Mixture {
    /// Adds an amount that comes from one origin.
    pub fn add_origin(&mut self, origin: Origin, amount: u64) {
        self.add(origin, amount, CoinShare::WHOLE);
    }

    /// Adds an amount that has the composition (origin breakdown) of another transaction.
    pub fn add_composition(&mut self, composition: &Composition, amount: u64) {
        for (origin, share) in composition.origins() {
            self.add(origin, amount, share);
        }
        self.mixed += product(amount, composition.mixed);
        self.labelled += product(amount, composition.labelled);
    }

    /// Marks an amount that was added before as funds that passed a label; the amount's share `known` is already
    /// marked.
    pub fn add_labelled(&mut self, amount: u64, known: CoinShare) {
        self.labelled += product(amount, CoinShare::WHOLE.less(known));
    }

    fn add(&mut self, origin: Origin, amount: u64, share: CoinShare) {
        let code = origin.code();
        if let Some(sum) = self.sums.get_mut(usize::from(code)) {
            if *sum == 0 && amount > 0 {
                self.codes.push(code);
            }
            *sum += product(amount, share);
        }
    }

    /// The composition (origin breakdown) of a transaction with inputs of `whole` in total; amounts that were not added
    /// are unknown. Each share is rounded down once. A joint transaction marks all funds as mixed. The mixture is empty
    /// afterwards.
    pub fn finish(&mut self, whole: u128, is_joint: bool) -> Composition {
        let mixed = std::mem::take(&mut self.mixed);
        let labelled = at_least(share(std::mem::take(&mut self.labelled), whole));
        self.codes.sort_unstable();
        let mut origins = Vec::with_capacity(self.codes.len());
        for code in self.codes.drain(..) {
            let sum = self.sums.get_mut(usize::from(code)).map(std::mem::take).unwrap_or_default();
            let share = share(sum, whole);
            if share >= CoinShare::LEAST
                && let Some(origin) = Origin::from_code(code)
            {
                origins.push((origin, share));
            }
        }
        let mixed = if is_joint { CoinShare::WHOLE } else { at_least(share(mixed, whole)) };
        Composition { origins, mixed, labelled }
    }
}

/// The share, or nothing if the share is less than [`CoinShare::LEAST`].
fn at_least(share: CoinShare) -> CoinShare {
    if share < CoinShare::LEAST { CoinShare::NOTHING } else { share }
}

fn product(amount: u64, share: CoinShare) -> u128 {
    u128::from(amount) * u128::from(share.units())
}

fn share(sum: u128, whole: u128) -> CoinShare {
    let units = sum.checked_div(whole).unwrap_or(0);
    CoinShare::from_units(u64::try_from(units).unwrap_or(u64::MAX))
}
