//! The messages: one for each question, and one for each answer. Amounts are in base units of the chain's coin.
//!
//! They are types of their own, so that a change elsewhere changes no message. Types named `...Message` are parts of
//! several messages:
//!
//! - `blocks`: references to blocks
//! - `flows`: flows of money, patterns and activity of an address
//! - `transactions`: transactions with their inputs and outputs
//! - `policy`: limits of a trace, effects of lists
//! - `identifier`: identifiers

mod blocks;
mod flows;
mod hex_text;
mod identifier;
mod policy;
mod transactions;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use blocks::{BlockIdMessage, BlockRefMessage};
pub use flows::*;
pub use identifier::Identifier;
pub use policy::{
    ListEffectMessage, PatternRulesMessage, TraceRulesMessage, TransferDirectionMessage,
};
pub use transactions::*;

/// The first part of every path: `/chain/v1/CHAIN/QUESTION`.
pub const ROOT: &str = "/chain/v1";

/// The header field with the SHA-256 of a part of a copy, in hexadecimal digits.
pub const PART_DIGEST: &str = "assay-part-digest";
/// The most bytes of a part of a copy.
pub const PART_BYTES: usize = 16 << 20;

/// A kind of question, with the form of its answer.
pub trait Question: Serialize + DeserializeOwned + Send + Sync {
    /// The last part of its path.
    const PATH: &'static str;
    /// The answer.
    type Answer: Serialize + DeserializeOwned + Send;
}

/// The questions, each with the last part of its path and its answer.
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
    HistoryQuestion: "history" => Option<HistoryAnswer>,
    ClusterQuestion: "cluster" => ClusterAnswer,
    ChangesQuestion: "changes" => ChangesAnswer,
    BranchBlocksQuestion: "blocks" => Option<BranchBlocks>,
    CopyQuestion: "copy" => CopyAnswer,
    CopyFingerprintQuestion: "copy-fingerprint" => CopyFingerprintAnswer,
}

/// A question, with what its answer must rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Asked")]
pub struct RequestEnvelope<Q> {
    /// Longest time in milliseconds until the answer. Work on it ends then.
    pub deadline_ms: u32,
    /// What the answer must know.
    #[serde(rename = "knows")]
    pub minimum: MinimumRevision,
    /// The question.
    pub question: Q,
}

/// What an answer must know. A server that knows less, or that is on another branch, answers `409 behind` at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AtLeast")]
pub struct MinimumRevision {
    /// Revision of lists and labels: their number of changes.
    pub lists: u64,
    /// Height of the newest block.
    pub block: u64,
    /// A block that is on the server's chain: the branch that counts. `null` for any chain.
    #[serde(rename = "on", default, skip_serializing_if = "Option::is_none")]
    pub branch_block: Option<BlockIdMessage>,
}

/// The part of a risk policy that a trace depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracingPolicy {
    /// The limits of the trace.
    pub rules: TraceRulesMessage,
    /// The severity of each category, 0 to 100. Those that a server does not know are ignored.
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
    /// The moment of the assessment.
    pub now: Timestamp,
}

/// `flows-at-most`: the flows of an address at their largest weight, if they are known without a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowsAtMostQuestion(pub TraceQuestion);

/// What a chain tells about an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceAnswer {
    /// Revision of the lists and labels that the answer rests on.
    pub lists: u64,
    /// Names these lists and labels by their content: another database may have as many changes.
    pub data_revision: String,
    /// The flows with the newest block, or the reason why there are none.
    pub state: ChainStateMessage,
    /// Identifies the state of the chain; `null` if the chain was not read.
    pub revision: Option<String>,
    /// The cluster of the address; `null` if clusters were not read.
    pub cluster: Option<ClusterAnswer>,
    /// Its strongest counterparties.
    pub counterparties: CounterpartiesAnswer,
    /// Addresses that may be of its owner.
    pub possible_owners: Vec<PossibleOwnerAnswer>,
}

/// The cluster of an address. Listings and labels are those that the asking server knows of the addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterAnswer {
    /// Identifier: the member that appeared first on the chain.
    pub id: String,
    /// The member that identifies the cluster until a block changes it.
    pub root: String,
    /// Number of its members.
    pub size: u64,
    /// Confidence that a certain co-spend connects addresses of one owner.
    pub confidence: u8,
    /// Members other than the subject.
    pub members: Vec<ClusterMemberAnswer>,
    /// Number of other members that are listed or labelled.
    pub attributed: u64,
    /// Number of those whose listings and labels were looked up.
    pub examined: u64,
}

