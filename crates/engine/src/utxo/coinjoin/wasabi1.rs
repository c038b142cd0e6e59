//! Rounds of Wasabi 1 (`ZeroLink`): many equal outputs, and change for each party.
//!
//! Wasabi 1.0 has one denomination of about 0.1 BTC. Wasabi 1.1 adds levels: outputs of two, four, eight ... times the
//! base, for parties with more. Both versions are one kind; the passed tests show which version's rules a round
//! followed.

use assay_address::ChainId;

use super::{
    era::Era,
    kind::CoinjoinKind,
    recognition::{Recognition, RecognitionTest as Test},
    shape::{Form, Shape},
    sums,
};
use crate::utxo::ScriptOwner;

/// Period in which zkSNACKs ran Wasabi 1: announced 2018-07-06, first round 2018-07-19, last one
/// 2023-05-19, beside Wasabi 2 at the end (crocs-muni/coinjoin-analysis).
const PERIOD: Era = Era::since(2018, 7, 1).until(2023, 6, 1);

/// Value of an equal output of Wasabi 1, in satoshi: 0.1 BTC at first, drifting from round to
/// round, as low as 0.099 and as high as 0.115; 0.1098 to 0.1099 in the test data.
const BASE: std::ops::RangeInclusive<u64> = 9_900_000..=11_500_000;

/// Fewest equal outputs of a round (from nopara73/Dumplings, the detector of Wasabi's developers).
const FEWEST_EQUAL: usize = 10;

/// Fewest equal outputs of a round that pays the coordinator (Dumplings).
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

/// Precision of a level's value, a power of two times the base: 1/1,000. In the test data the base of the levels is
/// smaller than the most frequent value by up to 1/7,700, because fees are deducted.
const LEVEL_PRECISION: u64 = 1_000;

/// The highest level: 2^10 times 0.1 BTC is 102.4 BTC.
const MOST_LEVELS: u32 = 10;

/// Inverse of the smallest share of parties whose single input pays for their change, among all outputs but the equal
/// outputs: a fifth (test data: 1/4.6 or more), or a twentieth if the base or the levels suggest a round. Parties with
/// several inputs are not counted.
const ACCOUNTED_SHARE: usize = 5;
const LIKELY_SHARE: usize = 20;

/// Base denominations that are multiples of this value, in satoshi, also occur in ordinary payments.
const PLAIN: u64 = 10_000;

/// Recognizes a round of Wasabi 1, or of the same shape.
pub(super) fn recognize(shape: &Shape<'_>) -> Option<Recognition> {
    first(shape).or_else(|| like_first(shape))
}

fn first(shape: &Shape<'_>) -> Option<Recognition> {
    const FORMS: [Form; 1] = [Form::WitnessKey];
    if shape.chain != ChainId::BTC || !shape.within(&PERIOD) {
        return None;
    }
    let paid = is_round(shape, FEWEST_EQUAL_PAID) && pays_coordinator(shape);
    let base = BASE.contains(&shape.denomination);
    let based = base && has_change(shape) && is_round(shape, FEWEST_EQUAL);
    if !(paid || based) {
        return None;
    }
    let forms = shape.spends_only(&FORMS) && shape.pays_only(&FORMS, 0);
    let sums =
        |share: usize| shape.complete() && all_pay(shape, shape.others.len().div_ceil(share));
    let accounted = sums(ACCOUNTED_SHARE);
    let levels = has_levels(shape);
    // A payout may well be 0.1 BTC.
    let unusual = !shape.denomination.is_multiple_of(PLAIN);
    // The coordinator accepted P2WPKH alone. Where forms differ, or the base is one that people pay,
    // the sums have to say more.
    let likely = match (shape.complete(), forms) {
        (true, true) => accounted || (unusual || levels) && sums(LIKELY_SHARE),
        (true, false) => accounted && (unusual || levels),
        (false, forms) => forms && unusual,
    };
    (paid || likely).then(|| {
        Recognition::joint(
            CoinjoinKind::Wasabi1,
            &[
                (Test::EqualOutputs, true),
                (Test::ProtocolDenomination, base),
                (Test::DenominationLevels, levels),
                (Test::DistinctOwners, true),
                (Test::InputsAccountForOutputs, accounted),
                (Test::CoordinatorPaid, paid),
                (Test::ScriptForms, forms),
                (Test::ProtocolPeriod, true),
            ],
        )
    })
}

/// True if there are other outputs, at least a third as many as equal outputs: parties rarely pay in exactly the mixed
/// amount. In the test data there are at least three other outputs for four equal ones. Wages and other payouts of one
/// amount have one change.
fn has_change(shape: &Shape<'_>) -> bool {
    shape.others.len() * 3 >= shape.equal
}

/// True if at least two outputs have the value of one level above the base.
fn has_levels(shape: &Shape<'_>) -> bool {
    let is_level = |value: u64| {
        (1..=MOST_LEVELS)
            .filter_map(|level| shape.denomination.checked_mul(1 << level))
            .any(|level| value.abs_diff(level) <= level / LEVEL_PRECISION)
    };
    let mut repeated = shape.others.chunk_by(u64::eq).filter(|run| run.len() > 1);
    repeated.any(|run| run.first().copied().is_some_and(is_level))
}

/// Recognizes a round like Wasabi 1's of another denomination or time. Only the sums distinguish such a round from a
/// payout by a party with many coins.
fn like_first(shape: &Shape<'_>) -> Option<Recognition> {
    const FEWEST_OTHERS: usize = 6;
    let found = is_round(shape, FEWEST_EQUAL)
        && shape.complete()
        && shape.others.len() >= FEWEST_OTHERS
        && one_form(shape)
        && all_pay(shape, shape.others.len().div_ceil(3));
    found.then(|| super::generic(shape))
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

/// True if all inputs and outputs have one script form.
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
