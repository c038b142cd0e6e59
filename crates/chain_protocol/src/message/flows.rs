//! Money flows, behavior patterns and activity of an address.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccountLimitsMessage, ContractUseMessage, Identifier, StepViaMessage};

/// State of the subject's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainStateMessage {
    /// No source is configured for the chain: only lists and labels are available.
    NotFollowed,
    /// A source is configured for the chain, but its data is not available.
    Unavailable(Identifier),
    /// The chain's data about the subject.
    Followed(Box<ChainFactsMessage>),
}

/// Data about the subject from a chain with a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainFactsMessage {
    /// The newest known block.
    pub tip: TipMessage,
    /// The traced flows.
    pub flows: FlowFactsMessage,
    /// The owner's behavior; `None` if no patterns were searched.
    #[serde(default, rename = "patterns")]
    pub behavior: Option<BehaviorFactsMessage>,
    /// The subject's activity over its lifetime; `None` if it never appeared.
    pub activity: Option<ActivityFactsMessage>,
}

/// A chain's newest block as its source reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TipMessage {
    /// Height of the block.
    pub height: u64,
    /// Hash of the block, in hexadecimal.
    pub hash: String,
    /// Time in the block's header.
    pub time: Timestamp,
    /// Time at which the source last reported the block as the newest.
    pub reported_at: Timestamp,
    /// Height of the first known block: the origin of older coins is unknown.
    pub start: u64,
    /// Mode in which the chain is ingested.
    pub ingest_mode: Identifier,
    /// True if the chain belongs to the demo data set.
    pub sample: bool,
}

/// Activity of an address over its lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityFactsMessage {
    /// Time of the first block in which the address appears.
    pub first_seen: Timestamp,
    /// Time of the last block in which the address appears.
    pub last_seen: Timestamp,
    /// Number of incoming transfers.
    pub transfers_in: u64,
    /// Number of outgoing transfers.
    pub transfers_out: u64,
    /// Amounts, by asset.
    pub amounts: Vec<AssetActivityMessage>,
}

/// Amounts of one asset that an address received, sent and holds, in base units. Payments of the address to itself
/// count in neither direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssetActivityMessage {
    /// The asset's ticker.
    pub asset: String,
    /// Total received.
    pub received: u128,
    /// Total that the address sent, fees included.
    pub sent: u128,
    /// Present balance.
    pub balance: u128,
}

/// The traced flows of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFactsMessage {
    /// True if the trace ended within its limits.
    pub complete: bool,
    /// One ledger per asset, or a single ledger for all assets together if each asset has a price. Each ledger is
    /// assessed separately, and the highest risk is used.
    pub ledgers: Vec<LedgerMessage>,
    /// Identifies the endpoint parties for which the used compositions (origin breakdowns) of transactions were
    /// computed; null if no composition was used.
    pub compositions: Option<String>,
    /// True if the server's lists and labels name endpoint parties other than those of the used compositions.
    #[serde(default)]
    pub are_compositions_outdated: bool,
    /// Limits of the flows on an account chain; absent on other chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<AccountLimitsMessage>>,
    /// Dealings with contracts on an account chain; absent where they were not searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contracts: Option<Box<ContractUseMessage>>,
}

/// The flows of one unit of account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerMessage {
    /// Unit of the amounts: an asset's ticker (amounts in base units) or `USD` (amounts in cents).
    pub unit: String,
    /// Decimals of the unit, for showing amounts.
    pub decimals: u8,
    /// Decimals of base units that the amounts leave out.
    #[serde(default)]
    pub left_out_decimals: u8,
    /// Origin of the money.
    pub source: DirectionFlowsMessage,
    /// Destination of the money.
    pub destination: DirectionFlowsMessage,
    /// Origins of the money that the subject still holds; empty if it was not traced by itself.
    #[serde(default)]
    pub held: DirectionFlowsMessage,
    /// True on an account chain, whose money is followed forward.
    #[serde(default)]
    pub of_accounts: bool,
}

/// All exposure parts of one direction. The sum of the exposure parts is all money of the direction, returned money
/// included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionFlowsMessage {
    /// The parts.
    pub parts: Vec<FlowPartMessage>,
    /// Number of transactions on the paths, without the subject's own transactions.
    pub transactions: u32,
}

