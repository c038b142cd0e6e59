//! The assessment of an address, as it is printed, stored and digested.
//!
//! The fields of an assessment are the contract of version 1: fields are added, never renamed or removed.

mod canonical;
mod contracts;
mod exposure;
mod transfer;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_address::ChainId;
use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use contracts::{
    AssessedContractUse, AssessedHolding, AssessedKeptMoney, AssessedTokenDealing, ContractParty,
    ContractPool, HoldingBacking, HoldingKind,
};
pub use exposure::{Exposure, ExposurePart, ExposurePath, RuleClaim};
pub use transfer::{
    AssessedAccountTransfer, AssessedOutput, AssessedPlan, AssessedTransfer, Sender, TransferBasis,
    TransferStatus,
};

use crate::{
    evidence::{
        Alias, Direction, EndedReason, IngestMode, ListingStatus, Pattern, PatternRole, SourceKind,
        Tier, UnscoredReason,
    },
    facts::Environment,
    names::{ListId, SourceId},
    policy::ListEffect,
    score::{Confidence, RiskLevel, Score, Verdict},
    taxonomy::Category,
};

/// A risk assessment of one address. The assessment depends only on the facts, the policy and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assessment {
    /// Identifier of the blockchain.
    pub blockchain: ChainId,
    /// Address in canonical form; for a transfer, the receiver's address.
    pub address: String,
    /// The transfer that was assessed; left out of an assessment of an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Box<AssessedTransfer>>,
    /// Risk score, 0 to 100, with at most one decimal.
    pub risk_score: Score,
    /// Risk level of the score under the policy; `unknown` where mandatory data is missing.
    pub risk_level: RiskLevel,
    /// Verdict of the policy.
    pub verdict: Verdict,
    /// `false` where mandatory data is missing or stale: the answer may change when the data is complete.
    pub complete: bool,
    /// Reasons for the verdict, most important first.
    pub reasons: Vec<VerdictReason>,
    /// Entity that the address belongs to, where known.
    pub entity: Option<Entity>,
    /// Labels of the address, each with its source and status.
    pub labels: Vec<AssessedLabel>,
    /// Pairs of labels that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Listings of the address itself on sanctions lists, ended ones included.
    pub sanctions: Vec<AssessedListing>,
    /// Numbers of labels, conflicts and listings that are not shown one by one, because the address has more than 100
    /// of their kind, or fewer with long texts; the strongest are shown, and all count. Left out if all are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherItems>,
    /// Components of the score. The contributions of all components sum exactly to `risk_score`. At most 100 labels and
    /// 100 flows are components of their own, the strongest; one component each has the contribution of the others.
    pub scoring_components: Vec<ScoringComponent>,
    /// Components that decided a `review` or a `block`. Left out of other verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive: Option<Decisive>,
    /// Origins and destinations of funds. Shares of one direction and asset sum exactly to 1.
    pub exposure: Vec<Exposure>,
    /// Dealings with contracts on an account chain: own money that they exchanged or gave back, tokens and claims, and what
    /// they paid from their own. Left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contracts: Option<Box<AssessedContractUse>>,
    /// Addresses that are associated with the assessed address.
    pub associated_wallets: Vec<AssociatedWallet>,
    /// Behavior patterns that were detected.
    pub transaction_patterns: Vec<AssessedPattern>,
    /// Activity of the address over its lifetime.
    pub activity: Activity,
    /// Circumstances that limit the answer and do not change the score.
    pub warnings: Vec<Warning>,
    /// Status of each kind of evidence: assessed, partial, or why not.
    pub coverage: Coverage,
    /// Sources that the assessment uses, with their freshness.
    pub sources: Vec<AssessedSource>,
    /// Evidence that the assessment covers.
    pub scope: AssessmentScope,
    /// Kind of data: `production`, `sample` for the demo data set, or `sandbox` for made-up facts.
    pub environment: Environment,
    /// Identifier of the data that the assessment uses.
    pub data_revision: String,
    /// Version of the risk model.
    pub model_version: String,
    /// Identifier of the policy's content: equal for policies that decide alike.
    pub policy_revision: String,
    /// Time until which the assessment holds if the data does not change: the next moment at which a source goes stale,
    /// a listing expires, or a UTC day ends on which the assessment depends. This time is not part of the answer.
    #[serde(skip)]
    pub valid_until: Option<Timestamp>,
    /// Categories of all labels in force and of all components, those that are not shown included. The categories are
    /// not part of the answer.
    #[serde(skip)]
    pub categories: BTreeSet<Category>,
}

