//! Origins and destinations of funds: the result of a trace, in the form that the score uses.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::CanonicalAddress;
use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::{BehaviorFacts, BridgedReceipts, ContractUse, ExcessMoney, ReadHistories, Tier},
    ledger::Mass,
    names::ListId,
    score::Confidence,
    taxonomy::Category,
    utxo::coinjoin::CoinjoinKind,
};

/// Direction in which funds are followed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Origins of the subject's funds.
    Source,
    /// Destinations of the subject's funds.
    Destination,
}

/// State of the subject's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainState {
    /// No source follows the chain: only lists and labels can be checked.
    NotFollowed,
    /// A source is configured for the chain, but its data is not available.
    Unavailable(Unavailable),
    /// The chain's data about the subject.
    Followed(Box<ChainFacts>),
}

/// Reason for which a chain's data is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    /// Reading failed.
    Unreadable,
    /// The chain's source has provided no data yet.
    NotYetRead,
    /// The assessment is for a past day, whose chain data is not available now.
    PastDay,
    /// The request asks for lists and labels only.
    NotAskedFor,
    /// The chain's servers have different blocks, and no branch has a majority.
    BranchesDiffer,
}

impl Unavailable {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "the chain source could not be read",
            Self::NotYetRead => "the chain source returned no data yet",
            Self::PastDay => "flows of funds are not available for a past day",
            Self::NotAskedFor => {
                "only lists and labels were asked for; scope `full` includes flows"
            }
            Self::BranchesDiffer => {
                "the chain servers are on different branches, and none has a majority"
            }
        }
    }
}

/// A followed chain's data about the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFacts {
    /// The newest block that is known.
    pub tip: Tip,
    /// The traced flows.
    pub flows: FlowFacts,
    /// The owner's behavior; `None` where no patterns were searched.
    pub behavior: Option<BehaviorFacts>,
    /// The subject's activity over its lifetime; `None` if the subject never appeared.
    pub activity: Option<ActivityFacts>,
}

/// Activity of an address over its lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityFacts {
    /// Time of the first block in which the address appears.
    pub first_seen: Timestamp,
    /// Time of the last block in which the address appears.
    pub last_seen: Timestamp,
    /// Incoming transfers.
    pub transfers_in: u64,
    /// Outgoing transfers.
    pub transfers_out: u64,
    /// Amounts, by asset.
    pub amounts: Vec<AssetActivity>,
}

/// Amounts of one asset that an address received, sent and holds, in base units. Payments of the address to itself
/// count in neither direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetActivity {
    /// The asset's ticker.
    pub asset: String,
    /// Total received.
    pub received: u128,
    /// Total sent, fees included.
    pub sent: u128,
    /// Current balance.
    pub balance: u128,
}

/// The traced flows of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// True if the trace finished within its budget and time.
    pub complete: bool,
    /// One ledger for each asset, or one for all assets together if each has a price. Ledgers are assessed separately,
    /// and the ledger with the highest score counts.
    pub ledgers: Vec<Ledger>,
    /// The compositions (breakdowns of transactions' funds by origin) that the trace used; `None` if it used none.
    pub compositions: Option<UsedCompositions>,
    /// Limits of the flows on an account chain; `None` on other chains.
    pub account: Option<Box<AccountLimits>>,
    /// Dealings with contracts on an account chain; `None` where they were not searched.
    pub contracts: Option<Box<ContractUse>>,
    /// Histories that were read account by account; `None` where all transfers of the chain are recorded.
    pub histories: Option<Box<ReadHistories>>,
}

/// Limits of the flows on an account chain (`docs/model/accounts.md` B15).
#[expect(clippy::struct_excessive_bools, reason = "each limit is told by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
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
    /// True if the sender of each transaction is recorded: without it, nobody knows which payments the subject did not
    /// initiate.
    pub has_initiators: bool,
    /// Received money that contracts paid beyond what anybody is known to have put in for the subject, by unit.
    pub excess: Vec<ExcessMoney>,
    /// Funds that parties which harm payers got in transactions that the subject did not send.
    pub taken: Vec<TakenFunds>,
    /// Number of the subject's older payments, of which sums were read.
    pub summed_payments: u64,
    /// Number of the subject's oldest payments, which were not read.
    pub unread_payments: u64,
    /// Transfers of scored assets' tickers by other contracts in the subject's history.
    pub lookalike_tokens: Vec<String>,
    /// Accounts that sent the subject worthless transfers and look like its counterparties.
    pub lookalike_accounts: Vec<LookalikeAccount>,
    /// Number of the subject's transfers of tokens whose money is not followed, in the newest
    /// [`MOST_OTHER_TOKENS`](crate::account::MOST_OTHER_TOKENS) transactions with such transfers.
    pub other_tokens: u64,
    /// Receipts from bridges, with those that were joined to deposits on other chains.
    pub bridged: BridgedReceipts,
}

