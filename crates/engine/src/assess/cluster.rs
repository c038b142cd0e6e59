//! Labels that an address inherits from the other members of its co-spend cluster, and conflicts between these labels.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use jiff::civil::Date;
use rustc_hash::FxHashSet;

use super::ended::EndedListings;
use crate::{
    evidence::{AddressLabels, Label, Listing, SourceState, Tier},
    facts::{Cluster, ClusterMember, CoSpend},
    names::{ListId, SourceId},
    policy::Policy,
    score::Confidence,
    taxonomy::Category,
};

/// Largest number of owners that a sentence names.
const MOST_OWNERS: usize = 5;

/// Largest number of transactions that a score component or an associated address names.
pub(super) const MOST_TRANSACTIONS: usize = 20;

/// The labels that a member inherits from its cluster.
#[derive(Debug, Default)]
pub(super) struct InheritedLabels<'f> {
    pub(super) labels: Vec<InheritedLabel<'f>>,
    /// The owners that labels of the members name, if the owners differ: then only the riskiest label is passed on.
    pub(super) conflict: Option<DifferentOwners>,
}

/// An inherited label with the member that has the label.
#[derive(Clone, Copy, Debug)]
pub(super) struct InheritedLabel<'f> {
    pub(super) label: &'f Label,
    /// Tier as which the label is inherited.
    pub(super) tier: Tier,
    /// Confidence with which the label is inherited.
    pub(super) confidence: Confidence,
    pub(super) from: &'f ClusterMember,
}

/// Labels that the subject inherits from the other members, of tier `heuristic` at most. Anyone can join a stranger's
/// cluster by two transactions that spend outputs of both parties, so inherited labels only raise a score.
///
/// If labels of tier investigation or stronger name different owners, a label or the cluster is wrong, and only the
/// riskiest label that is not of a service is inherited. Else all labels are inherited.
pub(super) fn inherit<'f>(
    cluster: &'f Cluster,
    (own, own_listings): (&'f AddressLabels, &[Listing]),
    sources: &[SourceState],
    policy: &Policy,
    today: Date,
) -> InheritedLabels<'f> {
    let loaded: BTreeSet<&ListId> = sources.iter().flat_map(|source| &source.lists).collect();
    let counts = |label: &Label, ended: &EndedListings<'_>| {
        let follows_list = label.cites_list.as_ref().is_some_and(|list| loaded.contains(list));
        label.in_force(today) && !follows_list && !ended.are_basis_of(label)
    };
    let members = cluster.members.iter().filter(|it| it.address.unowned_kind().is_none());
    let mut inherited: Vec<InheritedLabel<'f>> = Vec::new();
    for member in members {
        let ended = EndedListings::of(&member.listings, today);
        let (cap, confidence) = (cap(member), cluster.confidence_of(member));
        let counted = member.labels.iter().filter(|label| counts(label, &ended));
        inherited.extend(counted.map(|label| InheritedLabel {
            label,
            tier: label.tier.weaker(cap),
            confidence: label.confidence.min(confidence),
            from: member,
        }));
    }
    // Of equal labels, that of the member with the surest connection and the smallest address.
    let strongest = |it: &InheritedLabel<'_>| (it.tier, Reverse(it.confidence.percent()));
    inherited.sort_by(|a, b| (strongest(a), &a.from.address).cmp(&(strongest(b), &b.from.address)));

    let ended = EndedListings::of(own_listings, today);
    let own = own.iter().filter(|label| counts(label, &ended));
    let own = own.map(|label| (label, label.tier.weaker(Tier::Investigation)));
    // A report, or a doubtful connection, must not weaken what others say.
    let investigated = own
        .chain(inherited.iter().map(|it| (it.label, it.tier)))
        .filter(|(_, tier)| tier.at_least(Tier::Investigation));
    let conflict = DifferentOwners::named_by(investigated.map(|(label, _)| label));
    if conflict.is_some() {
        inherited.retain(|it| !it.label.category.info().service);
        let risk = |it: &InheritedLabel<'_>| {
            policy.risk(policy.severity(it.label.category), it.confidence)
        };
        let most = inherited.iter().map(risk).max();
        inherited.retain(|it| Some(risk(it)) == most);
        inherited.truncate(1);
    }
    for it in &mut inherited {
        it.tier = it.tier.weaker(Tier::Heuristic);
    }
    let mut seen: FxHashSet<(Category, Option<&str>, &SourceId, &str)> = FxHashSet::default();
    inherited.retain(|it| {
        let Label { category, entity, source, upstream, .. } = it.label;
        seen.insert((*category, entity.as_deref(), source, upstream))
    });
    InheritedLabels { labels: inherited, conflict }
}

/// Strongest tier of a member's label in the comparison with labels of other members: investigation, or heuristic if
/// the connection may be due to a `PayJoin`.
fn cap(member: &ClusterMember) -> Tier {
    if member.is_certain() { Tier::Investigation } else { Tier::Heuristic }
}

/// The transactions that connect a member with the subject.
pub(super) fn transactions(member: &ClusterMember) -> Vec<String> {
    named_transactions(member.co_spends.as_deref().unwrap_or_default())
}

/// The transactions of co-spends, each once.
pub(super) fn named_transactions(co_spends: &[CoSpend]) -> Vec<String> {
    let mut transactions = Vec::new();
    for co_spend in co_spends {
        for txid in std::iter::once(&co_spend.transaction).chain(&co_spend.confirmed_by) {
            if transactions.len() < MOST_TRANSACTIONS && !transactions.contains(txid) {
                transactions.push(txid.clone());
            }
        }
    }
    transactions
}

/// Different owners that labels name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DifferentOwners {
    /// The first owners, each with its category.
    pub(super) first: Vec<String>,
    /// Number of the other owners.
    pub(super) further: usize,
}

impl DifferentOwners {
    /// The owners that labels name; `None` if there is only one owner. A label without a name agrees with every label of
    /// its category.
    fn named_by<'a>(labels: impl Iterator<Item = &'a Label>) -> Option<Self> {
        let mut named: BTreeMap<&str, Category> = BTreeMap::new();
        let (mut categories, mut without): (BTreeSet<Category>, BTreeSet<Category>) =
            Default::default();
        for label in labels {
            if let Some(name) = label.entity.as_deref() {
                named.entry(name).or_insert(label.category);
                categories.insert(label.category);
            } else {
                without.insert(label.category);
            }
        }
        let unnamed: Vec<&Category> = without.difference(&categories).collect();
        let owners = named.len() + unnamed.len();
        if owners < 2 {
            return None;
        }
        let with_names = named.iter().map(|(name, category)| format!("{name} ({category})"));
        let all = with_names.chain(unnamed.iter().map(ToString::to_string));
        let first: Vec<String> = all.take(MOST_OWNERS).collect();
        Some(Self { further: owners - first.len(), first })
    }
}
