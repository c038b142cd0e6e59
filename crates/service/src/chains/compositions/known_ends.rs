//! Numbers of the parties at which traces end, in a graph that grows.
//!
//! Each state of lists and labels is searched once for its parties; after that, only owners that are new to the graph
//! are compared with the parties.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::ledger::OwnerNumber;
use assay_graph::{
    GraphError,
    compositions::{OwnerAttribution, TraceEnds},
    utxo::{Reader, Snapshot},
};

use crate::chains::ends::Parties;

/// Parties of one chain, with the numbers of those that its graph has.
#[derive(Debug)]
pub(super) struct KnownEnds {
    parties: Parties,
    found: BTreeMap<u64, OwnerAttribution>,
    ends: Arc<TraceEnds>,
    searched: Option<SearchedState>,
}

/// State of the graph that was searched for parties.
#[derive(Clone, Copy, Debug)]
struct SearchedState {
    newest: (u64, [u8; 32]),
    owners: u64,
    /// Number of owners that no reorganisation removes.
    settled: u64,
}

impl KnownEnds {
    /// Returns parties that the graph was not searched for yet.
    pub(super) fn new(parties: Parties) -> Self {
        let (found, ends) = (BTreeMap::new(), Arc::default());
        Self { parties, found, ends, searched: None }
    }

    /// Returns the parties in a state of the graph.
    pub(super) fn in_state(&mut self, graph: &Snapshot) -> Result<Arc<TraceEnds>, GraphError> {
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
            let mut ends = TraceEnds::default();
            for (owner, end) in &self.found {
                ends.add(OwnerNumber(*owner), end.clone());
            }
            self.ends = Arc::new(ends);
        }
        self.searched = Some(SearchedState {
            newest: (tip.block.height, tip.block.hash),
            owners,
            settled: graph.finalized_owners()?,
        });
        Ok(Arc::clone(&self.ends))
    }
}

/// Number of owners that equal the owners of the searched state: all owners of that state if its newest block is still
/// on the chain.
const fn unchanged_owners(searched: &SearchedState, is_on_chain: bool) -> u64 {
    if is_on_chain { searched.owners } else { searched.settled }
}

/// Searches the owners with numbers from `from` to `owners` for parties. Looks up owners among the parties, or parties
/// among the owners, whichever are fewer.
fn search(
    parties: &Parties,
    reader: &Reader<'_>,
    from: u64,
    owners: u64,
) -> Result<BTreeMap<u64, OwnerAttribution>, GraphError> {
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
                found.insert(owner, end.clone());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use assay_engine::ledger::BlockRef;
    use assay_engine::{
        taxonomy::Category,
        utxo::{Block, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxOut, Txid},
    };
    use assay_graph::{EmbeddedGraphs, GraphWriter, WriterOptions, compositions::TraceEnd};
    use jiff::Timestamp;

    use super::*;

    fn script(number: u8) -> ScriptOwner {
        ScriptOwner::KeyHash([number; 20])
    }

    /// Returns a block whose coinbase pays these owners.
    fn block(parent: Option<&BlockRef>, fork: u8, owners: &[u8]) -> ResolvedBlock {
        let height = parent.map_or(0, |parent| parent.height + 1);
        let mut hash = [fork; 32];
        hash[..8].copy_from_slice(&height.to_be_bytes());
        let time = Timestamp::UNIX_EPOCH;
        let parent = parent.map_or([0; 32], |parent| parent.hash);
        let outputs = owners.iter().map(|owner| TxOut { owner: script(*owner), value: 1 });
        let (txid, kind) = (Txid::from_bytes(hash), TransactionKind::Coinbase);
        let coinbase = Transaction { txid, kind, inputs: vec![], outputs: outputs.collect() };
        let reference = BlockRef { height, hash, parent, time };
        ResolvedBlock::assume(Block { reference, work: None, transactions: vec![coinbase] })
    }

    struct Chain {
        graphs: EmbeddedGraphs,
        writer: GraphWriter,
        blocks: Vec<BlockRef>,
        _directory: tempfile::TempDir,
    }

    impl Chain {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let graphs = EmbeddedGraphs::new(directory.path());
            let options = WriterOptions { start: 0, sample: false, backfill: false };
            let writer = graphs.writer(ChainId::BTC, options).unwrap();
            Self { graphs, writer, blocks: vec![], _directory: directory }
        }

        fn add(&mut self, fork: u8, owners: &[u8]) {
            let block = block(self.blocks.last(), fork, owners);
            self.blocks.push(block.reference);
            let settled = self.blocks.len().saturating_sub(3) as u64;
            let spent = self.writer.outputs(&[]).unwrap();
            self.writer.append(&[block], &spent, settled, Timestamp::UNIX_EPOCH).unwrap();
        }

        fn roll_back(&mut self, blocks: usize) {
            self.blocks.truncate(self.blocks.len() - blocks);
            self.writer.roll_back(self.blocks.last().unwrap().height).unwrap();
        }

        fn snapshot(&self) -> Snapshot {
            self.graphs.open(ChainId::BTC).unwrap().unwrap().snapshot().unwrap()
        }
    }

    #[tokio::test]
    async fn ends_are_those_of_a_new_search_after_every_block_and_reorganisation() {
        let party = |number: u8| {
            OwnerAttribution::from(TraceEnd {
                category: if number.is_multiple_of(2) {
                    Category::Scam
                } else {
                    Category::Exchange
                },
                listed_on: None,
            })
        };
        // Given few parties, new owners are looked up among them, or they among all owners.
        let parties: Parties =
            [3, 8, 9, 20, 30].map(|it| (script(it), party(it))).into_iter().collect();
        let mut known = KnownEnds::new(parties.clone());
        let mut chain = Chain::new();
        let mut check = |chain: &Chain, expected: usize| {
            let found = known.in_state(&chain.snapshot()).unwrap();
            let searched = KnownEnds::new(parties.clone()).in_state(&chain.snapshot()).unwrap();
            assert_eq!(found, searched);
            assert_eq!(found.len(), expected);
        };
        chain.add(1, &[1, 2, 3, 4, 5, 6, 7, 8]);
        check(&chain, 2);
        chain.add(1, &[1, 9]);
        check(&chain, 3);
        for number in 10..14 {
            chain.add(1, &[number, 3]);
            check(&chain, 3);
        }
        chain.add(1, &[14, 15, 20]);
        check(&chain, 4);
        // The numbers of 14, 15 and 20 now belong to other owners.
        chain.roll_back(2);
        chain.add(2, &[30]);
        check(&chain, 4);
        chain.roll_back(1);
        check(&chain, 3);
        chain.add(3, &[40, 41, 42, 43, 44, 45, 20]);
        check(&chain, 4);
    }

    #[tokio::test]
    async fn a_known_state_is_not_searched_again() {
        let mut chain = Chain::new();
        chain.add(1, &[1, 2, 3]);
        let parties = [2].map(|it| {
            (
                script(it),
                OwnerAttribution::from(TraceEnd { category: Category::Scam, listed_on: None }),
            )
        });
        let mut known = KnownEnds::new(parties.into_iter().collect());
        let first = known.in_state(&chain.snapshot()).unwrap();
        chain.add(1, &[1, 4]);
        assert!(Arc::ptr_eq(&first, &known.in_state(&chain.snapshot()).unwrap()));
    }
}