/// Funds of a subject that a party which harms payers got directly, in transactions that the subject did not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFunds {
    /// Category of the party.
    pub category: Category,
    /// Name of the party, if known.
    pub entity: Option<Arc<str>>,
    /// Strength of the party's attribution.
    pub tier: Tier,
    /// Confidence of the party's attribution.
    pub confidence: Confidence,
    /// Sum, in the unit as it is shown.
    pub amount: u128,
    /// Name of the unit.
    pub unit: String,
    /// Decimals of the unit.
    pub decimals: u8,
    /// The largest transactions.
    pub transactions: Vec<String>,
}

/// An account that looks like a counterparty of the subject, and sent the subject nothing but dust, transfers of nothing
/// and worthless tokens, or had such transfers logged in the subject's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookalikeAccount {
    /// The account.
    pub address: CanonicalAddress,
    /// The counterparty that it looks like.
    pub of: CanonicalAddress,
    /// True if the subject paid the account more than dust.
    pub is_paid: bool,
    /// The first transactions of its worthless transfers.
    pub transactions: Vec<String>,
}

/// Compositions (breakdowns of transactions' funds by origin) on which flows rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedCompositions {
    /// Revision of the attributions from which the compositions were computed.
    pub revision: String,
    /// True if the lists and labels of the assessment attribute the chain's owners differently.
    pub is_outdated: bool,
}

/// A chain's newest block as its source reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its height.
    pub height: u64,
    /// The block's hash, in hexadecimal.
    pub hash: String,
    /// Time in the block's header.
    pub time: Timestamp,
    /// Time at which the source last reported the block as the newest.
    pub reported_at: Timestamp,
    /// Height of the first known block: older coins have no known origin.
    pub start: u64,
    /// Way in which the source reads the chain.
    pub ingest_mode: IngestMode,
    /// True if the chain belongs to the demo data set.
    pub sample: bool,
}

impl Tip {
    /// Time by which the chain's freshness is judged: an old block that was reported just now is as stale as a new
    /// block that was reported long ago.
    #[must_use]
    pub fn as_of(&self) -> Timestamp {
        self.reported_at.min(self.time)
    }
}

/// Way in which a source reads a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IngestMode {
    /// Every block is recorded.
    Ingested,
    /// Histories of single addresses are fetched on demand.
    OnDemand,
}

/// The flows of one unit of account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Unit of the amounts: an asset's ticker (amounts in base units) or `USD` (amounts in cents).
    pub unit: String,
    /// Decimals of the unit, for showing amounts.
    pub decimals: u8,
    /// Decimals of base units that the amounts leave out; answers have them, as zeros.
    pub left_out_decimals: u8,
    /// Origins of the funds.
    pub source: DirectionFlows,
    /// Destinations of the funds.
    pub destination: DirectionFlows,
    /// Origins of the coins that the subject still holds; empty if they were not traced by themselves.
    pub held: DirectionFlows,
    /// True on an account chain, whose money is followed forward.
    pub of_accounts: bool,
}

impl Ledger {
    /// True for a ledger of an account chain.
    #[must_use]
    pub const fn is_of_accounts(&self) -> bool {
        self.of_accounts
    }

    /// An amount of the ledger in base units of its asset; in cents for dollars.
    #[must_use]
    pub fn in_base_units(&self, amount: u128) -> u128 {
        // No supply of an asset comes near 128 bits: readers refuse such amounts.
        amount.saturating_mul(10_u128.saturating_pow(self.left_out_decimals.into()))
    }

    /// The flows of one direction.
    #[must_use]
    pub const fn direction(&self, direction: Direction) -> &DirectionFlows {
        match direction {
            Direction::Source => &self.source,
            Direction::Destination => &self.destination,
        }
    }
}

/// All flow parts of one direction. The parts sum to all funds of the direction, returned funds included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionFlows {
    /// The parts.
    pub parts: Vec<FlowPart>,
    /// Number of transactions that the trace passed, besides the subject's own.
    pub transactions: u32,
}

