//! The answer: what an assessment says, as it is printed, stored and digested.
//!
//! Field names are the contract of version 1: fields are added, never renamed or removed.

use std::sync::Arc;

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{
    chain::ChainId,
    evidence::{
        Alias, Direction, EndedReason, IngestMode, ListingStatus, PathStep, Pattern, PatternRole,
        SourceKind, Tier, UnresolvedReason,
    },
    facts::Environment,
    names::{ListId, SourceId},
    policy::ListEffect,
    score::{Confidence, RiskLevel, Score, Verdict},
    taxonomy::Category,
};

/// A risk assessment of one address. It depends on the facts, the policy and the time only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assessment {
    /// The chain.
    pub blockchain: ChainId,
    /// The address in canonical form.
    pub address: String,
    /// The risk, from 0 to 100.
    pub risk_score: Score,
    /// The band that the score falls in; `unknown` where something mandatory is missing.
    pub risk_level: RiskLevel,
    /// What the policy says to do.
    pub verdict: Verdict,
    /// `false` where mandatory data is missing or stale: the answer may change once it is there.
    pub complete: bool,
    /// Why, most important first.
    pub reasons: Vec<Reason>,
    /// Who the address belongs to, where known.
    pub entity: Option<Entity>,
    /// What sources say the address is.
    pub labels: Vec<AssessedLabel>,
    /// Labels that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Where official lists name the address itself, ended listings included.
    pub sanctions: Vec<AssessedListing>,
    /// What the score is made of. Contributions sum exactly to `risk_score`.
    pub scoring_components: Vec<ScoringComponent>,
    /// Where money came from and went to. Shares of one direction and asset sum exactly to 1.
    pub exposure: Vec<Exposure>,
    /// Other addresses tied to this one.
    pub associated_wallets: Vec<AssociatedWallet>,
    /// Patterns of behaviour found.
    pub transaction_patterns: Vec<AssessedPattern>,
    /// What the address did over its lifetime.
    pub activity: Activity,
    /// What a careful reader should know besides.
    pub warnings: Vec<Warning>,
    /// What was looked at.
    pub coverage: Coverage,
    /// The sources behind the answer.
    pub sources: Vec<AssessedSource>,
    /// Evidence that the assessment covers.
    pub scope: AssessmentScope,
    /// Whether the data is real.
    pub environment: Environment,
    /// Names the data.
    pub data_revision: String,
    /// Names the model.
    pub model_version: String,
    /// Names the policy.
    pub policy_revision: String,
    /// Until when the assessment holds if the data does not change: the next moment at which a source
    /// goes stale, a listing expires or a day turns where days matter. Not part of the answer.
    #[serde(skip)]
    pub valid_until: Option<Timestamp>,
}

impl Assessment {
    /// SHA-256 of the assessment's canonical JSON (RFC 8785) without each source's `fetched_at`, as
    /// `sha256:` and hexadecimal digits. Anybody can compute it from an answer.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let sources = value.get_mut("sources").and_then(serde_json::Value::as_array_mut);
        for source in sources.into_iter().flatten() {
            if let Some(fields) = source.as_object_mut() {
                fields.remove("fetched_at");
            }
        }
        let canonical = serde_json_canonicalizer::to_vec(&value).unwrap_or_default();
        format!("sha256:{}", hex::encode(Sha256::digest(canonical)))
    }
}

/// One reason for the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// A stable identifier. The list may grow.
    pub code: &'static str,
    /// The same in words.
    pub message: String,
}

/// Who an address belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entity {
    /// The identifier within its source.
    pub id: String,
    /// The name.
    pub name: String,
    /// What the entity is.
    pub category: Category,
    /// Whether it is a virtual asset service provider, where that is known.
    pub is_vasp: Option<bool>,
    /// ISO 3166 code of its country, where known.
    pub country: Option<String>,
}

/// A label and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedLabel {
    /// What the address is said to be.
    pub category: Category,
    /// The entity's name.
    pub entity: Option<Arc<str>>,
    /// The strength of the evidence.
    pub tier: Tier,
    /// How sure the claim is.
    pub confidence: Confidence,
    /// Where it was imported from.
    pub source: SourceId,
    /// Who first made the claim.
    pub upstream: Arc<str>,
    /// Who wrote the label, where known.
    pub author: Option<Arc<str>>,
    /// The source's own word for the category.
    pub term: Option<Arc<str>>,
    /// Why, where known.
    pub reason: Option<Arc<str>>,
    /// Where the claim can be looked up.
    pub reference: Option<Arc<str>>,
    /// First day on which it holds.
    pub valid_from: Option<Date>,
    /// First day on which it no longer holds.
    pub valid_until: Option<Date>,
    /// What became of it.
    pub status: LabelStatus,
}

/// What became of a label.
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
    /// The day is outside the label's validity.
    NotInForce,
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
    /// How it was settled.
    pub resolution: ConflictResolution,
}

