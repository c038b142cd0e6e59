//! The parties at which traces end, by their numbers in a graph that grows.
//!
//! Lists and labels are looked up once for each of their states; after that, only owners that are new to the graph are
//! compared with them.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::reading::OwnerNumber;
use assay_graph::{
    GraphError,
    compositions::{End, Ends},
    embedded::{Reader, Snapshot},
};

use crate::chains::ends::Parties;

/// The parties of one chain, as far as its graph has them.
#[derive(Debug)]
pub(super) struct KnownEnds {
    parties: Parties,
    found: BTreeMap<u64, End>,
    ends: Arc<Ends>,
    searched: Option<Searched>,
}

/// The state of the graph in which parties were looked for.
#[derive(Clone, Copy, Debug)]
struct Searched {
    newest: (u64, [u8; 32]),
    owners: u64,
    /// Number of owners whom no reorganisation removes.
    settled: u64,
}

impl KnownEnds {
    /// None of these parties is looked for yet.
    pub(super) fn new(parties: Parties) -> Self {
        let (found, ends) = (BTreeMap::new(), Arc::default());
        Self { parties, found, ends, searched: None }
    }

    /// The ends in a state of the graph.
    pub(super) fn in_state(&mut self, graph: &Snapshot) -> Result<Arc<Ends>, GraphError> {
        let Some(tip) = graph.tip()? else { return Ok(Arc::default()) };
        let (reader, owners) = (graph.reader(), graph.owners()?);
        let from = match &self.searched {
            None => 0,
            Some(searched) => {
                let (height, hash) = searched.newest;
                let block = reader.block(height)?;
                unchanged_owners(searched, block.is_some_and(|it| it.block.hash == hash))
            }
        };
        let removed = self.found.split_off(&from);
        let added = search(&self.parties, &reader, from, owners)?;
        let has_changed = removed != added;
        self.found.extend(added);
        if has_changed {
            let mut ends = Ends::default();
            for (owner, end) in &self.found {
                ends.add(OwnerNumber(*owner), *end);
            }
            self.ends = Arc::new(ends);
        }
        self.searched = Some(Searched {
            newest: (tip.block.height, tip.block.hash),
            owners,
            settled: graph.settled_owners()?,
        });
        Ok(Arc::clone(&self.ends))
    }
}

/// Number of owners who are the same as in the earlier state: all of them if its newest block is still on the chain.
const fn unchanged_owners(searched: &Searched, is_on_chain: bool) -> u64 {
    if is_on_chain { searched.owners } else { searched.settled }
}

/// The parties with a number of at least `from`, of `owners`. Few owners are looked up among the parties, few parties
/// among the owners.
fn search(
    parties: &Parties,
    reader: &Reader<'_>,
    from: u64,
    owners: u64,
) -> Result<BTreeMap<u64, End>, GraphError> {
    let mut found = BTreeMap::new();
    if owners.saturating_sub(from) <= parties.len() as u64 {
        for owner in from..owners {
            if let Some(end) = parties.get(&reader.owner(owner)?) {
                found.insert(owner, end);
            }
        }
    } else {
        for (script, end) in parties.iter() {
            if let Some(owner) = reader.find_owner(script)?.filter(|owner| *owner >= from) {
                found.insert(owner, end);
            }
        }
    }
    Ok(found)
}
