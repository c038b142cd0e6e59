//! Labels that an address inherits from the other members of its co-spend cluster, and conflicts between these labels.

use std::{cmp::Reverse, collections::BTreeSet};

use assay_address::CanonicalAddress;
use jiff::civil::Date;

use super::ended::rests_on_ended_listings;
use crate::{
    evidence::{Label, Listing, SourceState, Tier},
    facts::{Cluster, ClusterMember, CoSpend},
    policy::Policy,
};

/// Largest number of transactions that a score component or an associated address names.
pub(super) const MOST_TRANSACTIONS: usize = 20;

/// The labels that a member inherits from its cluster.
#[derive(Debug, Default)]
pub(super) struct InheritedLabels {
    pub(super) labels: Vec<InheritedLabel>,
    /// The owners that labels of the members name, if the owners differ: then only the riskiest label is passed on.
    pub(super) conflict: Vec<String>,
}

/// An inherited label with the member that has the label.
#[derive(Clone, Debug)]
pub(super) struct InheritedLabel {
    pub(super) label: Label,
    pub(super) from: CanonicalAddress,
    /// Co-spends that connect the subject with the member.
    pub(super) transactions: Vec<String>,
}

/// Labels that the subject inherits from the other members, of tier `heuristic` at most. Anyone can join a stranger's
/// cluster by two transactions that spend outputs of both parties, so inherited labels only raise a score.
///
/// If labels of tier investigation or stronger name different owners, a label or the cluster is wrong, and only the
/// riskiest label that is not of a service is inherited. Else all labels are inherited.
pub(super) fn inherit(
    cluster: &Cluster,
    (own, own_listings): (&[Label], &[Listing]),
    sources: &[SourceState],
    policy: &Policy,
    today: Date,
) -> InheritedLabels {
    let counts = |label: &Label, listings: &[Listing]| {
        let follows_list = label
            .cites_list
            .as_ref()
            .is_some_and(|list| sources.iter().any(|source| source.lists.contains(list)));
        label.in_force(today)
            && !follows_list
            && !rests_on_ended_listings(label, listings.iter(), today)
    };
    let members = || {
        cluster
            .members
            .iter()
            .filter(|member| member.address.unowned_kind().is_none())
            .flat_map(|member| member.labels.iter().map(move |label| (member, label)))
            .filter(|(member, label)| counts(label, &member.listings))
    };
    let mut inherited: Vec<InheritedLabel> =
        members().map(|(member, label)| pass_on(cluster, member, label)).collect();
    // Of equal labels, that of the member with the surest connection and the smallest address.
    let strongest = |it: &InheritedLabel| (it.label.tier, Reverse(it.label.confidence.percent()));
    inherited.sort_by(|a, b| (strongest(a), &a.from).cmp(&(strongest(b), &b.from)));

    let own: Vec<Label> = own
        .iter()
        .filter(|label| counts(label, own_listings))
        .map(|label| Label { tier: label.tier.weaker(Tier::Investigation), ..label.clone() })
        .collect();
    let all = || own.iter().chain(inherited.iter().map(|it| &it.label));
    // A report, or a doubtful connection, must not weaken what others say.
    let investigated = || all().filter(|label| label.tier.at_least(Tier::Investigation));
    let conflict = owners(investigated());
    if !conflict.is_empty() {
        inherited.retain(|it| !it.label.category.info().service);
        let risk = |it: &InheritedLabel| {
            policy.risk(policy.severity(it.label.category), it.label.confidence)
        };
        let most = inherited.iter().map(risk).max();
        inherited.retain(|it| Some(risk(it)) == most);
        inherited.truncate(1);
    }
    for it in &mut inherited {
        it.label.tier = it.label.tier.weaker(Tier::Heuristic);
    }
    let mut seen: BTreeSet<(_, _, _, _)> = BTreeSet::new();
    inherited.retain(|it| {
        let Label { category, entity, source, upstream, .. } = &it.label;
        seen.insert((*category, entity.clone(), source.clone(), upstream.clone()))
    });
    InheritedLabels { labels: inherited, conflict }
}

/// A member's label for the comparison with labels of other members: the label's confidence is at most the
/// connection's, the label's tier at most investigation, or heuristic if the connection may be due to a `PayJoin`.
fn pass_on(cluster: &Cluster, member: &ClusterMember, label: &Label) -> InheritedLabel {
    let cap = if member.is_certain() { Tier::Investigation } else { Tier::Heuristic };
    InheritedLabel {
        label: Label {
            confidence: label.confidence.min(cluster.confidence_of(member)),
            tier: label.tier.weaker(cap),
            ..label.clone()
        },
        from: member.address.clone(),
        transactions: transactions(member),
    }
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

/// The owners that labels name, each with its category; empty if there is only one owner. A label without a name agrees
/// with every label of its category.
fn owners<'a>(labels: impl Iterator<Item = &'a Label>) -> Vec<String> {
    let labels: Vec<&Label> = labels.collect();
    let named: BTreeSet<&str> = labels.iter().filter_map(|label| label.entity.as_deref()).collect();
    let categories: BTreeSet<_> =
        labels.iter().filter(|label| label.entity.is_some()).map(|label| label.category).collect();
    let unnamed: BTreeSet<_> = labels
        .iter()
        .filter(|label| label.entity.is_none() && !categories.contains(&label.category))
        .map(|label| label.category)
        .collect();
    if named.len() + unnamed.len() < 2 {
        return Vec::new();
    }
    let of = |name: &str| {
        let label = labels.iter().find(|label| label.entity.as_deref() == Some(name));
        label.map_or_else(|| name.to_owned(), |label| format!("{name} ({})", label.category))
    };
    named.into_iter().map(of).chain(unnamed.into_iter().map(|it| it.to_string())).collect()
}