/// How a conflict was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictResolution {
    /// The risky label is the stronger evidence and counts.
    RiskyCounts,
    /// The benign label is the stronger evidence; the risky one does not count.
    RiskyOverruled,
    /// The labels are equally strong: the risky one counts, but cannot cause a block.
    RiskyCountsWithoutBlock,
}

/// A listing of the address itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedListing {
    /// The list.
    pub list: ListId,
    /// The list's name.
    pub list_name: String,
    /// Effect of the list under the policy.
    pub effect: ListEffect,
    /// Where the listing stands.
    pub status: ListingStatus,
    /// The list's identifier of the entity.
    pub entity_id: String,
    /// The entity.
    pub entity: String,
    /// Its other names.
    pub aliases: Vec<Alias>,
    /// The programs under which it is listed.
    pub programs: Vec<String>,
    /// What the list remarks on the entity and the address.
    pub remarks: Option<String>,
    /// The list's code for the asset.
    pub asset_code: String,
    /// The address as the list prints it.
    pub address_as_published: String,
    /// The entity's date on the list.
    pub entity_listed_on: Option<Date>,
    /// Date of the first publication known to hold the address; null where it is older than that.
    pub listed_on: Option<Date>,
    /// Date of the first publication without the address.
    pub delisted_on: Option<Date>,
    /// First day on which the listing is not valid by its own terms.
    pub expires_on: Option<Date>,
    /// Why it ended, if it has.
    pub ended_reason: Option<EndedReason>,
    /// Where it was imported from.
    pub source: SourceId,
}

/// One line of the score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScoringComponent {
    /// What kind of evidence it is.
    pub kind: ComponentKind,
    /// Its share of the score. All contributions sum exactly to `risk_score`.
    pub contribution: Score,
    /// Score that this evidence would give alone.
    pub standalone_score: Score,
    /// What it is about, in words.
    pub detail: String,
    /// The category.
    pub category: Option<Category>,
    /// The entity.
    pub entity: Option<String>,
    /// The strength of the evidence.
    pub tier: Option<Tier>,
    /// The category's or pattern's severity, 0 to 100.
    pub severity: Option<u8>,
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// Which way the money went.
    pub direction: Option<Direction>,
    /// Hops between the address and the entity; 1 is direct.
    pub hops: Option<u8>,
    /// Share of all money of its direction, as a decimal.
    pub share: Option<String>,
    /// The amount.
    pub amount: Option<Amount>,
    /// The source that says so.
    pub source: Option<SourceId>,
    /// What proves it.
    pub evidence: Vec<EvidenceReference>,
}

/// What kind of evidence a component rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A sanctions list names the address.
    #[default]
    Sanctions,
    /// A label names what the address is.
    Ownership,
    /// The same key or a co-spend cluster ties it to another address.
    Association,
    /// Money came from or went to somebody.
    Exposure,
    /// A pattern of behaviour.
    Behavior,
    /// A rule of the policy that raises the score to the review threshold.
    MinimumScoreRule,
    /// Something mandatory is missing.
    Incomplete,
}

/// What proves a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceReference {
    /// What `reference` is.
    pub kind: EvidenceKind,
    /// The identifier.
    pub reference: String,
}

/// What a reference points at.
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

/// An amount of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Amount {
    /// In base units of the asset, as a decimal string.
    pub value: String,
    /// The asset's ticker; `USD` counts cents.
    pub asset: String,
    /// Value in US dollars, where a price is known.
    pub usd: Option<String>,
}

/// Money of one direction that came from, or went to, one kind of party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a field of the answer")]
pub struct Exposure {
    /// Which way.
    pub direction: Direction,
    /// Kind of endpoint: a category, `mining`, `coinjoin`, `bridge`, `unspent_by_subject` (the address
    /// itself holds it), `unspent_downstream` (an address further on holds it), `fee` or `unresolved`.
    pub endpoint_type: &'static str,
    /// Why it was not followed further.
    pub unresolved_reason: Option<UnresolvedReason>,
    /// The kind of joint transaction, where it ends at one.
    pub coinjoin: Option<&'static str>,
    /// The category that it is judged as: that of its end, or of a label on the way that weighs more.
    pub category: Option<Category>,
    /// The entity.
    pub entity: Option<String>,
    /// The amount.
    pub amount: Amount,
    /// Share of the direction's whole, as a decimal.
    pub share: String,
    /// What of the amount moved in the last 90 days.
    pub recent_amount: Amount,
    /// What of it moved before the party was listed; null where it is not listed or the day is not known.
    pub before_listing: Option<Amount>,
    /// What of it moved on the day of the listing or later.
    pub since_listing: Option<Amount>,
    /// Fewest hops; 1 is direct, 0 what the address holds itself.
    pub hops: u8,
    /// Whether the party is a direct counterparty.
    pub direct: bool,
    /// Whether the party is on a list in force.
    pub listed: bool,
    /// `false` for money a stranger sent unasked.
    pub solicited: bool,
    /// Whether it counts; unasked-for money in small sums does not.
    pub scored: bool,
    /// Transactions that show it, those of the largest path first.
    pub transactions: Vec<String>,
    /// The largest paths, from the address outwards.
    pub paths: Vec<ExposurePath>,
}

