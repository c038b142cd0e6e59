//! Ties between the address and other addresses: the same key, the co-spend cluster, and counterparties.

use std::collections::BTreeSet;

use assay_address::CanonicalAddress;
use jiff::{civil::Date, tz::TimeZone};

use super::{
    MinimumScore, Rank, Term, TermEvidence, Warnings,
    bounds::MOST_SHOWN,
    claims::{Claim, Upstreams},
    cluster::{self, DifferentOwners, InheritedLabels},
    ended::EndedListings,
    flows::whole_units,
    labels::{self, LabelEvidence, LabeledParty},
    listings,
    references::{address_reference, transaction_reference},
};
use crate::{
    assessment::{
        Amount, AssociatedWallet, ComponentKind, EvidenceKind, EvidenceReference, Relation,
        ScoringComponent, VerdictReason, Warning,
    },
    evidence::{Direction, Label, Listing, ListingEntry, ListingStatus, Tier},
    facts::{
        AccountControl, AccountRole, Cluster, ClusterMember, Counterparty, CounterpartyAsset,
        Facts, ListedDealing, ListedDealings, PossibleOwner, SameKey,
    },
    fixed::Fraction,
    names::ListId,
    policy::{CLUSTER_LISTED, CLUSTER_LISTED_COUNTERPARTY, ListEffect, Policy, SAME_KEY_SCORE},
    score::{Confidence, Score},
    taxonomy::{Category, RISKY_FROM},
};

/// Score of the same contract address, or of the same key on an advisory list: such evidence leads to a review.
const REVIEW: Score = Score::from_points(50);

/// Largest number of cluster members that an answer shows: listed members first, then labelled members, then the rest.
pub(super) const MOST_MEMBERS: usize = 20;

#[derive(Default)]
pub(super) struct Findings<'f> {
    pub(super) terms: Vec<Term<'f>>,
    pub(super) minimum_scores: Vec<MinimumScore>,
    pub(super) reasons: Vec<VerdictReason>,
    pub(super) wallets: Vec<AssociatedWallet>,
    pub(super) warnings: Warnings,
}

pub(super) fn assess<'f>(
    facts: &'f Facts,
    upstreams: &mut Upstreams<'_>,
    policy: &Policy,
    today: Date,
    is_service: bool,
) -> Findings<'f> {
    let mut assessed = Findings::default();
    let mut others: Vec<_> = facts.same_key.iter().collect();
    others.sort_by(|a, b| a.address.cmp(&b.address));
    same_key_listings(&others, upstreams, policy, today, &mut assessed);
    let labelled = same_key_labels(&others, &facts.listings, policy, today);
    assessed.reasons.extend(labels::reasons(labelled.iter().copied()));
    assessed.terms.extend(labelled.into_iter().map(|evidence| {
        let upstream = upstreams.number(&evidence.label.upstream);
        evidence.term(upstream, policy)
    }));
    for other in &others {
        assessed.wallets.push(wallet(
            &other.address,
            Relation::SameKey,
            "same_key",
            Confidence::CERTAIN,
            (&other.labels, &other.listings),
            today,
        ));
    }
    if let Some(cluster) = facts.cluster.as_ref().filter(|cluster| cluster.size > 1) {
        assess_cluster(cluster, facts, policy, today, &mut assessed);
        if !is_service {
            assessed.minimum_scores.extend(listed_counterparty(cluster, policy, today));
        }
    }
    assessed.wallets.extend(facts.possible_owners.iter().map(|other| possible_owner(other, today)));
    for other in &facts.counterparties.strongest {
        assessed.wallets.push(counterparty(other, today));
    }
    assessed
}

