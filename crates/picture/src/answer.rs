//! The answer to a check as pictures and pages read it.
//!
//! The fields are those of version 1 of the contract. Values that later versions may add, such as codes and kinds, are
//! texts here: an answer of another release is read as well.

use assay_address::ChainId;
use assay_engine::{
    assessment::Assessment,
    evidence::{Direction, PartyListing, PathStep},
    score::{RiskLevel, Score, Verdict},
};
use jiff::{Timestamp, civil::Date};
use serde::Deserialize;

/// Error of a text that is no answer to a check.
#[derive(Debug, thiserror::Error)]
#[error("the text is no answer to a check: {0}")]
pub struct UnreadableAnswer(#[from] serde_json::Error);

/// Answer to a check, or the assessment in it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AnswerView {
    /// Identifier of the check; unset in an assessment.
    #[serde(default)]
    pub check_id: Option<String>,
    /// Reference of the caller.
    #[serde(default)]
    pub reference: Option<String>,
    /// Blockchain of the address.
    pub blockchain: ChainId,
    /// Address in canonical form; for a transfer, the receiver's.
    pub address: String,
    /// The transfer that was assessed; unset for an address.
    #[serde(default)]
    pub transfer: Option<TransferView>,
    /// Risk score.
    pub risk_score: Score,
    /// Risk level of the score.
    pub risk_level: RiskLevel,
    /// Verdict.
    pub verdict: Verdict,
    /// False where mandatory data is missing.
    pub complete: bool,
    /// Reasons for the verdict, most important first.
    #[serde(default)]
    pub reasons: Vec<MessageView>,
    /// Entity of the address.
    #[serde(default)]
    pub entity: Option<EntityView>,
    /// Labels of the address.
    #[serde(default)]
    pub labels: Vec<LabelView>,
    /// Listings of the address.
    #[serde(default)]
    pub sanctions: Vec<ListingView>,
    /// Components of the score.
    #[serde(default)]
    pub scoring_components: Vec<ComponentView>,
    /// Components that decided the verdict.
    #[serde(default)]
    pub decisive: Option<DecisiveView>,
    /// Origins and destinations of funds.
    #[serde(default)]
    pub exposure: Vec<ExposureView>,
    /// Dealings with contracts.
    #[serde(default)]
    pub contracts: Option<TokenUseView>,
    /// Associated addresses.
    #[serde(default)]
    pub associated_wallets: Vec<WalletView>,
    /// Behavior patterns.
    #[serde(default)]
    pub transaction_patterns: Vec<PatternView>,
    /// Activity over the lifetime of the address.
    pub activity: ActivityView,
    /// Circumstances that limit the answer.
    #[serde(default)]
    pub warnings: Vec<MessageView>,
    /// Coverage by kind of evidence.
    pub coverage: CoverageView,
    /// Sources with their freshness.
    #[serde(default)]
    pub sources: Vec<SourceView>,
    /// Kind of data: `production`, `sample` or `sandbox`.
    pub environment: String,
    /// Identifier of the data.
    pub data_revision: String,
    /// Version of the risk model.
    pub model_version: String,
    /// Identifier of the policy's content.
    pub policy_revision: String,
    /// Time of the assessment; unset in an assessment.
    #[serde(default)]
    pub assessed_at: Option<Timestamp>,
    /// Digest of the assessment; unset in an assessment.
    #[serde(default)]
    pub assessment_digest: Option<String>,
}

impl AnswerView {
    /// Reads the JSON text of an answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is no answer to a check.
    pub fn read(answer: &str) -> Result<Self, UnreadableAnswer> {
        Ok(serde_json::from_str(answer)?)
    }

    /// Reads an assessment, which is an answer without the fields of its request.
    ///
    /// # Errors
    ///
    /// Returns an error if the assessment cannot be serialized, which never happens.
    pub fn of(assessment: &Assessment) -> Result<Self, UnreadableAnswer> {
        Ok(serde_json::from_value(serde_json::to_value(assessment)?)?)
    }
}

/// A code with its explanation for people.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MessageView {
    /// Stable identifier.
    pub code: String,
    /// Explanation.
    pub message: String,
}

/// Entity that an address belongs to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct EntityView {
    /// Name.
    pub name: String,
    /// Category.
    pub category: String,
}

/// Amount of an asset.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AmountView {
    /// In base units of the asset, as a decimal string.
    pub value: String,
    /// Ticker; `USD` counts cents.
    pub asset: String,
    /// Value in US dollars, where a price is known.
    #[serde(default)]
    pub usd: Option<String>,
}

