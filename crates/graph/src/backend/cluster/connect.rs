//! The co-spends that connect two members of a cluster.

use std::collections::{BTreeSet, HashMap, HashSet};

use assay_engine::utxo::ScriptOwner;

use super::{
    ClusterRows, Forest, RecordedLink,
    read::{evidence, forest},
};
use crate::{ClusterEvidence, GraphError};

/// The co-spends that connect an owner with others: see [`Graph::connections`](crate::Graph::connections).
///
/// The newest link between two members names the two that its transaction spends together. So it remains to
/// connect each of both with the one on its side, by links that are older: one co-spend is found at a time,
/// and in the end all of the only path between the two.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn connections(
    rows: &mut dyn ClusterRows,
    owner: &ScriptOwner,
    others: &[ScriptOwner],
    most: u32,
) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
    let asked: Vec<ScriptOwner> = std::iter::once(owner).chain(others).cloned().collect();
    let numbers = rows.numbers(&asked).await?;
    let Some(from) = numbers.get(owner).copied() else { return Ok(vec![None; others.len()]) };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut searches: Vec<Option<Search>> = others
        .iter()
        .map(|other| Some(Search { from, open: vec![(from, *numbers.get(other)?)], links: vec![] }))
        .collect();
    let mut known = Forest::default();
    let mut looked_up: HashSet<i64> = HashSet::new();
    loop {
        let wanted: BTreeSet<i64> = searches
            .iter()
            .flatten()
            .flat_map(|search| &search.open)
            .flat_map(|(one, other)| [*one, *other])
            .filter(|number| !looked_up.contains(number))
            .collect();
        if wanted.is_empty() {
            break;
        }
        let wanted: Vec<i64> = wanted.into_iter().collect();
        known.add_all(forest(rows, &wanted).await?);
        looked_up.extend(wanted);
        for search in &mut searches {
            if let Some(found) = search.take() {
                *search = found.advance(&known, &looked_up, most);
            }
        }
    }
    let links: HashMap<i64, RecordedLink> = searches
        .iter()
        .flatten()
        .flat_map(|search| &search.links)
        .filter_map(|child| Some((*child, *known.link(*child)?)))
        .collect();
    if links.is_empty() {
        return Ok(searches.into_iter().map(|search| search.map(|_| Vec::new())).collect());
    }
    let evidence = evidence(rows, &links.values().copied().collect::<Vec<_>>()).await?;
    let path = |search: Search| {
        let ordered = search.ordered(&links)?;
        ordered.iter().map(|child| evidence.get(child).cloned()).collect()
    };
    Ok(searches.into_iter().map(|search| search.and_then(path)).collect())
}

/// The search for the co-spends between two members.
struct Search {
    /// The member at which the path begins.
    from: i64,
    /// Pairs of members that remain to be connected.
    open: Vec<(i64, i64)>,
    /// The links that were found, by their children.
    links: Vec<i64>,
}

impl Search {
    /// Finds the newest link of every pair whose links were looked up. `None` if the members are of different
    /// clusters, or too many links connect them.
    fn advance(mut self, forest: &Forest, looked_up: &HashSet<i64>, most: usize) -> Option<Self> {
        let mut waiting = Vec::new();
        while let Some((one, other)) = self.open.pop() {
            if one == other {
                continue;
            }
            if !(looked_up.contains(&one) && looked_up.contains(&other)) {
                waiting.push((one, other));
                continue;
            }
            if forest.path(one).1 != forest.path(other).1 || self.links.len() >= most {
                return None;
            }
            let (child, below, above) = forest.newest_between(one, other)?;
            let link = forest.link(child)?.link;
            self.links.push(child);
            self.open.extend([(below, link.child_member), (link.parent_member, above)]);
        }
        self.open = waiting;
        Some(self)
    }

    /// The links in the order of the path.
    fn ordered(&self, links: &HashMap<i64, RecordedLink>) -> Option<Vec<i64>> {
        let mut by_member: HashMap<i64, Vec<i64>> = HashMap::new();
        for child in &self.links {
            let link = links.get(child)?.link;
            by_member.entry(link.child_member).or_default().push(*child);
            by_member.entry(link.parent_member).or_default().push(*child);
        }
        let mut path: Vec<i64> = Vec::with_capacity(self.links.len());
        let mut at = self.from;
        while path.len() < self.links.len() {
            let next = by_member.get(&at)?.iter().find(|child| path.last() != Some(*child))?;
            let link = links.get(next)?.link;
            at = if link.child_member == at { link.parent_member } else { link.child_member };
            path.push(*next);
        }
        Some(path)
    }
}
