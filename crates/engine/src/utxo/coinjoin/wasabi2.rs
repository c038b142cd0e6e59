//! Rounds of Wasabi 2 (`WabiSabi`): outputs of the protocol's denominations.
//!
//! The denominations are, in satoshi from 5,000 on: the powers of two, the powers of three, twice the powers of three,
//! and one, two and five times the powers of ten (`WalletWasabi`, `DenominationBuilder`). An output has exactly a
//! denomination's value: fees are paid separately, so no tolerance is needed. A round also has other outputs, the
//! change of each party; the bounds below limit their number.

use std::collections::HashSet;

use assay_address::ChainId;

use super::{
    era::Era,
    kind::CoinjoinKind,
    recognition::{Recognition, RecognitionTest as Test},
    shape::{Form, Shape},
};

/// Wasabi 2: since 2022-06-15, first round of its coordinator 2022-06-18.
const PERIOD: Era = Era::since(2022, 6, 1);

/// Fewest inputs of a round: 50 with zkSNACKs, fewer with later coordinators; rounds of 13 and 14 inputs are known. The
/// bound is lower, because the denominations decide.
const FEWEST_INPUTS: usize = 10;

/// The smallest denomination, in satoshi. Coordinators do not accept smaller outputs by default.
const SMALLEST: u64 = 5_000;

/// Fewest different values that are unusual in payments: powers of two and three, and twice a power of three.
const FEWEST_ODD_VALUES: usize = 3;

/// Recognizes a round of Wasabi 2.
pub(super) fn recognize(shape: &Shape<'_>) -> Option<Recognition> {
    // Wallets register P2WPKH and P2TR; coordinators may allow payments to other forms.
    const FORMS: [Form; 2] = [Form::WitnessKey, Form::Taproot];
    if shape.inputs < FEWEST_INPUTS || shape.chain != ChainId::BTC || !shape.within(&PERIOD) {
        return None;
    }
    let values = || shape.outputs.iter().map(|output| output.value);
    let found = has_denominations(values()) && shape.funded_by(shape.inputs / 2);
    found.then(|| {
        Recognition::joint(
            CoinjoinKind::Wasabi2,
            &[
                (Test::EqualOutputs, repeated(values()) * 2 >= shape.outputs.len()),
                (Test::ProtocolDenomination, true),
                (Test::DistinctOwners, true),
                (Test::ScriptForms, shape.spends_only(&FORMS) && shape.pays_only(&FORMS, 0)),
                (Test::ProtocolPeriod, true),
            ],
        )
    })
}

/// True if at least half of the values are denominations, and at least a quarter are denominations that are unusual in
/// payments, with at least three different values.
///
/// Half of the outputs is `GraphSense`'s bound. The quarter excludes payouts, whose round amounts are denominations as
/// well.
pub(super) fn has_denominations(values: impl Iterator<Item = u64>) -> bool {
    let (mut all, mut decimal, mut odd, mut different) = (0, 0, 0, HashSet::new());
    for value in values {
        all += 1;
        if is_odd(value) {
            odd += 1;
            different.insert(value);
        } else if is_decimal(value) {
            decimal += 1;
        }
    }
    (odd + decimal) * 2 >= all && odd * 4 >= all && different.len() >= FEWEST_ODD_VALUES
}

/// Number of values that occur more than once.
fn repeated(values: impl Iterator<Item = u64>) -> usize {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted.chunk_by(u64::eq).map(<[u64]>::len).filter(|count| *count > 1).sum()
}

/// True if a value is a power of two or three, or twice a power of three.
const fn is_odd(value: u64) -> bool {
    if value < SMALLEST {
        return false;
    }
    matches!(without(value, 3), 1 | 2) || value.is_power_of_two()
}

/// True if a value is one, two or five times a power of ten.
const fn is_decimal(value: u64) -> bool {
    value >= SMALLEST && matches!(without(value, 10), 1 | 2 | 5)
}

/// Divides a positive value by a factor as often as it is divisible.
const fn without(mut value: u64, factor: u64) -> u64 {
    while value >= factor && value.is_multiple_of(factor) {
        value /= factor;
    }
    value
}