impl DirectionFlows {
    /// Total of all parts but the returned ones, in base units.
    #[must_use]
    pub fn received(&self) -> u128 {
        let parts = self.parts.iter().filter(|part| part.end != FlowEnd::Returned);
        parts.map(|part| part.amount).fold(0, u128::saturating_add)
    }
}

/// Funds of one endpoint of a trace, with the labels on the paths to that endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPart {
    /// Endpoint of the trace.
    pub end: FlowEnd,
    /// Name of the party at the endpoint, if known.
    pub entity: Option<String>,
    /// Distance of the endpoint from the subject.
    pub distance: FlowDistance,
    /// True if all of the part's funds reached the endpoint in the first hop.
    pub is_direct: bool,
    /// The strength of the attribution.
    pub tier: Tier,
    /// Confidence of the attribution.
    pub confidence: Confidence,
    /// Amount over the subject's lifetime.
    pub amount: u128,
    /// Amount in the last 90 days; at most `amount`.
    pub recent: u128,
    /// Greatest sum of the funds that was outstanding with the direct counterparty at any time: as much lowers the shares
    /// of other funds. `None` if that is the whole amount.
    pub outstanding: Option<u128>,
    /// The amount in the unit of a trace.
    pub mass: Mass,
    /// The amount in the unit of a trace, decayed by each hop but the first.
    pub decayed: Mass,
    /// True if the party at the endpoint is on a list that is in force.
    pub listed: bool,
    /// The entry of the list that names the party.
    pub listed_by: Option<Arc<PartyListing>>,
    /// Solicitation of the funds by the subject.
    pub solicitation: Solicitation,
    /// Risky labels on the path that are too weak to end a trace. The flow part counts once: by the endpoint or by one
    /// of these labels, whichever scores highest.
    pub carried: Vec<CarriedPart>,
    /// Period in which the funds moved, before the endpoint's party was listed or since; `None` if the party is not
    /// listed or the day is not known.
    pub listing_period: Option<ListingPeriod>,
    /// Fewest days between a movement of the funds and a later listing of the party.
    pub days_before_listing: Option<u32>,
    /// Name of the party at the end of the shown path, if the part's funds come from several parties of a category.
    pub party_of_path: Option<String>,
    /// Identifiers of transactions that show the part, those of the largest path first.
    pub transactions: Vec<String>,
    /// The paths with the largest amounts to the endpoint.
    pub paths: Vec<FlowPath>,
    /// On an account chain, the amounts of each asset, by ticker; empty on other chains.
    pub assets: BTreeMap<String, u128>,
}

impl FlowPart {
    /// A direct flow part of `amount` at the endpoint `end` that moved more than 90 days ago, without further
    /// attributes.
    #[must_use]
    pub const fn plain(end: FlowEnd, amount: u128) -> Self {
        let mass = Mass::from_base_units(amount, false);
        Self {
            end,
            entity: None,
            distance: FlowDistance::Hops(1),
            is_direct: true,
            tier: Tier::Behavior,
            confidence: Confidence::CERTAIN,
            amount,
            recent: 0,
            outstanding: None,
            mass,
            decayed: mass,
            listed: false,
            listed_by: None,
            solicitation: Solicitation::Solicited,
            carried: Vec::new(),
            listing_period: None,
            days_before_listing: None,
            party_of_path: None,
            transactions: Vec::new(),
            paths: Vec::new(),
            assets: BTreeMap::new(),
        }
    }
}

/// The entry of a sanctions list that names a party.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize)]
pub struct PartyListing {
    /// Name of the list.
    pub list_name: String,
    /// Identifier of the list.
    pub list: ListId,
    /// Sanctions programs under which the party is listed.
    pub programs: Vec<String>,
    /// Identifier of the entity on the list.
    pub entity_id: String,
    /// Day of the listing; null where the day is not known.
    pub listed_on: Option<Date>,
}

impl PartyListing {
    /// The list and its programs in words, such as `OFAC SDN List, CYBER2`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let programs = self.programs.iter().map(String::as_str);
        std::iter::once(self.list_name.as_str()).chain(programs).collect::<Vec<_>>().join(", ")
    }
}

/// Distance of an endpoint from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowDistance {
    /// Fewest hops; 1 is direct. Zero stands for funds that the subject itself holds.
    Hops(u16),
    /// Endpoint beyond the trace, which passed this many transactions: the endpoint follows from the compositions
    /// (breakdowns by origin) of the transactions at which the trace stopped.
    Further(u32),
}