/// One endpoint of a trace, or one label on the path to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPartMessage {
    /// Endpoint of the trace.
    pub end: FlowEndMessage,
    /// Name of the party at the endpoint, if known.
    pub entity: Option<String>,
    /// Distance of the endpoint from the subject.
    pub distance: FlowDistanceMessage,
    /// True if all money of the exposure part moved in one hop.
    pub is_direct: bool,
    /// The strength of the attribution.
    pub tier: Identifier,
    /// Confidence of the attribution.
    pub confidence: u8,
    /// Amount over the subject's lifetime.
    pub amount: u128,
    /// Amount in the last 90 days; at most `amount`.
    pub recent: u128,
    /// Greatest sum of the money that was outstanding with the direct counterparty at any time: as much lowers the shares
    /// of other money. Null if that is the whole amount.
    #[serde(default)]
    pub outstanding: Option<u128>,
    /// The amount in the unit of a trace.
    pub mass: MassMessage,
    /// The mass: the amount, reduced by a factor for each hop but the first.
    pub decayed: MassMessage,
    /// True if the party at the endpoint is on a list that is in force.
    pub listed: bool,
    /// The entry of the list that names the party.
    pub listed_by: Option<PartyListingMessage>,
    /// Sign that the subject did or did not ask for the money.
    pub solicitation: Identifier,
    /// Risky labels on the money's path that end no trace. The exposure part is scored once: as the endpoint or as the
    /// label with the highest score.
    pub carried: Vec<CarriedPartMessage>,
    /// Period of the movement: before or after the listing of the party at the endpoint; null if the party is not
    /// listed or the day of the listing is not known.
    pub listing_period: Option<Identifier>,
    /// Fewest days between a movement of the exposure part's money and the later listing of the party.
    pub days_before_listing: Option<u32>,
    /// Name of the party at the end of the shown path, if several parties of the category share the exposure part.
    pub party_of_path: Option<String>,
    /// Identifiers of the transactions on the shown paths, the largest path first.
    pub transactions: Vec<String>,
    /// The largest paths to the endpoint.
    pub paths: Vec<FlowPathMessage>,
    /// Amounts of each asset on an account chain, by ticker; absent on other chains.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub assets: BTreeMap<String, u128>,
}

/// Endpoint of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowEndMessage {
    /// An address that a listing, label or cluster attributes to a category.
    Attributed(Identifier),
    /// Newly mined coins.
    Mining,
    /// A bridge to another chain.
    Bridge,
    /// An unspent output.
    Unspent,
    /// A fee, paid to the miner of the transaction.
    Fee,
    /// An output of the subject's own address: money that returned or never left the owner. Shares exclude that money,
    /// because it was counted when it was first received.
    Returned,
    /// An address or script that nobody controls, such as a burn address.
    Destroyed,
    /// Money that was not traced further, with the reason.
    Unresolved(Identifier),
}

/// Distance of an endpoint from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowDistanceMessage {
    /// Fewest hops for any amount; 1 is direct, 0 is money that the subject itself holds.
    Hops(u16),
    /// Beyond a trace that passed this many transactions: the endpoint is from the compositions (origin breakdowns) of
    /// the transactions at which the trace stopped.
    Further(u32),
}

/// An amount of a trace, separated into the last 90 days and the time before, so that the recent amount
/// never exceeds the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MassMessage {
    /// Amount that moved before the last 90 days.
    pub earlier: u128,
    /// Amount that moved in the last 90 days.
    pub recent: u128,
}

/// The entry of a sanctions list that names a party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartyListingMessage {
    /// Name of the list.
    pub list_name: String,
    /// Identifier of the list.
    pub list: Identifier,
    /// Sanctions programs under which the party is listed.
    pub programs: Vec<String>,
    /// Identifier of the entity on the list.
    pub entity_id: String,
    /// Day of the listing; null if the day is not known.
    pub listed_on: Option<Date>,
}

/// A label on the path of all money of an exposure part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedPartMessage {
    /// The label.
    pub label: CarriedLabelMessage,
    /// Distance of the label from the subject.
    pub distance: DistanceMessage,
}

/// A label of an address or of a joint transaction through which a flow passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedLabelMessage {
    /// Strength of the label.
    pub tier: Identifier,
    /// Category.
    pub category: Identifier,
    /// Confidence.
    pub confidence: u8,
    /// Severity of the category under the policy, 0 to 100.
    pub severity: u8,
    /// Name, if known.
    pub entity: Option<String>,
    /// Kind of the joint transaction; null for the label of an address.
    pub coinjoin: Option<Identifier>,
}

