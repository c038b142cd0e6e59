//! Joint transactions with a few equal outputs and change for each party: `JoinMarket`, and others of the same shape.

use assay_address::ChainId;

use super::{
    era::Era,
    kind::CoinjoinKind,
    recognition::{Recognition, RecognitionTest as Test},
    shape::{Form, Shape},
    sums::{self, InputDivision},
};

/// `JoinMarket`, announced on 2015-01-09 (bitcointalk topic 919116).
const MARKET: Era = Era::since(2015, 1, 1);

/// The smallest equal output for which a taker pays makers, in base units. Trades of inscriptions
/// and tokens have equal outputs of 330, 546 or 10,000.
const SMALLEST: u64 = 20_000;

/// Number of parties from which on the structure is strong evidence: the sums must agree only for some parties, because
/// a taker's many inputs cannot be divided.
const MANY: usize = 5;

/// Fewest parties of a round whose inputs are not known.
const MANY_UNKNOWN: usize = 6;

/// Most inputs of a round of two parties: more inputs match any sum by chance.
const MOST_OF_TWO: usize = 20;

/// Recognizes a round with change.
pub(super) fn recognize(shape: &Shape<'_>) -> Option<Recognition> {
    if !has_structure(shape) {
        return None;
    }
    let market = shape.chain == ChainId::BTC && shape.within(&MARKET) && one_wallet(shape);
    if !shape.complete() {
        return (market && is_likely_unknown(shape)).then(|| joinmarket(None));
    }
    if !no_input_too_large(shape) {
        return None;
    }
    match shape.equal {
        2 => {
            let round = market && shape.others.len() == 2 && shape.inputs <= MOST_OF_TWO;
            (round && sums::earned_by_rate(shape)).then(|| joinmarket(Some(false)))
        }
        MANY.. if market && sums::earners(shape) >= 2 => Some(joinmarket(Some(false))),
        _ if market && sums::has_makers_and_taker(shape) => Some(joinmarket(Some(true))),
        _ => match sums::divide_inputs(shape)? {
            InputDivision::Earned if market => Some(joinmarket(Some(true))),
            InputDivision::Earned | InputDivision::Even => Some(super::generic(shape)),
        },
    }
}

/// The recognition as `JoinMarket`. `accounted` is `None` if inputs are unknown, true if all inputs were divided among
/// the parties, and false if makers were found and the taker's inputs were not divided.
fn joinmarket(accounted: Option<bool>) -> Recognition {
    Recognition::joint(
        CoinjoinKind::JoinMarket,
        &[
            (Test::EqualOutputs, true),
            (Test::DistinctOwners, true),
            (Test::InputsAccountForOutputs, accounted == Some(true)),
            (Test::MakersPaid, accounted.is_some()),
            (Test::ScriptForms, true),
            (Test::ProtocolPeriod, true),
        ],
    )
}

/// True if each party gets an equal output and change, and no output goes to an owner of an input. One party may have
/// no change: a taker that sends all of the taker's coins.
fn has_structure(shape: &Shape<'_>) -> bool {
    shape.denomination >= SMALLEST
        && (shape.equal - 1..=shape.equal).contains(&shape.others.len())
        && shape.inputs >= shape.equal
        && shape.funded_by(shape.equal)
        && shape.returned == 0
}

/// True if all inputs and outputs have one script form, except for an output that the taker may send to another party.
fn one_wallet(shape: &Shape<'_>) -> bool {
    let form = match shape.known.first() {
        Some(input) => Form::of(&input.owner),
        None => match shape.outputs {
            [first, second, third, ..] => {
                let form = Form::of(&first.owner);
                let second = Form::of(&second.owner);
                if second == form { form } else { Form::of(&third.owner) }
            }
            _ => return false,
        },
    };
    form != Form::Other && shape.spends_only(&[form]) && shape.pays_only(&[form], 1)
}

/// True if no input exceeds the outputs of a party by more than the fee and the rewards of all makers.
fn no_input_too_large(shape: &Shape<'_>) -> bool {
    let sum = |values: &mut dyn Iterator<Item = u64>| values.map(u128::from).sum::<u128>();
    let paid = sum(&mut shape.spent.iter().copied());
    let got = sum(&mut shape.outputs.iter().map(|output| output.value));
    let fee = paid.saturating_sub(got);
    let reward = u128::from(sums::most_earned(shape)).saturating_mul(shape.equal as u128);
    let (Some(input), Some(change)) = (shape.spent.last(), shape.others.last()) else {
        return false;
    };
    u128::from(*input) <= u128::from(shape.denomination) + u128::from(*change) + fee + reward
}

/// True if the number of parties, and an amount that is unusual for a payout, suggest a round. Without the values of
/// inputs nothing else distinguishes a round from a payout.
fn is_likely_unknown(shape: &Shape<'_>) -> bool {
    shape.equal >= MANY_UNKNOWN && !shape.denomination.is_multiple_of(1_000)
}
