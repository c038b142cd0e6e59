//! A graph in memory, the reference implementation: it computes every answer from the transactions
//! themselves, in the plainest way there is. The answers of the backends are compared with its own.

mod cluster;
mod read;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use assay_engine::{
    chain::ChainId,
    cluster::co_spend,
    utxo::{
        Block, BlockRef, FeePayer, HistoryEntry, OwnOutput, ResolvedBlock, ScriptOwner, SideLimits,
        Statistics, Transaction, TransactionKind, TransactionView, TxOut, Txid,
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
            let Block { reference, transactions } = block.into_block();
            let first_transaction = stored(graph.transactions.len());
            let first_owner = stored(graph.owners.len());
            graph.blocks.push(BlockRow { block: reference, first_transaction, first_owner });
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

    /// The owner's outputs of a transaction.
    fn own_outputs(&self, number: usize, owner: &ScriptOwner) -> Vec<OwnOutput> {
        let own = self.transactions.get(number).into_iter().flat_map(|recorded| {
            recorded
                .transaction
                .outputs
                .iter()
                .zip(0..)
                .filter(|(output, _)| output.owner == *owner)
        });
        own.map(|(output, index)| OwnOutput {
            index,
            value: output.value,
            spent: self.spenders.contains_key(&(number, index)),
        })
        .collect()
    }

    /// The transactions of the `limit` largest entries, each given by value, transaction and index.
    fn of_largest(mut entries: Vec<(u64, usize, u32)>, limit: u32) -> BTreeSet<usize> {
        entries.sort_unstable_by_key(|(value, number, index)| (Reverse(*value), *number, *index));
        entries.iter().take(length(limit)).map(|(_, number, _)| *number).collect()
    }

    fn entry(
        &self,
        number: usize,
        owner: &ScriptOwner,
        incoming: bool,
        limit: u32,
    ) -> Option<HistoryEntry> {
        let recorded = self.transactions.get(number)?;
        let (transaction, outputs) = if incoming {
            let limits = SideLimits { inputs: limit, outputs: 0 };
            (self.view_with_fees(recorded, limits), self.own_outputs(number, owner))
        } else {
            (recorded.view(SideLimits { inputs: 0, outputs: limit }), Vec::new())
        };
        Some(HistoryEntry {
            transaction,
            received: recorded.received(owner),
            sent: recorded.sent(owner),
            outputs,
        })
    }

    /// A transaction that was asked for with its inputs.
    fn view_with_fees(&self, recorded: &Recorded, limits: SideLimits) -> TransactionView {
        let mut view = recorded.view(limits);
        if view.kind == TransactionKind::Coinbase {
            let first = self.transactions.partition_point(|other| other.block.height < view.height);
            let block = self.transactions.iter().skip(first);
            let block = block.take_while(|other| other.block.height == view.height);
            let fees = block.map(|other| (other.transaction.txid, other.transaction.fee()));
            view.fee_payers = FeePayer::of_block(fees);
        }
        view
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
