//! A graph in memory, the reference implementation: it computes every answer from the transactions, in the simplest
//! way. Tests compare the embedded graph's answers with those of the reference.

mod cluster;
mod read;
mod view;

use std::collections::{BTreeSet, HashMap};

use assay_address::ChainId;
use assay_engine::{
    ledger::{BlockRef, Statistics},
    utxo::{Block, ResolvedBlock, ScriptOwner, Transaction, TxOut, Txid, cluster::co_spend},
};
use jiff::Timestamp;

pub use view::transaction_and_index;

use cluster::Clusters;

/// A graph in memory.
#[derive(Debug)]
pub struct MemoryGraph {
    chain: ChainId,
    start: u64,
    sample: bool,
    verified_at: Timestamp,
    blocks: Vec<RecordedBlock>,
    /// Transactions by number.
    transactions: Vec<RecordedTransaction>,
    /// The number of the newest transaction with an identifier.
    newest: HashMap<Txid, u64>,
    /// The number of the transaction that spends an output, by the output's transaction number and index.
    spenders: HashMap<(u64, u32), u64>,
    /// Owners by number.
    owners: Vec<OwnerAppearances>,
    numbers: HashMap<ScriptOwner, u64>,
    clusters: Clusters,
}

#[derive(Debug)]
struct RecordedBlock {
    block: BlockRef,
    work: Option<u128>,
    first_transaction: u64,
    first_owner: u64,
}

#[derive(Debug)]
struct RecordedTransaction {
    block: BlockRef,
    transaction: Transaction,
    /// For each input, the number of the transaction whose output it spends, if that transaction is recorded.
    previous: Vec<Option<u64>>,
}

#[derive(Debug)]
struct OwnerAppearances {
    owner: ScriptOwner,
    transactions: BTreeSet<u64>,
}

impl MemoryGraph {
    /// Records blocks of `chain` that follow one another, the first of them at height `start`.
    #[must_use]
    pub fn new(
        chain: ChainId,
        start: u64,
        sample: bool,
        blocks: Vec<ResolvedBlock>,
        verified_at: Timestamp,
    ) -> Self {
        let mut graph = Self {
            chain,
            start,
            sample,
            verified_at,
            blocks: Vec::new(),
            transactions: Vec::new(),
            newest: HashMap::new(),
            spenders: HashMap::new(),
            owners: Vec::new(),
            numbers: HashMap::new(),
            clusters: Clusters::default(),
        };
        for block in blocks {
            let Block { reference: block, work, transactions } = block.into_block();
            let first_transaction = graph.transactions.len() as u64;
            let first_owner = graph.owners.len() as u64;
            graph.blocks.push(RecordedBlock { block, work, first_transaction, first_owner });
            for transaction in transactions {
                graph.record(block, transaction);
            }
        }
        graph
    }

    fn record(&mut self, block: BlockRef, transaction: Transaction) {
        let number = self.transactions.len() as u64;
        let mut previous = Vec::new();
        for input in &transaction.inputs {
            let known = input.spent.is_some() && !input.is_from_pool(transaction.txid);
            let made = self.newest.get(&input.outpoint.txid).filter(|_| known).copied();
            if let Some(made) = made {
                self.spenders.entry((made, input.outpoint.index)).or_insert(number);
            }
            previous.push(made);
        }
        for TxOut { owner, .. } in transaction.all_outputs() {
            let owners = &mut self.owners;
            let index = *self.numbers.entry(owner.clone()).or_insert_with(|| {
                let transactions = BTreeSet::new();
                owners.push(OwnerAppearances { owner: owner.clone(), transactions });
                owners.len() as u64 - 1
            });
            if let Some(found) = owners.get_mut(index_of(index)) {
                found.transactions.insert(number);
            }
        }
        if let Some(joined) = co_spend(&transaction, self.chain, block.time) {
            let owners = joined.owners.iter().filter_map(|owner| self.numbers.get(*owner));
            self.clusters.join(owners.copied().collect(), number, joined.is_conclusive);
        }
        self.newest.insert(transaction.txid, number);
        self.transactions.push(RecordedTransaction { block, transaction, previous });
    }

    fn recorded(&self, number: u64) -> Option<&RecordedTransaction> {
        self.transactions.get(index_of(number))
    }

    /// The owner with a number.
    fn name(&self, number: u64) -> Option<ScriptOwner> {
        Some(self.owners.get(index_of(number))?.owner.clone())
    }

    fn appearances(
        &self,
        owner: &OwnerAppearances,
    ) -> impl Iterator<Item = (u64, &RecordedTransaction)> {
        let found = |number: &u64| Some((*number, self.recorded(*number)?));
        owner.transactions.iter().filter_map(found)
    }

    /// The owner with a number, and its statistics.
    fn owner_of(&self, number: u64) -> Option<(&OwnerAppearances, Statistics)> {
        let found = self.owners.get(index_of(number))?;
        let first = self.appearances(found).next()?.1;
        let mut statistics = Statistics::new(first.block.time);
        for (_, RecordedTransaction { block, transaction, .. }) in self.appearances(found) {
            let sent = total_of(transaction.spent_outputs(), &found.owner);
            let received = total_of(transaction.outputs.iter(), &found.owner);
            statistics.count(block.time, sent, received, transaction.input_total());
        }
        Some((found, statistics))
    }
}

fn total_of<'a>(outputs: impl Iterator<Item = &'a TxOut>, owner: &ScriptOwner) -> u128 {
    let own = outputs.filter(|output| output.owner == *owner);
    own.map(|output| u128::from(output.value)).sum()
}

/// Converts a number to an index.
fn index_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