/// Adds the listings of other addresses that the subject's key controls. A list that names the key on several chains
/// counts once.
fn same_key_listings(
    others: &[&SameKey],
    upstreams: &mut Upstreams<'_>,
    policy: &Policy,
    today: Date,
    assessed: &mut Findings<'_>,
) {
    let mut named: BTreeSet<(&ListId, Tier, Fraction)> = BTreeSet::new();
    let listed = others
        .iter()
        .flat_map(|other| active(&other.listings, today).map(move |listing| (*other, listing)));
    for (other, listing) in listed {
        let (tier, standalone_risk) = match (other.control, policy.effect(&listing.entry.list)) {
            (AccountControl::Contract, _) => (Tier::Heuristic, REVIEW.fraction()),
            (_, ListEffect::Blocking) => (Tier::OnChainProof, SAME_KEY_SCORE.fraction()),
            (_, ListEffect::Advisory) => (Tier::OnChainProof, REVIEW.fraction()),
        };
        if !named.insert((&listing.entry.list, tier, standalone_risk)) {
            continue;
        }
        let place = format!("{} address {}", other.address.chain(), other.address);
        let detail = match other.control {
            AccountControl::Contract => format!(
                "same account address as {place}, a contract listed as {} ({})",
                listing.entry.entity.name,
                listings::list_and_programs(listing)
            ),
            AccountControl::Key | AccountControl::Unknown => format!(
                "controlled by the same key as {place}, listed as {} ({})",
                listing.entry.entity.name,
                listings::list_and_programs(listing)
            ),
        };
        if other.control == AccountControl::Unknown
            && matches!(other.address.kind(), assay_address::AddressKind::Account)
        {
            assessed.warnings.push(Warning {
                code: "account_control_unknown",
                message: format!(
                    "{place} is assumed to be controlled by a key; if it is a contract, the same \
                     address here may belong to another party"
                ),
            });
        }
        assessed.reasons.push(VerdictReason { code: "same_key_listed", message: detail.clone() });
        assessed.terms.push(Term {
            rank: if tier == Tier::OnChainProof { Rank::ListedKey } else { tier.into() },
            standalone_risk,
            claim: Some(Claim::of_upstream(
                upstreams.number(&format!("list {}", listing.entry.list).into()),
            )),
            evidence: TermEvidence::from(ScoringComponent {
                kind: ComponentKind::Association,
                standalone_score: Score::from_fraction(standalone_risk),
                detail,
                category: Some(Category::Sanctions),
                entity: Some(listing.entry.entity.name.clone()),
                tier: Some(tier),
                source: Some(listing.source.clone()),
                evidence: vec![address_reference(&other.address), listings::reference(listing)],
                ..ScoringComponent::default()
            }),
        });
    }
}

/// The labels of other addresses that the subject's key controls, the strongest first. Risky claims of these labels
/// count like claims about the subject, each claim once.
fn same_key_labels<'f>(
    others: &[&'f SameKey],
    own: &[Listing],
    policy: &Policy,
    today: Date,
) -> Vec<LabelEvidence<'f>> {
    let mut labelled = Vec::new();
    for other in others {
        let ended = EndedListings::of(other.listings.iter().chain(own), today);
        for label in other.labels.iter().filter(|label| label.in_force(today)) {
            let severity = policy.severity(label.category);
            if severity < RISKY_FROM || label.cites_list.is_some() || ended.are_basis_of(label) {
                continue;
            }
            labelled.push(LabelEvidence {
                label,
                tier: label.tier.weaker(other.strongest_label()),
                confidence: label.confidence,
                severity,
                holder: LabeledParty::SameKey(other),
            });
        }
    }
    labelled
}

