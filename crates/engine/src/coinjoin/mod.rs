//! Joint transactions of several people that hide who paid whom: recognising them.
//!
//! - [`kind`]: the kinds, and the confidence of each
//! - `shape`: a transaction as the rules look at it
//! - `pool`: everybody puts in and takes out the same (Whirlpool, `PrivateSend`)
//! - `wasabi`: rounds of a coordinator with many equal outputs (Wasabi 1 and 2)
//! - `market`: a few equal outputs and everybody's change (`JoinMarket`)
//! - `sums`: assignment of inputs to the change that they pay for
//!
//! One detector serves both traces, which stop at a joint transaction, and co-spend clusters, which
//! keep its inputs apart, so a wrong "yes" costs as much as a wrong "no". A rule therefore rests on
//! one protocol's own properties: its values, its scripts, its period of use. Values alone do not
//! distinguish `JoinMarket` from a batch of payouts, so there the sums decide: in a joint
//! transaction each party's inputs pay for its own outputs; in a payout by one party they need not.
//!
//! # Measured
//!
//! `tests/all/coinjoin` measures the figures below and fails if one gets worse. It uses two files
//! of real transactions, nine days each, collected by crocs-muni/coinjoin-analysis. The bounds were
//! chosen with these files in view, so results on other files are likely somewhat worse. Each
//! transaction was classified by marks that the rules do not use: Wasabi's base denomination of
//! those days, and the origin of coins, because rounds of one kind spend one another's outputs. (No
//! coin goes from the 186 to the 10 or back.)
//!
//! | what | found | of |
//! |---|---|---|
//! | Wasabi 1 rounds of August 2021 (178 spend another's outputs) | 186 | 186 |
//! | transactions taken for Wasabi 1 that are `JoinMarket`'s, in the same file | 0 | 10 |
//! | `JoinMarket` rounds of June 2024 (each spends another's outputs, or is spent by one) | 59 | 60 |
//! | anything else in that file: trades of inscriptions, payouts, Stonewalls | 0 | 507 |
//! | transactions of mainnet blocks 277647, 426884, 482683, their inputs unknown | 0 | 631 |
//! | the first file with a date before any Wasabi, as generic | 152 | 196 |
//! | both files with unknown inputs, as anything | 240 | 256 |
//!
//! Generated batches are made as hard as possible: one script form, as many other outputs as equal
//! ones, at least as many inputs, one owner. 17 of 5,000 are taken for joint; with the forms that
//! customers use today, none of 2,000. No real round of Wasabi 2 or `PrivateSend`, and no more than
//! two of Whirlpool, were available: their recall is not measured.
//!
//! Cost, measured once on a slow machine: a third of a microsecond for the average transaction of those
//! blocks, nine for a `JoinMarket` round, 35 for a Wasabi round of 170 inputs and outputs.
//!
//! # Not recognised
//!
//! `PayJoin`, which looks like a payment; rounds of two `JoinMarket` parties whose fee is no plain
//! rate; Stonewall, which one person makes alone. A Whirlpool Tx0 is no joint transaction: one
//! party splits its own coins. One party can also make a transaction alone that looks joint; the
//! chain does not show the difference.

pub mod kind;
mod market;
mod pool;
mod shape;
mod sums;
mod wasabi;

use jiff::Timestamp;

pub use kind::CoinjoinKind;

use crate::{chain::ChainId, utxo::Transaction};
use shape::Shape;

/// The kind of coinjoin that a transaction on `chain`, in a block of `time`, is; `None` where it looks
/// like none.
///
/// The order of inputs and outputs makes no difference. The rules are stricter where spent outputs are
/// not known.
#[must_use]
pub fn classify(
    transaction: &Transaction,
    chain: ChainId,
    time: Timestamp,
) -> Option<CoinjoinKind> {
    let shape = Shape::of(transaction, chain, time)?;
    pool::classify(&shape).or_else(|| wasabi::classify(&shape)).or_else(|| market::classify(&shape))
}
