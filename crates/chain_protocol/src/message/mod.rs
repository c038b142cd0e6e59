//! The messages: one for each question, and one for each answer. Amounts are in base units of the chain's coin.
//!
//! Messages have their own types, so that changes in other crates change no message. Types named `...Message` are parts
//! of several messages:
//!
//! - `accounts`: limits, transfers and transactions of account chains
//! - `contracts`: dealings of accounts with contracts
//! - `blocks`: references to blocks
//! - `flows`: flows of money, patterns and activity of an address
//! - `transactions`: transactions with inputs and outputs
//! - `policy`: limits of a trace, effects of lists
//! - `identifier`: identifiers

mod accounts;
mod blocks;
mod contracts;
mod flows;
mod hex_text;
mod identifier;
mod policy;
mod transactions;

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use accounts::*;
pub use blocks::{BlockIdMessage, BlockRefMessage};
pub use contracts::*;
pub use flows::*;
pub use identifier::Identifier;
pub use policy::{
    ListEffectMessage, PatternRulesMessage, TraceRulesMessage, TransferDirectionMessage,
};
pub use transactions::*;

/// The first part of every request path: `/chain/v1/CHAIN/QUESTION`.
pub const ROOT: &str = "/chain/v1";

/// The header field with the SHA-256 of a part of a graph's copy, in hexadecimal digits.
pub const PART_DIGEST: &str = "assay-part-digest";
/// Maximum size of a part of a graph's copy, in bytes.
pub const PART_BYTES: usize = 16 << 20;

/// A question, with its path and the type of its answer.
pub trait Question: Serialize + DeserializeOwned + Send + Sync {
    /// The last part of the question's path.
    const PATH: &'static str;
    /// The type of the answer.
    type Answer: Serialize + DeserializeOwned + Send;
}

/// Implements [`Question`] for the types of questions, each with the last part of its path and its answer.
macro_rules! questions {
    ($($question:ty: $path:literal => $answer:ty,)+) => {
        $(impl Question for $question {
            const PATH: &'static str = $path;
            type Answer = $answer;
        })+
    };
}

questions! {
    TraceQuestion: "trace" => TraceAnswer,
    FlowsAtMostQuestion: "flows-at-most" => Option<TraceAnswer>,
    TransferQuestion: "transfer" => TransferAnswer,
    TransactionQuestion: "transaction" => Option<TransactionAnswer>,
    AccountTransferQuestion: "account-transfer" => AccountTransferAnswer,
    AccountTransactionQuestion: "account-transaction" => Option<AccountTransactionAnswer>,
    HistoryQuestion: "history" => Option<HistoryAnswer>,
    TimelineQuestion: "timeline" => Option<TimelineAnswer>,
    ClusterQuestion: "cluster" => ClusterAnswer,
    ChangesQuestion: "changes" => ChangesAnswer,
    BranchBlocksQuestion: "blocks" => Option<BranchBlocks>,
    CopyQuestion: "copy" => CopyAnswer,
    CopyFingerprintQuestion: "copy-fingerprint" => CopyFingerprintAnswer,
}

/// A question, with its deadline and the minimum revision of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Asked")]
pub struct RequestEnvelope<Q> {
    /// Longest time in milliseconds until the answer. The server stops its work after this time.
    pub deadline_ms: u32,
    /// The minimum revision of the data behind the answer.
    #[serde(rename = "knows")]
    pub minimum: MinimumRevision,
    /// The question.
    pub question: Q,
}

/// The minimum revision of the data behind an answer. A server with older data, or on another branch, answers `409
/// behind` at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AtLeast")]
pub struct MinimumRevision {
    /// Revision of lists and labels: the number of their changes.
    pub lists: u64,
    /// Height of the newest block.
    pub block: u64,
    /// A block that must be on the server's chain, which identifies the branch. `null` accepts any branch.
    #[serde(rename = "on", default, skip_serializing_if = "Option::is_none")]
    pub branch_block: Option<BlockIdMessage>,
}

