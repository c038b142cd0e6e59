//! Transactions with their inputs and outputs.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Identifier, hex_text};

/// The identifier of a transaction, in the byte order in which it is displayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TransactionId(
    #[serde(with = "hex_text")]
    #[schemars(with = "String")]
    pub [u8; 32],
);

impl fmt::Display for TransactionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A transaction with the totals of both sides and the largest entries of those that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionViewMessage {
    /// Identifier.
    pub txid: TransactionId,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKindMessage,
    /// The outputs that it spends.
    pub inputs: TransactionSideMessage,
    /// The outputs that it creates.
    pub outputs: TransactionSideMessage,
}

/// Kind of a transaction, as far as it decides the endpoint of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionKindMessage {
    /// A payment: anything that is none of the others.
    Payment,
    /// A coinbase: it creates new coins and has no inputs.
    Coinbase,
    /// A coinjoin: several parties hide their payments to one another.
    Coinjoin(Identifier),
}

/// One side of a transaction: its inputs, or its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionSideMessage {
    /// The largest entries, by value, then by index: all known ones unless there are more than were
    /// asked for; none where the side was not asked for.
    pub largest: Vec<SideEntryMessage>,
    /// The number of entries, known or not.
    pub count: u64,
    /// All entries' total in base units, `unknown` included.
    pub total: u128,
    /// The least that inputs of unknown value are worth together, in base units: those that spend outputs
    /// from before the first recorded block. At most `total`; 0 for outputs.
    pub unknown: u128,
}

/// An entry on one side of a transaction: an output that it spends or creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideEntryMessage {
    /// Index on this side, from 0: for a spent output the index of the input.
    pub index: u32,
    /// The output's outpoint.
    pub outpoint: OutPointMessage,
    /// The output.
    pub output: TxOutMessage,
}

/// An outpoint: the identifier of an output by its transaction and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutPointMessage {
    /// Transaction that created the output.
    pub txid: TransactionId,
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
}

/// An output: an amount and who can spend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TxOutMessage {
    /// Owner of its script.
    pub owner: ScriptOwnerMessage,
    /// Amount in base units.
    pub value: u64,
}

/// The owner of an output: the key or script that can spend it. A key that is paid by itself (P2PK) and by
/// its hash (P2PKH) is one owner: the same key spends both.
///
/// Ordered by its bytes, which are the same on every machine and in every store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptOwnerMessage {
    /// The hash of a public key.
    KeyHash(
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        [u8; 20],
    ),
    /// The hash of a script.
    ScriptHash(
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        [u8; 20],
    ),
    /// The double SHA-256 of a script (Bitcoin Cash).
    LongScriptHash(
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        [u8; 32],
    ),
    /// A witness program.
    Witness(
        u8,
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        Vec<u8>,
    ),
    /// The SHA-256 of a script without an address: bare multisig, `OP_RETURN`, and others.
    Script(
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        [u8; 32],
    ),
    /// A shielded pool.
    Pool(Identifier),
}

/// An output of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferOutputMessage {
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
    /// Amount in base units.
    pub value: u64,
}

/// A transaction that spends outputs of two members together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoSpendMessage {
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of its block.
    pub time: Timestamp,
    /// True if the transaction cannot be one of several parties, such as a `PayJoin`.
    pub is_conclusive: bool,
    /// A second transaction that spends addresses of both sides together.
    pub confirmed_by: Option<String>,
}

/// Statistics of an address over its lifetime. Amounts are in base units and net of change
/// ([`change`]), transaction by transaction: change is no income.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsMessage {
    /// Time of the first block with one of its transactions.
    pub first_seen: Timestamp,
    /// Time of the last one.
    pub last_seen: Timestamp,
    /// Number of transactions by which it received anything, net.
    pub transactions_in: u64,
    /// Number of transactions by which it sent anything, net.
    pub transactions_out: u64,
    /// Total received.
    pub received: u128,
    /// Total sent, fees included. `received - sent` is its balance.
    pub sent: u128,
}
