//! A graph in memory, made of its blocks. It computes every answer from the transactions themselves,
//! in the plainest way there is: what the backends answer is compared with it.

mod read;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use assay_engine::{
    chain::ChainId,
    utxo::{
        CoinTransaction, HistoryEntry, Leg, Legs, OutPoint, OwnOutput, ScriptOwner, Statistics,
        TransactionKind, Txid, transaction::returned,
    },
};
use jiff::Timestamp;

use super::{
    BlockRef, Coin, GraphBlock, GraphInput, GraphTransaction,
    rows::{BlockRow, OUT_OF_POOL},
};

/// A graph in memory.
#[derive(Debug)]
pub struct MemoryGraph {
    chain: ChainId,
    start: u64,
    sample: bool,
    verified_at: Timestamp,
    blocks: Vec<BlockRow>,
    /// By their numbers.
    transactions: Vec<Recorded>,
    /// The newest transaction of an identifier.
    newest: HashMap<Txid, usize>,
    /// Which transaction spends an output of another.
    spenders: HashMap<(usize, u32), usize>,
    /// By their numbers.
    owners: Vec<Appearances>,
    numbers: HashMap<ScriptOwner, usize>,
}

#[derive(Debug)]
struct Recorded {
    block: BlockRef,
    transaction: GraphTransaction,
    /// The transactions whose outputs the inputs spend, where they are recorded.
    previous: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Appearances {
    owner: ScriptOwner,
    transactions: BTreeSet<usize>,
}

impl MemoryGraph {
    /// The graph of blocks of `chain` that follow one another, the first of them at `start`.
    #[must_use]
    pub fn new(
        chain: ChainId,
        start: u64,
        sample: bool,
        blocks: Vec<GraphBlock>,
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
        };
        for GraphBlock { block, transactions } in blocks {
            let first_transaction = stored(graph.transactions.len());
            let first_owner = stored(graph.owners.len());
            graph.blocks.push(BlockRow { block, first_transaction, first_owner });
            for transaction in transactions {
                graph.record(block, transaction);
            }
        }
        graph
    }

    fn record(&mut self, block: BlockRef, transaction: GraphTransaction) {
        let number = self.transactions.len();
        let mut previous = Vec::new();
        for input in &transaction.inputs {
            let known = input.coin.is_some() && !is_out_of_pool(&transaction, &input.output);
            let made = self.newest.get(&input.output.txid).filter(|_| known).copied();
            if let Some(made) = made {
                self.spenders.entry((made, input.output.index)).or_insert(number);
            }
            previous.push(made);
        }
        let spent = transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
        for Coin { owner, .. } in spent.chain(&transaction.outputs) {
            let owners = &mut self.owners;
            let place = *self.numbers.entry(owner.clone()).or_insert_with(|| {
                let transactions = BTreeSet::new();
                owners.push(Appearances { owner: owner.clone(), transactions });
                owners.len() - 1
            });
            if let Some(found) = owners.get_mut(place) {
                found.transactions.insert(number);
            }
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
        let mut statistics = Statistics {
            first_seen: first.block.time,
            last_seen: first.block.time,
            transactions_in: 0,
            transactions_out: 0,
            received: 0,
            sent: 0,
        };
        for (_, recorded) in self.appearances(owner) {
            let (sent, received) = (recorded.sent(&owner.owner), recorded.received(&owner.owner));
            let back = returned(sent, received, recorded.input_total());
            statistics.last_seen = recorded.block.time;
            statistics.transactions_in += u64::from(received > back);
            statistics.transactions_out += u64::from(sent > back);
            statistics.received += received - back;
            statistics.sent += sent - back;
        }
        Some(statistics)
    }

    /// The owner's outputs in a transaction.
    fn own_outputs(&self, number: usize, owner: &ScriptOwner) -> Vec<OwnOutput> {
        let own = self.transactions.get(number).into_iter().flat_map(|recorded| {
            recorded.transaction.outputs.iter().zip(0..).filter(|(coin, _)| coin.owner == *owner)
        });
        own.map(|(coin, index)| OwnOutput {
            index,
            value: coin.value,
            spent: self.spenders.contains_key(&(number, index)),
        })
        .collect()
    }

    /// The transactions of the largest of some coins, each with its transaction and place.
    fn of_largest(mut coins: Vec<(u64, usize, u32)>, largest: u32) -> BTreeSet<usize> {
        coins.sort_unstable_by_key(|(value, number, place)| (Reverse(*value), *number, *place));
        coins.iter().take(places(largest)).map(|(_, number, _)| *number).collect()
    }

    fn entry(
        &self,
        number: usize,
        owner: &ScriptOwner,
        incoming: bool,
        largest: u32,
    ) -> Option<HistoryEntry> {
        let recorded = self.transactions.get(number)?;
        let mut transaction = recorded.bare();
        let outputs = if incoming {
            transaction.inputs.legs = recorded.input_legs(largest);
            self.own_outputs(number, owner)
        } else {
            transaction.outputs.legs = recorded.output_legs(largest);
            Vec::new()
        };
        let (received, sent) = (recorded.received(owner), recorded.sent(owner));
        Some(HistoryEntry { transaction, received, sent, outputs })
    }

    fn find(&self, txid: &Txid) -> Option<&Recorded> {
        self.transactions.get(*self.newest.get(txid)?)
    }
}

impl Recorded {
    fn sent(&self, owner: &ScriptOwner) -> u128 {
        let coins = self.transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
        coins.filter(|coin| coin.owner == *owner).map(|coin| u128::from(coin.value)).sum()
    }