impl AmountView {
    /// The amount in base units; 0 if the text is no number.
    #[must_use]
    pub fn base_units(&self) -> u128 {
        self.value.parse().unwrap_or_default()
    }
}

/// The transfer of an assessment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TransferView {
    /// Identifier of the transaction; unset for a withdrawal that is not sent yet.
    #[serde(default)]
    pub transaction: Option<String>,
    /// `deposit` or `withdrawal`.
    pub direction: String,
    /// Amount.
    pub amount: AmountView,
    /// Status of the transaction.
    pub status: String,
    /// Time of the transaction's block.
    #[serde(default)]
    pub block_time: Option<Timestamp>,
}

/// A label of the address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LabelView {
    /// Category.
    pub category: String,
    /// Name of the entity.
    #[serde(default)]
    pub entity: Option<String>,
    /// Strength of the evidence.
    pub tier: String,
    /// Confidence in percent.
    pub confidence: u8,
    /// Source of the label.
    pub source: String,
    /// First publisher of the claim.
    pub upstream: String,
    /// Reason that the source gives.
    #[serde(default)]
    pub reason: Option<String>,
    /// Reference for the claim, mostly a URL.
    #[serde(default)]
    pub reference: Option<String>,
    /// Status in the assessment.
    pub status: String,
}

/// A listing of the address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ListingView {
    /// Name of the list.
    pub list_name: String,
    /// `blocking` or `advisory`.
    pub effect: String,
    /// Status of the listing.
    pub status: String,
    /// Identifier of the entity on the list.
    pub entity_id: String,
    /// Name of the entity.
    pub entity: String,
    /// Sanctions programs.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Number of the entry by its publisher.
    #[serde(default)]
    pub order_number: Option<String>,
    /// Law or decision behind the entry.
    #[serde(default)]
    pub legal_basis: Option<String>,
    /// The publisher's page about the entry.
    #[serde(default)]
    pub official_link: Option<String>,
    /// Remarks of the list.
    #[serde(default)]
    pub remarks: Option<String>,
    /// Address as the list prints it.
    pub address_as_published: String,
    /// Day on which the entity was listed.
    #[serde(default)]
    pub entity_listed_on: Option<Date>,
    /// Day of the first known publication with the address.
    #[serde(default)]
    pub listed_on: Option<Date>,
    /// Day of the first publication without the address.
    #[serde(default)]
    pub delisted_on: Option<Date>,
}

/// A component of the score.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ComponentView {
    /// Kind of evidence.
    pub kind: String,
    /// The minimum score rule that fired.
    #[serde(default)]
    pub rule: Option<String>,
    /// Points that the component contributes.
    pub contribution: Score,
    /// Explanation.
    pub detail: String,
    /// Category of the party or label.
    #[serde(default)]
    pub category: Option<String>,
}

/// Components that decided the verdict.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DecisiveView {
    /// Positions in `scoring_components`, from 0.
    pub components: Vec<usize>,
    /// Score without them.
    pub risk_score: Score,
    /// Verdict without them.
    pub verdict: Verdict,
}

/// Funds of one direction with one kind of endpoint.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a field of the answer")]
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ExposureView {
    /// Direction of the funds.
    pub direction: Direction,
    /// Kind of endpoint.
    pub endpoint_type: String,
    /// Reason for which the funds were not followed.
    #[serde(default)]
    pub unresolved_reason: Option<String>,
    /// Category by which the funds are scored.
    #[serde(default)]
    pub category: Option<String>,
    /// Name of the entity.
    #[serde(default)]
    pub entity: Option<String>,
    /// Entry of the list that names the entity.
    #[serde(default)]
    pub listing: Option<PartyListing>,
    /// Amount.
    pub amount: AmountView,
    /// Amounts of each asset on an account chain.
    #[serde(default)]
    pub assets: Vec<AmountView>,
    /// Share of all funds of the direction, as a decimal from 0 to 1.
    pub share: String,
    /// Fewest hops to the endpoint.
    #[serde(default)]
    pub hops: Option<u16>,
    /// Number of transactions that the trace passed before it stopped.
    #[serde(default)]
    pub further_than_transactions: Option<u32>,
    /// True if the party is a direct counterparty.
    pub direct: bool,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// False for funds that came unsolicited.
    pub solicited: bool,
    /// True for risky funds that came unasked and were not moved.
    #[serde(default)]
    pub untouched: bool,
    /// True if the funds count for the score.
    pub scored: bool,
    /// Transactions that show the exposure.
    #[serde(default)]
    pub transactions: Vec<String>,
    /// Paths with the largest amounts.
    #[serde(default)]
    pub paths: Vec<ExposurePathView>,
}

