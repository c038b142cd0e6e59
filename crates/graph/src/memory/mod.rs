//! A graph in memory, the reference implementation: it computes every answer from the transactions
//! themselves, in the plainest way there is. The answers of the backends are compared with its own.

mod cluster;
mod read;
mod view;

use std::collections::{BTreeSet, HashMap};

use assay_address::ChainId;
use assay_engine::{
    cluster::co_spend,
    utxo::{
        Block, BlockRef, ResolvedBlock, ScriptOwner, SideLimits, Statistics, Transaction,
        TransactionView, TxOut, Txid,
    },
};
use jiff::Timestamp;

use crate::backend::rows::BlockRow;
use cluster::Clusters;

/// A graph in memory.
#[derive(Debug)]
pub struct MemoryGraph {
    chain: ChainId,
    start: u64,
    sample: bool,
    verified_at: Timestamp,
    blocks: Vec<BlockRow>,
    /// Transactions by number.
    transactions: Vec<Recorded>,
    /// The number of the newest transaction with an identifier.
    newest: HashMap<Txid, usize>,
    /// The number of the transaction that spends an output, named by its transaction's number and its
    /// index.
    spenders: HashMap<(usize, u32), usize>,
    /// Owners by number.
    owners: Vec<Appearances>,
    numbers: HashMap<ScriptOwner, usize>,
    clusters: Clusters,
}

#[derive(Debug)]
struct Recorded {
    block: BlockRef,
    transaction: Transaction,
    /// For each input the number of the transaction whose output it spends, where that is recorded.
    previous: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Appearances {
    owner: ScriptOwner,
    transactions: BTreeSet<usize>,
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
            let Block { reference, work, transactions } = block.into_block();
            let first_transaction = stored(graph.transactions.len());
            let first_owner = stored(graph.owners.len());
            let row = BlockRow { block: reference, work, first_transaction, first_owner };
            graph.blocks.push(row);
            for transaction in transactions {
                graph.record(reference, transaction);
            }
        }
        graph
    }

    fn record(&mut self, block: BlockRef, transaction: Transaction) {
        let number = self.transactions.len();
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
                owners.push(Appearances { owner: owner.clone(), transactions });
                owners.len() - 1
            });
            if let Some(found) = owners.get_mut(index) {
                found.transactions.insert(number);
            }
        }
        if let Some(joined) = co_spend(&transaction, self.chain, block.time) {
            let owners = joined.owners.iter().filter_map(|owner| self.numbers.get(*owner));
            let owners = owners.map(|number| stored(*number)).collect();
            self.clusters.join(owners, stored(number), joined.is_conclusive);
        }
        self.newest.insert(transaction.txid, number);
        self.transactions.push(Recorded { block, transaction, previous });
    }

    fn appearances(&self, owner: &Appearances) -> impl Iterator<Item = (usize, &Recorded)> {
        let found = |number: &usize| Some((*number, self.transactions.get(*number)?));
        owner.transactions.iter().filter_map(found)
    }

    fn statistics(&self, owner: &Appearances) -> Option<Statistics> {
        let first = self.appearances(owner).next()?.1;
        let mut statistics = Statistics::new(first.block.time);
        for (_, recorded) in self.appearances(owner) {
            let (sent, received) = (recorded.sent(&owner.owner), recorded.received(&owner.owner));
            let inputs = recorded.transaction.input_total();
            statistics.count(recorded.block.time, sent, received, inputs);
        }
        Some(statistics)
    }

    fn find(&self, txid: &Txid) -> Option<&Recorded> {
        self.transactions.get(*self.newest.get(txid)?)
    }
}

impl Recorded {
    fn sent(&self, owner: &ScriptOwner) -> u128 {
        total_of(self.transaction.spent_outputs(), owner)
    }

    fn received(&self, owner: &ScriptOwner) -> u128 {
        total_of(self.transaction.outputs.iter(), owner)
    }

    fn view(&self, limits: SideLimits) -> TransactionView {
        self.transaction.view(self.block.height, self.block.time, limits)
    }
}

fn total_of<'a>(outputs: impl Iterator<Item = &'a TxOut>, owner: &ScriptOwner) -> u128 {
    let own = outputs.filter(|output| output.owner == *owner);
    own.map(|output| u128::from(output.value)).sum()
}

fn length(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Numbers in memory never come near the largest signed one.
fn stored(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn amount(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
