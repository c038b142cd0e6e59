//! Coverage of an assessment and the consequences of gaps in the data: mandatory sources, staleness, searched blocks.

use std::{collections::BTreeMap, fmt::Write};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

use assay_address::{CanonicalAddress, ChainId};
use ruint::aliases::U256;

use super::{association::MOST_MEMBERS, verdict::MissingData};
use crate::{
    assessment::{
        AssessedSource, AssessmentScope, Coverage, CoverageBlock, CoverageStatus, LatestBlock,
        VerdictReason,
    },
    evidence::{
        BehaviorFacts, ChainFacts, ChainState, Direction, FlowDistance, FlowEnd, FlowFacts,
        FlowPart, Listing, ListingStatus, NeverFetched, SearchExtent, SourceKind, SourceState, Tip,
        Unavailable, UnresolvedReason, UsedCompositions, assessment_day,
    },
    facts::{Cluster, Environment, Facts},
    names::ListId,
    policy::{ListEffect, MandatorySource, Policy},
};

pub(super) struct Findings {
    pub(super) missing: Vec<MissingData>,
    pub(super) coverage: Coverage,
    pub(super) sources: Vec<AssessedSource>,
    pub(super) scope: AssessmentScope,
    /// The next moment at which a fresh source or chain goes stale.
    pub(super) holds_until: Option<Timestamp>,
}

pub(super) fn assess(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
) -> Findings {
    let today = facts.day(now);
    let mut missing = Vec::new();
    let mut holds_until: Option<Timestamp> = None;
    let mut expires = |at: Timestamp| holds_until = Some(holds_until.map_or(at, |now| now.min(at)));

    for wanted in &policy.spec().mandatory_sources {
        match freshest(facts, wanted) {
            None => missing.push(never_loaded(wanted)),
            Some(source) if source.published_by(today).is_none() => {
                missing.push(not_yet_published(source, wanted, today));
            }
            Some(source) if is_stale(source, wanted, now) => missing.push(stale(source, wanted)),
            Some(source) => expires(goes_stale(source, wanted)),
        }
    }
    missing.extend(unknown_days(facts, today));
    missing.extend(unmatched(subject.chain(), facts, policy, today));
    if let Some(newest) = newest_import(facts).filter(|newest| is_behind(now, *newest)) {
        missing.push(clock_behind(now, newest));
        expires(newest.saturating_sub(CLOCK_TOLERANCE).unwrap_or(newest));
    }
    missing.extend(facts.intel_stale.then(intel_stale));
    let sanctions_missing = !missing.is_empty();
    match &facts.chain {
        ChainState::Followed(chain) => {
            if facts.differing_branches.is_some_and(|differing| !differing.is_decided) {
                missing.push(no_flows(Unavailable::BranchesDiffer.as_str()));
            }
            match chain_goes_stale(subject.chain(), facts.environment, &chain.tip) {
                Some(stale_from) if stale_from < now => missing.push(stale_chain(subject, chain)),
                Some(stale_from) => expires(stale_from),
                None => {}
            }
            let histories = chain.flows.histories.as_deref();
            if histories.is_some_and(|histories| histories.continues) {
                expires(now);
            }
            if !chain.flows.complete && histories.is_none() {
                let unread = unread_payments(&chain.flows);
                missing.push(incomplete(unread));
                if unread == 0 {
                    // The next check continues the trace.
                    expires(now);
                }
            }
            missing.extend(outdated_compositions(&chain.flows));
        }
        ChainState::Unavailable(why) => missing.push(no_flows(why.as_str())),
        ChainState::NotFollowed if policy.spec().flows_required => {
            missing.push(no_flows(
                "the policy requires them and no node or indexer is configured for this chain",
            ));
        }
        ChainState::NotFollowed => {}
    }
    Findings {
        coverage: coverage(facts, sanctions_missing),
        sources: sources(subject, facts, policy, now),
        scope: match facts.chain {
            ChainState::Followed(_) => AssessmentScope::Full,
            ChainState::NotFollowed | ChainState::Unavailable(_) => AssessmentScope::ListsAndLabels,
        },
        missing,
        holds_until,
    }
}

