//! Whirlpool's pools, rounds and entry transactions (Tx0), of Samourai and Ashigaru.
//!
//! Amounts and counts decide, not script forms: a coordinator accepts any address for a mixed coin, and rounds that pay
//! to P2WSH exist. Wallets use P2WPKH, so other forms reduce the confidence.

use std::collections::HashSet;

use assay_address::ChainId;
use jiff::Timestamp;

use super::{
    era::Era,
    kind::{CoinjoinKind, RecognizedKind},
    recognition::{Recognition, RecognitionTest as Test},
    shape::{Form, Shape},
};
use crate::utxo::{ScriptOwner, Transaction, TxOut};

/// A pool: the value of its coins, the fees of its coordinator, and the period of its rounds.
struct Pool {
    /// Value of a mixed coin, in satoshi.
    denomination: u64,
    /// Full fees for one entry, in satoshi: 5 % at first, 3.5 % in the two large pools later (Samourai's documentation
    /// of 2019 and later; `GraphSense`). No source was found for Ashigaru's fees: 5 % is an assumption, as in
    /// Samourai's small pools.
    fees: &'static [u64],
    era: Era,
}

/// The pools, with first rounds and values from crocs-muni/coinjoin-analysis (`cj_consts.py`, 2025). Samourai's
/// coordinator was seized on 2024-04-24. Ashigaru runs the same protocol with pools of its own since 2025-05-31 (its
/// announcement of 2025-06).
const POOLS: [Pool; 6] = [
    samourai(5_000_000, &[250_000, 175_000], Era::since(2019, 4, 17)),
    samourai(1_000_000, &[50_000], Era::since(2019, 5, 23)),
    samourai(50_000_000, &[2_500_000, 1_750_000], Era::since(2019, 8, 2)),
    samourai(100_000, &[5_000], Era::since(2021, 3, 5)),
    Pool { denomination: 2_500_000, fees: &[125_000], era: Era::since(2025, 5, 31) },
    Pool { denomination: 25_000_000, fees: &[1_250_000], era: Era::since(2025, 6, 6) },
];

const fn samourai(denomination: u64, fees: &'static [u64], since: Era) -> Pool {
    Pool { denomination, fees, era: since.until(2024, 4, 26) }
}

/// Days by which entries may precede the first round, for which they pay.
const ENTRY_LEAD: i64 = 7;

/// Number of parties of a round: five at first, up to eight since the "surge cycles" (`GraphSense`'s bound).
const PARTIES: usize = 5;
const MOST_PARTIES: usize = 8;

/// Samourai launched surge cycles on 2023-05-15 (its blog, 2023-05).
const SURGE: Era = Era::since(2023, 5, 15);

/// Least and greatest excess of a new coin over the denomination, in satoshi: this excess pays the miner for all
/// parties of its first round (`GraphSense`'s bounds).
const PREMIUM: std::ops::RangeInclusive<u64> = 100..=110_000;

/// The most premix outputs of a Tx0 (limit of Samourai's client; `GraphSense`).
const MOST_PREMIXES: usize = 70;

/// The most outputs of an entry beside premixes and data: the coordinator's fee and two changes.
const MOST_OTHERS: usize = 3;

/// The smallest output that a node relays, in satoshi (Bitcoin Core's dust limit of P2PKH).
const DUST: u64 = 546;

/// Recognizes a Whirlpool round: all outputs are equal, and there are as many inputs as outputs.
///
/// Known inputs are worth at least the denomination and at most the greatest premium more.
pub(super) fn round(shape: &Shape<'_>) -> Option<Recognition> {
    let parties = shape.equal;
    let usual =
        parties == PARTIES || (PARTIES..=MOST_PARTIES).contains(&parties) && shape.within(&SURGE);
    let pool = POOLS.iter().find(|pool| pool.denomination == shape.denomination)?;
    let most = pool.denomination.saturating_add(*PREMIUM.end());
    let fitting = shape.spent.iter().all(|value| (pool.denomination..=most).contains(value));
    let found = shape.chain == ChainId::BTC
        && usual
        && shape.within(&pool.era)
        && shape.funded_by(parties)
        && fitting;
    let forms = [Form::WitnessKey];
    found.then(|| {
        Recognition::joint(
            CoinjoinKind::Whirlpool,
            &[
                (Test::EqualOutputs, true),
                (Test::ProtocolDenomination, true),
                (Test::DistinctOwners, true),
                (Test::InputsAccountForOutputs, shape.complete()),
                (Test::ScriptForms, shape.spends_only(&forms) && shape.pays_only(&forms, 0)),
                (Test::ProtocolPeriod, true),
            ],
        )
    })
}