fn assess_cluster(
    cluster: &Cluster,
    facts: &Facts,
    policy: &Policy,
    today: Date,
    assessed: &mut Findings<'_>,
) {
    let own = (&facts.labels, &*facts.listings);
    let InheritedLabels { conflict, .. } =
        cluster::inherit(cluster, own, &facts.sources, policy, today);
    if let Some(owners) = conflict {
        assessed.warnings.push(Warning {
            code: "cluster_conflict",
            message: format!(
                "addresses of the co-spend cluster {} are labelled as different owners: {}; at most \
                 one label is passed on, and not of a service",
                cluster.id,
                in_words(&owners)
            ),
        });
    }
    let advises = |listing: &Listing| policy.effect(&listing.entry.list) == ListEffect::Advisory;
    let mut listed: Vec<(&ClusterMember, &Listing)> = cluster
        .members
        .iter()
        .flat_map(|member| active(&member.listings, today).map(move |listing| (member, listing)))
        .collect();
    let order = |member: &ClusterMember, listing: &Listing| {
        let ListingEntry { list, entity, address_as_published, .. } = &listing.entry;
        (
            advises(listing),
            list.clone(),
            entity.id.clone(),
            address_as_published.clone(),
            member.address.clone(),
        )
    };
    listed.sort_by_cached_key(|(member, listing)| order(member, listing));
    if let Some((member, first)) = listed.first() {
        let doubt = if member.is_certain() {
            ""
        } else {
            "; the transaction that connects them may have two parties, such as a PayJoin"
        };
        let mut evidence: Vec<EvidenceReference> =
            listed.iter().take(MOST_SHOWN).map(|(_, it)| listings::reference(it)).collect();
        evidence.push(address_reference(&member.address));
        let transactions = cluster::transactions(member);
        evidence.extend(transactions.iter().map(|txid| transaction_reference(txid)));
        let message = format!(
            "its co-spend cluster {} contains a listed address: {}, {} ({}){doubt}",
            cluster.id,
            member.address,
            first.entry.entity.name,
            listings::list_and_programs(first)
        );
        let minimum_score = MinimumScore::fixed(CLUSTER_LISTED, message, evidence, policy);
        assessed.minimum_scores.push(minimum_score);
    }
    assessed.wallets.extend(cluster.members.iter().take(MOST_MEMBERS).map(|member| {
        let evidence = (&*member.labels, &*member.listings);
        let confidence = cluster.confidence_of(member);
        let shown =
            wallet(&member.address, Relation::SameOwner, "co_spend", confidence, evidence, today);
        let times = || member.co_spends.iter().flatten().map(|co_spend| co_spend.time);
        AssociatedWallet {
            transactions: cluster::transactions(member),
            first_seen: times().min(),
            last_seen: times().max(),
            ..shown
        }
    }));
}

/// The rule on direct dealings of other members with listed parties. Other people's money passes the addresses of a
/// service: a cluster with a certain member whom an investigation calls a benign service has no such rule.
fn listed_counterparty(cluster: &Cluster, policy: &Policy, today: Date) -> Option<MinimumScore> {
    let is_service = |label: &Label| {
        label.in_force(today)
            && label.tier <= Tier::Investigation
            && label.category.info().service
            && policy.severity(label.category) < RISKY_FROM
    };
    let services = cluster.members.iter().filter(|member| member.is_certain());
    if services.flat_map(|member| &member.labels).any(is_service) {
        return None;
    }
    let ListedDealings { largest, found, .. } = &cluster.dealings;
    let first = largest.first()?;
    let ListedDealing { member, party, direction, time, amount, .. } = first;
    let native = member.chain().info().native();
    let amount = format!("{} {}", whole_units(*amount, native.decimals), native.code);
    let day = time.to_zoned(TimeZone::UTC).date();
    let name = first.entity.as_deref().unwrap_or("name not known");
    let list = first.listed_by.as_ref().map_or_else(String::new, |entry| {
        let since = entry.listed_on.map_or_else(String::new, |day| format!(", listed on {day}"));
        format!(" ({}{since})", entry.in_words())
    });
    let (moved, to) = match direction {
        Direction::Source => ("received", "from"),
        Direction::Destination => ("sent", "to"),
    };
    let more = match found.saturating_sub(1) {
        0 => String::new(),
        1 => "; 1 more such payment".to_owned(),
        more => format!("; {more} more such payments"),
    };
    let message = format!(
        "another address of its co-spend cluster {}, {member}, {moved} {amount} directly {to} a listed party: {name}{list}, \
         address {party}, on {day}{more}",
        cluster.id
    );
    let evidence = largest.iter().flat_map(|dealing| {
        let paid = [
            address_reference(&dealing.member),
            transaction_reference(&dealing.transaction),
            address_reference(&dealing.party),
        ];
        let listed_by = dealing.listed_by.as_ref().map(|entry| EvidenceReference {
            kind: EvidenceKind::ListEntry,
            reference: format!("{} entity {}", entry.list, entry.entity_id),
        });
        let joined = cluster::named_transactions(&dealing.co_spends);
        let joined: Vec<_> = joined.iter().map(|txid| transaction_reference(txid)).collect();
        paid.into_iter().chain(listed_by).chain(joined)
    });
    let mut distinct: Vec<EvidenceReference> = Vec::new();
    for reference in evidence {
        if !distinct.contains(&reference) {
            distinct.push(reference);
        }
    }
    let rule = MinimumScore::fixed(CLUSTER_LISTED_COUNTERPARTY, message, distinct, policy);
    Some(MinimumScore { tier: Some(Tier::Heuristic), ..rule })
}