/// The part of a risk policy that a trace depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracingPolicy {
    /// The limits of the trace.
    pub rules: TraceRulesMessage,
    /// Severity of each category, 0 to 100. A server ignores unknown categories.
    pub severities: BTreeMap<String, u8>,
    /// The effects of lists.
    pub lists: BTreeMap<Identifier, ListEffectMessage>,
}

/// `trace`: the flows of an address, its cluster, its counterparties and its possible owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceQuestion {
    /// The address, in its canonical form.
    pub address: String,
    /// The policy.
    pub policy: TracingPolicy,
    /// Time of the assessment.
    pub now: Timestamp,
}

/// `flows-at-most`: an upper bound of an address's flows, if it is known without a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowsAtMostQuestion(pub TraceQuestion);

/// The data of a chain about an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceAnswer {
    /// Revision of the lists and labels behind the answer.
    pub lists: u64,
    /// Digest of these lists and labels: another database may have the same number of changes.
    pub data_revision: String,
    /// The flows with the newest block, or the reason why no flows are available.
    pub state: ChainStateMessage,
    /// Identifies the state of the chain; `null` if the chain was not read.
    pub revision: Option<String>,
    /// The cluster of the address; `null` if clusters were not read.
    pub cluster: Option<ClusterAnswer>,
    /// The strongest counterparties of the address.
    pub counterparties: CounterpartiesAnswer,
    /// Addresses that may belong to the same owner.
    pub possible_owners: Vec<PossibleOwnerAnswer>,
    /// Freezes of the address by issuers of tokens; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freezes: Vec<FreezeMessage>,
}

/// The cluster of an address. The asking server adds the listings and labels of the addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterAnswer {
    /// Identifier: the member that appeared first on the chain.
    pub id: String,
    /// The member that identifies the cluster until a block changes it.
    pub root: String,
    /// Number of members.
    pub size: u64,
    /// Confidence that a certain co-spend connects addresses of one owner.
    pub confidence: u8,
    /// Members other than the subject.
    pub members: Vec<ClusterMemberAnswer>,
    /// Number of other members that are listed or labelled.
    pub attributed: u64,
    /// Number of other members whose listings and labels were looked up.
    pub examined: u64,
    /// Direct dealings of other members with parties on lists in force.
    #[serde(default)]
    pub dealings: ListedDealingsAnswer,
}

/// Direct dealings of other members of a cluster with listed parties outside the cluster: above dust, since the
/// listing, and of members whom certain co-spends connect with the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedDealingsAnswer {
    /// The largest dealings.
    pub largest: Vec<ListedDealingAnswer>,
    /// Number of dealings that were found.
    pub found: u64,
    /// True if the cluster has more dealings with listed parties than were examined.
    pub is_limited: bool,
}

/// A payment between a member of a cluster and a listed party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedDealingAnswer {
    /// Address of the member.
    pub member: String,
    /// The co-spends that connect the member with the subject.
    pub co_spends: Vec<CoSpendMessage>,
    /// Address of the listed party.
    pub party: String,
    /// Name of the listed party, if known.
    pub entity: Option<String>,
    /// The entry of the list that names the party.
    pub listed_by: Option<PartyListingMessage>,
    /// `source` if the member received the money, `destination` if the member sent it.
    pub direction: Identifier,
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Amount in base units.
    pub amount: u128,
}

/// Another member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterMemberAnswer {
    /// The address.
    pub address: String,
    /// The co-spends that connect the member with the subject; `null` if there are more than the search limit.
    pub co_spends: Option<Vec<CoSpendMessage>>,
}

/// The strongest counterparties of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterpartiesAnswer {
    /// The funders (first payers) and the strongest other counterparties, by amount.
    pub strongest: Vec<CounterpartyAnswer>,
    /// Number of all counterparties that were found.
    pub found: u64,
}