impl FlowDistance {
    /// Fewest hops; `None` if the distance is not known.
    #[must_use]
    pub const fn hops(self) -> Option<u16> {
        match self {
            Self::Hops(hops) => Some(hops),
            Self::Further(_) => None,
        }
    }

    /// Number of transactions that the trace passed before it stopped short of the endpoint; `None` if the hops are
    /// known.
    #[must_use]
    pub const fn further_than(self) -> Option<u32> {
        match self {
            Self::Hops(_) => None,
            Self::Further(transactions) => Some(transactions),
        }
    }

    /// The distance, raised to at least one hop, for endpoints other than the subject.
    #[must_use]
    pub const fn at_least_one(self) -> Self {
        match self {
            Self::Hops(0) => Self::Hops(1),
            other => other,
        }
    }
}

/// A label that all funds of a flow part passed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CarriedPart {
    /// The label.
    pub label: CarriedLabel,
    /// Distance at which the funds passed the label.
    pub distance: LabelDistance,
}

/// A label that a flow carries because the flow's funds passed the label's address or a joint transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarriedLabel {
    /// Strength of the label.
    pub tier: Tier,
    /// Category.
    pub category: Category,
    /// Confidence.
    pub confidence: Confidence,
    /// Severity of the category under the policy, 0 to 100.
    pub severity: u8,
    /// Name, if known.
    pub entity: Option<Arc<str>>,
    /// Kind of the joint transaction that the funds passed; `None` for a label of an address.
    pub coinjoin: Option<CoinjoinKind>,
}

/// The distance at which funds passed a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelDistance {
    /// Fewest hops from the subject.
    pub hops: u16,
    /// The decayed amount of the funds when they passed the label.
    pub decayed: Mass,
}

impl LabelDistance {
    /// The distance of a label beyond the trace, which follows from the composition (breakdown of the funds by origin) of
    /// the transaction at which the trace stopped: the hops are not known, so the funds count as fully decayed.
    pub const BEYOND: Self = Self { hops: u16::MAX, decayed: Mass { earlier: 0, recent: 0 } };

    /// True for a label beyond the trace.
    #[must_use]
    pub const fn is_beyond(self) -> bool {
        self.hops == u16::MAX
    }

    /// Adds the distance of other funds with the same label.
    pub(crate) fn add(&mut self, other: Self) {
        self.hops = self.hops.min(other.hops);
        self.decayed += other.decayed;
    }
}

/// Period in which funds moved to or from a listed party.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ListingPeriod {
    /// Before the day of the listing.
    Before,
    /// On the day of the listing or later.
    Since,
}

impl ListingPeriod {
    /// The period of funds that moved on one day, for a party that was listed on another.
    #[must_use]
    pub fn of_movement(moved_on: Date, listed_on: Date) -> Self {
        if moved_on < listed_on { Self::Before } else { Self::Since }
    }
}

/// Solicitation of funds by the subject. Funds count as solicited unless evidence shows that they are unsolicited.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Solicitation {
    /// Dust: a payment of a negligible amount, from a sender whose such payments are small in sum. Dust is shown and
    /// never scored.
    Dust,
    /// A small amount from senders whom the subject never paid, of which the subject passed nothing on. Such funds are
    /// shown, and scored only if their category's total exceeds the policy's limit for unsolicited funds, or if a list
    /// names the sender.
    Unsolicited,
    /// A larger amount from senders whom the subject never paid, of which the subject passed nothing on.
    Untouched,
    /// Funds from a party of a category that harms payers, to which the subject had sent at least as much before.
    PaidBack,
    /// All other funds.
    Solicited,
}

impl Solicitation {
    /// True if nothing shows that the subject asked for the funds.
    #[must_use]
    pub const fn is_unasked(self) -> bool {
        matches!(self, Self::Dust | Self::Unsolicited | Self::Untouched)
    }

    /// True for funds that came unasked and that the subject did not move since.
    #[must_use]
    pub const fn is_untouched(self) -> bool {
        matches!(self, Self::Unsolicited | Self::Untouched)
    }
}

/// A path that funds took, from the subject outwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Amount that took the path.
    pub amount: u128,
    /// Hops of the path, the subject's own transaction first.
    pub steps: Vec<PathStep>,
}