/// The freshest source that provides the wanted data. Demo sources count only in the sample environment.
fn freshest<'a>(facts: &'a Facts, wanted: &MandatorySource) -> Option<&'a SourceState> {
    facts
        .sources
        .iter()
        .filter(|source| source.provides(&wanted.name))
        .filter(|source| !source.sample || facts.environment == Environment::Sample)
        .max_by_key(|source| source.fetched_at)
}

fn goes_stale(source: &SourceState, wanted: &MandatorySource) -> Timestamp {
    let age = SignedDuration::from_hours(wanted.maximum_age_hours.into());
    source.fetched_at.saturating_add(age).unwrap_or(Timestamp::MAX)
}

fn is_stale(source: &SourceState, wanted: &MandatorySource, now: Timestamp) -> bool {
    goes_stale(source, wanted) < now
}

/// Time at which a chain's newest block becomes too old; `None` for the demo chain in the sample environment, which
/// gets no new blocks. In other environments the demo chain goes stale like any other chain.
fn chain_goes_stale(chain: ChainId, environment: Environment, tip: &Tip) -> Option<Timestamp> {
    if tip.sample && environment == Environment::Sample {
        return None;
    }
    let age = SignedDuration::from_secs(chain.info().longest_tip_age_seconds());
    Some(tip.as_of().saturating_add(age).unwrap_or(Timestamp::MAX))
}

fn never_loaded(wanted: &MandatorySource) -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "source_missing",
            message: format!("the mandatory source {} was never imported", wanted.name),
        },
        source: Some(wanted.name.clone()),
    }
}

fn not_yet_published(source: &SourceState, wanted: &MandatorySource, today: Date) -> MissingData {
    let first = source.publications.first().map(|day| format!(", the first known is of {day}"));
    MissingData {
        reason: VerdictReason {
            code: "source_missing",
            message: format!(
                "no publication of the mandatory source {} up to {today} is known{}",
                wanted.name,
                first.unwrap_or_default()
            ),
        },
        source: Some(source.id.to_string()),
    }
}

/// Reports listings whose first day is unknown because that day lies between two known publications, if `today` lies
/// between the same publications: nobody then knows if the listings were in force.
fn unknown_days(facts: &Facts, today: Date) -> Option<MissingData> {
    let began_around = |listing: &&Listing| {
        let source = facts.sources.iter().find(|source| source.id == listing.source);
        let (Some(source), Some(listed_on)) = (source, listing.listed_on) else { return false };
        let before = source.published_before(listed_on);
        listing.status(today) == ListingStatus::NotYetListed
            && before.is_some_and(|before| before < today)
    };
    let same_key = facts.same_key.iter().flat_map(|other| &other.listings);
    let listing = facts.listings.iter().chain(same_key).find(began_around)?;
    Some(MissingData {
        reason: VerdictReason {
            code: "history_gap",
            message: format!(
                "{} added this address, or another address of its key, between two known \
                 publications: it is not known whether it was listed on {today}",
                listing.entry.list_name
            ),
        },
        source: Some(listing.source.to_string()),
    })
}

/// Reports texts on blocking lists in force that no check of the subject's chain can match, by list.
fn unmatched(
    chain: ChainId,
    facts: &Facts,
    policy: &Policy,
    today: Date,
) -> impl Iterator<Item = MissingData> {
    let mut by_list: BTreeMap<&ListId, Vec<&Listing>> = BTreeMap::new();
    for listing in facts.unmatched.iter() {
        let counts = policy.effect(&listing.entry.list) == ListEffect::Blocking
            && listing.status(today) == ListingStatus::Active
            && !policy.spec().accepted_texts.contains(&listing.entry.address_as_published);
        if counts {
            by_list.entry(&listing.entry.list).or_default().push(listing);
        }
    }
    by_list.into_values().filter_map(move |listings| {
        let first = listings.first()?;
        let texts = if listings.len() == 1 { "text" } else { "texts" };
        let shown: String = first.entry.address_as_published.chars().take(64).collect();
        Some(MissingData {
            reason: VerdictReason {
                code: "listing_unmatched",
                message: format!(
                    "{} lists {} {texts} for {chain} that no check can match, such as `{shown}` of {}",
                    first.entry.list_name,
                    listings.len(),
                    first.entry.entity.name
                ),
            },
            source: Some(first.source.to_string()),
        })
    })
}