/// A counterparty of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterpartyAnswer {
    /// The address.
    pub address: String,
    /// True if the counterparty made the first payment to the subject.
    pub is_funder: bool,
    /// Amount that the subject received from the counterparty.
    pub received: u128,
    /// Amount that the subject sent to the counterparty.
    pub sent: u128,
    /// Amounts of each asset on an account chain; absent on other chains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_asset: Vec<CounterpartyAssetMessage>,
    /// Role of the counterparty on an account chain, such as `service_deposit`; absent if none is recognized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Identifier>,
    /// Freezes by issuers of tokens; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freezes: Vec<FreezeMessage>,
    /// Identifiers of the largest transactions between subject and counterparty, the largest first.
    pub transactions: Vec<String>,
    /// Time of the first transaction between subject and counterparty.
    pub first_seen: Timestamp,
    /// Time of the last transaction between subject and counterparty.
    pub last_seen: Timestamp,
}

/// An address that may belong to the subject's owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleOwnerAnswer {
    /// The address.
    pub address: String,
    /// Kind of the link between both addresses.
    pub by: Identifier,
    /// Confidence that one party controls both addresses.
    pub confidence: u8,
    /// Identifiers of the payments, the earliest first.
    pub transactions: Vec<String>,
    /// Time of the first payment.
    pub first_seen: Timestamp,
    /// Time of the last transaction.
    pub last_seen: Timestamp,
}

/// `transfer`: one transfer with the flows that are assessed for its direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// The outputs of the transaction that form the transfer.
    pub outputs: Outputs,
    /// Direction of the transfer from the caller's view.
    pub direction: TransferDirectionMessage,
    /// The policy.
    pub policy: TracingPolicy,
    /// Time of the assessment.
    pub now: Timestamp,
}

/// The outputs of a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outputs {
    /// One output, by its index from 0.
    Index(u32),
    /// All outputs to an address.
    Address(String),
}

/// The data of a chain about a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferAnswer {
    /// The transfer, with its flows.
    Read(Box<ReadTransfer>),
    /// The chain does not have the transaction up to its newest block.
    UnknownTransaction {
        /// Height of the newest block.
        height: u64,
        /// Time of the newest block.
        time: Timestamp,
        /// Reason for which the transaction was not read as an unconfirmed one; absent if no mempool was searched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mempool: Option<NotReadMessage>,
    },
    /// The outputs cannot be assessed as a transfer.
    Invalid(InvalidOutputs),
    /// The chain cannot be read.
    Unavailable(Identifier),
}

/// A transfer with its flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadTransfer {
    /// The transaction with its largest inputs.
    pub transaction: TransactionViewMessage,
    /// The receiver's address.
    pub receiver: String,
    /// The outputs, in order.
    pub outputs: Vec<TransferOutputMessage>,
    /// The origins of a deposit's money, or the flows of a withdrawal's receiver.
    pub traced: TraceAnswer,
    /// The destinations of a withdrawal's money; `null` for a deposit.
    pub destinations: Option<DirectionFlowsMessage>,
    /// Height of the newest known block.
    pub tip_height: u64,
    /// Properties of a transaction that no block holds yet; absent for a confirmed one. Height and time of such a
    /// transaction are those that a next block would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<UnconfirmedMessage>,
}

/// The reason why outputs cannot be assessed as a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvalidOutputs {
    /// The transaction has no output of the index; the value is the transaction's number of outputs.
    NoSuchOutput(u64),
    /// No output pays the address.
    NotPaid,
    /// The output has no address.
    NoAddress,
    /// The outputs have no value.
    NoAmount,
    /// The transaction is a coinbase, whose coins have no sender.
    Coinbase,
}

/// `transaction`: a transaction with its largest inputs and outputs; `null` if the chain does not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// Maximum number of inputs, and of outputs, in the answer: the largest by value.
    pub largest: u32,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionAnswer {
    /// The transaction with its largest inputs and outputs.
    pub transaction: TransactionViewMessage,
    /// Structural forms of the transaction, such as `consolidation`.
    pub forms: Vec<Identifier>,
}

/// `history`: the incoming and outgoing transactions of an address; `null` if the address never appeared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryQuestion {
    /// The address, in its canonical form.
    pub address: String,
    /// Maximum number of transactions in each direction: those of the largest transfers.
    pub largest: u32,
}

