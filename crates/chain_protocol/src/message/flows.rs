//! Flows of money, patterns and activity of an address.

use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Identifier;

/// State of the subject's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainStateMessage {
    /// No source follows the chain: only lists and labels can be looked at.
    NotFollowed,
    /// A source is configured for the chain, but its data is not available.
    Unavailable(Identifier),
    /// The chain's data about the subject.
    Followed(Box<ChainFactsMessage>),
}

/// A followed chain's data about the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainFactsMessage {
    /// The newest block that is known.
    pub tip: TipMessage,
    /// The traced flows.
    pub flows: FlowFactsMessage,
    /// The owner's behavior; `None` where no patterns were searched.
    #[serde(default, rename = "patterns")]
    pub behavior: Option<BehaviorFactsMessage>,
    /// The subject's activity over its lifetime; `None` if it never appeared.
    pub activity: Option<ActivityFactsMessage>,
}

/// A chain's newest block as its source reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TipMessage {
    /// Its height.
    pub height: u64,
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// Its own time.
    pub time: Timestamp,
    /// Time at which the source last reported it as the newest.
    pub reported_at: Timestamp,
    /// The height of the first known block: older coins have no known origin.
    pub start: u64,
    /// Way in which the chain is read.
    pub ingest_mode: Identifier,
    /// True if the chain belongs to the demo data set.
    pub sample: bool,
}

/// Activity of an address over its lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityFactsMessage {
    /// Time of the first block it appears in.
    pub first_seen: Timestamp,
    /// Time of the last.
    pub last_seen: Timestamp,
    /// Incoming transfers.
    pub transfers_in: u64,
    /// Outgoing transfers.
    pub transfers_out: u64,
    /// Amounts, by asset.
    pub amounts: Vec<AssetActivityMessage>,
}

/// Amounts of one asset that an address received, sent and holds, in base units. Payments to itself
/// count in neither direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssetActivityMessage {
    /// The asset's ticker.
    pub asset: String,
    /// Received in all.
    pub received: u128,
    /// Sent in all, fees included.
    pub sent: u128,
    /// Held now.
    pub balance: u128,
}

/// The traced flows of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFactsMessage {
    /// True if the trace ended within its budget and time.
    pub complete: bool,
    /// One ledger an asset, or one for all assets together where each has a price. Ledgers are
    /// assessed apart and the worst counts.
    pub ledgers: Vec<LedgerMessage>,
    /// Names the parties that what transactions are made of rests on, as far as that was used.
    pub compositions: Option<String>,
}

/// The flows of one unit of account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerMessage {
    /// Unit of the amounts: an asset's ticker (amounts in base units) or `USD` (amounts in cents).
    pub unit: String,
    /// Decimals of the unit, for showing amounts.
    pub decimals: u8,
    /// Origin of the money.
    pub source: DirectionFlowsMessage,
    /// Destination of the money.
    pub destination: DirectionFlowsMessage,
}

/// All parts of one direction. Their sum is all money of the direction, the money that returned included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionFlowsMessage {
    /// The parts.
    pub parts: Vec<FlowPartMessage>,
    /// Number of transactions that money passed on the way, besides the subject's own.
    pub transactions: u32,
}

/// One endpoint of a trace, or one label on its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPartMessage {
    /// Endpoint of the trace.
    pub end: FlowEndMessage,
    /// Name of the party at the endpoint, if known.
    pub entity: Option<String>,
    /// Distance of the end from the subject.
    pub distance: FlowDistanceMessage,
    /// True if all of it came by the first hop.
    pub is_direct: bool,
    /// The strength of the attribution.
    pub tier: Identifier,
    /// Confidence of the attribution.
    pub confidence: u8,
    /// Over the subject's lifetime.
    pub amount: u128,
    /// In the last 90 days; at most `amount`.
    pub recent: u128,
    /// The amount in the unit of a trace.
    pub mass: MassMessage,
    /// The mass, decayed by each hop but the first.
    pub decayed: MassMessage,
    /// True if the party at the endpoint is on a list that is in force.
    pub listed: bool,
    /// The entry of the list that names the party.
    pub listed_by: Option<PartyListingMessage>,
    /// Whether the subject asked for the money.
    pub solicitation: Identifier,
    /// Risky labels on the path of the money that end no trace. The part counts once: as the
    /// endpoint or one of these labels, whichever scores highest.
    pub carried: Vec<CarriedPartMessage>,
    /// Whether it moved before the party at the endpoint was listed, or since; `None` if it is not
    /// listed or the day is not known.
    pub listing_period: Option<Identifier>,
    /// The fewest days before the listing on which money of a part from before it moved.
    pub days_before_listing: Option<u32>,
    /// The name of the party at the end of the path that is shown, where the part's money comes from several parties of
    /// its category.
    pub party_of_path: Option<String>,
    /// Identifiers of transactions that show it, those of the largest path first.
    pub transactions: Vec<String>,
    /// The largest paths to the end.
    pub paths: Vec<FlowPathMessage>,
}

