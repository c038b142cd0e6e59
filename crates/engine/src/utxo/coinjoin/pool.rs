//! Joint transactions in which each party pays in one coin and takes out one of the same value.

use super::{
    era::Era,
    kind::CoinjoinKind,
    recognition::{Recognition, RecognitionTest as Test},
    shape::{Form, Shape},
    whirlpool,
};

/// Denominations that Dash mixes, in duffs: 10.0001, 1.00001, 0.100001, 0.0100001 and 0.00100001
/// DASH (dashpay/dash, `src/coinjoin/common.h`).
const DASH_DENOMINATIONS: [u64; 5] = [1_000_010_000, 100_001_000, 10_000_100, 1_000_010, 100_001];

/// The fewest parties and the most inputs of a Dash round: 20 parties with nine inputs each (dashpay/dash,
/// `src/coinjoin`).
const DASH_PARTIES: usize = 3;
const DASH_MOST_INPUTS: usize = 180;

/// Fewest parties of a round of no known pool: one person has no reason to send this many coins of one value each to a
/// new address in one transaction, except to imitate a round.
const FEWEST_PARTIES: usize = 5;

/// Dash has mixed since its first months; the chain began on 2014-01-18.
const DASH_PERIOD: Era = Era::since(2014, 1, 18);

/// Recognizes a round in which each party pays in and takes out the same value.
pub(super) fn recognize(shape: &Shape<'_>) -> Option<Recognition> {
    let parties = shape.outputs.len();
    if shape.equal != parties || shape.inputs != parties || shape.returned > 0 {
        return None;
    }
    private_send(shape).or_else(|| whirlpool::round(shape)).or_else(|| any_value(shape))
}

/// Recognizes a pool of any value with known inputs: no party pays in more than the value and a hundredth of it.
fn any_value(shape: &Shape<'_>) -> Option<Recognition> {
    let parties = shape.equal;
    let most = shape.denomination.saturating_add(shape.denomination / 100);
    let fitting = shape.spent.iter().all(|value| (shape.denomination..=most).contains(value));
    let found =
        parties >= FEWEST_PARTIES && shape.complete() && shape.funded_by(parties) && fitting;
    found.then(|| super::generic(shape))
}

/// Recognizes a round of Dash: every known input is worth exactly the denomination. The protocol accepts only P2PKH
/// scripts.
fn private_send(shape: &Shape<'_>) -> Option<Recognition> {
    let found = shape.chain.as_str() == "dash"
        && DASH_DENOMINATIONS.contains(&shape.denomination)
        && shape.within(&DASH_PERIOD)
        && shape.inputs <= DASH_MOST_INPUTS
        && shape.funded_by(DASH_PARTIES)
        && shape.spent.iter().all(|value| *value == shape.denomination)
        && shape.spends_only(&[Form::KeyHash])
        && shape.pays_only(&[Form::KeyHash], 0);
    found.then(|| {
        Recognition::joint(
            CoinjoinKind::PrivateSend,
            &[
                (Test::EqualOutputs, true),
                (Test::ProtocolDenomination, true),
                (Test::DistinctOwners, true),
                (Test::InputsAccountForOutputs, shape.complete()),
                (Test::ScriptForms, true),
                (Test::ProtocolPeriod, true),
            ],
        )
    })
}