/// The incoming and outgoing transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryAnswer {
    /// Statistics over the address's lifetime.
    pub statistics: StatisticsMessage,
    /// The transactions that paid the address, in the order of the chain.
    pub incoming: Vec<HistoryEntry>,
    /// The transactions in which the address paid, in the order of the chain.
    pub outgoing: Vec<HistoryEntry>,
}

/// A transaction of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// The transaction.
    pub transaction: TransactionId,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Amount that the address received.
    pub received: u128,
    /// Amount that the address spent.
    pub sent: u128,
}

/// `timeline`: the payments of an address by asset and week; `null` if the address never appeared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineQuestion {
    /// The address, in its canonical form.
    pub address: String,
}

/// The payments of an address by asset and week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineAnswer {
    /// The assets, those with most transfers first.
    pub assets: Vec<AssetTimelineMessage>,
    /// Number of the oldest payments, which were not read.
    pub left_out: u64,
}

/// The payments of an address in one asset. Amounts are in base units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssetTimelineMessage {
    /// The asset's ticker.
    pub asset: String,
    /// Total received. The weeks sum to less if only the largest transfers were read.
    pub received: u128,
    /// Total sent, fees included.
    pub sent: u128,
    /// Weeks with a transfer, the earliest first.
    pub weeks: Vec<WeekAmountsMessage>,
}

/// The payments of one week, which begins on a Monday at midnight, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WeekAmountsMessage {
    /// The Monday.
    pub monday: Date,
    /// Received.
    pub received: u128,
    /// Sent, fees included.
    pub sent: u128,
    /// Number of transfers in both directions.
    pub transfers: u64,
}

/// `cluster`: the cluster of an address, as in the answer to `trace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterQuestion {
    /// The address, in its canonical form.
    pub address: String,
}

/// `changes`: the addresses whose answers changed with the blocks after a known block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesQuestion {
    /// The newest block that the asking server knows; `null` if that server knows no blocks.
    pub since: Option<BlockRefMessage>,
}

/// The addresses in the blocks after a known block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesAnswer {
    /// The newest block; `null` if the chain has no blocks.
    pub newest: Option<BlockRefMessage>,
    /// The addresses in the later blocks, and the roots of the clusters that these blocks changed. `null` if answers
    /// about any address may have changed: the known block is not on the chain any more, or the addresses are too many.
    pub addresses: Option<Vec<String>>,
}

/// Maximum number of heights in a question for blocks.
pub const BRANCH_BLOCKS: usize = 256;

/// `blocks`: the blocks at some heights of the branch up to a block, for the comparison of servers' branches. The
/// answer is `null` if the last block of the branch is not on the chain any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchBlocksQuestion {
    /// The last block of the branch.
    pub newest: BlockIdMessage,
    /// The heights, at most 256. The answer leaves out heights that the server does not have.
    pub heights: Vec<u64>,
}

/// Blocks of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchBlocks {
    /// The blocks, by height.
    pub blocks: Vec<BranchBlock>,
}

/// A block of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchBlock {
    /// The block.
    pub block: BlockRefMessage,
    /// Work of the blocks above the block, up to the last block of the branch: the expected number of hashes for their
    /// targets. `null` if the work is not known.
    pub work_above: Option<u128>,
}

/// `copy`: holds the newest state of the graph for another server to copy, or looks up a held state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyQuestion {
    /// The name of a state that was held earlier; `null` to hold the newest state.
    pub held: Option<String>,
}

/// A held state of the graph. The server releases the state some minutes after the last question for the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyAnswer {
    /// Name of the state.
    pub held: String,
    /// Size of the state in bytes.
    pub bytes: u64,
    /// Newest block of the state.
    pub newest: BlockRefMessage,
}

/// `copy-part`: the next bytes of a held state. The answer is bytes, with their digest in a header field, and no bytes
/// at the end of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyPartQuestion {
    /// The name of the state.
    pub held: String,
    /// Offset in the state, in bytes.
    pub offset: u64,
}

impl CopyPartQuestion {
    /// The last part of the question's path.
    pub const PATH: &'static str = "copy-part";
}

/// `copy-fingerprint`: the fingerprint of a held state, for which the server reads the whole graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyFingerprintQuestion {
    /// The name of the state.
    pub held: String,
}