/// One hop of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
pub struct PathStep {
    /// Blockchain of the transaction, if it is another one than that of the checked address: the step is behind a bridge.
    /// Absent on the same blockchain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockchain: Option<String>,
    /// The transaction.
    pub transaction: String,
    /// Address on the other side of the transaction; null if the party has no address, or if there is no party: newly
    /// mined coins, a fee.
    pub address: Option<String>,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Amount that the party paid into the transaction, or received from the transaction, in base units, as a decimal
    /// string. The amount includes funds that did not take this path. Null if there is no party.
    pub amount: Option<String>,
    /// Asset of the amount on an account chain: `native` or the address of the token's contract. Absent on other chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// Place of the transfer in its transaction on an account chain, such as `log 12` or `trace 0,1`. Absent if it is not
    /// known, and on other chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Attribution of the party; null if none is known.
    pub label: Option<StepLabel>,
    /// On an account chain, the contracts at which the party got the asset for its own money since the step before, in
    /// the order of the chain: the funds reached it in another asset, or by an earlier payment that a contract gave back.
    /// Absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<StepVia>,
}

/// A contract that left a party on a path its own money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
pub struct StepVia {
    /// Address of the contract.
    pub address: String,
    /// Name of the contract by lists and labels; null if it has none.
    pub entity: Option<String>,
    /// The transaction.
    pub transaction: String,
    /// Asset that the party gave, if the contract exchanged it; null if the contract gave money back.
    pub gave: Option<String>,
}

/// Attribution of a party on a path: the attribution that ends the trace, or else the riskiest label of its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
pub struct StepLabel {
    /// Category of the party.
    pub category: Category,
    /// Name of the entity.
    pub entity: Option<String>,
    /// Strength of the attribution.
    pub tier: Tier,
    /// Confidence of the attribution, in percent.
    pub confidence: Confidence,
    /// True if the party is on a list in force.
    pub listed: bool,
}

/// Endpoint of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowEnd {
    /// The trace ended at an address that a listing, label or cluster attributes.
    Attributed(Category),
    /// The trace ended at freshly mined coins.
    Mining,
    /// The trace ended at a bridge to another chain.
    Bridge,
    /// The trace ended at an output that is not spent yet.
    Unspent,
    /// The trace ended at the transaction's fee, paid to the miner.
    Fee,
    /// The trace ended at an output of the subject's own address: the funds came back, or never left the owner.
    /// Returned funds were counted when they first came, and are not in the total of which shares are computed.
    Returned,
    /// The trace ended at an address or script that nobody controls, such as a burn address.
    Destroyed,
    /// The trace ended at a point beyond which the funds were not followed.
    Unresolved(UnresolvedReason),
}

impl FlowEnd {
    /// The endpoint at a party of a category.
    #[must_use]
    pub const fn of_category(category: Category) -> Self {
        match category {
            Category::Bridge => Self::Bridge,
            other => Self::Attributed(other),
        }
    }

    /// Category by which the endpoint is assessed; `None` if no party is known at the endpoint.
    #[must_use]
    pub const fn category(self) -> Option<Category> {
        match self {
            Self::Attributed(category) => Some(category),
            Self::Mining => Some(Category::Miner),
            Self::Bridge => Some(Category::Bridge),
            Self::Unspent | Self::Fee | Self::Returned | Self::Destroyed | Self::Unresolved(_) => {
                None
            }
        }
    }

    /// The identifier in answers of an endpoint at this distance.
    #[must_use]
    pub const fn as_str(self, distance: FlowDistance) -> &'static str {
        match self {
            Self::Attributed(category) => category.as_str(),
            Self::Mining => "mining",
            Self::Bridge => "bridge",
            Self::Unspent if matches!(distance, FlowDistance::Hops(0)) => "unspent_by_subject",
            Self::Unspent => "unspent_downstream",
            Self::Fee => "fee",
            Self::Returned => "returned",
            Self::Destroyed => "destroyed",
            Self::Unresolved(_) => "unresolved",
        }
    }
}

/// Reason for which funds were not followed further.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum UnresolvedReason {
    /// The trace reached its largest number of hops.
    DepthLimit,
    /// The share and the amount of the funds are both below the policy's thresholds for following.
    BelowThreshold,
    /// The trace read as many inputs and outputs as its budget allows.
    TraceLimit,
    /// Several assets were exchanged at once and no price is known.
    Conversion,
    /// The funds come from before the first known block.
    UnknownOrigin,
}

impl UnresolvedReason {
    /// The reason in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::DepthLimit => "depth limit of the trace",
            Self::BelowThreshold => "below the threshold for tracing",
            Self::TraceLimit => "size limit of the trace",
            Self::Conversion => "conversion between assets",
            Self::UnknownOrigin => "before the first known block",
        }
    }
}