/// The first owners, and the number of the others.
fn in_words(owners: &DifferentOwners) -> String {
    let shown = owners.first.join(", ");
    match owners.further {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn possible_owner(other: &PossibleOwner, today: Date) -> AssociatedWallet {
    let (heuristic, evidence) = (other.by.as_str(), (&*other.labels, &*other.listings));
    let relation = Relation::PossibleOwner;
    AssociatedWallet {
        transactions: other.transactions.clone(),
        first_seen: Some(other.first_seen),
        last_seen: Some(other.last_seen),
        ..wallet(&other.address, relation, heuristic, other.confidence, evidence, today)
    }
}

fn counterparty(other: &Counterparty, today: Date) -> AssociatedWallet {
    let (relation, heuristic) = match other.role {
        Some(AccountRole::ServiceDeposit) => (Relation::ServiceDeposit, "sweeps_to_service"),
        Some(AccountRole::Deployer) => (Relation::Deployer, "creation"),
        Some(AccountRole::Deployed) => (Relation::Deployed, "creation"),
        Some(AccountRole::SameDeployer) => (Relation::SameDeployer, "creation"),
        Some(AccountRole::ResourceLender) => (Relation::ResourceLender, "resource_delegation"),
        Some(AccountRole::ResourceBorrower) => (Relation::ResourceBorrower, "resource_delegation"),
        None if other.is_funder => (Relation::Funder, "first_payment"),
        None => (Relation::Counterparty, "payments"),
    };
    let evidence = (&*other.labels, &*other.listings);
    let shown = wallet(&other.address, relation, heuristic, Confidence::CERTAIN, evidence, today);
    let native = CounterpartyAsset {
        asset: other.address.chain().info().native().code.to_owned(),
        received: other.received,
        sent: other.sent,
    };
    let by_asset = if other.by_asset.is_empty() { vec![native] } else { other.by_asset.clone() };
    let amounts = |of: fn(&CounterpartyAsset) -> u128| -> Vec<Amount> {
        let moved = by_asset.iter().filter(|asset| of(asset) > 0);
        moved
            .map(|asset| Amount {
                value: of(asset).to_string(),
                asset: asset.asset.clone(),
                usd: None,
                price_day: None,
            })
            .collect()
    };
    AssociatedWallet {
        transactions: other.transactions.clone(),
        first_seen: Some(other.first_seen),
        last_seen: Some(other.last_seen),
        amounts: amounts(|asset| asset.received.saturating_add(asset.sent)),
        received: amounts(|asset| asset.received),
        sent: amounts(|asset| asset.sent),
        ..shown
    }
}

fn active(listings: &[Listing], today: Date) -> impl Iterator<Item = &Listing> {
    listings.iter().filter(move |listing| listing.status(today) == ListingStatus::Active)
}

fn wallet(
    address: &CanonicalAddress,
    relation: Relation,
    heuristic: &str,
    confidence: Confidence,
    (labels, listings): (&[Label], &[Listing]),
    today: Date,
) -> AssociatedWallet {
    let mut categories: BTreeSet<_> =
        labels.iter().filter(|label| label.in_force(today)).map(|label| label.category).collect();
    let listing = active(listings, today).min_by(|a, b| a.entry.entity.id.cmp(&b.entry.entity.id));
    if listing.is_some() {
        categories.insert(Category::Sanctions);
    }
    let labelled = labels.iter().filter_map(|label| label.entity.clone()).min();
    AssociatedWallet {
        blockchain: address.chain(),
        address: address.as_str().to_owned(),
        relation,
        heuristic: heuristic.to_owned(),
        confidence,
        categories: categories.into_iter().collect(),
        listed: listing.is_some(),
        entity: listing
            .map(|listing| listing.entry.entity.name.clone())
            .or(labelled.as_deref().map(str::to_owned)),
        transactions: vec![],
        first_seen: None,
        last_seen: None,
        amounts: vec![],
        received: vec![],
        sent: vec![],
    }
}