/// Numbers of items that an assessment does not show one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FurtherItems {
    /// Labels of the address beyond `labels`.
    pub labels: u64,
    /// Conflicts beyond `conflicts`.
    pub conflicts: u64,
    /// Listings of the address beyond `sanctions`.
    pub sanctions: u64,
}

impl FurtherItems {
    /// The numbers; `None` if everything is shown.
    #[must_use]
    pub fn unless_none(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

impl Assessment {
    /// Numbers of items that the assessment does not show one by one.
    #[must_use]
    pub fn further_items(&self) -> FurtherItems {
        self.further.unwrap_or_default()
    }

    /// SHA-256 of the assessment's canonical JSON (RFC 8785) without each source's `fetched_at`, as `sha256:` and
    /// hexadecimal digits. A caller can compute the digest from an answer.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// The digest of an assessment that is given as compact JSON ([`Assessment::digest`]).
#[must_use]
pub fn digest(assessment: &str) -> String {
    let canonical = canonical::of_assessment(assessment).unwrap_or_default();
    format!("sha256:{}", hex::encode(Sha256::digest(canonical)))
}

/// A reason for the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Reason")]
pub struct VerdictReason {
    /// Stable identifier for programs. New identifiers may be added.
    pub code: &'static str,
    /// Explanation for people.
    pub message: String,
}

/// Entity that an address belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entity {
    /// Source or list, and the entity's identifier in that source or list.
    pub id: String,
    /// Name of the entity.
    pub name: String,
    /// Category of the entity.
    pub category: Category,
    /// True if the entity is a virtual asset service provider (VASP); null if that property is not known.
    pub is_vasp: Option<bool>,
    /// ISO 3166 code of the entity's country; null where the country is not known.
    pub country: Option<String>,
}

/// A label with its status in the assessment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedLabel {
    /// Category that the label states.
    pub category: Category,
    /// Name of the entity.
    pub entity: Option<Arc<str>>,
    /// Strength of the evidence.
    pub tier: Tier,
    /// Confidence of the claim, in percent.
    pub confidence: Confidence,
    /// Source from which the label was imported.
    pub source: SourceId,
    /// First publisher of the claim. Labels that repeat a claim of one upstream count once.
    pub upstream: Arc<str>,
    /// Author of the label, where known.
    pub author: Option<Arc<str>>,
    /// The source's own word for the category.
    pub term: Option<Arc<str>>,
    /// Reason that the source gives.
    pub reason: Option<Arc<str>>,
    /// Reference for the claim, mostly a URL.
    pub reference: Option<Arc<str>>,
    /// First day on which the label is valid.
    pub valid_from: Option<Date>,
    /// First day on which the label is no longer valid.
    pub valid_until: Option<Date>,
    /// Status of the label in the assessment.
    pub status: LabelStatus,
}

/// Status of a label in an assessment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelStatus {
    /// The label counts.
    InForce,
    /// Another label makes the same claim from the same upstream source, at least as strongly, and counts
    /// instead.
    Duplicate,
    /// Stronger evidence contradicts the label.
    Overruled,
    /// The label cites a sanctions list that does not, or no longer, name the address.
    ContradictedByList,
    /// The label rests on a sanctions listing of the address, and every listing of the address has ended.
    ListingEnded,
    /// The day is outside the label's validity.
    NotInForce,
    /// Nobody controls the address, which no label can attribute to anybody.
    Unowned,
}

