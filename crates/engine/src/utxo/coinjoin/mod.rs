//! Recognition of joint transactions, by which several people hide who paid whom.
//!
//! - [`kind`]: the kinds, and the confidence of each
//! - [`recognition`]: the tests that a transaction passed, and the resulting confidence
//! - `shape`: the properties of a transaction that the rules test
//! - `pool`: all parties pay in and take out the same value (`PrivateSend`, and pools of any value)
//! - `whirlpool`: Whirlpool's pools, rounds and entry transactions
//! - `wasabi1`, `wasabi2`: rounds of a coordinator with many equal outputs
//! - `market`: a few equal outputs, and change for each party (`JoinMarket`)
//! - `sums`: division of the inputs among the parties by their change
//! - [`payjoin`]: payments that may be `PayJoin`s
//! - `possible`: the wider rule that clusters use
//!
//! One detector serves traces, patterns and co-spend clusters. A false positive of [`recognize`] costs as much as a
//! false negative, so a rule tests properties of one protocol: its values, counts, sums and period of use. Values alone
//! do not distinguish `JoinMarket` from a batch of payouts; for `JoinMarket` the sums decide: in a joint transaction
//! each party's inputs pay for its own outputs, which is not so in a payout by one party. For clusters a false negative
//! costs far more, so clusters also use [`is_possible`] and [`payjoin::suspicion`].
//!
//! # Kinds and their tests
//!
//! A recognized transaction passes all required tests of its kind, and may pass the kind's other tests.
//! [`Recognition::confidence`] is that of the kind, less 15 for each expected test that failed, plus 5 for each further
//! test that passed.
//!
//! | kind | required | expected as well | may add |
//! |---|---|---|---|
//! | `generic` | equal outputs, owners, sums | | |
//! | `wasabi_1` | equal outputs, owners, period; denomination or coordinator | sums, script forms | levels (1.1), coordinator |
//! | `wasabi_2` | denominations, owners, period | equal outputs, script forms | |
//! | `whirlpool` | equal outputs, denomination, owners, period | sums, script forms | |
//! | `joinmarket` | equal outputs, owners, script forms, period | makers paid | sums |
//! | `privatesend` | equal outputs, denomination, owners, script forms, period | sums | |
//! | `coinjoin_entry` | denomination, data output, period | equal outputs, coordinator, script forms | |
//!
//! A test of sums fails if inputs are unknown, and excludes the kind if they are known and disagree (except if Wasabi's
//! coordinator is paid). Script forms are required only if the protocol itself refuses other forms: `JoinMarket`,
//! `PrivateSend`, and Wasabi 1 with unknown inputs.
//!
//! An entry (Whirlpool's Tx0) is a transaction of one party: it is recognized, but neither stored as a kind of
//! transaction nor an endpoint of traces.
//!
//! # Measured
//!
//! `tests/all/coinjoin` measures the figures below and fails if one gets worse. The test uses two files of real
//! transactions, nine days each, collected by crocs-muni/coinjoin-analysis. The bounds were chosen with these files in
//! view, so results on other files are likely somewhat worse. Each transaction was classified by marks that the rules
//! do not use: Wasabi's base denomination of those days, and the origin of coins, because rounds of one kind spend one
//! another's outputs. (No coin goes from the 186 to the 10 or back.)
//!
//! | transactions | found | of |
//! |---|---|---|
//! | Wasabi 1 rounds of August 2021 (178 spend another's outputs), all with levels (1.1) | 186 | 186 |
//! | `JoinMarket` rounds that the same file counts as Wasabi 1, recognized as `JoinMarket` | 10 | 10 |
//! | `JoinMarket` rounds of June 2024 (each spends another's outputs, or is spent by one) | 59 | 60 |
//! | anything else in that file: trades of inscriptions, payouts, Stonewalls | 0 | 507 |
//! | transactions of mainnet blocks 277647, 426884, 482683, their inputs unknown | 0 | 631 |
//! | the same with dates from 2016 to 2026 | 0 | 6,941 |
//! | the first file with a date before any Wasabi, as generic | 152 | 196 |
//! | both files with unknown inputs, as anything | 240 | 256 |
//!
//! The ten `JoinMarket` rounds have ten to twelve equal outputs of about 0.1 BTC, for which the file counts them as
//! Wasabi 1; these rounds have no levels, at most one change for each party, and parties that received more than they
//! paid in.
//!
//! Generated batches are as hard to distinguish as possible: one script form, as many other outputs as equal ones, at
//! least as many inputs, one owner. 17 of 5,000 are classified as joint; with the forms that customers use today, none
//! of 2,000. None of 4,000 payrolls (equal wages and one change) is classified as joint, nor any of 2,000 batches of
//! round amounts from many coins, at two dates, with and without inputs. The recall for Wasabi 2, `PrivateSend`,
//! Whirlpool and entries is not measured, because only two real rounds of Whirlpool were available.
//!
//! The recognition takes 30 nanoseconds for the average transaction of those blocks, four microseconds for a
//! `JoinMarket` round, and twelve for a Wasabi round of 170 inputs and outputs (measured once); [`is_possible`] takes
//! about as long.
//!
//! # Not recognized
//!
//! The detector does not recognize rounds of two `JoinMarket` parties whose fee is no plain rate; Stonewall, which one
//! person makes alone or two together; joint transactions without equal outputs (`CashFusion`). [`is_possible`] is true
//! for all of these transactions, and for entries with two changes (Samourai's Tx0x2, of one party or two). One party
//! can also make a transaction alone that looks joint; the chain does not show the difference.

