//! The wider rule for clusters: transactions that could be joint.
//!
//! A joint transaction that a clustering does not recognize merges unrelated wallets with all their clusters, whereas a
//! payment that it leaves out costs one link of many. This rule therefore tests only if several parties could have made
//! the transaction. The rule uses neither periods nor script forms, and of the protocols' rules only two sets of
//! amounts, so it also covers rounds of unknown protocols.
//!
//! Two shapes are possible:
//!
//! - *Equal outputs*: at least two outputs above dust of one value to different owners, at least a third of all
//!   outputs, and at least as many parties that can each pay for one of these outputs.
//! - *Several denominations*: at least ten owners provide inputs, one for four outputs or more, and at least three
//!   values repeat in at least a third of the outputs; or at least five owners provide inputs, and the outputs have
//!   Wasabi 2's denominations.
//!
//! On Bitcoin Cash also a `CashFusion`: ten owners, ten outputs, and one output without value.
//!
//! # Measured
//!
//! | transactions | possible | of |
//! |---|---|---|
//! | rounds of the test data (196 and 60) | 256 | 256 |
//! | the same in 2010, in other script forms, with half of their inputs (in four ways) or all of them unknown | 256 | 256 |
//! | of mainnet blocks, with several inputs, all of them unknown | 4 | 291 |
//! | of the file of `JoinMarket`'s rounds that are none: trades, payouts, Stonewalls | 213 | 507 |
//! | generated payments with one output, or with change | 0 | 10,000 |
//! | generated batches of payouts by one party (1 to 32 coins, up to half of the outputs equal) | 266 | 5,000 |
//!
//! The rule does not recognize joint transactions without repeated outputs (`SharedCoin` of 2013, `CoinJoinXT`), nor
//! payments of two parties (see [`payjoin`](super::payjoin)).

use std::collections::HashMap;

use assay_address::ChainId;
use jiff::Timestamp;

use super::{recognize, wasabi2, whirlpool};
use crate::utxo::{ScriptOwner, Transaction, TxOut};

/// Largest value of dust, in base units: Bitcoin Core's dust limit of P2PKH. Outputs of that value carry messages and
/// tokens.
const DUST: u64 = 546;

/// Inverse of the smallest share of equal outputs: a third. In the test data at least 41 % of a round's outputs are
/// equal. Payouts in which a popular amount repeats a few times have a smaller share.
const EQUAL_SHARE: usize = 3;

/// Inverse of the largest fraction by which a party's inputs may fall short of its equal output: a maker's reward with
/// a margin (in the test data at most 1/250).
const REWARD: u64 = 100;

/// The fewest owners, repeated values, and share of repeated outputs (a third) of a round with several
/// denominations. Wasabi 2 has rounds of 13 inputs.
const DENOMINATIONS_FUNDERS: usize = 10;
const DENOMINATIONS_VALUES: usize = 3;
const DENOMINATIONS_SHARE: usize = 3;

/// Most outputs for each owner of inputs in a round with several denominations. A Wasabi 2 client makes about ten
/// outputs at most, mostly from several inputs; payouts have many outputs for each input.
const DENOMINATIONS_OUTPUTS: usize = 4;

/// Fewest owners of a round with the denominations of Wasabi 2, which hardly occur in other payments.
const STANDARD_FUNDERS: usize = 5;

/// The fewest owners, and outputs, of a `CashFusion` on Bitcoin Cash: dozens of inputs and outputs of
/// any value, and one output of data (cashshuffle/spec, `CASHFUSION.md`).
const FUSION_SIDE: usize = 10;