/// Two labels that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflict {
    /// Category of the risky label.
    pub risky_category: Category,
    /// Source of the risky label.
    pub risky_source: SourceId,
    /// Category of the benign label.
    pub benign_category: Category,
    /// Source of the benign label.
    pub benign_source: SourceId,
    /// Resolution of the conflict.
    pub resolution: ConflictResolution,
}

/// Resolution of a conflict between labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictResolution {
    /// The risky label is the stronger evidence and counts.
    RiskyCounts,
    /// The benign label is the stronger evidence; the risky label does not count.
    RiskyOverruled,
    /// The labels are equally strong: the risky label counts, but cannot cause a block.
    RiskyCountsWithoutBlock,
}

/// A listing of the address itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedListing {
    /// Identifier of the list.
    pub list: ListId,
    /// Name of the list.
    pub list_name: String,
    /// Effect of the list under the policy.
    pub effect: ListEffect,
    /// Status of the listing.
    pub status: ListingStatus,
    /// Identifier of the entity on the list.
    pub entity_id: String,
    /// Primary name of the entity.
    pub entity: String,
    /// Other names of the entity.
    pub aliases: Vec<Alias>,
    /// Sanctions programs under which the entity is listed.
    pub programs: Vec<String>,
    /// Number by which the publisher refers to the entry, such as `ASO 12/24`.
    pub order_number: Option<String>,
    /// Law, regulation or decision that the entry rests on.
    pub legal_basis: Option<String>,
    /// Address of the publisher's page or document about the entry.
    pub official_link: Option<String>,
    /// Documents and numbers by which the list identifies the entity, such as `Passport 040070827`.
    pub identifiers: Vec<String>,
    /// Remarks of the list on the entity and the address; the sentence that names the address, if the list states the
    /// address in free text only.
    pub remarks: Option<String>,
    /// Asset code of the list, such as `XBT`.
    pub asset_code: String,
    /// Address as the list prints it.
    pub address_as_published: String,
    /// Date on which the entity was listed, as the list states it.
    pub entity_listed_on: Option<Date>,
    /// Date of the first publication known to hold the address; null where the oldest known publication already holds
    /// the address.
    pub listed_on: Option<Date>,
    /// Date of the first publication without the address.
    pub delisted_on: Option<Date>,
    /// First day on which the listing is not valid by its own terms.
    pub expires_on: Option<Date>,
    /// Reason for which the listing ended, if the listing has ended.
    pub ended_reason: Option<EndedReason>,
    /// Source from which the listing was imported.
    pub source: SourceId,
}

/// A component of the score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScoringComponent {
    /// Kind of evidence.
    pub kind: ComponentKind,
    /// Identifier of the minimum score rule that fired; `/signals` lists the rules. Null for components of other kinds.
    pub rule: Option<String>,
    /// Behavior pattern, for the kind `behavior`; null for other kinds.
    pub pattern: Option<Pattern>,
    /// Points that the component contributes to the score. All contributions sum exactly to `risk_score`.
    pub contribution: Score,
    /// Score that this evidence alone would give.
    pub standalone_score: Score,
    /// Explanation for people.
    pub detail: String,
    /// Category of the party or label.
    pub category: Option<Category>,
    /// Name of the entity.
    pub entity: Option<String>,
    /// Strength of the evidence.
    pub tier: Option<Tier>,
    /// Severity of the category or pattern under the policy, 0 to 100.
    pub severity: Option<u8>,
    /// Confidence of the evidence, in percent.
    pub confidence: Option<Confidence>,
    /// Direction of the funds.
    pub direction: Option<Direction>,
    /// Hops between the address and the party; 1 is direct.
    pub hops: Option<u16>,
    /// Share of all funds of the direction, as a decimal from 0 to 1.
    pub share: Option<String>,
    /// Amount of the funds.
    pub amount: Option<Amount>,
    /// Source of the evidence.
    pub source: Option<SourceId>,
    /// References to the evidence.
    pub evidence: Vec<EvidenceReference>,
}

