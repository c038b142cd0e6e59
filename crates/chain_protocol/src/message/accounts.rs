//! Account chains: the limits of an account's flows, one transfer with its flows, and one transaction.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DirectionFlowsMessage, ExcessMoneyMessage, Identifier, TraceAnswer, TracingPolicy,
    TransactionId, TransferDirectionMessage, hex_text,
};

/// The 20 bytes of an account or contract, without the form in which a chain writes the address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AccountMessage(
    #[serde(with = "hex_text")]
    #[schemars(with = "String")]
    pub [u8; 20],
);

impl fmt::Debug for AccountMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

/// An asset within one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetMessage {
    /// The chain's coin.
    Native,
    /// A token, by its contract.
    Token(AccountMessage),
    /// A token without a contract (TRC-10), by its number.
    Numbered(u32),
}

/// The place of a transfer that explorers show too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedPlaceMessage {
    /// Index of the event log, within its block.
    Log(u32),
    /// Address of the call trace, such as `0,1`, or its index.
    Trace(String),
}

/// The place of a transfer in its transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferPlaceMessage {
    /// Orders the transfers of the transaction.
    pub index: u32,
    /// The place as the source publishes it; `null` if the source states only the order.
    pub published: Option<PublishedPlaceMessage>,
}

/// Limits of the flows of an account.
#[expect(clippy::struct_excessive_bools, reason = "each limit is told by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccountLimitsMessage {
    /// True if the subject paid out money of which the records do not tell where it came from.
    pub has_unrecorded_money: bool,
    /// True if native coins may have come to the subject by transfers inside of transactions, of which not all are
    /// recorded.
    pub may_lack_internal_transfers: bool,
    /// Tickers of the assets of which the subject's ledgers hold more than a node of the chain says it has.
    pub exceeding_ledgers: Vec<String>,
    /// Tickers of the assets that have no price of the day for some of the subject's payments above dust.
    pub unpriced: Vec<String>,
    /// Tickers of the assets whose price was carried from an earlier day, with the most days.
    pub carried_prices: Vec<(String, u8)>,
    /// True if the subject has too many payments for sums that went round with a counterparty to be left out.
    pub is_whole_not_netted: bool,
    /// True if the sender of each transaction is recorded.
    pub has_initiators: bool,
    /// Received money that contracts paid beyond what anybody is known to have put in for the subject, by unit.
    pub excess: Vec<ExcessMoneyMessage>,
    /// Money that parties which harm payers got in transactions that the subject did not send.
    pub taken: Vec<TakenFundsMessage>,
    /// Number of the subject's older payments, of which sums were read.
    pub summed_payments: u64,
    /// Number of the subject's oldest payments, which were not read.
    pub unread_payments: u64,
    /// Tickers of scored assets that tokens of other contracts bear in the subject's history.
    pub lookalike_tokens: Vec<String>,
    /// Accounts that sent the subject worthless transfers and look like its counterparties.
    pub lookalike_accounts: Vec<LookalikeAccountMessage>,
    /// Number of the subject's transfers of tokens whose money is not followed, among the newest ones.
    pub other_tokens: u64,
    /// Receipts from bridges, with those that were joined to deposits on other chains.
    pub bridged: BridgedReceiptsMessage,
}

/// Receipts of a subject from bridges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BridgedReceiptsMessage {
    /// Number of the receipts that were read one by one.
    pub receipts: u64,
    /// The other chains on which deposits were searched.
    pub searched: Vec<Identifier>,
    /// The receipts that were joined to a deposit, in the order of the chain.
    pub joined: Vec<JoinedReceiptMessage>,
}

/// A receipt from a bridge that was joined to its deposit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JoinedReceiptMessage {
    /// Name of the bridge that paid; null if it is not known.
    pub bridge: Option<String>,
    /// The ground on which both were joined: `message` or `amount`.
    #[serde(default = "by_amount")]
    pub by: Identifier,
    /// The payout to the subject.
    pub payout: BridgeTransactionMessage,
    /// The deposit.
    pub deposit: BridgeTransactionMessage,
}

/// The only ground before there were others.
fn by_amount() -> Identifier {
    Identifier("amount".to_owned())
}

/// A payment into or out of a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BridgeTransactionMessage {
    /// The chain.
    pub blockchain: Identifier,
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of its block.
    pub time: Timestamp,
    /// Amount in whole units of the asset, as a decimal number.
    pub amount: String,
    /// Ticker of the asset.
    pub asset: String,
}

/// Money of a subject that a party which harms payers got directly, in transactions that the subject did not send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenFundsMessage {
    /// Category of the party.
    pub category: Identifier,
    /// Name of the party, if known.
    pub entity: Option<String>,
    /// Strength of the party's attribution.
    pub tier: Identifier,
    /// Confidence of the party's attribution, in percent.
    pub confidence: u8,
    /// Sum, in the unit as it is shown.
    pub amount: u128,
    /// Name of the unit.
    pub unit: String,
    /// Decimals of the unit.
    pub decimals: u8,
    /// Identifiers of the largest transactions.
    pub transactions: Vec<String>,
}

/// An account that looks like a counterparty of the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LookalikeAccountMessage {
    /// Address of the account.
    pub address: String,
    /// Address of the counterparty that it looks like.
    pub of: String,
    /// True if the subject paid the account more than dust.
    pub is_paid: bool,
    /// Identifiers of the first transactions of its worthless transfers.
    pub transactions: Vec<String>,
}

/// Amounts of one asset between a subject and a counterparty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterpartyAssetMessage {
    /// The asset's ticker.
    pub asset: String,
    /// Amount that the subject received, in base units.
    pub received: u128,
    /// Amount that the subject sent, in base units.
    pub sent: u128,
}

