//! Payments that may be `PayJoin`s: the payee adds an input of its own, so the inputs do not belong to
//! one party.
//!
//! A `PayJoin` looks like a payment, and nothing on the chain proves one. The shape of some payments excludes a
//! `PayJoin`, and the *unnecessary input heuristic* suggests one: a wallet that pays alone has no reason to add an
//! input without which it could still pay (UIH2, from the studies of Gibson and Ghesmati).
//!
//! # Definitions
//!
//! - *Impossible*: not Bitcoin; a block before 2018-08, when the first protocol was proposed (Bustapay,
//!   later BIP 79; Samourai's Stowaway 2018-10; BIP 78 since 2019); a coinbase; inputs of one owner.
//! - *Suspected*: all inputs are known, of at least two owners; there are two outputs, to different owners; and without
//!   the smallest input the other inputs still pay for the larger output and the fee.
//! - *Possible*: any other payment. A payer may have no change or several, and a payee may split the received amount
//!   (BIP 78), so the number of outputs rules nothing out.
//!
//! # Cost
//!
//! Wallets that consolidate while they pay also add unnecessary inputs, so most suspected payments are not `PayJoin`s.
//! A clustering that keeps the inputs of suspected payments apart loses these links (recall), but never merges a payee
//! with its payers (precision); the clustering finds lost links again if such wallets spend together elsewhere.
//! `tests/all/coinjoin/payjoin.rs` measures:
//!
//! | transactions of several inputs | impossible | possible | suspected |
//! |---|---|---|---|
//! | 291 of three mainnet blocks (2013 to 2017), as they are | 291 | 0 | 0 |
//! | the same with a date of today; their inputs' values are not known | 0 | 291 | 0 |
//! | the 763 of the files of joint transactions: three outputs or more | 0 | 763 | 0 |
//! | generated payments, coins taken largest first | 0 % | 100 % | 0 % |
//! | generated payments, coins taken in any order | 0 % | 9 % | 90 % |
//! | both with an input of the payee | 0 % | 37 %, 7 % | 62 %, 92 % |
//!
//! The heuristic therefore separates well for wallets that take the largest coins first, and not at all for wallets
//! that take coins in any order. No real payments with known inputs were available, nor real `PayJoin`s.

use std::collections::HashSet;

use assay_address::ChainId;
use jiff::Timestamp;

use super::era::Era;
use crate::utxo::{ScriptOwner, Transaction, TransactionKind};

/// Bustapay was proposed on 2018-08-30 (bitcoin-dev; BIP 79).
const PERIOD: Era = Era::since(2018, 8, 1);

/// Suspicion that a payment is a `PayJoin`, in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayjoinSuspicion {
    /// The chain, the time or a single owner of all inputs rules a `PayJoin` out.
    Impossible,
    /// Nothing rules a `PayJoin` out, and nothing suggests one.
    Possible,
    /// The payment has an unnecessary input.
    Suspected,
}

/// The suspicion that a transaction on `chain`, in a block of `time`, is a `PayJoin`.
///
/// Unknown owners count as different. The order of inputs and outputs makes no difference.
#[must_use]
pub fn suspicion(transaction: &Transaction, chain: ChainId, time: Timestamp) -> PayjoinSuspicion {
    let Transaction { kind, inputs, outputs, .. } = transaction;
    let funders: HashSet<&ScriptOwner> =
        transaction.spent_outputs().map(|output| &output.owner).collect();
    let unknown = inputs.iter().filter(|input| input.spent.is_none()).count();
    let ruled_out = *kind == TransactionKind::Coinbase
        || chain != ChainId::BTC
        || !PERIOD.contains(time)
        || funders.len() + unknown < 2;
    if ruled_out {
        return PayjoinSuspicion::Impossible;
    }
    match &outputs[..] {
        [one, other]
            if one.owner != other.owner
                && one.value > 0
                && other.value > 0
                && unknown == 0
                && has_unnecessary_input(transaction) =>
        {
            PayjoinSuspicion::Suspected
        }
        _ => PayjoinSuspicion::Possible,
    }
}

/// True if the inputs without the smallest input pay for the larger output and the fee, so that the smallest input is
/// not worth more than the smaller output.
fn has_unnecessary_input(transaction: &Transaction) -> bool {
    let smallest_input = transaction.spent_outputs().map(|output| output.value).min();
    let smaller_output = transaction.outputs.iter().map(|output| output.value).min();
    smallest_input <= smaller_output
}