/// A smallest set of components without which the verdict would be milder, with the answer without them.
///
/// The verdict stays as long as any of them is there. Behavior patterns change no verdict and are in no set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decisive {
    /// The components, by their positions in `scoring_components`, counted from 0.
    pub components: Vec<usize>,
    /// Risk score without them.
    pub risk_score: Score,
    /// Verdict without them.
    pub verdict: Verdict,
    /// True if no set with fewer components exists; false if so many components count that only their order was
    /// searched: then each of the set is needed, and a set with fewer components may exist.
    pub smallest: bool,
}

/// Kind of evidence of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A sanctions list names the address.
    #[default]
    Sanctions,
    /// A label of the address itself.
    Ownership,
    /// An address of the same key or co-spend cluster.
    Association,
    /// Funds received from, or sent to, a party.
    Exposure,
    /// A behavior pattern.
    Behavior,
    /// A minimum score rule: such a rule raises the score to the threshold of the rule's verdict.
    MinimumScoreRule,
    /// Mandatory data is missing or stale.
    Incomplete,
}

/// Reference to a piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceReference {
    /// Kind of the reference.
    pub kind: EvidenceKind,
    /// Identifier of the evidence.
    pub reference: String,
}

/// Kind of a reference to evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// An entry of a list: the list, the entity's identifier and the address as published.
    ListEntry,
    /// A label's source and upstream.
    Label,
    /// Another address: chain and address.
    Address,
    /// A transaction.
    Transaction,
    /// A source.
    Source,
}

/// Amount of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Amount {
    /// In base units of the asset, as a decimal string.
    pub value: String,
    /// The asset's ticker; `USD` counts cents.
    pub asset: String,
    /// Value in US dollars, rounded down to cents, where a price is known: for the transfer of an assessment and its
    /// senders by the price of the block's day, for other amounts by that of the day of the assessment. The value changes
    /// neither score nor verdict.
    pub usd: Option<String>,
    /// UTC day of the price behind `usd`, if the price is that of an earlier day. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_day: Option<Date>,
}

/// Address that is associated with the assessed address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssociatedWallet {
    /// Identifier of the associated address's blockchain.
    pub blockchain: ChainId,
    /// Address in canonical form.
    pub address: String,
    /// Relation to the assessed address.
    pub relation: Relation,
    /// Heuristic that associates the address; `/signals` defines each heuristic.
    pub heuristic: String,
    /// Confidence of the association, in percent.
    pub confidence: Confidence,
    /// Categories of the associated address's labels and listings.
    pub categories: Vec<Category>,
    /// True if the associated address is on a list in force.
    pub listed: bool,
    /// Name of the entity, where known.
    pub entity: Option<String>,
    /// Transactions that show the association, at most 20: the co-spends that connect both addresses, or the
    /// largest payments between them.
    pub transactions: Vec<String>,
    /// Time of the first transaction that shows the association.
    pub first_seen: Option<Timestamp>,
    /// Time of the last transaction that shows the association.
    pub last_seen: Option<Timestamp>,
    /// Amounts that moved between both addresses, in both directions together.
    pub amounts: Vec<Amount>,
    /// Amounts that the assessed address received from the associated address.
    pub received: Vec<Amount>,
    /// Amounts that the assessed address sent to the associated address.
    pub sent: Vec<Amount>,
}

/// Relation of an associated address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// One party controls both addresses.
    SameOwner,
    /// One party may control both addresses.
    PossibleOwner,
    /// A deposit address at a service.
    ServiceDeposit,
    /// Funded the first transactions of the assessed address.
    Funder,
    /// Sent funds to the assessed address, or received funds from the assessed address.
    Counterparty,
    /// One key controls both addresses.
    SameKey,
    /// Created the assessed address, which is a contract.
    Deployer,
    /// A contract that the assessed address created.
    Deployed,
    /// A contract that the creator of the assessed address created too.
    SameDeployer,
    /// Lends the assessed address resources that pay for its transactions (energy or bandwidth of TRON).
    ResourceLender,
    /// Borrows such resources from the assessed address.
    ResourceBorrower,
}