pub(crate) mod era;
pub mod kind;
mod market;
pub mod payjoin;
mod pool;
mod possible;
pub mod recognition;
mod shape;
mod sums;
mod wasabi1;
mod wasabi2;
mod whirlpool;

use jiff::Timestamp;

pub use kind::{CoinjoinKind, RecognizedKind};
pub use payjoin::PayjoinSuspicion;
pub use possible::is_possible;
pub use recognition::{Recognition, RecognitionTest};

use crate::utxo::{Transaction, TransactionKind};
use assay_address::ChainId;
use shape::Shape;

/// Recognizes a transaction on `chain`, in a block of `time`, as a joint transaction or an entry to a joint
/// transaction; returns `None` for all other transactions.
///
/// The order of inputs and outputs makes no difference. The rules are stricter if spent outputs are not known.
#[must_use]
pub fn recognize(
    transaction: &Transaction,
    chain: ChainId,
    time: Timestamp,
) -> Option<Recognition> {
    match Shape::of(transaction, chain, time) {
        Some(shape) => pool::recognize(&shape)
            .or_else(|| wasabi2::recognize(&shape))
            .or_else(|| wasabi1::recognize(&shape))
            .or_else(|| market::recognize(&shape)),
        // An entry has an output without value; a shape has none.
        None => whirlpool::entry(transaction, chain, time),
    }
}

/// The kind of a joint transaction for storage: the result of [`recognize`] without entries, tests and confidence.
#[must_use]
pub fn classify(
    transaction: &Transaction,
    chain: ChainId,
    time: Timestamp,
) -> Option<CoinjoinKind> {
    recognize(transaction, chain, time)?.kind.joint()
}

/// A joint transaction of no known protocol, recognized by its sums.
fn generic(shape: &Shape<'_>) -> Recognition {
    Recognition::joint(
        CoinjoinKind::Generic,
        &[
            (RecognitionTest::EqualOutputs, true),
            (RecognitionTest::DistinctOwners, true),
            (RecognitionTest::InputsAccountForOutputs, shape.complete()),
        ],
    )
}

impl Transaction {
    /// Sets the kind of a payment on `chain`, in a block of `time`, if it is a joint transaction. Callers resolve the
    /// spent outputs first, as far as possible.
    pub fn classify(&mut self, chain: ChainId, time: Timestamp) {
        if self.kind == TransactionKind::Payment
            && let Some(kind) = classify(self, chain, time)
        {
            self.kind = TransactionKind::Coinjoin(kind);
        }
    }
}
