//! Made-up facts of each scenario.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{
        AddressLabels, ChainFacts, ChainState, DirectionFlows, FlowEnd, FlowFacts, FlowPart,
        IngestMode, Label, Ledger, ListedEntity, Listing, ListingEntry, NeverFetched, PartyListing,
        SourceKind, SourceState, Tier, Tip,
    },
    facts::{Counterparties, Environment, Facts},
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

use crate::Scenario;

/// Name of the made-up sanctions list and of its source, without which no answer of the sandbox is complete.
pub(crate) const LIST: &str = "sandbox-list";
/// Hours after which the made-up list is stale.
pub(crate) const MAXIMUM_AGE_HOURS: u32 = 48;
/// Height of the newest made-up block.
pub(crate) const TIP_HEIGHT: u64 = 1_000_000;

const LIST_NAME: &str = "Sandbox Sanctions List";
const PARTY: &str = "EXAMPLE, Made Up";
const PROGRAM: &str = "SANDBOX";
/// Confidence of reports in percent.
const REPORT_PERCENT: u8 = 80;

/// The made-up facts about an address in a scenario.
pub(crate) fn of_address(subject: &CanonicalAddress, scenario: Scenario, now: Timestamp) -> Facts {
    let (listings, labels) = match scenario {
        Scenario::Listed => (listing(subject).into_iter().collect(), Vec::new()),
        Scenario::Reported => (Vec::new(), report().into_iter().collect()),
        _ => (Vec::new(), Vec::new()),
    };
    let flows = flows(subject.chain(), vec![exchange()], vec![exchange()]);
    Facts { listings, labels: labels.into(), ..common(subject.chain(), scenario, flows, now) }
}

/// The made-up facts about the origins of a deposit in a scenario.
pub(crate) fn of_origins(chain: ChainId, scenario: Scenario, now: Timestamp) -> Facts {
    let origin = match scenario {
        Scenario::Listed => FlowPart {
            entity: Some(PARTY.to_owned()),
            tier: Tier::OfficialList,
            listed: true,
            listed_by: party_listing().map(Arc::new),
            ..FlowPart::plain(FlowEnd::Attributed(Category::Sanctions), AMOUNT)
        },
        Scenario::Reported => FlowPart {
            entity: Some(PARTY.to_owned()),
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(REPORT_PERCENT),
            ..FlowPart::plain(FlowEnd::Attributed(Category::Scam), AMOUNT)
        },
        _ => exchange(),
    };
    common(chain, scenario, flows(chain, vec![origin], Vec::new()), now)
}

/// Amount of made-up money, in base units.
pub(crate) const AMOUNT: u128 = 100_000_000;

fn common(chain: ChainId, scenario: Scenario, flows: FlowFacts, now: Timestamp) -> Facts {
    let is_missing = matches!(scenario, Scenario::ListMissing | Scenario::Unknown);
    let sources = if is_missing { Vec::new() } else { source(scenario, now).into_iter().collect() };
    let never_fetched = if is_missing { never_fetched().into_iter().collect() } else { Vec::new() };
    let chain = if chain.info().has_graph() {
        let tip = Tip {
            height: TIP_HEIGHT,
            hash: "00".repeat(32),
            time: now,
            reported_at: now,
            start: 0,
            ingest_mode: IngestMode::Ingested,
            sample: false,
        };
        let facts = ChainFacts { tip, flows, behavior: None, activity: None };
        ChainState::Followed(Box::new(facts))
    } else {
        ChainState::NotFollowed
    };
    Facts {
        environment: Environment::Sandbox,
        data_revision: "sandbox".to_owned(),
        sources,
        never_fetched,
        listings: Vec::new(),
        unmatched: Arc::default(),
        labels: AddressLabels::default(),
        same_key: Vec::new(),
        look_alikes: Vec::new(),
        cluster: None,
        counterparties: Counterparties::default(),
        possible_owners: Vec::new(),
        chain,
        intel_stale: false,
        prices: Arc::default(),
        differing_branches: None,
    }
}

/// The source of the made-up list.
fn source(scenario: Scenario, now: Timestamp) -> Option<SourceState> {
    let hours = if scenario == Scenario::ListStale { 2 * i64::from(MAXIMUM_AGE_HOURS) } else { 0 };
    let fetched_at = now.saturating_sub(SignedDuration::from_hours(hours)).unwrap_or(now);
    Some(SourceState {
        id: source_id()?,
        kind: SourceKind::Sanctions,
        lists: list_id().into_iter().collect(),
        publications: vec![day(fetched_at)],
        fetched_at,
        digest: "00".repeat(32),
        entries: 1,
        sample: false,
        unmatched: BTreeMap::new(),
    })
}

fn never_fetched() -> Option<NeverFetched> {
    let lists = list_id().into_iter().collect();
    Some(NeverFetched { id: source_id()?, kind: SourceKind::Sanctions, lists })
}

/// The listing of an address.
fn listing(subject: &CanonicalAddress) -> Option<Listing> {
    let entity = ListedEntity {
        id: "1".to_owned(),
        name: PARTY.to_owned(),
        programs: vec![PROGRAM.to_owned()],
        listed_on: listed_on(),
        ..ListedEntity::default()
    };
    let entry = ListingEntry {
        list: list_id()?,
        list_name: LIST_NAME.to_owned(),
        entity: Arc::new(entity),
        asset_code: subject.chain().list_code(),
        address_as_published: subject.to_string(),
        address_remarks: None,
        expires_on: None,
    };
    Some(Listing { source: source_id()?, entry, listed_on: None, delisted_on: None })
}

/// The label of a reported scam.
fn report() -> Option<Label> {
    Some(Label {
        category: Category::Scam,
        entity: Some(PARTY.into()),
        tier: Tier::Investigation,
        confidence: Confidence::from_percent(REPORT_PERCENT),
        source: "sandbox-labels".parse().ok()?,
        upstream: "sandbox-labels".into(),
        author: None,
        term: None,
        cites_list: None,
        reason: Some("reported by users of the sandbox".into()),
        reference: None,
        valid_from: None,
        valid_until: None,
    })
}

/// Money of an exchange.
fn exchange() -> FlowPart {
    FlowPart {
        entity: Some("Example Exchange".to_owned()),
        tier: Tier::Investigation,
        ..FlowPart::plain(FlowEnd::Attributed(Category::Exchange), AMOUNT)
    }
}

fn flows(chain: ChainId, source: Vec<FlowPart>, destination: Vec<FlowPart>) -> FlowFacts {
    let coin = chain.info().native();
    let of = |parts| DirectionFlows { parts, transactions: 0 };
    let of_accounts = chain.info().outputs().is_none();
    let ledger = Ledger {
        unit: coin.code.to_owned(),
        decimals: coin.decimals,
        left_out_decimals: 0,
        source: of(source),
        destination: of(destination),
        held: DirectionFlows::default(),
        of_accounts,
    };
    FlowFacts { complete: true, ledgers: vec![ledger], ..FlowFacts::default() }
}

fn party_listing() -> Option<PartyListing> {
    Some(PartyListing {
        list_name: LIST_NAME.to_owned(),
        list: list_id()?,
        programs: vec![PROGRAM.to_owned()],
        entity_id: "1".to_owned(),
        listed_on: listed_on(),
    })
}

fn listed_on() -> Option<Date> {
    Date::new(2020, 1, 1).ok()
}

// The names are valid, so that a `None` is never reached.
fn list_id() -> Option<ListId> {
    LIST.parse().ok()
}

fn source_id() -> Option<SourceId> {
    LIST.parse().ok()
}

fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}