/// Time by which a clock may be behind the newest import: clocks of servers differ by less.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The time of the newest import or verification of a source.
fn newest_import(facts: &Facts) -> Option<Timestamp> {
    facts.sources.iter().map(|source| source.fetched_at).max()
}

fn is_behind(now: Timestamp, newest_import: Timestamp) -> bool {
    newest_import.duration_since(now) > CLOCK_TOLERANCE
}

fn clock_behind(now: Timestamp, newest_import: Timestamp) -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "clock_behind",
            message: format!(
                "the clock says {now:.0}, before the newest import at {newest_import:.0}: set the clock"
            ),
        },
        source: None,
    }
}

fn stale(source: &SourceState, wanted: &MandatorySource) -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "source_stale",
            message: format!(
                "the mandatory source {} was not verified within {} hours",
                wanted.name, wanted.maximum_age_hours
            ),
        },
        source: Some(source.id.to_string()),
    }
}

fn stale_chain(subject: &CanonicalAddress, chain: &ChainFacts) -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "flows_stale",
            message: format!(
                "the newest known block of {}, {}, is too old",
                subject.chain(),
                chain.tip.height
            ),
        },
        source: None,
    }
}

fn intel_stale() -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "intel_stale",
            message: "lists and labels could not be confirmed to be current".to_owned(),
        },
        source: None,
    }
}

/// Number of older payments on an account chain that are more than a check reads.
fn unread_payments(flows: &FlowFacts) -> u64 {
    flows.account.as_ref().map_or(0, |limits| limits.unread_payments)
}

fn incomplete(unread_payments: u64) -> MissingData {
    let message = match unread_payments {
        0 => "the trace did not complete within its time limit: the next check continues it"
            .to_owned(),
        unread => format!(
            "the address has more payments than a check reads: the {unread} oldest were not read"
        ),
    };
    MissingData { reason: VerdictReason { code: "flows_incomplete", message }, source: None }
}

/// Reports compositions (breakdowns by origin) that rest on earlier lists and labels.
fn outdated_compositions(flows: &FlowFacts) -> Option<MissingData> {
    let used = flows.compositions.as_ref().filter(|used| used.is_outdated)?;
    let share = further(flows).map_or_else(String::new, |share| format!(" of {share}"));
    Some(MissingData {
        reason: VerdictReason {
            code: "compositions_outdated",
            message: format!(
                "the origins{share} of funds received rest on earlier lists and labels (revision {}): those by the \
                 present lists and labels are not computed yet",
                used.revision
            ),
        },
        source: None,
    })
}

fn no_flows(why: &str) -> MissingData {
    MissingData {
        reason: VerdictReason {
            code: "flows_missing",
            message: format!("flows of money are not known: {why}"),
        },
        source: None,
    }
}

