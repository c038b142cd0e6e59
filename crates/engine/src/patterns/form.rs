//! Forms of single transactions (`docs/model/patterns.md` P2).

use rustc_hash::FxHashSet;

use super::rules::{BATCH_PAYEES, CONSOLIDATED_INPUTS, PEEL_PERCENT};
use crate::{evidence::Pattern, ledger::OwnerNumber, utxo::TransactionKind};

/// An input or output with the cluster of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormEntry {
    /// Cluster of the owner, identified by one member.
    pub owner: OwnerNumber,
    /// Amount in base units.
    pub value: u64,
    /// True for a data output: the output's value is 0, and the output's script has no address.
    pub is_data: bool,
}

/// The properties of a transaction from which the forms of the transaction follow.
#[derive(Clone, Copy, Debug)]
pub struct FormCriteria<'t> {
    /// Kind.
    pub kind: TransactionKind,
    /// Number of inputs, known or not.
    pub inputs: u64,
    /// Inputs that are known.
    pub known_inputs: &'t [FormEntry],
    /// Outputs.
    pub outputs: &'t [FormEntry],
    /// Largest value of a dust output, in base units.
    pub dust: u128,
}

/// The forms of a transaction, in the order of [`Pattern`].
#[must_use]
pub fn forms(of: &FormCriteria<'_>) -> Vec<Pattern> {
    let mut forms = Vec::new();
    let is_dust = |output: &&FormEntry| output.value > 0 && u128::from(output.value) <= of.dust;
    let is_payment = of.kind == TransactionKind::Payment;
    let paid: Vec<&FormEntry> = of.outputs.iter().filter(|output| output.value > 0).collect();
    if is_payment && of.inputs == 1 && is_peel(&paid.iter().map(|it| it.value).collect::<Vec<_>>())
    {
        forms.push(Pattern::PeelStep);
    }
    let payers: FxHashSet<OwnerNumber> = of.known_inputs.iter().map(|input| input.owner).collect();
    let is_known = of.known_inputs.len() as u64 == of.inputs;
    if is_payment && is_known && payers.len() == 1 {
        let others: FxHashSet<OwnerNumber> =
            paid.iter().map(|it| it.owner).filter(|owner| !payers.contains(owner)).collect();
        if of.inputs >= CONSOLIDATED_INPUTS && paid.len() == 1 {
            forms.push(Pattern::Consolidation);
        }
        if others.len() >= BATCH_PAYEES {
            forms.push(Pattern::BatchPayout);
        }
        if others.is_empty() && !paid.is_empty() {
            forms.push(Pattern::SelfTransfer);
        }
    }
    if matches!(of.kind, TransactionKind::Coinjoin(_)) {
        forms.push(Pattern::JointTransaction);
    }
    if of.outputs.iter().any(|output| output.is_data) {
        forms.push(Pattern::DataOutput);
    }
    if of.outputs.iter().any(|output| is_dust(&output)) {
        forms.push(Pattern::DustOutput);
    }
    forms
}

/// True if two outputs have the values of a peel and of the remainder.
pub(super) fn is_peel(values: &[u64]) -> bool {
    let [one, other] = values else { return false };
    let (small, both) = (u128::from(*one.min(other)), u128::from(*one) + u128::from(*other));
    small * 100 <= both * PEEL_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::coinjoin::CoinjoinKind;

    fn entry(owner: u64, value: u64) -> FormEntry {
        FormEntry { owner: OwnerNumber(owner), value, is_data: false }
    }

    fn of(kind: TransactionKind, inputs: &[FormEntry], outputs: &[FormEntry]) -> Vec<Pattern> {
        let count = inputs.len() as u64;
        forms(&FormCriteria { kind, inputs: count, known_inputs: inputs, outputs, dust: 1_000 })
    }

    #[test]
    fn each_form_is_told_by_its_definition() {
        let payment = |inputs: &[FormEntry], outputs: &[FormEntry]| {
            of(TransactionKind::Payment, inputs, outputs)
        };
        let one = [entry(1, 100_000)];
        let (five, four) = ([entry(1, 20_000); 5], [entry(1, 20_000); 4]);
        let data = FormEntry { is_data: true, ..entry(9, 0) };
        assert_eq!(payment(&one, &[entry(2, 30_000), entry(3, 70_000)]), [Pattern::PeelStep]);
        assert_eq!(payment(&one, &[entry(2, 30_001), entry(3, 69_999)]), [], "above 30 %");
        assert_eq!(payment(&five, &[entry(2, 90_000)]), [Pattern::Consolidation]);
        assert_eq!(payment(&four, &[entry(2, 70_000)]), [], "too few inputs");
        let to_five: Vec<FormEntry> = (2..7).map(|owner| entry(owner, 10_000)).collect();
        assert_eq!(payment(&one, &to_five), [Pattern::BatchPayout]);
        assert_eq!(payment(&one, &to_five[1..]), []);
        let of_two = [entry(1, 50_000), entry(8, 50_000)];
        assert_eq!(payment(&of_two, &to_five), [], "nobody knows who of both pays");
        assert_eq!(payment(&one, &[entry(1, 90_000)]), [Pattern::SelfTransfer]);
        assert_eq!(payment(&one, &[entry(2, 90_000), data]), [Pattern::DataOutput]);
        assert_eq!(payment(&four, &[entry(2, 60_000), entry(3, 1_000)]), [Pattern::DustOutput]);
        assert_eq!(payment(&four, &[entry(2, 60_000), entry(3, 1_001)]), []);
        let joint = TransactionKind::Coinjoin(CoinjoinKind::Generic);
        assert_eq!(of(joint, &of_two, &to_five), [Pattern::JointTransaction]);
        // An input from before the first block may be anybody's.
        let unknown = FormCriteria {
            kind: TransactionKind::Payment,
            inputs: 6,
            known_inputs: &five,
            outputs: &one,
            dust: 0,
        };
        assert_eq!(forms(&unknown), []);
    }
}
