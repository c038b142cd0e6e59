//! Change: the output by which a payment returns the remainder to its payer.
//!
//! Nothing on the chain proves which output is the change; the habits of wallets make one likely. Wallets send change
//! to a new address of the same type as the payer's addresses, and the amount of the change is not round. An output
//! with these properties that differs from all other outputs by one of the [signs](Signs) is taken for the change.
//!
//! A link from payers to change is a likelihood about two addresses. Clusters do not use such links: one wrong link in
//! a hundred would merge most wallets of a chain (`tests/src/wallets` measures links against known wallets).

use super::co_spend::has_signer;
use crate::{
    score::Confidence,
    utxo::{ScriptOwner, Transaction, TransactionKind, TxOut},
};

/// Most outputs of a payment for which change is determined: payments with more outputs are payments of services.
const MOST_OUTPUTS: usize = 20;
/// Amounts that are multiples of this number of base units are round: people choose round amounts, and change is rarely
/// round.
const ROUND: u64 = 10_000;
/// Confidence of a link by one sign, equal to that of a single co-spend that may be a `PayJoin`.
const BY_ONE_SIGN: Confidence = Confidence::from_percent(60);
/// Confidence of a link by several signs, below that of clusters.
const BY_SEVERAL_SIGNS: Confidence = Confidence::from_percent(75);

/// An output that is likely to be the change of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Index of the output.
    pub output: usize,
    /// Signs by which the output differs from all other outputs.
    pub signs: Signs,
}

/// Properties of a payment under which signs of change are less reliable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// The payment may be a `PayJoin`. Both outputs of a `PayJoin` may go to new addresses, but the payee's output has
    /// the type of an input and an amount that is not round.
    pub may_be_payjoin: bool,
    /// The payment spends outputs of a joint transaction, whose addresses all have one type: the owner's other
    /// addresses may have another type.
    pub is_mixed: bool,
}

/// Signs by which the change differs from every other output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Only this output has the type of one of the payer's addresses.
    pub form: bool,
    /// Only this output goes to a new address.
    pub new: bool,
    /// All other outputs have round amounts.
    pub round: bool,
}

impl Signs {
    const fn count(self) -> u8 {
        self.form as u8 + self.new as u8 + self.round as u8
    }
}

impl Change {
    /// Confidence that the payer owns the output.
    #[must_use]
    pub const fn confidence(&self) -> Confidence {
        if self.signs.count() > 1 { BY_SEVERAL_SIGNS } else { BY_ONE_SIGN }
    }
}

/// The output of a payment that is likely to be its change; `None` if no sign decides, or if change goes to one of the
/// payer's addresses and is therefore certain. `is_new` returns true if the owner of the output at an index appears in
/// no earlier block.
///
/// For a payment with [`Doubts`], only signs that remain reliable count.
#[must_use]
pub fn change(
    transaction: &Transaction,
    Doubts { may_be_payjoin, is_mixed }: Doubts,
    is_new: impl Fn(usize) -> bool,
) -> Option<Change> {
    let Transaction { kind, inputs, outputs, .. } = transaction;
    if *kind != TransactionKind::Payment
        || !(2..=MOST_OUTPUTS).contains(&outputs.len())
        || inputs.iter().any(|input| input.spent.is_none() || !input.is_signed)
    {
        return None;
    }
    let payers = || transaction.spent_outputs();
    if outputs.iter().any(|output| payers().any(|payer| payer.owner == output.owner)) {
        return None;
    }
    let has_payers_form =
        |output: &TxOut| payers().any(|payer| form(&payer.owner) == form(&output.owner));
    let is_likely = |index: usize, output: &TxOut| {
        has_signer(&output.owner)
            && has_payers_form(output)
            && is_new(index)
            && !is_round(output.value)
    };
    let signs = |index: usize| {
        let others = || outputs.iter().enumerate().filter(move |(other, _)| *other != index);
        Signs {
            form: others().all(|(_, other)| !has_payers_form(other)),
            new: others().all(|(other, _)| !is_new(other)),
            round: others().all(|(_, other)| is_round(other.value)),
        }
    };
    let likely = outputs.iter().enumerate().filter(|(index, output)| is_likely(*index, output));
    let is_told =
        |signs: Signs| (signs.form && !is_mixed) || signs.round || (signs.new && !may_be_payjoin);
    let mut found = likely
        .map(|(output, _)| Change { output, signs: signs(output) })
        .filter(|change| is_told(change.signs));
    match (found.next(), found.next()) {
        (Some(change), None) => Some(change),
        _ => None,
    }
}

