//! One transfer as the subject of an assessment.
//!
//! A deposit is assessed by the origins of its own funds. The receiving address is the caller's own, so its history and
//! labels do not count; a listing of the address does, because no rule weakens a listing. A withdrawal is assessed by
//! its receiver, or by the destinations of its own funds if these are riskier.

use assay_address::ChainId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::DirectionFlows,
    facts::Facts,
    trace::AttributedEnd,
    utxo::{OutputSelector, Transfer, Txid},
};

/// Direction of a transfer, as the caller sees it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// Funds come to the caller.
    Deposit,
    /// Funds go out from the caller.
    Withdrawal,
}

impl TransferDirection {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
        }
    }
}

/// A request to assess one transfer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransferQuery {
    /// The blockchain.
    pub chain: ChainId,
    /// The transaction.
    pub txid: Txid,
    /// Selection of the transaction's outputs that make up the transfer.
    pub selector: OutputSelector,
    /// The direction.
    pub direction: TransferDirection,
}

/// The facts about a transfer, gathered before the transfer is assessed.
#[derive(Clone, Debug)]
pub struct TransferFacts {
    /// The direction.
    pub direction: TransferDirection,
    /// The outputs with their transaction.
    pub transfer: Transfer,
    /// Attributions of [`Transfer::senders`], in the same order.
    pub senders: Vec<Option<AttributedEnd>>,
    /// The facts about the receiver. For a deposit, the facts hold only the receiver's listings, and the origins of
    /// this transfer's funds as the flows.
    pub receiver: Facts,
    /// The destinations of this transfer's funds, for a withdrawal.
    pub destinations: Option<DirectionFlows>,
    /// Height of the newest known block.
    pub tip_height: u64,
}