/// Endpoint of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowEndMessage {
    /// At an address that a listing, label or cluster attributes.
    Attributed(Identifier),
    /// At freshly mined coins.
    Mining,
    /// At a bridge to another chain.
    Bridge,
    /// At an output that is not spent yet.
    Unspent,
    /// Paid to the miner of the transaction.
    Fee,
    /// At an output of the subject's own address: its money came back, or never left its owner. It counted when it
    /// first came, so that it is no part of the whole of which shares are computed.
    Returned,
    /// Not followed further.
    Unresolved(Identifier),
}

/// How far the end of money is from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowDistanceMessage {
    /// Fewest hops, in whatever amount; 1 is direct. Zero stands for money that the subject itself holds.
    Hops(u16),
    /// Further than a trace went that passed so many transactions: the end follows from what the transactions are made
    /// of at which the trace stopped.
    Further(u32),
}

/// An amount of a trace, separated into the last 90 days and the time before, so that the recent amount
/// never exceeds the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MassMessage {
    /// Moved before the last 90 days.
    pub earlier: u128,
    /// Moved in the last 90 days.
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
    /// Day of the listing; null where it is not known.
    pub listed_on: Option<Date>,
}

/// A label that all money of a part passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedPartMessage {
    /// The label.
    pub label: CarriedLabelMessage,
    /// Where the money met it.
    pub distance: DistanceMessage,
}

/// A label that a flow carries because it passed through the label's address, or through a joint transaction.
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
    /// The kind of joint transaction that the money passed through, if it is no label of an address.
    pub coinjoin: Option<Identifier>,
}

/// The distance at which money met a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DistanceMessage {
    /// Fewest hops from the subject.
    pub hops: u16,
    /// The mass as decayed when it met the label.
    pub decayed: MassMessage,
}

/// The way that money took, from the subject outwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPathMessage {
    /// Amount that took the path.
    pub amount: u128,
    /// Its steps, the subject's own transaction first.
    pub steps: Vec<PathStepMessage>,
}

/// One hop of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathStepMessage {
    /// The transaction.
    pub transaction: String,
    /// The address at its other side; null if the party has no address, or if there is no party:
    /// newly mined coins, a fee.
    pub address: Option<String>,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// What the party put into the transaction, or received from it, in base units, as a decimal string: also money
    /// that did not take this path. Null if there is no party.
    pub amount: Option<String>,
    /// Attribution of the party; null if none is known.
    pub label: Option<StepLabelMessage>,
}

/// Attribution of a party on a path: that at which the trace ends, or else the riskiest label of its address.
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
    /// Extent of the search.
    pub searched: SearchedMessage,
}

/// A pattern found at the subject's owner, with all of its occurrences in one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatternFactMessage {
    /// The pattern.
    pub pattern: Identifier,
    /// The owner's role in it.
    pub role: Identifier,
    /// Confidence of the detection.
    pub confidence: u8,
    /// Reason for which it is not scored; `None` if it is.
    pub unscored: Option<Identifier>,
    /// Number of occurrences: windows of time, chains, cycles or transactions.
    pub count: u64,
    /// Time of the first and of the last transaction.
    pub period: (Timestamp, Timestamp),
    /// Funds of the owner that took part, in base units.
    pub amount: u128,
    /// All funds of the owner in the same direction that were read, in base units.
    pub whole: u128,
    /// Details for the sentence.
    pub details: PatternDetailsMessage,
    /// Identifiers of transactions that show it, in the order of the chain.
    pub transactions: Vec<String>,
}

/// Figures of the occurrence of a pattern with the largest amount; which ones there are depends on the pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PatternDetailsMessage {
    /// Funds of the owner that took part in it, in base units.
    pub amount: u128,
    /// Distinct owners on the other side.
    pub parties: Option<u64>,
    /// Payments of a structuring.
    pub payments: Option<u64>,
    /// Length: steps of a peel chain, owners of a layering run or of a cycle.
    pub length: Option<u64>,
    /// Duration in seconds from the first transaction to the last, or of a pause.
    pub seconds: Option<u64>,
    /// Amount in base units that structured payments stay below.
    pub threshold: Option<u128>,
    /// Protocol of the joint transactions, if all have the same.
    pub coinjoin: Option<Identifier>,
}

/// Extent of a search for patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedMessage {
    /// Addresses of the owner whose transactions were read.
    pub addresses: u64,
    /// All addresses of the owner.
    pub all_addresses: u64,
    /// Transactions of the owner that were read.
    pub transactions: u64,
    /// True if these are all transactions of these addresses, with all their inputs and outputs.
    pub is_whole: bool,
    /// Transactions of others that were read around them.
    pub around: u64,
    /// True if the limits of the search left nothing out around them.
    pub is_whole_around: bool,
    /// True if the activity of other owners is known, which layering rests on.
    pub has_activity_of_others: bool,
}