/// A period in which the issuer of a token froze an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreezeMessage {
    /// The token.
    pub asset: AssetMessage,
    /// The transaction that froze the account, or the first record of the freeze.
    pub frozen: FreezeMomentMessage,
    /// The last transaction that destroyed the frozen funds; `null` if none did.
    pub destroyed: Option<FreezeMomentMessage>,
    /// The transaction that ended the freeze; `null` while it is in force.
    pub lifted: Option<FreezeMomentMessage>,
}

/// A transaction that changed a freeze.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreezeMomentMessage {
    /// The transaction.
    pub transaction: TransactionId,
    /// Time of its block.
    pub time: Timestamp,
}

/// `account-transfer`: one transfer of an account chain, with the flows that are assessed for its direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountTransferQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// Place of the transfer; `null` for a transfer that its receiver names, or the only one of the transaction.
    pub place: Option<PublishedPlaceMessage>,
    /// Address of the receiver; `null` for a transfer that its place names, or the only one of the transaction.
    pub receiver: Option<String>,
    /// Direction of the transfer from the caller's view.
    pub direction: TransferDirectionMessage,
    /// The policy.
    pub policy: TracingPolicy,
    /// Time of the assessment.
    pub now: Timestamp,
}

/// The data of an account chain about a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountTransferAnswer {
    /// The transfer, with its flows.
    Read(Box<ReadAccountTransfer>),
    /// The chain does not have the transaction up to its newest block.
    UnknownTransaction {
        /// Height of the newest block.
        height: u64,
        /// Time of the newest block.
        time: Timestamp,
    },
    /// The transfer cannot be assessed.
    Invalid(InvalidAccountTransferMessage),
    /// The chain cannot be read.
    Unavailable(Identifier),
}

/// A transfer of an account chain with its flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadAccountTransfer {
    /// The transfer.
    pub transfer: AccountTransferMessage,
    /// The accounts whose money it was, the largest sums first.
    pub senders: Vec<TransferSenderMessage>,
    /// Asset in which the money is assessed; `null` for US dollars of the day.
    pub unit: Option<AssetMessage>,
    /// The origins of a deposit's money, or the flows of a withdrawal's receiver.
    pub traced: TraceAnswer,
    /// The destinations of a withdrawal's money; `null` for a deposit, and for money that ends at the receiver.
    pub destinations: Option<DirectionFlowsMessage>,
    /// Height of the newest known block.
    pub tip_height: u64,
}

/// A transfer of a followed asset to an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountTransferMessage {
    /// Identifier of the transaction.
    pub transaction: TransactionId,
    /// Height of the block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Address of the account that sent the transaction, if known.
    pub initiator: Option<String>,
    /// The asset.
    pub asset: AssetMessage,
    /// Amount in base units.
    pub amount: u128,
    /// Address of the payer; `null` for new units.
    pub payer: Option<String>,
    /// Address of the receiver.
    pub receiver: String,
    /// Place in the transaction.
    pub place: TransferPlaceMessage,
}

/// An account whose money a transfer was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSenderMessage {
    /// The account; `null` for new units.
    pub account: Option<AccountMessage>,
    /// Amount in base units.
    pub amount: u128,
}

/// The reason why a transfer cannot be assessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvalidAccountTransferMessage {
    /// The question names several transfers.
    Several(ChoicesMessage),
    /// The transaction has no transfer at the place, but these.
    NoSuchPlace(ChoicesMessage),
    /// No transfer pays the receiver.
    NotPaid,
    /// The transaction only paid fees.
    NoTransfer,
    /// The amount is zero, or the payer is the receiver.
    MovesNothing,
    /// The asset is not followed: `native`, the address of a contract or a number.
    NotFollowed(String),
    /// The amount has more than 128 bits.
    TooLarge,
    /// The units are destroyed.
    Destroyed,
    /// The transaction as a whole pays the receiver nothing of the asset.
    GivenBack,
}

/// Transfers of a transaction, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoicesMessage {
    /// The first transfers.
    pub listed: Vec<String>,
    /// Number of further transfers.
    pub more: u64,
}

/// `account-transaction`: a transaction of an account chain with its transfers, and the payments as which it is booked;
/// `null` if the chain does not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountTransactionQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// Maximum number of transfers, and of payments, in the answer: the first ones.
    pub most: u32,
}

/// A transaction of an account chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountTransactionAnswer {
    /// Identifier.
    pub transaction: TransactionId,
    /// Height of the block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// The account that sent the transaction, if known.
    pub initiator: Option<AccountMessage>,
    /// The first transfers, in the order of the transaction.
    pub transfers: Vec<TransferMessage>,
    /// Number of all transfers.
    pub transfers_count: u64,
    /// The first payments as which the transaction is booked.
    pub payments: Vec<BookedPaymentMessage>,
}

/// A transfer of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferMessage {
    /// Kind, such as `transfer` or `fee`.
    pub kind: Identifier,
    /// The asset.
    pub asset: AssetMessage,
    /// The payer; zeros for new units.
    pub from: AccountMessage,
    /// The receiver; zeros for destroyed units.
    pub to: AccountMessage,
    /// Amount in base units, up to 256 bits, as a decimal string.
    pub amount: String,
    /// Place in the transaction.
    pub place: TransferPlaceMessage,
}

/// A payment as which a transaction is booked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BookedPaymentMessage {
    /// The payer; `null` for new units.
    pub from: Option<AccountMessage>,
    /// The receiver; `null` for destroyed units.
    pub to: Option<AccountMessage>,
    /// The asset.
    pub asset: AssetMessage,
    /// Amount in base units.
    pub amount: u128,
}