/// Path that funds took.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ExposurePathView {
    /// Amount that took the path.
    pub amount: AmountView,
    /// Hops, the address's own transaction first.
    pub steps: Vec<PathStep>,
}

/// Dealings with contracts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct TokenUseView {
    /// Own money that was exchanged, or that contracts gave back.
    #[serde(default)]
    pub kept: Vec<KeptMoneyView>,
    /// Tokens and claims.
    #[serde(default)]
    pub holdings: Vec<KeptMoneyView>,
}

/// Explanation of one dealing with a contract.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct KeptMoneyView {
    /// Explanation.
    pub detail: String,
}

/// An associated address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct WalletView {
    /// Blockchain.
    pub blockchain: ChainId,
    /// Address in canonical form.
    pub address: String,
    /// Relation to the assessed address.
    pub relation: String,
    /// Heuristic that associates the address.
    pub heuristic: String,
    /// Confidence in percent.
    pub confidence: u8,
    /// Categories of its labels and listings.
    #[serde(default)]
    pub categories: Vec<String>,
    /// True if it is on a list in force.
    pub listed: bool,
    /// Name of the entity.
    #[serde(default)]
    pub entity: Option<String>,
}

/// A behavior pattern.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PatternView {
    /// Identifier.
    pub pattern: String,
    /// Role of the owner.
    pub role: String,
    /// The pattern in one sentence.
    pub description: String,
    /// True if the pattern counts for the score.
    pub scored: bool,
    /// Reason for which it does not count.
    #[serde(default)]
    pub unscored_reason: Option<String>,
    /// Points that it contributes.
    pub contribution: Score,
    /// Confidence in percent.
    pub confidence: u8,
    /// Number of occurrences.
    pub count: u64,
    /// Time of the first transaction.
    pub first_seen: Timestamp,
    /// Time of the last transaction.
    pub last_seen: Timestamp,
    /// Transactions that show the pattern.
    #[serde(default)]
    pub transactions: Vec<String>,
}

/// Activity of the address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ActivityView {
    /// Presence on the chain.
    pub status: String,
    /// Time of the first block.
    #[serde(default)]
    pub first_seen: Option<Timestamp>,
    /// Time of the last block.
    #[serde(default)]
    pub last_seen: Option<Timestamp>,
    /// Counts of transfers.
    #[serde(default)]
    pub counts: Option<ActivityCountsView>,
    /// Total received, by asset.
    #[serde(default)]
    pub r#in: Vec<AmountView>,
    /// Total sent, by asset.
    #[serde(default)]
    pub out: Vec<AmountView>,
    /// Balance, by asset.
    #[serde(default)]
    pub balance: Vec<AmountView>,
}

/// Counts of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ActivityCountsView {
    /// Incoming transfers.
    pub transfers_in: u64,
    /// Outgoing transfers.
    pub transfers_out: u64,
}

/// Coverage by kind of evidence.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CoverageView {
    /// Sanctions lists.
    pub sanctions: BlockView,
    /// Labels.
    pub labels: BlockView,
    /// Addresses of the same owner.
    pub association: BlockView,
    /// Flows of funds.
    pub exposure: BlockView,
    /// Behavior patterns.
    pub behavior: BlockView,
}

impl CoverageView {
    /// The blocks with their names, in the order of the answer.
    #[must_use]
    pub const fn blocks(&self) -> [(&'static str, &BlockView); 5] {
        [
            ("Sanctions lists", &self.sanctions),
            ("Labels", &self.labels),
            ("Associated addresses", &self.association),
            ("Flows of funds", &self.exposure),
            ("Behavior", &self.behavior),
        ]
    }
}

/// Coverage of one kind of evidence.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct BlockView {
    /// Status.
    pub status: String,
    /// Explanation.
    pub detail: String,
}

/// A source of data.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SourceView {
    /// Name.
    pub id: String,
    /// Kind of data.
    pub kind: String,
    /// Day of the newest publication.
    #[serde(default)]
    pub published_at: Option<Date>,
    /// Time at which it was last fetched or confirmed.
    #[serde(default)]
    pub fetched_at: Option<Timestamp>,
    /// True if it was never fetched.
    #[serde(default)]
    pub never_fetched: bool,
    /// Number of entries or blocks.
    pub entries: u64,
    /// True if the policy requires it.
    pub mandatory: bool,
    /// True if it is older than the policy permits.
    pub stale: bool,
    /// The newest known block of a chain.
    #[serde(default)]
    pub latest_block: Option<LatestBlockView>,
}

/// The newest known block of a chain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct LatestBlockView {
    /// Height.
    pub height: u64,
    /// Time in the header.
    pub time: Timestamp,
}
