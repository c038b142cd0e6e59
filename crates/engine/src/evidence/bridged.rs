//! Receipts from bridges, and the deposits on other chains to which they were joined (`docs/model/accounts.md` B18).

use assay_address::ChainId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Receipts of a subject on an account chain from bridges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgedReceipts {
    /// Number of the receipts that were read one by one.
    pub receipts: u64,
    /// The other chains on which deposits were searched.
    pub searched: Vec<ChainId>,
    /// The receipts that were joined to a deposit, in the order of the chain.
    pub joined: Vec<JoinedReceipt>,
}

/// A receipt from a bridge that was joined to its deposit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedReceipt {
    /// Name of the bridge that paid, if known.
    pub bridge: Option<String>,
    /// The ground on which both were joined.
    pub by: JoinedBy,
    /// The payout to the subject.
    pub payout: BridgeTransaction,
    /// The deposit.
    pub deposit: BridgeTransaction,
}

/// The ground on which a payout of a bridge was joined to its deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinedBy {
    /// Bridges logged the same message in both transactions.
    Message,
    /// The same address, asset and amount at the time, of which no other pair is possible.
    Amount,
}

impl JoinedBy {
    /// Every ground.
    pub const ALL: [Self; 2] = [Self::Message, Self::Amount];
}

/// A payment into or out of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeTransaction {
    /// The chain.
    pub blockchain: ChainId,
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of its block.
    pub time: Timestamp,
    /// Amount in whole units of the asset, as a decimal number.
    pub amount: String,
    /// Ticker of the asset.
    pub asset: String,
}