/// The fingerprint of a held state. States with equal blocks, transactions and clusters have equal fingerprints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyFingerprintAnswer {
    /// SHA-256 in hexadecimal digits.
    pub fingerprint: String,
}

/// `state` (a GET request): the state of one chain on a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerState {
    /// Release of the server.
    pub release: String,
    /// Revision of the server's lists and labels.
    pub lists: u64,
    /// The server's newest block; `null` without blocks.
    pub newest: Option<NewestBlock>,
    /// Bytes of the graph on disk.
    pub bytes: u64,
    /// Blocks recorded per second in the last minute; `null` if the server does not follow the chain.
    pub blocks_per_second: Option<f64>,
    /// Height of the source's newest block, as of the last recorded block; `null` if the server does not follow the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_height: Option<u64>,
    /// True if the server is about to stop.
    pub is_draining: bool,
    /// Number of running traces.
    pub traces: u32,
    /// True if the server answers the question `blocks`.
    #[serde(default)]
    pub answers_blocks: bool,
    /// The source's branch, if the server refuses it because the branches differ in more blocks than a reorganization
    /// replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_branch: Option<RefusedBranchMessage>,
    /// The problem that keeps the server from following its source; `null` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_problem: Option<SourceProblemMessage>,
    /// True if the graph lacks transfers inside of transactions, because a source does not state them.
    #[serde(default)]
    pub lacks_internal_transfers: bool,
    /// The error of the newest question that the graph failed to answer, for ten minutes after the question; `null`
    /// without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_problem: Option<String>,
}

/// A problem with a server's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SourceProblem")]
pub struct SourceProblemMessage {
    /// Time at which it was found.
    pub at: Timestamp,
    /// Its kind.
    pub kind: SourceProblemKindMessage,
    /// Description of the problem.
    pub text: String,
}

/// Kinds of problems with a server's source.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SourceProblemKind")]
pub enum SourceProblemKindMessage {
    /// The source serves another chain, or a test network.
    OtherNetwork,
    /// The source refuses the credentials, or they must not be sent to it.
    CredentialsRefused,
    /// The source does not answer.
    Unreachable,
    /// The source lacks the next blocks, which it had once.
    Pruned,
    /// The source has fewer blocks than the graph.
    Behind,
    /// The source is on a branch that is not followed until it is accepted.
    BranchRefused,
    /// Any other failure.
    #[serde(other)]
    Failed,
}

/// A branch of a server's source that the server does not follow until its operator accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RefusedBranch")]
pub struct RefusedBranchMessage {
    /// Height of the last block that the source and the server have in common; `null` if no block that the server can
    /// roll back to is common.
    pub last_common: Option<u64>,
    /// The source's newest block.
    pub newest: BlockIdMessage,
}

/// The newest block of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewestBlock {
    /// The block.
    pub block: BlockRefMessage,
    /// Time at which the server's source last confirmed the block as the newest.
    pub verified_at: Timestamp,
    /// Height of the graph's first block.
    pub start: u64,
    /// True if the graph holds demo data.
    pub sample: bool,
}

/// An error answer: the server refused the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub struct RefusedQuestion {
    /// The reason.
    pub code: RefusalCode,
    /// The reason in words.
    pub detail: String,
}

/// The reason why a server refused a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// 401: the token is missing or not valid.
    Unauthorized,
    /// 404: the server has no graph of the chain, or the question is unknown.
    NotFound,
    /// 400: the message cannot be read.
    Invalid,
    /// 409: the server's lists, labels or blocks are older than the question's minimum revision, or its blocks are on
    /// another branch.
    Behind,
    /// 503, with `Retry-After`: the maximum number of traces is running.
    Busy,
    /// 504: the deadline passed.
    DeadlineExceeded,
    /// 500: the graph cannot be read.
    Failed,
}

impl RefusalCode {
    /// The refusal code as text, as messages have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::Invalid => "invalid",
            Self::Behind => "behind",
            Self::Busy => "busy",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Failed => "failed",
        }
    }
}
