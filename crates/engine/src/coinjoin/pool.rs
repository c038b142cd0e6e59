//! Joint transactions in which each party puts in one coin and takes out one of the same value.

use super::{
    kind::CoinjoinKind,
    shape::{Era, Form, Shape},
};
use crate::chain::ChainId;

/// A Whirlpool pool: what its coins are worth, and when there were rounds.
///
/// First rounds and the values from crocs-muni/coinjoin-analysis (`cj_consts.py`, 2025). Samourai's
/// coordinator was seized on 2024-04-24. Ashigaru runs the same protocol with pools of its own since
/// 2025-05-31 (its announcement of 2025-06).
const POOLS: [(u64, Era); 6] = [
    (5_000_000, Era::since(2019, 4, 17).until(2024, 4, 26)),
    (1_000_000, Era::since(2019, 5, 23).until(2024, 4, 26)),
    (50_000_000, Era::since(2019, 8, 2).until(2024, 4, 26)),
    (100_000, Era::since(2021, 3, 5).until(2024, 4, 26)),
    (2_500_000, Era::since(2025, 5, 31)),
    (25_000_000, Era::since(2025, 6, 6)),
];

/// Parties of a Whirlpool round: five at first, up to eight since the "surge cycles" of 2023
/// (`GraphSense`'s bounds).
const POOL_PARTIES: std::ops::RangeInclusive<usize> = 5..=8;

/// Maximum excess value of a new coin in a Whirlpool pool over the others; it pays the miner for
/// all. In satoshi (`GraphSense`'s bound).
const POOL_FEE: u64 = 110_000;

/// Denominations that Dash mixes, in duffs: 10.0001, 1.00001, 0.100001, 0.0100001 and 0.00100001
/// DASH (dashpay/dash, `src/coinjoin/common.h`).
const DASH_DENOMINATIONS: [u64; 5] = [1_000_010_000, 100_001_000, 10_000_100, 1_000_010, 100_001];

/// The fewest parties of a Dash round, and its most inputs: 20 parties with nine each (dashpay/dash,
/// `src/coinjoin`).
const DASH_PARTIES: usize = 3;
const DASH_MOST_INPUTS: usize = 180;

/// From so many parties on a round of no known pool counts: that one person has so many coins of one
/// value, and sends each to a new address in one transaction, has no reason but to look like this.
const FEWEST_PARTIES: usize = 5;

/// The round's kind if each party puts in and takes out the same value.
pub(super) fn classify(shape: &Shape<'_>) -> Option<CoinjoinKind> {
    let parties = shape.outputs.len();
    if shape.equal != parties || shape.inputs != parties || shape.returned > 0 {
        return None;
    }
    let (Some(least), Some(most)) = (shape.spent.first(), shape.spent.last()) else {
        return unspent(shape);
    };
    let beyond =
        |fee: u64| *least >= shape.denomination && *most <= shape.denomination.saturating_add(fee);
    if is_private_send(shape) && beyond(0) {
        return Some(CoinjoinKind::PrivateSend);
    }
    let everyone = shape.funded_by(parties);
    if is_whirlpool(shape) && everyone && beyond(POOL_FEE) {
        return Some(CoinjoinKind::Whirlpool);
    }
    let generic = parties >= FEWEST_PARTIES && shape.complete() && everyone;
    (generic && beyond(shape.denomination / 100)).then_some(CoinjoinKind::Generic)
}

/// The kind by the outputs and the number of inputs alone.
fn unspent(shape: &Shape<'_>) -> Option<CoinjoinKind> {
    if is_private_send(shape) {
        return Some(CoinjoinKind::PrivateSend);
    }
    is_whirlpool(shape).then_some(CoinjoinKind::Whirlpool)
}

fn is_whirlpool(shape: &Shape<'_>) -> bool {
    shape.chain == ChainId::BTC
        && POOL_PARTIES.contains(&shape.equal)
        && POOLS.iter().any(|(value, era)| *value == shape.denomination && shape.within(era))
        && shape.spends_only(&[Form::WitnessKey])
        && shape.pays_only(&[Form::WitnessKey], 0)
}

fn is_private_send(shape: &Shape<'_>) -> bool {
    shape.chain.as_str() == "dash"
        && DASH_DENOMINATIONS.contains(&shape.denomination)
        && shape.inputs <= DASH_MOST_INPUTS
        && shape.funded_by(DASH_PARTIES)
        && shape.spends_only(&[Form::KeyHash])
        && shape.pays_only(&[Form::KeyHash], 0)
}