fn coverage(facts: &Facts, sanctions_missing: bool) -> Coverage {
    let carrying = |kind| facts.sources.iter().filter(move |source| source.kind == kind);
    let lists: Vec<_> = carrying(SourceKind::Sanctions)
        .flat_map(|source| &source.lists)
        .map(ToString::to_string)
        .collect();
    let label_sources = carrying(SourceKind::Labels).count();
    let absent = |kind| never_fetched(facts, kind);
    let sanctions_missing = sanctions_missing || !absent(SourceKind::Sanctions).is_empty();
    let (sanctions, mut sanctions_detail) = match (lists.is_empty(), sanctions_missing) {
        (true, _) => (CoverageStatus::Unavailable, "no sanctions list was imported".to_owned()),
        (false, true) => (
            CoverageStatus::Partial,
            format!("{}; not all data is present: see the reasons", lists.join(", ")),
        ),
        (false, false) => (CoverageStatus::Assessed, lists.join(", ")),
    };
    sanctions_detail.push_str(&absent(SourceKind::Sanctions));
    let absent_labels = absent(SourceKind::Labels);
    let labels = if label_sources == 0 {
        let detail = format!("no label source was imported{absent_labels}");
        block(CoverageStatus::NotAssessed, &detail)
    } else {
        let plural = if label_sources == 1 { "" } else { "s" };
        let status = match &*absent_labels {
            "" => CoverageStatus::Assessed,
            _ => CoverageStatus::Partial,
        };
        block(status, &format!("{label_sources} label source{plural}{absent_labels}"))
    };
    let (association, exposure, behavior) = match &facts.chain {
        ChainState::NotFollowed => (
            block(CoverageStatus::Partial, "the same key on other chains; no co-spend clusters"),
            block(CoverageStatus::NotAssessed, "no node or indexer is configured for this chain"),
            block(CoverageStatus::NotAssessed, "no node or indexer is configured for this chain"),
        ),
        ChainState::Unavailable(why) => (
            block(CoverageStatus::Partial, "the same key on other chains; no co-spend clusters"),
            block(CoverageStatus::Unavailable, why.as_str()),
            block(CoverageStatus::Unavailable, why.as_str()),
        ),
        ChainState::Followed(chain) => (association(facts), exposure(chain), behavior(chain)),
    };
    Coverage {
        sanctions: block(sanctions, &sanctions_detail),
        labels,
        association,
        exposure,
        behavior,
    }
}

/// The sources of a kind that were never fetched, after a semicolon; empty if there are none.
fn never_fetched(facts: &Facts, kind: SourceKind) -> String {
    let sources = facts.never_fetched.iter().filter(|source| source.kind == kind);
    let names: Vec<&str> = sources.map(|source| source.id.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("; never fetched: {}", names.join(", ")) }
}

/// Coverage of behavior patterns: the addresses whose transactions were searched, and the extent of the search for
/// connected transactions of others.
fn behavior(chain: &ChainFacts) -> CoverageBlock {
    let Some(BehaviorFacts { searched, .. }) = &chain.behavior else {
        return block(
            CoverageStatus::NotAssessed,
            "patterns are those of an address with its history",
        );
    };
    let SearchExtent { addresses, all_addresses, transactions, around, .. } = *searched;
    let mut detail = match (transactions, all_addresses) {
        (0, _) => "no transactions".to_owned(),
        (1, 0 | 1) => "1 transaction of the address".to_owned(),
        (_, 0 | 1) => format!("{transactions} transactions of the address"),
        (1, _) => format!("1 transaction of {addresses} of the owner's {all_addresses} addresses"),
        _ => format!(
            "{transactions} transactions of {addresses} of the owner's {all_addresses} addresses"
        ),
    };
    if !searched.is_whole {
        detail.push_str(", not all");
    }
    match around {
        0 => {}
        1 => detail.push_str("; 1 transaction of others around them"),
        _ => {
            let _ = write!(detail, "; {around} transactions of others around them");
        }
    }
    if !searched.is_whole_around {
        detail.push_str(", up to the limits of the search");
    }
    if !searched.has_activity_of_others {
        detail.push_str("; layering was not searched: histories of others are not read on demand");
    }
    let is_whole = searched.is_whole && searched.is_whole_around && searched.has_activity_of_others;
    let status = if is_whole { CoverageStatus::Assessed } else { CoverageStatus::Partial };
    block(status, &format!("{detail}; {}", up_to(chain)))
}