/// The type of an owner's address: its kind, and the version and length of a witness program.
const fn form(owner: &ScriptOwner) -> (u8, u8, usize) {
    match owner {
        ScriptOwner::KeyHash(_) => (0, 0, 0),
        ScriptOwner::ScriptHash(_) => (1, 0, 0),
        ScriptOwner::LongScriptHash(_) => (2, 0, 0),
        ScriptOwner::Witness(version, program) => (3, *version, program.len()),
        ScriptOwner::Script(_) | ScriptOwner::Unspendable(_) => (4, 0, 0),
        ScriptOwner::Pool(_) => (5, 0, 0),
    }
}

const fn is_round(value: u64) -> bool {
    value.is_multiple_of(ROUND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::testing::{key, payment, witness};

    /// The change where all outputs but those of `old` go to new addresses.
    fn found(
        spent: &[(ScriptOwner, u64)],
        outputs: &[(ScriptOwner, u64)],
        old: &[usize],
    ) -> Option<Change> {
        change(&payment(1, spent, outputs), Doubts::default(), |index| !old.contains(&index))
    }

    #[test]
    fn change_has_the_form_of_the_payers_addresses() {
        let spent = [(key(1), 900_000)];
        let change = found(&spent, &[(witness(2), 312_345), (key(3), 586_655)], &[]).unwrap();
        assert_eq!(change.output, 1);
        assert_eq!(change.signs, Signs { form: true, ..Signs::default() });
        assert_eq!(change.confidence(), BY_ONE_SIGN);
        // Where the payee's address has it too, nothing tells.
        assert_eq!(found(&spent, &[(key(2), 312_345), (key(3), 586_655)], &[]), None);
    }

    #[test]
    fn change_goes_to_a_new_address() {
        let (spent, outputs) = ([(key(1), 900_000)], [(key(2), 312_345), (key(3), 586_655)]);
        let change = found(&spent, &outputs, &[0]).unwrap();
        assert_eq!((change.output, change.signs.new, change.signs.form), (1, true, false));
        // An address that was paid before is no likely change, whatever its form.
        assert_eq!(found(&spent, &[(witness(2), 312_345), (key(3), 586_655)], &[1]), None);
    }

    #[test]
    fn change_is_no_round_amount() {
        let spent = [(key(1), 900_000)];
        let change = found(&spent, &[(key(2), 300_000), (key(3), 598_655)], &[]).unwrap();
        assert_eq!((change.output, change.signs.round), (1, true));
        let several = found(&spent, &[(key(2), 300_000), (key(3), 598_655)], &[0]).unwrap();
        assert_eq!(several.confidence(), BY_SEVERAL_SIGNS);
        // A round rest may be a payment.
        assert_eq!(found(&spent, &[(witness(2), 298_655), (key(3), 600_000)], &[]), None);
    }

    #[test]
    fn change_to_an_address_of_the_payer_needs_no_likelihood() {
        let outputs = [(key(1), 312_345), (witness(3), 586_655)];
        assert_eq!(found(&[(key(1), 900_000)], &outputs, &[0]), None);
    }

    #[test]
    fn only_signs_that_no_payjoin_has_count_where_it_may_be_one() {
        let spent = [(key(1), 900_000), (key(4), 200_000)];
        let doubts = Doubts { may_be_payjoin: true, ..Doubts::default() };
        let by = |outputs: &[_], old: usize| {
            change(&payment(1, &spent, outputs), doubts, |index| index != old).map(|it| it.output)
        };
        assert_eq!(by(&[(key(2), 312_345), (key(3), 786_655)], 0), None);
        assert_eq!(by(&[(witness(2), 312_345), (key(3), 786_655)], 0), Some(1));
        assert_eq!(by(&[(key(2), 310_000), (key(3), 786_655)], 9), Some(1));
    }

    #[test]
    fn the_form_of_mixed_coins_tells_nothing() {
        let doubts = Doubts { is_mixed: true, ..Doubts::default() };
        let by =
            |outputs: &[_]| change(&payment(1, &[(key(1), 900_000)], outputs), doubts, |_| true);
        assert_eq!(by(&[(witness(2), 312_345), (key(3), 586_655)]), None);
        assert!(by(&[(witness(2), 310_000), (key(3), 586_655)]).is_some());
    }

    #[test]
    fn unknown_inputs_one_output_and_many_outputs_tell_no_change() {
        let mut unknown = payment(1, &[(key(1), 9)], &[(witness(2), 3), (key(3), 5)]);
        unknown.inputs[0].spent = None;
        assert_eq!(change(&unknown, Doubts::default(), |_| true), None);
        assert_eq!(found(&[(key(1), 900_000)], &[(key(2), 898_655)], &[]), None);
        let mut outputs = vec![(key(2), 312_345)];
        outputs.extend((0..20).map(|number| (witness(number), 20_001)));
        assert_eq!(found(&[(key(1), 900_000)], &outputs, &[]), None);
        outputs.pop();
        assert!(found(&[(key(1), 900_000)], &outputs, &[]).is_some());
    }
}