/// Recognizes an entry transaction (Tx0): equal premix outputs of one pool, one data output, the coordinator's fee, and
/// change.
///
/// The fee is at most 5 % of the denomination; it may be missing, or be paid to the wallet itself, if a discount code
/// made the entry free. A single premix output counts only with a plain fee, because one output near a pool's
/// denomination is too common. Two change outputs are accepted with a fee and several premix outputs (Samourai's Tx0x2;
/// see [`may_be_of_two`]).
pub(super) fn entry(
    transaction: &Transaction,
    chain: ChainId,
    time: Timestamp,
) -> Option<Recognition> {
    let Transaction { inputs, outputs, .. } = transaction;
    // The cheap checks come first: nearly every transaction leaves at one of them.
    if chain != ChainId::BTC || inputs.is_empty() || outputs.len() < 3 {
        return None;
    }
    let mut empty = outputs.iter().filter(|output| output.value == 0);
    let (Some(data), None) = (empty.next(), empty.next()) else { return None };
    if !data.owner.is_bare_script() {
        return None;
    }
    let paid: Vec<&TxOut> = outputs.iter().filter(|output| output.value > 0).collect();
    let owners: HashSet<&ScriptOwner> = paid.iter().map(|output| &output.owner).collect();
    if owners.len() != paid.len() {
        return None;
    }
    POOLS
        .iter()
        .filter(|pool| pool.era.contains_with_lead(time, ENTRY_LEAD))
        .find_map(|pool| entry_to(pool, &paid))
}

/// The recognition as an entry to `pool`. `paid` are the outputs with a value.
fn entry_to(pool: &Pool, paid: &[&TxOut]) -> Option<Recognition> {
    let is_premix = |value: u64| {
        value.checked_sub(pool.denomination).is_some_and(|more| PREMIUM.contains(&more))
    };
    let (premixes, others): (Vec<&TxOut>, Vec<&TxOut>) =
        paid.iter().partition(|output| is_premix(output.value));
    let first = premixes.first()?;
    let one_value = premixes.iter().all(|output| output.value == first.value);
    if !one_value || premixes.len() > MOST_PREMIXES {
        return None;
    }
    let fee = others.iter().any(|output| is_fee(pool, output.value));
    let plain = others.iter().any(|output| is_plain_fee(pool, output.value));
    let paid_for = match (premixes.len(), others.len()) {
        (1, 0..=2) => plain,
        (2.., 0 | 1) => true,
        (2.., 2..=MOST_OTHERS) => fee,
        _ => false,
    };
    let wallets = premixes.iter().all(|output| Form::of(&output.owner) == Form::WitnessKey);
    paid_for.then(|| {
        Recognition::new(
            RecognizedKind::Entry,
            &[
                (Test::EqualOutputs, premixes.len() > 1),
                (Test::ProtocolDenomination, true),
                (Test::CoordinatorPaid, fee),
                (Test::DataOutput, true),
                (Test::ScriptForms, wallets),
                (Test::ProtocolPeriod, true),
            ],
        )
    })
}

/// True if two parties may have made an entry together, because it has two change outputs (Tx0x2). A single wallet can
/// make a Tx0x2 as a decoy, so it is still an entry, but its inputs may have two owners.
pub(super) fn may_be_of_two(transaction: &Transaction) -> bool {
    let mut values: Vec<u64> = transaction.outputs.iter().map(|output| output.value).collect();
    values.sort_unstable();
    let equal = values.chunk_by(u64::eq).map(<[u64]>::len).max().unwrap_or(0);
    // The output of data is one more.
    values.len() > equal + MOST_OTHERS && transaction.inputs.len() > 1
}

/// True if an output may be the coordinator's fee: at most 5 % of the denomination. Discount codes reduce the full fee,
/// so the only lower bound is the smallest output that nodes relay.
const fn is_fee(pool: &Pool, value: u64) -> bool {
    value >= DUST && value <= pool.denomination / 20
}

/// True if a value is the full fee, or the fee with a discount: a whole percentage from 50 on. (148,750 satoshi, 85 %
/// of 175,000, are common; half is `GraphSense`'s bound.)
fn is_plain_fee(pool: &Pool, value: u64) -> bool {
    pool.fees.iter().any(|full| {
        let percent = value.saturating_mul(100) / full;
        (50..=100).contains(&percent) && percent * full == value.saturating_mul(100)
    })
}