/// Behavior pattern of the address's owner: of its co-spend cluster, or of the address itself if the address has no
/// cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedPattern {
    /// Identifier of the pattern; `/signals` defines each pattern.
    pub pattern: Pattern,
    /// Role of the owner in the pattern.
    pub role: PatternRole,
    /// The pattern in one sentence.
    pub description: String,
    /// True if the pattern counts for the score.
    pub scored: bool,
    /// Reason for which the pattern does not count: `victim` (the owner suffered the pattern), `service` (services
    /// behave like this), `regular_activity` (the owner shows the pattern day after day, as businesses do),
    /// `little_received` (the owner received too little by the pattern), `paid_into_only` (the owner only paid into the
    /// pattern), `counted_as_exposure` (the funds are scored as exposure), `counted_once` (the pattern counts in
    /// another role), `form_of_transaction` (a form of transactions has no risk by itself). Null where the pattern
    /// counts.
    pub unscored_reason: Option<UnscoredReason>,
    /// Points that the pattern contributes to the score: the contribution of the component of kind `behavior` with the
    /// same `pattern`. Patterns never change a verdict: they contribute 0 where the other evidence already has the
    /// highest score of its verdict, or where severe funds without decay decide the score.
    pub contribution: Score,
    /// Confidence of the detection in percent, the highest of all occurrences. The confidence grades how clear the
    /// pattern is and is not a probability.
    pub confidence: Confidence,
    /// Number of occurrences: windows of time, chains, cycles, payments or transactions.
    pub count: u64,
    /// Time of the first transaction that shows the pattern.
    pub first_seen: Timestamp,
    /// Time of the last transaction that shows the pattern.
    pub last_seen: Timestamp,
    /// Funds of the owner that took part in the pattern.
    pub amount: Amount,
    /// Share of the funds that took part in all funds that the owner sent (role `actor`) or received (other roles, and
    /// `actor` of `cycle`, `gather_scatter` and `rapid_pass_through`) in the transactions that were read; a decimal
    /// from 0 to 1.
    pub share: String,
    /// The occurrence with the largest amount, which the sentence describes. The sentences of `rapid_pass_through`,
    /// `mixer_use`, `coinjoin_use` and of forms of transactions sum up all occurrences.
    pub largest: LargestOccurrence,
    /// Transactions that show the pattern, at most 20, in the order of the chain; the owner's transactions are
    /// preferred.
    pub transactions: Vec<String>,
}

/// The occurrence of a pattern with the largest amount. Figures that the pattern does not have are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LargestOccurrence {
    /// Funds of the owner that took part in the occurrence.
    pub amount: Amount,
    /// Number of distinct owners on the other side of the payments, or of intermediaries; for a victim of `dusting`, of
    /// all receivers of the dust.
    pub parties: Option<u64>,
    /// Number of payments of a `structuring`.
    pub payments: Option<u64>,
    /// Number of steps of a `peel_chain`, or of owners of a `layering` run or of a `cycle`.
    pub length: Option<u64>,
    /// Time from the first transaction to the last, in seconds; for `dormant_reactivation` the length of the pause, for
    /// `rapid_pass_through` the longest time that a payment stayed.
    pub duration_seconds: Option<u64>,
    /// Threshold below which the payments of a `structuring` stay.
    pub threshold: Option<Amount>,
    /// Protocol of a joint transaction.
    pub coinjoin: Option<&'static str>,
}