/// Another member of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterMemberAnswer {
    /// Its address.
    pub address: String,
    /// The co-spends that connect it with the subject; `null` if there are more than were looked for.
    pub co_spends: Option<Vec<CoSpendMessage>>,
}

/// The strongest counterparties of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterpartiesAnswer {
    /// The funders and the strongest others, by amount.
    pub strongest: Vec<CounterpartyAnswer>,
    /// Number of all that were found.
    pub found: u64,
}

/// A counterparty of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterpartyAnswer {
    /// Its address.
    pub address: String,
    /// True if it made the first payment to the subject.
    pub is_funder: bool,
    /// Amount that the subject received from it.
    pub received: u128,
    /// Amount that the subject sent to it.
    pub sent: u128,
    /// Identifiers of the largest transactions between both, the largest first.
    pub transactions: Vec<String>,
    /// Time of the first transaction between both.
    pub first_seen: Timestamp,
    /// Time of the last one.
    pub last_seen: Timestamp,
}

/// An address that may be of the subject's owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleOwnerAnswer {
    /// The address.
    pub address: String,
    /// What links both.
    pub by: Identifier,
    /// Confidence that one party controls both.
    pub confidence: u8,
    /// Identifiers of the payments, the earliest first.
    pub transactions: Vec<String>,
    /// Time of the first payment.
    pub first_seen: Timestamp,
    /// Time of the last one.
    pub last_seen: Timestamp,
}

/// `transfer`: one transfer with the flows that count for its direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// Its outputs that are the transfer.
    pub outputs: Outputs,
    /// The direction, as the caller sees it.
    pub direction: TransferDirectionMessage,
    /// The policy.
    pub policy: TracingPolicy,
    /// The moment of the assessment.
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

/// What a chain tells about a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferAnswer {
    /// The transfer, with its flows.
    Read(Box<ReadTransfer>),
    /// The chain does not have the transaction, up to this block.
    UnknownTransaction {
        /// Height of the newest block.
        height: u64,
        /// Time of that block.
        time: Timestamp,
    },
    /// The outputs are no transfer that can be assessed.
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
    /// Of a deposit the origins of its money; of a withdrawal the flows of the receiver.
    pub traced: TraceAnswer,
    /// The destinations of a withdrawal's money.
    pub destinations: Option<DirectionFlowsMessage>,
    /// Height of the newest known block.
    pub tip_height: u64,
}

/// Why outputs are no transfer that can be assessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvalidOutputs {
    /// The transaction has fewer outputs: their number.
    NoSuchOutput(u64),
    /// No output pays the address.
    NotPaid,
    /// The output has no address.
    NoAddress,
    /// The outputs are worth nothing.
    NoAmount,
    /// The coins are new and have no sender.
    Coinbase,
}

/// `transaction`: a transaction with its largest inputs and outputs; `null` if the chain does not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionQuestion {
    /// The transaction.
    pub transaction: TransactionId,
    /// Most inputs, and most outputs, of the answer: the largest ones.
    pub largest: u32,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionAnswer {
    /// The transaction with its largest inputs and outputs.
    pub transaction: TransactionViewMessage,
    /// Its forms, such as `consolidation`.
    pub forms: Vec<Identifier>,
}

/// `history`: what an address received and sent; `null` if it never appeared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryQuestion {
    /// The address, in its canonical form.
    pub address: String,
    /// Most transactions in each direction: those of the largest transfers.
    pub largest: u32,
}

/// What an address received and sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryAnswer {
    /// Its whole activity.
    pub statistics: StatisticsMessage,
    /// The transactions that paid it, in the order of the chain.
    pub incoming: Vec<HistoryEntry>,
    /// The transactions in which it paid, in the order of the chain.
    pub outgoing: Vec<HistoryEntry>,
}

/// A transaction of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// The transaction.
    pub transaction: TransactionId,
    /// Time of its block.
    pub time: Timestamp,
    /// Amount that the address received by it.
    pub received: u128,
    /// Amount of the address that it spent.
    pub sent: u128,
}

/// `cluster`: the cluster of an address as the answer to `trace` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterQuestion {
    /// The address, in its canonical form.
    pub address: String,
}

