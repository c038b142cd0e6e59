//! A graph in memory, made of its blocks. It computes every answer from the transactions themselves,
//! in the plainest way there is: what the backends answer is compared with it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use assay_engine::{
    chain::ChainId,
    coins::{
        CoinTransaction, History, HistoryEntry, Holder, Leg, Legs, OutPoint, OwnOutput, Statistics,
        TransactionKind, Txid, transaction::returned,
    },
};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    BlockRef, Coin, FlowSource, Graph, GraphBlock, GraphTip, GraphTransaction,
    fingerprint::Fingerprint,
    rows::{
        BlockRow, CoinRow, HolderRow, InputRow, OUT_OF_POOL, OutputRow, Spends, TransactionRow,
    },
};
use crate::StoreError;

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
    holders: Vec<Appearances>,
    numbers: HashMap<Holder, usize>,
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
    holder: Holder,
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
            holders: Vec::new(),
            numbers: HashMap::new(),
        };
        for GraphBlock { block, transactions } in blocks {
            let first_transaction = stored(graph.transactions.len());
            let first_holder = stored(graph.holders.len());
            graph.blocks.push(BlockRow { block, first_transaction, first_holder });
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
        for Coin { holder, .. } in spent.chain(&transaction.outputs) {
            let holders = &mut self.holders;
            let place = *self.numbers.entry(holder.clone()).or_insert_with(|| {
                let transactions = BTreeSet::new();
                holders.push(Appearances { holder: holder.clone(), transactions });
                holders.len() - 1
            });
            if let Some(found) = holders.get_mut(place) {
                found.transactions.insert(number);
            }
        }
        self.newest.insert(transaction.txid, number);
        self.transactions.push(Recorded { block, transaction, previous });
    }

    fn appearances(&self, holder: &Appearances) -> impl Iterator<Item = (usize, &Recorded)> {
        let found = |number: &usize| Some((*number, self.transactions.get(*number)?));
        holder.transactions.iter().filter_map(found)
    }

    fn statistics(&self, holder: &Appearances) -> Option<Statistics> {
        let first = self.appearances(holder).next()?.1;
        let mut statistics = Statistics {
            first_seen: first.block.time,
            last_seen: first.block.time,
            transactions_in: 0,
            transactions_out: 0,
            received: 0,
            sent: 0,
        };
        for (_, recorded) in self.appearances(holder) {
            let (sent, received) =
                (recorded.sent(&holder.holder), recorded.received(&holder.holder));
            let back = returned(sent, received, recorded.input_total());
            statistics.last_seen = recorded.block.time;
            statistics.transactions_in += u64::from(received > back);
            statistics.transactions_out += u64::from(sent > back);
            statistics.received += received - back;
            statistics.sent += sent - back;
        }
        Some(statistics)
    }

    /// The holder's outputs in a transaction.
    fn own_outputs(&self, number: usize, holder: &Holder) -> Vec<OwnOutput> {
        let own = self.transactions.get(number).into_iter().flat_map(|recorded| {
            recorded.transaction.outputs.iter().zip(0..).filter(|(coin, _)| coin.holder == *holder)
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
        holder: &Holder,
        incoming: bool,
        largest: u32,
    ) -> Option<HistoryEntry> {
        let recorded = self.transactions.get(number)?;
        let mut transaction = recorded.bare();
        let outputs = if incoming {
            transaction.inputs.legs = recorded.input_legs(largest);
            self.own_outputs(number, holder)
        } else {
            transaction.outputs.legs = recorded.output_legs(largest);
            Vec::new()
        };
        let (received, sent) = (recorded.received(holder), recorded.sent(holder));
        Some(HistoryEntry { transaction, received, sent, outputs })
    }

    fn find(&self, txid: &Txid) -> Option<&Recorded> {
        self.transactions.get(*self.newest.get(txid)?)
    }
}

impl Recorded {
    fn sent(&self, holder: &Holder) -> u128 {
        let coins = self.transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
        coins.filter(|coin| coin.holder == *holder).map(|coin| u128::from(coin.value)).sum()
    }

    fn received(&self, holder: &Holder) -> u128 {
        let coins = self.transaction.outputs.iter();
        coins.filter(|coin| coin.holder == *holder).map(|coin| u128::from(coin.value)).sum()
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
        let leg = |(input, place): (&super::GraphInput, u32)| {
            let Coin { holder, value } = input.coin.clone()?;
            Some(Leg { place, output: input.output, holder, value })
        };
        largest_of(self.transaction.inputs.iter().zip(0..).filter_map(leg).collect(), most)
    }

    fn output_legs(&self, most: u32) -> Vec<Leg> {
        let leg = |(coin, place): (&Coin, u32)| Leg {
            place,
            output: OutPoint { txid: self.transaction.txid, index: place },
            holder: coin.holder.clone(),
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

#[async_trait]
impl FlowSource for MemoryGraph {
    async fn history(&self, holder: &Holder, largest: u32) -> Result<Option<History>, StoreError> {
        let found = self.numbers.get(holder).and_then(|number| self.holders.get(*number));
        let Some((found, statistics)) =
            found.and_then(|found| Some((found, self.statistics(found)?)))
        else {
            return Ok(None);
        };
        let (mut received, mut sent) = (Vec::new(), Vec::new());
        for (number, recorded) in self.appearances(found) {
            for (coin, place) in recorded.transaction.outputs.iter().zip(0..) {
                if coin.holder == *holder {
                    received.push((coin.value, number, place));
                }
            }
            for (input, place) in recorded.transaction.inputs.iter().zip(0..) {
                if let Some(coin) = input.coin.as_ref().filter(|coin| coin.holder == *holder) {
                    sent.push((coin.value, number, place));
                }
            }
        }
        let entries = |coins, incoming| {
            Self::of_largest(coins, largest)
                .into_iter()
                .filter_map(|number| self.entry(number, holder, incoming, largest))
                .collect()
        };
        let (incoming, outgoing) = (entries(received, true), entries(sent, false));
        Ok(Some(History { statistics, incoming, outgoing }))
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<CoinTransaction>>, StoreError> {
        let origin = |txid| {
            let recorded = self.find(txid)?;
            let mut transaction = recorded.bare();
            transaction.inputs.legs = recorded.input_legs(largest);
            Some(transaction)
        };
        Ok(transactions.iter().map(origin).collect())
    }

    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<CoinTransaction>>, StoreError> {
        let destination = |output: &OutPoint| {
            let made = *self.newest.get(&output.txid)?;
            let recorded = self.transactions.get(*self.spenders.get(&(made, output.index))?)?;
            let mut transaction = recorded.bare();
            transaction.outputs.legs = recorded.output_legs(largest);
            Some(transaction)
        };
        Ok(outputs.iter().map(destination).collect())
    }
}

#[async_trait]
impl Graph for MemoryGraph {
    async fn tip(&self) -> Result<Option<GraphTip>, StoreError> {
        Ok(self.blocks.last().map(|row| GraphTip {
            start: self.start,
            block: row.block,
            verified_at: self.verified_at,
            sample: self.sample,
        }))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, StoreError> {
        let blocks = self.blocks.iter().map(|row| row.block);
        Ok(blocks.filter(|block| (from..=to).contains(&block.height)).collect())
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<CoinTransaction>, StoreError> {
        Ok(self.find(txid).map(|recorded| {
            let mut transaction = recorded.bare();
            transaction.inputs.legs = recorded.input_legs(largest);
            transaction.outputs.legs = recorded.output_legs(largest);
            transaction
        }))
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<Holder>, StoreError> {
        let above = self.transactions.iter().filter(|recorded| recorded.block.height > height);
        let mut seen = HashSet::new();
        let everybody = above.flat_map(|recorded| {
            let spent = recorded.transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
            spent.chain(&recorded.transaction.outputs).map(|coin| &coin.holder)
        });
        Ok(everybody.filter(|holder| seen.insert(*holder)).take(places(most)).cloned().collect())
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(GraphBlock) + Send),
    ) -> Result<(), StoreError> {
        let mut transactions: BTreeMap<u64, Vec<GraphTransaction>> = BTreeMap::new();
        for recorded in &self.transactions {
            let block = transactions.entry(recorded.block.height).or_default();
            block.push(recorded.transaction.clone());
        }
        for block in self.blocks(from, to).await? {
            let transactions = transactions.remove(&block.height).unwrap_or_default();
            each(GraphBlock { block, transactions });
        }
        Ok(())
    }

    async fn fingerprint(&self) -> Result<[u8; 32], StoreError> {
        let mut fingerprint = Fingerprint::default();
        for block in &self.blocks {
            fingerprint.block(block);
        }
        let coin = |coin: &Coin| CoinRow {
            holder: self.numbers.get(&coin.holder).map_or(0, |number| stored(*number)),
            value: amount(coin.value),
        };
        for (recorded, number) in self.transactions.iter().zip(0..) {
            let GraphTransaction { txid, kind, inputs, outputs, unknown } = &recorded.transaction;
            fingerprint.transaction(&TransactionRow {
                number,
                height: recorded.block.height,
                txid: *txid,
                kind: *kind,
                inputs: stored(inputs.len()),
                outputs: stored(outputs.len()),
                input_total: amount(recorded.input_total()),
                output_total: amount(recorded.output_total()),
                unknown: amount(*unknown),
            });
            for ((input, previous), place) in inputs.iter().zip(&recorded.previous).zip(0..) {
                let OutPoint { index, .. } = input.output;
                let spends = match previous {
                    _ if is_out_of_pool(&recorded.transaction, &input.output) => Spends::Pool,
                    Some(made) => Spends::Recorded { transaction: stored(*made), index },
                    None => Spends::Elsewhere(input.output),
                };
                let coin = input.coin.as_ref().map(coin);
                fingerprint.input(&InputRow { transaction: number, place, spends, coin });
            }
            for (output, place) in outputs.iter().zip(0..) {
                let coin = coin(output);
                fingerprint.output(&OutputRow { transaction: number, place, coin });
            }
        }
        for (found, number) in self.holders.iter().zip(0..) {
            if let Some(statistics) = self.statistics(found) {
                let holder = found.holder.clone();
                fingerprint.holder(&HolderRow { number, holder, statistics });
            }
        }
        Ok(fingerprint.of(self.chain, self.start, self.sample))
    }
}
