//! Rounds of a coordinator: many equal outputs.

use super::{
    kind::CoinjoinKind,
    shape::{Era, Form, Shape},
    sums,
};
use crate::{chain::ChainId, utxo::ScriptOwner};

/// Period in which zkSNACKs ran Wasabi 1: announced 2018-07-06, first round 2018-07-19, last one
/// 2023-05-19, beside Wasabi 2 at the end (crocs-muni/coinjoin-analysis).
const FIRST: Era = Era::since(2018, 7, 1).until(2023, 6, 1);

/// Wasabi 2: since 2022-06-15, first round of its coordinator 2022-06-18.
const SECOND: Era = Era::since(2022, 6, 1);

/// Value of an equal output of Wasabi 1, in satoshi: 0.1 BTC at first, drifting from round to
/// round, as low as 0.099 and as high as 0.115; 0.1098 to 0.1099 in the test data.
const BASE: std::ops::RangeInclusive<u64> = 9_900_000..=11_500_000;

/// The fewest equal outputs of a round (nopara73/Dumplings, which finds Wasabi's rounds for its makers).
const FEWEST_EQUAL: usize = 10;

/// The fewest equal outputs where the coordinator is paid as well (Dumplings).
const FEWEST_EQUAL_PAID: usize = 3;

/// Scripts to which Wasabi's coordinator was paid until about 2020-01:
/// `bc1qs604c7jv6amk4cxqlnvuxv26hv3e48cds4m0ew` and `bc1qa24tsgchvuxsaccp8vrnkfd85hrcpafg20kmjw`
/// (Dumplings, `Constants.cs`).
const COORDINATOR: [[u8; 20]; 2] = [
    [
        0x86, 0x9f, 0x5c, 0x7a, 0x4c, 0xd7, 0x77, 0x6a, 0xe0, 0xc0, 0xfc, 0xd9, 0xc3, 0x31, 0x5a,
        0xbb, 0x23, 0x9a, 0x9f, 0x0d,
    ],
    [
        0xea, 0xaa, 0xb8, 0x23, 0x17, 0x67, 0x0d, 0x0e, 0xe3, 0x01, 0x3b, 0x07, 0x3b, 0x25, 0xa7,
        0xa5, 0xc7, 0x80, 0xf5, 0x28,
    ],
];

/// The fewest inputs of a Wasabi 2 round: 50 with zkSNACKs, fewer with the coordinators that followed
/// (Dumplings: 15).
const FEWEST_INPUTS: usize = 15;

/// The smallest output of Wasabi 2, in satoshi.
const SMALLEST: u64 = 5_000;

/// The kind of a coordinator's round.
pub(super) fn classify(shape: &Shape<'_>) -> Option<CoinjoinKind> {
    if is_second(shape) {
        return Some(CoinjoinKind::Wasabi2);
    }
    let bitcoin = shape.chain == ChainId::BTC;
    let modern = shape.spends_only(&[Form::WitnessKey]) && shape.pays_only(&[Form::WitnessKey], 0);
    if bitcoin && modern && shape.within(&FIRST) && is_first(shape) {
        return Some(CoinjoinKind::Wasabi1);
    }
    is_like_first(shape).then_some(CoinjoinKind::Generic)
}

fn is_first(shape: &Shape<'_>) -> bool {
    if is_round(shape, FEWEST_EQUAL_PAID) && pays_coordinator(shape) {
        return true;
    }
    let likely = if shape.complete() {
        all_pay(shape, shape.others.len() / 5)
    } else {
        // A payout may well be 0.1 BTC.
        !shape.denomination.is_multiple_of(10_000)
    };
    likely && is_round(shape, FEWEST_EQUAL) && BASE.contains(&shape.denomination)
}

/// A round like Wasabi 1's of another denomination or time. Only the sums distinguish it from a
/// payout by a party with many coins.
fn is_like_first(shape: &Shape<'_>) -> bool {
    const FEWEST_OTHERS: usize = 6;
    is_round(shape, FEWEST_EQUAL)
        && shape.complete()
        && shape.others.len() >= FEWEST_OTHERS
        && one_form(shape)
        && all_pay(shape, shape.others.len().div_ceil(3))
}

/// True if at least `fewest` parties pay for their change and a fee. In a Wasabi round every party
/// pays the coordinator, and apparent earnings are chance; in a `JoinMarket` round of the same size
/// most parties earn, and one pays. (Test data: at most 1.3 earners to one payer in a Wasabi round,
/// at least two to one in a `JoinMarket` round.)
fn all_pay(shape: &Shape<'_>, fewest: usize) -> bool {
    let payers = sums::payers(shape);
    payers >= fewest && sums::lone_earners(shape) < 2 * payers
}

/// True if at least `fewest` outputs are equal, at least a third of all, and as many owners pay.
/// Wallets that spend an address again in the same round are rare (three of some seventy in the
/// test data).
fn is_round(shape: &Shape<'_>, fewest: usize) -> bool {
    shape.equal >= fewest
        && shape.equal * 3 >= shape.outputs.len()
        && shape.funded_by(shape.equal)
        && shape.returned * 10 <= shape.outputs.len()
}

/// True if both sides have one script form.
fn one_form(shape: &Shape<'_>) -> bool {
    shape.known.first().is_some_and(|input| {
        let form = [Form::of(&input.owner)];
        shape.spends_only(&form) && shape.pays_only(&form, 0)
    })
}

fn pays_coordinator(shape: &Shape<'_>) -> bool {
    shape.outputs.iter().any(|output| {
        matches!(&output.owner, ScriptOwner::Witness(0, program)
            if COORDINATOR.iter().any(|coordinator| coordinator[..] == program[..]))
    })
}

/// Wasabi 2: most outputs have one of the protocol's values, and enough of them one that people do not
/// pay: a power of two or three, or twice a power of three.
fn is_second(shape: &Shape<'_>) -> bool {
    const FEWEST_VALUES: usize = 3;
    const FORMS: [Form; 2] = [Form::WitnessKey, Form::Taproot];
    if shape.inputs < FEWEST_INPUTS || shape.chain != ChainId::BTC || !shape.within(&SECOND) {
        return false;
    }
    let values = || shape.outputs.iter().map(|output| output.value);
    let mut odd: Vec<u64> = values().filter(|value| is_odd(*value)).collect();
    let standard = odd.len() + values().filter(|value| is_decimal(*value)).count();
    let (all, many) = (shape.outputs.len(), odd.len());
    odd.sort_unstable();
    odd.dedup();
    standard * 10 >= all * 6
        && many * 4 >= all
        && odd.len() >= FEWEST_VALUES
        && values().all(|value| value >= SMALLEST)
        && shape.funded_by(shape.inputs / 2)
        && shape.spends_only(&FORMS)
        && shape.pays_only(&FORMS, 0)
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

/// A positive value divided by a factor as often as it is divisible.
const fn without(mut value: u64, factor: u64) -> u64 {
    while value >= factor && value.is_multiple_of(factor) {
        value /= factor;
    }
    value
}
