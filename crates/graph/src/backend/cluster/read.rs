//! Reading clusters: the part that is the same in every backend.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use assay_engine::utxo::{ScriptOwner, Txid};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Forest, LinkRow, RecordedLink};
use crate::{
    Cluster, ClusterEvidence, ClusterMember, ClusterRef, GraphError, Membership,
    backend::rows::OwnerRow,
};

/// Owners whose clusters are looked up at once.
const PAGE: i64 = 10_000;

/// Place of a transaction in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPlace {
    /// Identifier.
    pub txid: Txid,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
}

/// A backend's side of reading clusters: lookups in one state of the graph.
#[async_trait]
pub trait ClusterRows: Send {
    /// The number of the next owner.
    async fn next_owner(&mut self) -> Result<i64, GraphError>;

    /// The recorded owners among these, with their numbers.
    async fn numbers(
        &mut self,
        owners: &[ScriptOwner],
    ) -> Result<HashMap<ScriptOwner, i64>, GraphError>;

    /// The owners of these numbers.
    async fn owners(&mut self, numbers: &[i64]) -> Result<Vec<OwnerRow>, GraphError>;

    /// The links of clusters, as [`Recorder::links`](crate::backend::Recorder::links) finds them.
    async fn links(&mut self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError>;

    /// The first `most` links whose parent is among `parents`: in the order of these, then by size.
    async fn links_to(
        &mut self,
        parents: &[i64],
        most: u32,
    ) -> Result<Vec<RecordedLink>, GraphError>;

    /// The children and parents of the links by transactions above a height, and the children of the links that
    /// these confirm; at most `most` links and confirmations.
    async fn changed_above(&mut self, height: u64, most: u32) -> Result<Vec<[i64; 2]>, GraphError>;

    /// The places of transactions by their numbers.
    async fn places(
        &mut self,
        transactions: &[i64],
    ) -> Result<HashMap<i64, TransactionPlace>, GraphError>;
}

pub(super) async fn forest(
    rows: &mut dyn ClusterRows,
    owners: &[i64],
) -> Result<Forest, GraphError> {
    let mut forest = Forest::default();
    for found in rows.links(owners).await? {
        forest.add(found);
    }
    Ok(forest)
}

pub(super) async fn by_number(
    rows: &mut dyn ClusterRows,
    numbers: HashSet<i64>,
) -> Result<HashMap<i64, OwnerRow>, GraphError> {
    let mut numbers: Vec<i64> = numbers.into_iter().collect();
    numbers.sort_unstable();
    let found = rows.owners(&numbers).await?;
    Ok(found.into_iter().map(|row| (row.number, row)).collect())
}

/// The clusters of owners: see [`Graph::clusters`](crate::Graph::clusters).
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn clusters(
    rows: &mut dyn ClusterRows,
    owners: &[ScriptOwner],
) -> Result<Vec<Option<ClusterRef>>, GraphError> {
    let numbers = rows.numbers(owners).await?;
    let asked: Vec<i64> = numbers.values().copied().collect();
    let forest = forest(rows, &asked).await?;
    let found = |owner: &ScriptOwner| {
        let (_, root) = forest.path(*numbers.get(owner)?);
        Some((root, forest.cluster(root)))
    };
    // An owner that shares its cluster with nobody is its own root and identifier.
    let shared = owners.iter().filter_map(found).filter(|(_, cluster)| cluster.size > 1);
    let wanted: HashSet<i64> =
        shared.flat_map(|(root, cluster)| [root, cluster.smallest]).collect();
    let named = if wanted.is_empty() { HashMap::new() } else { by_number(rows, wanted).await? };
    let cluster = |owner| {
        let (root, cluster) = found(owner)?;
        let name = |number: i64| match cluster.size {
            ..=1 => Some(owner.clone()),
            _ => Some(named.get(&number)?.owner.clone()),
        };
        let (id, root) = (name(cluster.smallest)?, name(root)?);
        Some(ClusterRef { id, root, size: cluster.size.unsigned_abs() })
    };
    Ok(owners.iter().map(cluster).collect())
}

/// The roots of changed clusters: see
/// [`Graph::clusters_changed_above`](crate::Graph::clusters_changed_above).
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn changed_above(
    rows: &mut dyn ClusterRows,
    height: u64,
    most: u32,
) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
    let changed = rows.changed_above(height, most.saturating_add(1)).await?;
    if changed.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    let mut roots: HashSet<i64> = changed.into_iter().flatten().collect();
    let asked: Vec<i64> = roots.iter().copied().collect();
    let forest = forest(rows, &asked).await?;
    roots.extend(asked.iter().map(|owner| forest.path(*owner).1));
    let mut named: Vec<OwnerRow> = by_number(rows, roots).await?.into_values().collect();
    named.sort_by_key(|row| row.number);
    Ok(Some(named.into_iter().map(|row| row.owner).collect()))
}