/// True if a transaction on `chain`, in a block of `time`, is or could be a joint transaction of parties that do not
/// know each other. Only clusters use this rule, because most such transactions are payments.
///
/// The result is true for every joint transaction that [`recognize`] recognizes, and false for an entry, which one
/// party makes, unless it has two change outputs and could be of two parties. Unknown inputs count as different owners
/// with any amount, so that hidden inputs never turn the result from true to false. The order of inputs and outputs
/// makes no difference.
#[must_use]
pub fn is_possible(transaction: &Transaction, chain: ChainId, time: Timestamp) -> bool {
    if let Some(recognition) = recognize(transaction, chain, time) {
        return recognition.kind.is_joint() || whirlpool::may_be_of_two(transaction);
    }
    if transaction.inputs.len() < 2 || transaction.outputs.len() < 2 {
        return false;
    }
    let paid: Vec<&TxOut> = transaction.outputs.iter().filter(|output| output.value > 0).collect();
    let groups = groups(&paid);
    let is_fusion = || chain.as_str() == "bch" && paid.len() < transaction.outputs.len();
    if groups.is_empty() && !is_fusion() {
        return false;
    }
    let funds = OwnerFunds::of(transaction);
    groups.iter().any(|group| {
        group.owners * EQUAL_SHARE >= paid.len() && funds.parties(group.value) >= group.owners
    }) || has_denominations(&paid, &groups, funds.owners())
        || is_fusion() && funds.owners() >= FUSION_SIDE && paid.len() >= FUSION_SIDE
}

/// Outputs of one value.
struct Group {
    value: u64,
    /// Number of different owners.
    owners: usize,
}

/// The values above dust that at least two owners get.
fn groups(paid: &[&TxOut]) -> Vec<Group> {
    let mut sorted: Vec<(u64, &ScriptOwner)> =
        paid.iter().map(|output| (output.value, &output.owner)).collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
        .chunk_by(|(one, _), (other, _)| one == other)
        .filter_map(|run| Some(Group { value: run.first()?.0, owners: run.len() }))
        .filter(|group| group.owners > 1 && group.value > DUST)
        .collect()
}

/// Sums of the inputs by owner.
struct OwnerFunds {
    /// Sums of the known inputs of each owner, in base units.
    known: Vec<u64>,
    /// Number of inputs that are not known.
    unknown: usize,
}

impl OwnerFunds {
    fn of(transaction: &Transaction) -> Self {
        let mut sums = HashMap::<&ScriptOwner, u64>::new();
        for output in transaction.spent_outputs() {
            let sum = sums.entry(&output.owner).or_default();
            *sum = sum.saturating_add(output.value);
        }
        let unknown = transaction.inputs.iter().filter(|input| input.spent.is_none()).count();
        Self { known: sums.into_values().collect(), unknown }
    }

    /// Number of owners.
    fn owners(&self) -> usize {
        self.known.len() + self.unknown
    }

    /// Largest number of parties that can each pay for an output of `value`: owners that can pay alone, and as many
    /// parties as the other owners can pay for together.
    fn parties(&self, value: u64) -> usize {
        let least = value - value / REWARD;
        let (able, poor): (Vec<u64>, Vec<u64>) = self.known.iter().partition(|sum| **sum >= least);
        let together: u128 = poor.iter().copied().map(u128::from).sum();
        let more = together.checked_div(u128::from(least)).unwrap_or(0);
        let more = usize::try_from(more).unwrap_or(usize::MAX).min(poor.len());
        able.len() + self.unknown + more
    }
}

/// True if many owners pay, and many outputs repeat at several denominations or have the denominations of Wasabi 2.
fn has_denominations(paid: &[&TxOut], groups: &[Group], owners: usize) -> bool {
    if owners < STANDARD_FUNDERS {
        return false;
    }
    let repeated: usize = groups.iter().map(|group| group.owners).sum();
    let several = owners >= DENOMINATIONS_FUNDERS
        && owners.saturating_mul(DENOMINATIONS_OUTPUTS) >= paid.len()
        && groups.len() >= DENOMINATIONS_VALUES
        && repeated * DENOMINATIONS_SHARE >= paid.len();
    several || wasabi2::has_denominations(paid.iter().map(|output| output.value))
}