/// Distance of a label from the subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DistanceMessage {
    /// Fewest hops from the subject.
    pub hops: u16,
    /// The money's mass (amount after decay by hops) at the label.
    pub decayed: MassMessage,
}

/// A path of money, from the subject outwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPathMessage {
    /// Amount that moved along the path.
    pub amount: u128,
    /// Steps of the path, the subject's own transaction first.
    pub steps: Vec<PathStepMessage>,
}

/// One hop of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathStepMessage {
    /// Blockchain of the transaction, if it is another one than that of the question: the step is behind a bridge. Absent on
    /// the same blockchain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockchain: Option<String>,
    /// The transaction.
    pub transaction: String,
    /// Address of the party on the other side of the transaction; null if the party has no address, or for newly mined
    /// coins and fees, which have no party.
    pub address: Option<String>,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Amount that the party put into the transaction or received from it, in base units as a decimal string, including
    /// money on other paths. Null if there is no party.
    pub amount: Option<String>,
    /// Asset of the amount on an account chain: `native` or the address of the token's contract; absent on other chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// Place of the transfer in its transaction on an account chain, such as `log 12`; absent if it is not known, and on
    /// other chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Attribution of the party; null if none is known.
    pub label: Option<StepLabelMessage>,
    /// On an account chain, the contracts that left the party its own money before it paid, in the order of the chain;
    /// absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<StepViaMessage>,
}

/// Attribution of a party on a path: the endpoint's attribution, or the riskiest label of the party's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepLabelMessage {
    /// Category of the party.
    pub category: Identifier,
    /// Name of the entity.
    pub entity: Option<String>,
    /// Strength of the attribution.
    pub tier: Identifier,
    /// Confidence of the attribution, in percent.
    pub confidence: u8,
    /// True if the party is on a list in force.
    pub listed: bool,
}

/// Behavior of the subject's owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BehaviorFactsMessage {
    /// The patterns found.
    pub patterns: Vec<PatternFactMessage>,
    /// Extent of the search for patterns.
    pub searched: SearchedMessage,
}

/// A pattern found at the subject's owner, with all of its occurrences in one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatternFactMessage {
    /// The pattern.
    pub pattern: Identifier,
    /// The owner's role in the pattern.
    pub role: Identifier,
    /// Confidence of the detection.
    pub confidence: u8,
    /// Reason why the pattern is not scored; null if the pattern is scored.
    pub unscored: Option<Identifier>,
    /// Number of occurrences: windows of time, chains, cycles or transactions.
    pub count: u64,
    /// Times of the first and the last transaction of the pattern.
    pub period: (Timestamp, Timestamp),
    /// Funds of the owner that took part in the pattern, in base units; on account chains in US cents.
    pub amount: u128,
    /// All funds of the owner that were read in the same direction, in the same unit.
    pub whole: u128,
    /// Figures for the explanation of the pattern.
    pub details: PatternDetailsMessage,
    /// Identifiers of the pattern's transactions, in the order of the chain.
    pub transactions: Vec<String>,
}

/// Figures of the pattern's occurrence with the largest amount. Each pattern has some of these figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PatternDetailsMessage {
    /// Funds of the owner that took part in the occurrence, in the unit of the pattern.
    pub amount: u128,
    /// Number of distinct counterparties.
    pub parties: Option<u64>,
    /// Number of structured payments.
    pub payments: Option<u64>,
    /// Number of steps of a peel chain, or of owners in layering or in a cycle.
    pub length: Option<u64>,
    /// Duration in seconds from the first to the last transaction, or of dormancy.
    pub seconds: Option<u64>,
    /// Threshold, in the unit of the pattern, below which the structured payments stay.
    pub threshold: Option<u128>,
    /// Protocol of the joint transactions, if all have the same.
    pub coinjoin: Option<Identifier>,
}

/// Extent of a search for patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedMessage {
    /// Number of the owner's addresses whose transactions were read.
    pub addresses: u64,
    /// Number of all addresses of the owner.
    pub all_addresses: u64,
    /// Number of the owner's transactions that were read.
    pub transactions: u64,
    /// True if all transactions of the read addresses were read, with all inputs and outputs.
    pub is_whole: bool,
    /// Number of counterparties' transactions that were read.
    pub around: u64,
    /// True if the limits of the search excluded none of the counterparties' transactions.
    pub is_whole_around: bool,
    /// True if the activity of other owners is known, which the search for layering requires.
    pub has_activity_of_others: bool,
}
