//! The part of an answer about one transfer.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Amount, Exposure};
use crate::{taxonomy::Category, transfer::TransferDirection};

/// A transfer that was assessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedTransfer {
    /// Identifier of the transaction; null for a withdrawal that is not sent yet.
    pub transaction: Option<String>,
    /// Direction of the transfer.
    pub direction: TransferDirection,
    /// The transfer on an account chain; left out on chains of outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AssessedAccountTransfer>,
    /// The withdrawal that is not sent yet; left out of other transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<AssessedPlan>,
    /// Outputs of the transaction that make up the transfer, in order: at most 100. None on an account chain.
    pub outputs: Vec<AssessedOutput>,
    /// Number of the outputs.
    pub outputs_count: u64,
    /// Total of the outputs, or the amount of an account chain's transfer.
    pub amount: Amount,
    /// Status of the transaction.
    pub status: TransferStatus,
    /// Number of known blocks from the transaction's block on, including that block; 0 without a block.
    pub confirmations: u64,
    /// Height of the transaction's block; null if no block holds the transaction.
    pub block_height: Option<u64>,
    /// Time of the transaction's block; null if no block holds the transaction.
    pub block_time: Option<Timestamp>,
    /// Owners of the transaction's inputs, or accounts whose money the transfer was, those with the largest amounts first: at
    /// most 100. Of a withdrawal that is not sent yet, the sender that the request names.
    pub senders: Vec<Sender>,
    /// Number of owners that were read.
    pub senders_count: u64,
    /// Funds from which `exposure` and the score are computed.
    pub basis: TransferBasis,
    /// Destinations of the funds of this transfer; for withdrawals only. Shares sum exactly to 1.
    pub destinations: Vec<Exposure>,
}

/// Transfer of an account chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedAccountTransfer {
    /// Asset: `native` or the address of the token's contract.
    pub asset: String,
    /// Place in the transaction, such as `log 12`, `trace 0,1`, or `index 3` where the source states only the order.
    pub place: String,
    /// Payer of the transfer; null for new units. `senders` holds the accounts whose money it was.
    pub from: Option<String>,
    /// Receiver of the transfer.
    pub to: String,
    /// Account that sent the transaction; null where it is not known.
    pub initiator: Option<String>,
}

/// Withdrawal that is not sent yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedPlan {
    /// Asset: `native`, the address of the token's contract, or the text of the request on a chain whose tokens are not
    /// known.
    pub asset: String,
    /// Sender that the request names; null if it names none.
    pub from: Option<String>,
    /// Receiver of the withdrawal.
    pub to: String,
}

/// Output of an assessed transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedOutput {
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
    /// Amount of the output.
    pub amount: Amount,
}

/// Owner of inputs of an assessed transfer's transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sender {
    /// Address in canonical form; null for a script or a pool without an address.
    pub address: Option<String>,
    /// Total of the owner's inputs.
    pub amount: Amount,
    /// Category of the party to which a listing or a strong label attributes the owner; null otherwise.
    pub category: Option<Category>,
    /// Name of the party, where known.
    pub entity: Option<String>,
    /// True if the party is on a list in force.
    pub listed: bool,
}

/// Status of an assessed transfer's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferStatus {
    /// A block holds the transaction.
    Confirmed,
    /// The transaction is in the mempool of a node, and no block holds it yet.
    Unconfirmed,
    /// The withdrawal is not sent yet.
    Planned,
}

/// Funds on which the assessment of a transfer is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferBasis {
    /// The origins of this transfer's funds alone: every deposit.
    Origins,
    /// All funds that the receiver received and sent: a withdrawal that is assessed like its receiver.
    Receiver,
    /// All funds that the receiver received, and the destinations of this transfer's funds alone: a
    /// withdrawal whose own funds went to riskier destinations than the receiver's funds together.
    Destinations,
    /// All funds that the receiver received and sent, and rules of the policy that the payment itself meets: a
    /// withdrawal that is not sent yet.
    Payment,
}
