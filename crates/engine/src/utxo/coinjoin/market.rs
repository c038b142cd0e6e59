//! Joint transactions with a few equal outputs and change for each party: `JoinMarket`, and others
//! of its shape.

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

/// From so many parties on the structure says much by itself; the sums have to agree only in part,
/// because a taker's many inputs are not shared out.
const MANY: usize = 5;

/// From so many parties on a round counts whose inputs are not known.
const MANY_UNKNOWN: usize = 6;

/// The most inputs of a round of two: more of them meet any sum by chance.
const MOST_OF_TWO: usize = 20;

/// The recognition as a round with change.
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

/// The recognition as `JoinMarket`. `accounted`: `None` if inputs are unknown; true if all of them were
/// shared out among the parties, false if makers were found and the taker's inputs were not shared
/// out.
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

/// True if each party gets an equal output, and change; one party may have none: the taker who
/// sends all of its coins. No output goes to an owner of an input.
fn has_structure(shape: &Shape<'_>) -> bool {
    shape.denomination >= SMALLEST
        && (shape.equal - 1..=shape.equal).contains(&shape.others.len())
        && shape.inputs >= shape.equal
        && shape.funded_by(shape.equal)
        && shape.returned == 0
}

/// True if all inputs have one script form, and the outputs too, except for the one that the taker
/// may send to another party.
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

/// No party puts in more than it gets back and pays for: at most the whole fee and all makers' reward.
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

/// True if the size, and an amount that is unusual for a payout, suggest a round. Without values
/// nothing else distinguishes a round from a payout.
fn is_likely_unknown(shape: &Shape<'_>) -> bool {
    shape.equal >= MANY_UNKNOWN && !shape.denomination.is_multiple_of(1_000)
}