/// Coverage of associated addresses: the size of the cluster, and the number of shown cluster members and
/// counterparties.
fn association(facts: &Facts) -> CoverageBlock {
    let Some(cluster) = &facts.cluster else {
        let mut detail = "the same key on other chains; no co-spend clusters".to_owned();
        add_counterparties(facts, &mut detail);
        return block(CoverageStatus::Partial, &detail);
    };
    let mut detail = "the same key on other chains".to_owned();
    let Cluster { size, attributed, examined, .. } = *cluster;
    if size > 1 {
        let others = size - 1;
        let shown = cluster.members.len().min(MOST_MEMBERS);
        let _ =
            write!(detail, "; a co-spend cluster of {size} addresses (listed or labelled others: ");
        let _ = if examined < attributed {
            write!(detail, "{examined} of {attributed} examined")
        } else {
            write!(detail, "{attributed}")
        };
        let _ = write!(detail, ", shown: {shown} of {others})");
        if cluster.dealings.is_limited {
            detail.push_str("; not all of its dealings with listed parties were examined");
        }
    } else {
        detail.push_str("; no co-spends with other addresses");
    }
    add_counterparties(facts, &mut detail);
    let is_limited = examined < attributed || cluster.dealings.is_limited;
    let status = if is_limited { CoverageStatus::Partial } else { CoverageStatus::Assessed };
    block(status, &detail)
}

fn add_counterparties(facts: &Facts, detail: &mut String) {
    let counterparties = &facts.counterparties;
    if counterparties.found > 0 {
        let shown = counterparties.strongest.len();
        let _ = write!(detail, "; counterparties shown: {shown} of {}", counterparties.found);
    }
}

fn up_to(chain: &ChainFacts) -> String {
    let ChainFacts { tip, .. } = chain;
    match tip.start {
        0 => format!("up to block {}", tip.height),
        start => format!("blocks {start} to {}", tip.height),
    }
}

/// Coverage of exposure: depth of the trace, and the share of money with a known endpoint.
fn exposure(chain: &ChainFacts) -> CoverageBlock {
    let flows = &chain.flows;
    let parts = |direction| {
        let ledgers = flows.ledgers.iter();
        ledgers.flat_map(move |ledger| &ledger.direction(direction).parts)
    };
    let over_budget = [Direction::Source, Direction::Destination]
        .into_iter()
        .flat_map(parts)
        .any(|part| part.end == FlowEnd::Unresolved(UnresolvedReason::TraceLimit));
    let is_outdated = flows.compositions.as_ref().is_some_and(|used| used.is_outdated);
    let status = if flows.complete && !over_budget && !is_outdated {
        CoverageStatus::Assessed
    } else {
        CoverageStatus::Partial
    };
    let followed =
        |direction| share(parts(direction), |part| !matches!(part.end, FlowEnd::Unresolved(_)));
    let mut detail = up_to(chain);
    for (direction, name) in
        [(Direction::Source, "received"), (Direction::Destination, "sent or held")]
    {
        if let Some(share) = followed(direction) {
            let _ = write!(detail, "; {share} of funds {name} traced to an endpoint");
        }
    }
    if let (Some(share), Some(used)) = (further(flows), &flows.compositions) {
        let UsedCompositions { revision, is_outdated } = used;
        let earlier = if *is_outdated { ", of earlier lists and labels" } else { "" };
        let _ = write!(
            detail,
            "; the origin of {share} of funds received by what the transactions are made of at which \
             the trace stopped (revision {revision}{earlier})"
        );
    }
    if let Some(limits) = &flows.account {
        detail.push_str(&limits.details());
    }
    if let Some(read) = &flows.histories {
        detail.push_str(&read.details());
    }
    if !flows.complete && unread_payments(flows) == 0 && flows.histories.is_none() {
        detail.push_str("; the time limit was reached, the next check continues");
    }
    block(status, &detail)
}

/// The share of received funds whose origin lies beyond the trace's last transactions; `None` if no origin lies there.
fn further(flows: &FlowFacts) -> Option<String> {
    let parts = || flows.ledgers.iter().flat_map(|ledger| &ledger.source.parts);
    let is_further = |part: &FlowPart| matches!(part.distance, FlowDistance::Further(_));
    if parts().any(is_further) { share(parts(), is_further) } else { None }
}

