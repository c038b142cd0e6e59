//! Computation of a transaction's composition (breakdown of the funds by origin) from the transaction's inputs.

use super::{Composition, Origin, PassedLabel, passed::MOST_CATEGORIES};
use std::cmp::Reverse;

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
    /// Sums of the severe labels that funds passed, one for each category.
    passed: Vec<(PassedLabel, u128)>,
}

impl Default for Mixture {
    fn default() -> Self {
        Self {
            sums: vec![0; Origin::CODES].into(),
            codes: Vec::new(),
            mixed: 0,
            labelled: 0,
            passed: Vec::new(),
        }
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
        for (label, share) in &composition.passed {
            self.pass(*label, product(amount, *share));
        }
    }

    /// Removes an amount that was added before as part of a composition (origin breakdown), and that comes from one
    /// origin; at most what was added.
    pub fn remove_origin(&mut self, origin: Origin, amount: u64) {
        self.remove(origin, amount, CoinShare::WHOLE);
    }

    /// Removes an amount that was added before as part of a composition (origin breakdown), and that has the composition
    /// of another transaction; at most what was added.
    pub fn remove_composition(&mut self, composition: &Composition, amount: u64) {
        for (origin, share) in composition.origins() {
            self.remove(origin, amount, share);
        }
        let less = |sum: &mut u128, share| *sum = sum.saturating_sub(product(amount, share));
        less(&mut self.mixed, composition.mixed);
        less(&mut self.labelled, composition.labelled);
        for (label, sum) in &mut self.passed {
            less(sum, composition.share_passed(label.category));
        }
    }

    /// Removes the marks of an amount that was added before as part of a composition (origin breakdown), and that passed
    /// an owner with labels, as [`Self::add_labelled`] adds them; at most what was added.
    pub fn remove_labelled(
        &mut self,
        amount: u64,
        labels: &[PassedLabel],
        marked: Option<&Composition>,
    ) {
        let labelled = marked.map_or(CoinShare::NOTHING, Composition::labelled);
        let rest = product(amount, CoinShare::WHOLE.less(labelled));
        self.labelled = self.labelled.saturating_sub(rest);
        for (known, sum) in &mut self.passed {
            if labels.iter().any(|label| label.category == known.category) {
                let passed =
                    marked.map_or(CoinShare::NOTHING, |it| it.share_passed(known.category));
                *sum = sum.saturating_sub(product(amount, CoinShare::WHOLE.less(passed)));
            }
        }
    }

    fn remove(&mut self, origin: Origin, amount: u64, share: CoinShare) {
        if let Some(sum) = self.sums.get_mut(usize::from(origin.code())) {
            *sum = sum.saturating_sub(product(amount, share));
        }
    }

    /// Marks an amount that was added before as funds that passed an owner with labels: `labels` are those of the severe
    /// categories. `marked` is the composition (origin breakdown) with which the amount was added, if any: its marks are
    /// not added again.
    pub fn add_labelled(
        &mut self,
        amount: u64,
        labels: &[PassedLabel],
        marked: Option<&Composition>,
    ) {
        let labelled = marked.map_or(CoinShare::NOTHING, Composition::labelled);
        self.labelled += product(amount, CoinShare::WHOLE.less(labelled));
        for label in labels {
            let passed = marked.map_or(CoinShare::NOTHING, |it| it.share_passed(label.category));
            self.pass(*label, product(amount, CoinShare::WHOLE.less(passed)));
        }
    }

    fn pass(&mut self, label: PassedLabel, amount: u128) {
        match self.passed.iter_mut().find(|(known, _)| known.category == label.category) {
            Some((known, sum)) => {
                known.join(label);
                *sum += amount;
            }
            None => self.passed.push((label, amount)),
        }
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
        let mut passed: Vec<(PassedLabel, CoinShare)> = self
            .passed
            .drain(..)
            .map(|(label, sum)| (label, at_least(share(sum, whole))))
            .filter(|(_, share)| !share.is_nothing())
            .collect();
        if passed.len() > MOST_CATEGORIES {
            let weight =
                |label: PassedLabel, share: CoinShare| u64::from(label.risk()) * share.units();
            passed.sort_unstable_by_key(|(label, share)| (Reverse(weight(*label, *share)), *label));
            passed.truncate(MOST_CATEGORIES);
        }
        passed.sort_unstable();
        Composition { origins, mixed, labelled, passed }
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
