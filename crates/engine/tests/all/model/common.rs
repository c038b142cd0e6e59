//! Facts for assessments in tests.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::{Assessment, ComponentKind},
    evidence::{
        AddressLabels, BehaviorFacts, ChainFacts, ChainState, DirectionFlows, FlowDistance,
        FlowEnd, FlowFacts, FlowPart, IngestMode, Label, Ledger, ListedEntity, Listing,
        ListingEntry, PatternFact, SearchExtent, SourceKind, SourceState, Tier, Tip,
        UnresolvedReason,
    },
    facts::{
        AccountControl, Cluster, ClusterMember, CoSpend, Counterparties, Environment, Facts,
        ListedDealings, SameKey,
    },
    ledger::Mass,
    policy::Policy,
    score::Confidence,
    taxonomy::Category,
};
use jiff::{Timestamp, civil::date};

pub fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

pub fn subject() -> CanonicalAddress {
    CanonicalAddress::parse(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap()
}

/// Facts of a complete installation without data about the subject.
pub fn nothing_known() -> Facts {
    Facts {
        environment: Environment::Production,
        data_revision: "1-test".into(),
        sources: vec![SourceState {
            id: "ofac-sdn".parse().unwrap(),
            kind: SourceKind::Sanctions,
            lists: vec!["ofac-sdn".parse().unwrap()],
            publications: vec![date(2026, 11, 19)],
            fetched_at: "2026-11-20T06:00:00Z".parse().unwrap(),
            digest: "00".repeat(32),
            entries: 700,
            sample: false,
            unmatched: std::collections::BTreeMap::new(),
        }],
        never_fetched: vec![],
        listings: vec![],
        labels: AddressLabels::default(),
        same_key: vec![],
        look_alikes: vec![],
        cluster: None,
        counterparties: Counterparties::default(),
        possible_owners: Vec::new(),
        chain: ChainState::NotFollowed,
        intel_stale: false,
        unmatched: std::sync::Arc::default(),
        prices: std::sync::Arc::default(),
        differing_branches: None,
    }
}

pub fn listing(list: &str) -> Listing {
    Listing {
        source: list.parse().unwrap(),
        entry: ListingEntry {
            list: list.parse().unwrap(),
            list_name: list.to_uppercase(),
            entity: ListedEntity {
                id: "25308".into(),
                name: "DOE, Jane".into(),
                aliases: vec![],
                programs: vec!["CYBER2".into()],
                remarks: None,
                listed_on: Some(date(2019, 8, 21)),
                ..ListedEntity::default()
            }
            .into(),
            asset_code: "XBT".into(),
            address_as_published: "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa".into(),
            address_remarks: None,
            expires_on: None,
        },
        listed_on: None,
        delisted_on: None,
    }
}

pub fn label(category: Category, tier: Tier, percent: u8, upstream: &str) -> Label {
    Label {
        category,
        entity: Some(format!("{category} of {upstream}").into()),
        tier,
        confidence: Confidence::from_percent(percent),
        source: "labels".parse().unwrap(),
        upstream: upstream.into(),
        author: None,
        term: None,
        cites_list: None,
        reason: None,
        reference: None,
        valid_from: None,
        valid_until: None,
    }
}

pub fn same_key(control: AccountControl, listings: Vec<Listing>, labels: Vec<Label>) -> SameKey {
    let address =
        CanonicalAddress::parse(ChainId::ETH, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
    SameKey { address: address.unwrap(), control, listings, labels: labels.into() }
}

/// A direct, certain, solicited part of investigation tier that moved more than 90 days ago.
pub fn part(category: Category, amount: u128) -> FlowPart {
    FlowPart {
        entity: Some(format!("some {category}")),
        tier: Tier::Investigation,
        transactions: vec!["aa".repeat(32)],
        ..FlowPart::plain(FlowEnd::Attributed(category), amount)
    }
}

/// A direct part of a party that is on a list in force.
pub fn listed_part(amount: u128) -> FlowPart {
    FlowPart { tier: Tier::OfficialList, listed: true, ..part(Category::Sanctions, amount) }
}

pub fn unresolved(amount: u128) -> FlowPart {
    FlowPart {
        end: FlowEnd::Unresolved(UnresolvedReason::DepthLimit),
        ..part(Category::Scam, amount)
    }
}

/// Parts whose unit has no amount curve, so that shares alone decide.
pub fn flows(source: Vec<FlowPart>, destination: Vec<FlowPart>) -> ChainState {
    flows_in("TEST", 8, source, destination)
}

pub fn flows_in(
    unit: &str,
    decimals: u8,
    source: Vec<FlowPart>,
    destination: Vec<FlowPart>,
) -> ChainState {
    let settled = |parts: Vec<FlowPart>| DirectionFlows {
        parts: parts.into_iter().map(at_its_distance).collect(),
        transactions: 0,
    };
    followed(
        vec![Ledger {
            unit: unit.into(),
            decimals,
            left_out_decimals: 0,
            source: settled(source),
            destination: settled(destination),
            held: DirectionFlows::default(),
            of_accounts: false,
        }],
        vec![],
    )
}

/// The part with masses computed from its amounts and hops.
fn at_its_distance(part: FlowPart) -> FlowPart {
    let earlier = part.amount.saturating_sub(part.recent);
    let mass = Mass::from_base_units(earlier, false) + Mass::from_base_units(part.recent, true);
    let decay = Policy::default().decay_of_a_hop();
    let decayed = (1..part.distance.hops().unwrap_or(1)).fold(mass, |mass, _| mass.times(decay));
    FlowPart { mass, decayed, is_direct: part.distance <= FlowDistance::Hops(1), ..part }
}

/// Patterns that a complete search found.
pub fn behavior(patterns: Vec<PatternFact>) -> BehaviorFacts {
    let searched = SearchExtent {
        is_whole: true,
        is_whole_around: true,
        has_activity_of_others: true,
        ..SearchExtent::default()
    };
    BehaviorFacts { patterns, searched }
}

pub fn followed(ledgers: Vec<Ledger>, patterns: Vec<PatternFact>) -> ChainState {
    ChainState::Followed(Box::new(ChainFacts {
        tip: Tip {
            height: 900_000,
            hash: "00".repeat(32),
            time: "2026-11-20T11:54:00Z".parse().unwrap(),
            reported_at: "2026-11-20T11:55:00Z".parse().unwrap(),
            start: 0,
            ingest_mode: IngestMode::Ingested,
            sample: false,
        },
        flows: FlowFacts { complete: true, ledgers, ..FlowFacts::default() },
        behavior: Some(behavior(patterns)),
        activity: None,
    }))
}

pub fn assess_facts(facts: &Facts) -> Assessment {
    assess_by(facts, &Policy::default())
}

pub fn assess_by(facts: &Facts, policy: &Policy) -> Assessment {
    let assessment = assess(&subject(), facts, policy, now());
    check_invariants(&assessment, policy);
    assessment
}

pub fn assess_flows(chain: ChainState) -> Assessment {
    assess_facts(&Facts { chain, ..nothing_known() })
}

pub fn tenths(assessment: &Assessment) -> u16 {
    assessment.risk_score.tenths()
}

pub fn verdict(assessment: &Assessment) -> &'static str {
    assessment.verdict.as_str()
}

pub fn level(assessment: &Assessment) -> &'static str {
    assessment.risk_level.as_str()
}