    fn received(&self, owner: &ScriptOwner) -> u128 {
        let coins = self.transaction.outputs.iter();
        coins.filter(|coin| coin.owner == *owner).map(|coin| u128::from(coin.value)).sum()
    }

    fn output_total(&self) -> u128 {
        self.transaction.outputs.iter().map(|coin| u128::from(coin.value)).sum()
    }

    fn input_total(&self) -> u128 {
        if self.transaction.kind == TransactionKind::Coinbase {
            return self.output_total();
        }
        let coins = self.transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
        coins.map(|coin| u128::from(coin.value)).sum::<u128>()
            + u128::from(self.transaction.unknown)
    }

    fn bare(&self) -> CoinTransaction {
        let side = |count: usize, total, unknown| Legs {
            legs: Vec::new(),
            count: count as u64,
            total,
            unknown,
        };
        let GraphTransaction { txid, kind, inputs, outputs, unknown } = &self.transaction;
        CoinTransaction {
            txid: *txid,
            height: self.block.height,
            time: self.block.time,
            kind: *kind,
            inputs: side(inputs.len(), self.input_total(), (*unknown).into()),
            outputs: side(outputs.len(), self.output_total(), 0),
        }
    }

    fn input_legs(&self, most: u32) -> Vec<Leg> {
        let leg = |(input, place): (&GraphInput, u32)| {
            let Coin { owner, value } = input.coin.clone()?;
            Some(Leg { place, output: input.output, owner, value })
        };
        largest_of(self.transaction.inputs.iter().zip(0..).filter_map(leg).collect(), most)
    }

    fn output_legs(&self, most: u32) -> Vec<Leg> {
        let leg = |(coin, place): (&Coin, u32)| Leg {
            place,
            output: OutPoint { txid: self.transaction.txid, index: place },
            owner: coin.owner.clone(),
            value: coin.value,
        };
        largest_of(self.transaction.outputs.iter().zip(0..).map(leg).collect(), most)
    }
}

fn is_out_of_pool(transaction: &GraphTransaction, output: &OutPoint) -> bool {
    *output == OutPoint { txid: transaction.txid, index: OUT_OF_POOL }
}

fn largest_of(mut legs: Vec<Leg>, most: u32) -> Vec<Leg> {
    legs.sort_by_key(|leg| (Reverse(leg.value), leg.place));
    legs.truncate(places(most));
    legs
}

fn places(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Numbers in memory never come near the largest signed one.
fn stored(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn amount(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