/// The way that money took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExposurePath {
    /// How much took it.
    pub amount: Amount,
    /// Its hops, the address's own transaction first.
    pub steps: Vec<PathStep>,
}

/// Another address tied to the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssociatedWallet {
    /// Its chain.
    pub blockchain: ChainId,
    /// The address.
    pub address: String,
    /// How it is tied.
    pub relation: Relation,
    /// The heuristic that ties it.
    pub heuristic: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// What it is labelled as.
    pub categories: Vec<Category>,
    /// Whether it is on a list in force.
    pub listed: bool,
    /// The entity, where known.
    pub entity: Option<String>,
    /// Transactions that tie it.
    pub transactions: Vec<String>,
    /// When the tie first shows.
    pub first_seen: Option<Timestamp>,
    /// When it last shows.
    pub last_seen: Option<Timestamp>,
    /// Amounts moved between the two.
    pub amounts: Vec<Amount>,
}

/// How two addresses are tied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// One party controls both.
    SameOwner,
    /// One party may control both.
    PossibleOwner,
    /// A deposit address at a service.
    ServiceDeposit,
    /// Paid for the subject's first transactions.
    Funder,
    /// Traded with the subject.
    Counterparty,
    /// One key controls both.
    SameKey,
}

/// A pattern found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedPattern {
    /// Which pattern.
    pub pattern: Pattern,
    /// The subject's part in it.
    pub role: PatternRole,
    /// Whether it counts; a victim's part never does.
    pub scored: bool,
    /// How sure it is.
    pub confidence: Confidence,
    /// Transactions that show it.
    pub transactions: Vec<String>,
}

/// What the address did over its lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Activity {
    /// Whether it was seen.
    pub status: ActivityStatus,
    /// Time of the first block it appears in.
    pub first_seen: Option<Timestamp>,
    /// Time of the last.
    pub last_seen: Option<Timestamp>,
    /// Numbers of transfers.
    pub counts: Option<ActivityCounts>,
    /// Received in all, by asset.
    pub r#in: Vec<Amount>,
    /// Sent in all, by asset.
    pub out: Vec<Amount>,
    /// Held now, by asset.
    pub balance: Vec<Amount>,
}

/// Numbers of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActivityCounts {
    /// Incoming.
    pub transfers_in: u64,
    /// Outgoing.
    pub transfers_out: u64,
}

/// Whether an address was seen on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityStatus {
    /// It appears.
    Seen,
    /// It never appears. Not the same as clean.
    None,
    /// The chain was not looked at.
    NotAssessed,
}

/// Something a careful reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// A stable identifier. The list may grow.
    pub code: &'static str,
    /// The same in words.
    pub message: String,
}

/// What was looked at, block by block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Official lists.
    pub sanctions: CoverageBlock,
    /// Labels of the address itself.
    pub labels: CoverageBlock,
    /// The same key and co-spend clusters.
    pub association: CoverageBlock,
    /// Flows of money.
    pub exposure: CoverageBlock,
    /// Patterns.
    pub behavior: CoverageBlock,
}

/// How far one block was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoverageBlock {
    /// How far.
    pub status: CoverageStatus,
    /// In words.
    pub detail: String,
}

/// How far something was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageStatus {
    /// In full.
    Assessed,
    /// In part, or with stale data.
    Partial,
    /// Not at all: Assay has no data for it.
    NotAssessed,
    /// Not at all: the data should be there and is not.
    Unavailable,
    /// There is nothing of the kind on this chain.
    NotApplicable,
}

/// A source behind the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AssessedSource {
    /// Its name.
    pub id: SourceId,
    /// What it carries.
    pub kind: SourceKind,
    /// The lists its newest publication holds.
    pub lists: Vec<ListId>,
    /// Date of issue of its newest publication; with `as_of`, of the newest one up to that day.
    pub published_at: Option<Date>,
    /// When that was last obtained or confirmed unchanged.
    pub fetched_at: Timestamp,
    /// SHA-256 of its newest publication.
    pub digest: String,
    /// How many entries it holds.
    pub entries: u64,
    /// Whether the policy allows nothing without it.
    pub mandatory: bool,
    /// Whether it is older than the policy lets it be.
    pub stale: bool,
    /// Whether it is made up.
    pub sample: bool,
    /// The newest known block, where the source is a chain.
    pub latest_block: Option<LatestBlock>,
}

/// The newest known block of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatestBlock {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: String,
    /// Its own time.
    pub time: Timestamp,
    /// Height of the first known block of the chain. Money from earlier blocks has no known origin.
    pub start_height: u64,
    /// How the chain is read.
    pub ingest_mode: IngestMode,
}

/// Evidence that an assessment covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssessmentScope {
    /// Lists, labels and flows of funds on the chain.
    Full,
    /// Lists and labels only: flows of funds are not known.
    ListsAndLabels,
}
