//! Transactions with inputs and outputs.

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

/// A transaction with the totals of its inputs and outputs, and the largest entries on the requested sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionViewMessage {
    /// Identifier.
    pub txid: TransactionId,
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKindMessage,
    /// The outputs that the transaction spends.
    pub inputs: TransactionSideMessage,
    /// The outputs that the transaction creates.
    pub outputs: TransactionSideMessage,
}

/// Properties of a transaction that no block holds yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnconfirmedMessage {
    /// Number of unconfirmed transactions whose outputs it spends, directly or through others.
    pub ancestors: u32,
    /// True if the transaction, or one of these, signals that it may be replaced (BIP 125).
    pub signals_replacement: bool,
}

/// Reason for which a transaction was not read from a mempool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotReadMessage {
    /// The node does not have the transaction.
    Absent,
    /// A block of the node holds the transaction, and the graph does not have that block yet.
    InNewerBlock,
    /// The node did not answer, or its answer is invalid.
    Unreadable,
    /// The transaction spends outputs of more unconfirmed transactions than are read.
    TooManyAncestors,
    /// An output that the transaction or an ancestor spends is in no recorded block and in no mempool.
    UnknownOutput(OutPointMessage),
    /// A recorded transaction spends the same output.
    DoubleSpend(DoubleSpendMessage),
}

/// An output that an unconfirmed and a recorded transaction spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoubleSpendMessage {
    /// The output.
    pub output: OutPointMessage,
    /// The recorded transaction.
    pub spent_by: TransactionId,
}

/// Kind of a transaction, which decides whether a trace ends there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionKindMessage {
    /// A payment: any transaction of no other kind.
    Payment,
    /// A coinbase, which creates new coins and has no inputs.
    Coinbase,
    /// A CoinJoin, in which several parties hide who paid whom.
    Coinjoin(Identifier),
}

/// One side of a transaction: its inputs, or its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionSideMessage {
    /// The largest entries by value, then by index, up to the requested number; empty if the side was not requested.
    pub largest: Vec<SideEntryMessage>,
    /// Number of all entries, also those of unknown value.
    pub count: u64,
    /// Total value of all entries in base units, `unknown` included.
    pub total: u128,
    /// Minimum total value of inputs of unknown value, in base units. Inputs of unknown value spend outputs from before
    /// the first recorded block. The minimum is at most `total`, and 0 for outputs.
    pub unknown: u128,
}

/// An entry on one side of a transaction: an output that the transaction spends or creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideEntryMessage {
    /// Index on the side, from 0: the index of the input or of the output.
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

/// An output: an amount and the owner who can spend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TxOutMessage {
    /// Owner of the output's script.
    pub owner: ScriptOwnerMessage,
    /// Amount in base units.
    pub value: u64,
}

/// The owner of an output: the key or script that can spend it. A key that is paid by itself (P2PK) and by
/// its hash (P2PKH) is one owner: the same key spends both.
///
/// Owners are ordered by their bytes, which are the same on every machine and in every store.
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
    /// The SHA-256 of a script without an address: bare multisig, and others.
    Script(
        #[serde(with = "hex_text")]
        #[schemars(with = "String")]
        [u8; 32],
    ),
    /// The SHA-256 of a script that no input can unlock, such as `OP_RETURN` with data.
    Unspendable(
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

/// A transaction that spends outputs of two members of a cluster together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoSpendMessage {
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// True if one party must have made the transaction: it cannot be a `PayJoin` or the like.
    pub is_conclusive: bool,
    /// A second transaction that spends outputs of the same two members' clusters together.
    pub confirmed_by: Option<String>,
}

/// Statistics of an address over its lifetime. Amounts are in base units, net of the change of each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatisticsMessage {
    /// Time of the first block with a transaction of the address.
    pub first_seen: Timestamp,
    /// Time of the last block with a transaction of the address.
    pub last_seen: Timestamp,
    /// Number of transactions in which the address received more than it sent.
    pub transactions_in: u64,
    /// Number of transactions in which the address sent more than it received.
    pub transactions_out: u64,
    /// Total received.
    pub received: u128,
    /// Total that the address sent, fees included. `received - sent` is the balance.
    pub sent: u128,
}