/// Activity of an address over its lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Activity {
    /// Presence of the address on its chain.
    pub status: ActivityStatus,
    /// Time of the first block in which the address appears.
    pub first_seen: Option<Timestamp>,
    /// Time of the last block in which the address appears.
    pub last_seen: Option<Timestamp>,
    /// Counts of transfers.
    pub counts: Option<ActivityCounts>,
    /// Total received, by asset.
    pub r#in: Vec<Amount>,
    /// Total sent, by asset.
    pub out: Vec<Amount>,
    /// Balance, by asset.
    pub balance: Vec<Amount>,
}

/// Counts of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActivityCounts {
    /// Incoming transfers.
    pub transfers_in: u64,
    /// Outgoing transfers.
    pub transfers_out: u64,
}

/// Presence of an address on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityStatus {
    /// The address appears in at least one block.
    Seen,
    /// The address appears in no block. Absence from the chain does not mean that the address carries no risk.
    None,
    /// No source reads the chain, or the history is not complete.
    NotAssessed,
}

/// Circumstance that limits the answer and does not change the score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier for programs. New identifiers may be added.
    pub code: &'static str,
    /// Explanation for people.
    pub message: String,
}

/// Coverage of an assessment, by kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Sanctions lists.
    pub sanctions: CoverageBlock,
    /// Labels of the address itself.
    pub labels: CoverageBlock,
    /// Addresses of the same key and co-spend clusters.
    pub association: CoverageBlock,
    /// Flows of funds.
    pub exposure: CoverageBlock,
    /// Behavior patterns.
    pub behavior: CoverageBlock,
}

/// Coverage of one kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoverageBlock {
    /// Status of the coverage.
    pub status: CoverageStatus,
    /// Explanation for people.
    pub detail: String,
}

/// Status of the coverage of one kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageStatus {
    /// All data was assessed.
    Assessed,
    /// A part of the data was assessed, or the data is stale.
    Partial,
    /// Nothing was assessed: no source of such data is configured.
    NotAssessed,
    /// Nothing was assessed: the data should be present and is missing.
    Unavailable,
    /// The chain has no data of this kind.
    NotApplicable,
}

/// A source of data with its freshness.
#[expect(clippy::struct_excessive_bools, reason = "programs read each of them by itself")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedSource {
    /// Name of the source.
    pub id: SourceId,
    /// Kind of data.
    pub kind: SourceKind,
    /// Sanctions lists in the source's newest publication.
    pub lists: Vec<ListId>,
    /// Date of issue of the source's newest publication; with `as_of`, of the newest publication up to that day. For prices,
    /// the newest day with a price.
    pub published_at: Option<Date>,
    /// Time at which the newest publication was last fetched or confirmed to be unchanged; null if the source was never
    /// fetched.
    pub fetched_at: Option<Timestamp>,
    /// True if the source is fetched on a schedule, and nothing was ever imported of it. Left out otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_fetched: bool,
    /// SHA-256 of the source's newest publication; empty if it was never fetched.
    pub digest: String,
    /// Number of entries; for a chain, number of known blocks.
    pub entries: u64,
    /// True if the policy requires the source.
    pub mandatory: bool,
    /// True if the source is older than the policy permits.
    pub stale: bool,
    /// True if the source belongs to the demo data set.
    pub sample: bool,
    /// Numbers of entries that no check of a chain can match, by the chain that they name: their texts are no addresses
    /// of it. Left out if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmatched: BTreeMap<ChainId, u64>,
    /// The newest known block, where the source is a chain.
    pub latest_block: Option<LatestBlock>,
}

/// The newest known block of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatestBlock {
    /// Height of the block.
    pub height: u64,
    /// Hash of the block.
    pub hash: String,
    /// Time in the block's header.
    pub time: Timestamp,
    /// Height of the first known block of the chain. Funds from earlier blocks have no known origin.
    pub start_height: u64,
    /// Way in which the source reads the chain.
    pub ingest_mode: IngestMode,
}

/// Evidence that an assessment covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssessmentScope {
    /// Lists, labels and flows of funds on the chain.
    Full,
    /// Lists and labels only: flows of funds are not known.
    ListsAndLabels,
}