/// Checks the invariants of every assessment.
pub fn check_invariants(assessment: &Assessment, policy: &Policy) {
    let contributions = assessment.scoring_components.iter().map(|c| c.contribution.tenths());
    assert_eq!(contributions.sum::<u16>(), tenths(assessment), "contributions sum to the score");
    assert!(tenths(assessment) <= 1000);
    assert!(!assessment.reasons.is_empty(), "there is always a reason");
    if assessment.complete {
        assert_eq!(assessment.verdict, policy.verdict(assessment.risk_score));
        assert_eq!(assessment.risk_level, policy.level(assessment.risk_score));
    }
    let only_behaviour = assessment
        .scoring_components
        .iter()
        .filter(|component| component.standalone_score.tenths() > 0)
        .all(|component| component.kind == ComponentKind::Behavior);
    assert!(!only_behaviour || tenths(assessment) < 500, "behaviour alone never reaches review");
}

/// A cluster of the subject and one other address, which two co-spends connect.
pub fn cluster_with(percent: u8, labels: Vec<Label>, listings: Vec<Listing>) -> Cluster {
    cluster_of(percent, vec![member(labels, listings, true)])
}

/// The cluster of the subject and other members.
pub fn cluster_of(percent: u8, members: Vec<ClusterMember>) -> Cluster {
    let known = |member: &&ClusterMember| !(member.labels.is_empty() && member.listings.is_empty());
    let attributed = u64::try_from(members.iter().filter(known).count()).unwrap();
    Cluster {
        id: subject(),
        root: subject(),
        size: u64::try_from(members.len()).unwrap() + 1,
        confidence: Confidence::from_percent(percent),
        members,
        attributed,
        examined: attributed,
        dealings: ListedDealings::default(),
    }
}

/// Another member of a cluster, whose one co-spend with the subject may be a `PayJoin` unless it is
/// conclusive.
pub fn member(labels: Vec<Label>, listings: Vec<Listing>, is_conclusive: bool) -> ClusterMember {
    let address = CanonicalAddress::parse(ChainId::BTC, "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h");
    ClusterMember {
        address: address.unwrap(),
        labels: labels.into(),
        listings,
        co_spends: Some(vec![CoSpend {
            transaction: "ab".repeat(32),
            time: "2020-01-02T03:04:05Z".parse().unwrap(),
            is_conclusive,
            confirmed_by: None,
        }]),
    }
}