/// An owner's cluster with its first members: see [`Graph::cluster`](crate::Graph::cluster).
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn cluster(
    rows: &mut dyn ClusterRows,
    owner: &ScriptOwner,
    most: u32,
) -> Result<Option<Cluster>, GraphError> {
    let numbers = rows.numbers(std::slice::from_ref(owner)).await?;
    let Some(number) = numbers.get(owner).copied() else { return Ok(None) };
    let forest = forest(rows, &[number]).await?;
    let (path, root) = forest.path(number);
    let found = forest.cluster(root);
    // The owner itself, and those that connect it with the root, are members that are always shown.
    let mut links: Vec<RecordedLink> =
        path.iter().rev().filter_map(|child| forest.link(*child).copied()).collect();
    let others = descendants(rows, root, most).await?;
    links.extend(others.into_iter().filter(|found| !path.contains(&found.link.child)));

    let members = std::iter::once(root).chain(links.iter().map(|found| found.link.child));
    let wanted = members.clone().chain([found.smallest]).collect();
    let named = by_number(rows, wanted).await?;
    let evidence = evidence(rows, &links).await?;
    let members = members.filter_map(|number| {
        let row = named.get(&number)?;
        let evidence = evidence.get(&number).cloned();
        Some(ClusterMember { owner: row.owner.clone(), statistics: row.statistics, evidence })
    });
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(path.len() + 1);
    let members = members.take(most).collect();
    let Some(first) = named.get(&found.smallest) else { return Ok(None) };
    Ok(Some(Cluster {
        id: first.owner.clone(),
        size: found.size.unsigned_abs(),
        first_seen: first.statistics.first_seen,
        members,
    }))
}

/// The co-spends behind links, by the children of these.
pub(super) async fn evidence(
    rows: &mut dyn ClusterRows,
    links: &[RecordedLink],
) -> Result<HashMap<i64, ClusterEvidence>, GraphError> {
    let spent = links.iter().flat_map(|found| [found.link.child_member, found.link.parent_member]);
    let named = by_number(rows, spent.collect()).await?;
    let transactions: Vec<i64> = links
        .iter()
        .flat_map(|found| {
            let second = found.confirmation.map(|row| row.transaction);
            std::iter::once(found.link.transaction).chain(second)
        })
        .collect();
    let places = rows.places(&transactions).await?;
    let evidence = |found: &RecordedLink| {
        let LinkRow { child, transaction, is_conclusive, child_member, parent_member, .. } =
            found.link;
        let second = found.confirmation.map(|row| row.transaction);
        let evidence = ClusterEvidence {
            member: named.get(&child_member)?.owner.clone(),
            with: named.get(&parent_member)?.owner.clone(),
            transaction: *places.get(&transaction)?,
            is_conclusive,
            confirmed_by: second.and_then(|number| places.get(&number).copied()),
        };
        Some((child, evidence))
    };
    Ok(links.iter().filter_map(evidence).collect())
}

/// The first links below a root, level by level: at most one less than `most`, which counts the root.
async fn descendants(
    rows: &mut dyn ClusterRows,
    root: i64,
    most: u32,
) -> Result<Vec<RecordedLink>, GraphError> {
    let (mut links, mut level, mut left) = (Vec::new(), vec![root], most.saturating_sub(1));
    while !level.is_empty() && left > 0 {
        let found = rows.links_to(&level, left).await?;
        left = left.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        level = found.iter().map(|found| found.link.child).collect();
        links.extend(found);
    }
    Ok(links)
}

/// Passes each owner that shares its cluster with others, and the cluster's identifier: see
/// [`Graph::each_member`](crate::Graph::each_member).
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn each_member(
    rows: &mut dyn ClusterRows,
    each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
) -> Result<(), GraphError> {
    let end = rows.next_owner().await?;
    let mut from = 0;
    while from < end {
        let page: Vec<i64> = (from..end.min(from.saturating_add(PAGE))).collect();
        from = from.saturating_add(PAGE);
        let forest = forest(rows, &page).await?;
        let shared: Vec<(i64, i64)> = page
            .into_iter()
            .map(|owner| (owner, forest.cluster(forest.path(owner).1)))
            .filter(|(_, cluster)| cluster.size > 1)
            .map(|(owner, cluster)| (owner, cluster.smallest))
            .collect();
        let wanted = shared.iter().flat_map(|(owner, smallest)| [*owner, *smallest]).collect();
        let named = by_number(rows, wanted).await?;
        for (owner, smallest) in shared {
            let Some((owner, id)) = named.get(&owner).zip(named.get(&smallest)) else { continue };
            let member = Membership { owner: owner.owner.clone(), cluster: id.owner.clone() };
            if each(member).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