/// The share of the selected flow parts in all flow parts, in percent; `None` if all amounts are zero.
fn share<'f>(
    parts: impl Iterator<Item = &'f FlowPart>,
    takes: impl Fn(&FlowPart) -> bool,
) -> Option<String> {
    let (mut part_of_it, mut whole) = (U256::ZERO, U256::ZERO);
    for part in parts {
        whole += U256::from(part.amount);
        if takes(part) {
            part_of_it += U256::from(part.amount);
        }
    }
    let tenths = (part_of_it * U256::from(1_000_u32)).checked_div(whole)?;
    let tenths = u64::try_from(tenths).unwrap_or(0);
    Some(format!("{}.{} %", tenths / 10, tenths % 10))
}

fn block(status: CoverageStatus, detail: &str) -> CoverageBlock {
    CoverageBlock { status, detail: detail.to_owned() }
}

/// All sources; the subject's chain comes last.
fn sources(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    now: Timestamp,
) -> Vec<AssessedSource> {
    let mut sources = assess_sources(&facts.sources, policy, now);
    sources.extend(assess_never_fetched(&facts.never_fetched, policy));
    if let ChainState::Followed(chain) = &facts.chain {
        sources.extend(assess_tip(subject.chain(), facts.environment, &chain.tip, now));
    }
    sources
}

/// Sources that were never fetched.
#[must_use]
pub fn assess_never_fetched(sources: &[NeverFetched], policy: &Policy) -> Vec<AssessedSource> {
    let assessed = sources.iter().map(|source| {
        let is_named = |name: &str| {
            source.id.as_str() == name || source.lists.iter().any(|list| list.as_str() == name)
        };
        let mut wanted = policy.spec().mandatory_sources.iter();
        let mandatory = wanted.any(|wanted| is_named(&wanted.name));
        AssessedSource {
            id: source.id.clone(),
            kind: source.kind,
            lists: source.lists.clone(),
            published_at: None,
            fetched_at: None,
            never_fetched: true,
            digest: String::new(),
            entries: 0,
            mandatory,
            stale: mandatory,
            sample: false,
            unmatched: BTreeMap::new(),
            latest_block: None,
        }
    });
    assessed.collect()
}

/// A chain as a source, by its newest block.
#[must_use]
pub fn assess_tip(
    chain: ChainId,
    environment: Environment,
    tip: &Tip,
    now: Timestamp,
) -> Option<AssessedSource> {
    let stale_from = chain_goes_stale(chain, environment, tip);
    Some(AssessedSource {
        id: format!("chain-{chain}").parse().ok()?,
        kind: SourceKind::Chain,
        lists: vec![],
        published_at: Some(tip.time.to_zoned(TimeZone::UTC).date()),
        fetched_at: Some(tip.reported_at),
        never_fetched: false,
        digest: tip.hash.clone(),
        entries: tip.height.saturating_sub(tip.start).saturating_add(1),
        mandatory: true,
        stale: stale_from.is_some_and(|from| from < now),
        sample: tip.sample,
        unmatched: BTreeMap::new(),
        latest_block: Some(LatestBlock {
            height: tip.height,
            hash: tip.hash.clone(),
            time: tip.time,
            start_height: tip.start,
            ingest_mode: tip.ingest_mode,
        }),
    })
}

/// All sources: those that the policy requires are marked as required, and stale required sources as stale.
#[must_use]
pub fn assess_sources(
    sources: &[SourceState],
    policy: &Policy,
    now: Timestamp,
) -> Vec<AssessedSource> {
    let today = assessment_day(sources, now);
    let mut assessed: Vec<AssessedSource> = sources
        .iter()
        .map(|source| {
            let demands = || {
                let wanted = policy.spec().mandatory_sources.iter();
                wanted.filter(|wanted| source.provides(&wanted.name))
            };
            AssessedSource {
                id: source.id.clone(),
                kind: source.kind,
                lists: source.lists.clone(),
                published_at: source.published_by(today),
                fetched_at: Some(source.fetched_at),
                never_fetched: false,
                digest: source.digest.clone(),
                entries: source.entries,
                mandatory: demands().next().is_some(),
                stale: demands().any(|wanted| is_stale(source, wanted, now)),
                sample: source.sample,
                unmatched: source.unmatched.clone(),
                latest_block: None,
            }
        })
        .collect();
    assessed.sort_by(|a, b| a.id.cmp(&b.id));
    assessed
}