/// `changes`: the addresses whose answers the blocks since a known one end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesQuestion {
    /// The newest block that is known to the asking server; `null` if it knows none.
    pub since: Option<BlockRefMessage>,
}

/// The addresses in the blocks since a known one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesAnswer {
    /// The newest block; `null` without blocks.
    pub newest: Option<BlockRefMessage>,
    /// The addresses in the blocks since, and the roots of the clusters that these changed. `null` if answers about any
    /// address may have changed: the known block is not on the chain any more, or there are too many.
    pub addresses: Option<Vec<String>>,
}

/// The most heights of a question for blocks.
pub const BRANCH_BLOCKS: usize = 256;

/// `blocks`: the blocks at some heights of the branch that ends with a block, so that branches of servers can be compared.
/// `null` if that block is not on the chain any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchBlocksQuestion {
    /// The last block of the branch.
    pub newest: BlockIdMessage,
    /// The heights, at most 256. Those that the server does not have are left out of the answer.
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
    /// The work of the blocks above it, up to the last one of the branch: the number of hashes that their targets take on
    /// average. `null` where it is not known.
    pub work_above: Option<u128>,
}

/// `copy`: holds the newest state of the graph, so that another server can copy it, or says whether one is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyQuestion {
    /// The name of a state that was held earlier; `null` to hold the newest one.
    pub held: Option<String>,
}

/// A state that is held for some minutes after it was asked for last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyAnswer {
    /// Its name.
    pub held: String,
    /// Number of its bytes.
    pub bytes: u64,
    /// Its newest block.
    pub newest: BlockRefMessage,
}

/// `copy-part`: the next bytes of a held state. The answer is bytes, with their digest in a header field; it is
/// empty at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyPartQuestion {
    /// The name of the state.
    pub held: String,
    /// Number of bytes before.
    pub offset: u64,
}

impl CopyPartQuestion {
    /// The last part of its path.
    pub const PATH: &'static str = "copy-part";
}

/// `copy-fingerprint`: the fingerprint of a held state. That reads the whole graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyFingerprintQuestion {
    /// The name of the state.
    pub held: String,
}

/// The fingerprint of a held state: equal for equal blocks, transactions and clusters.
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
    /// Revision of its lists and labels.
    pub lists: u64,
    /// Its newest block; `null` without blocks.
    pub newest: Option<NewestBlock>,
    /// Bytes of the graph on disk.
    pub bytes: u64,
    /// Blocks a second that were recorded in the last minute; `null` if the server does not follow the chain.
    pub blocks_per_second: Option<f64>,
    /// True if the server stops soon.
    pub is_draining: bool,
    /// Traces that are running.
    pub traces: u32,
    /// True if the server knows the question `blocks`.
    #[serde(default)]
    pub answers_blocks: bool,
    /// The source's branch, if the server stays on its own: they differ in more blocks than a reorganization replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_branch: Option<RefusedBranchMessage>,
}

/// A branch of a server's source that the server does not follow until its operator accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RefusedBranch")]
pub struct RefusedBranchMessage {
    /// Height of the last block that the source and the server have in common; `null` if there was none among those that
    /// the server can undo.
    pub last_common: Option<u64>,
    /// The source's newest block.
    pub newest: BlockIdMessage,
}

/// The newest block of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewestBlock {
    /// The block.
    pub block: BlockRefMessage,
    /// Time at which the server's source last confirmed that it is the newest one.
    pub verified_at: Timestamp,
    /// Height of the graph's first block.
    pub start: u64,
    /// True if the graph holds demo data.
    pub sample: bool,
}

/// An answer that is no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub struct RefusedQuestion {
    /// The reason.
    pub code: RefusalCode,
    /// The reason in words.
    pub detail: String,
}

/// Why a server gives no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// 401: the token is missing or not valid.
    Unauthorized,
    /// 404: the server has no graph of the chain, or does not know the question.
    NotFound,
    /// 400: the message cannot be read.
    Invalid,
    /// 409: the server's lists, labels or blocks are older than the answer must know, or its blocks are of another
    /// branch.
    Behind,
    /// 503, with `Retry-After`: as many traces are running as the server allows.
    Busy,
    /// 504: the deadline passed.
    DeadlineExceeded,
    /// 500: the graph cannot be read.
    Failed,
}

impl RefusalCode {
    /// The code as in messages.
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
