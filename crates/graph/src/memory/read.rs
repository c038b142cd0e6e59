//! What a graph in memory answers.

use std::collections::{BTreeMap, HashSet};

use assay_engine::{
    trace::Reading,
    utxo::{CoinTransaction, History, OutPoint, ScriptOwner, Txid},
};
use async_trait::async_trait;

use super::{MemoryGraph, amount, is_out_of_pool, places, stored};
use crate::{
    BlockRef, Coin, FlowSource, Graph, GraphBlock, GraphError, GraphTip, GraphTransaction,
    fingerprint::Fingerprint,
    rows::{CoinRow, InputRow, OutputRow, OwnerRow, Spends, TransactionRow},
};

#[async_trait]
impl FlowSource for MemoryGraph {
    async fn history(
        &self,
        owner: &ScriptOwner,
        reading: Reading,
    ) -> Result<Option<History>, GraphError> {
        let found = self.numbers.get(owner).and_then(|number| self.owners.get(*number));
        let Some((found, statistics)) =
            found.and_then(|found| Some((found, self.statistics(found)?)))
        else {
            return Ok(None);
        };
        let (mut received, mut sent) = (Vec::new(), Vec::new());
        for (number, recorded) in self.appearances(found) {
            for (coin, place) in recorded.transaction.outputs.iter().zip(0..) {
                if coin.owner == *owner {
                    received.push((coin.value, number, place));
                }
            }
            for (input, place) in recorded.transaction.inputs.iter().zip(0..) {
                if let Some(coin) = input.coin.as_ref().filter(|coin| coin.owner == *owner) {
                    sent.push((coin.value, number, place));
                }
            }
        }
        let entries = |coins, incoming| {
            let largest = Self::of_largest(coins, reading.transfers);
            let legs = reading.legs_of_each(largest.len());
            largest
                .into_iter()
                .filter_map(|number| self.entry(number, owner, incoming, legs))
                .collect()
        };
        let (incoming, outgoing) = (entries(received, true), entries(sent, false));
        Ok(Some(History { statistics, incoming, outgoing }))
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<CoinTransaction>>, GraphError> {
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
    ) -> Result<Vec<Option<CoinTransaction>>, GraphError> {
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
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(self.blocks.last().map(|row| GraphTip {
            start: self.start,
            block: row.block,
            verified_at: self.verified_at,
            sample: self.sample,
        }))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let blocks = self.blocks.iter().map(|row| row.block);
        Ok(blocks.filter(|block| (from..=to).contains(&block.height)).collect())
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<CoinTransaction>, GraphError> {
        Ok(self.find(txid).map(|recorded| {
            let mut transaction = recorded.bare();
            transaction.inputs.legs = recorded.input_legs(largest);
            transaction.outputs.legs = recorded.output_legs(largest);
            transaction
        }))
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let above = self.transactions.iter().filter(|recorded| recorded.block.height > height);
        let mut seen = HashSet::new();
        let everybody = above.flat_map(|recorded| {
            let spent = recorded.transaction.inputs.iter().filter_map(|input| input.coin.as_ref());
            spent.chain(&recorded.transaction.outputs).map(|coin| &coin.owner)
        });
        Ok(everybody.filter(|owner| seen.insert(*owner)).take(places(most)).cloned().collect())
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(GraphBlock) + Send),
    ) -> Result<(), GraphError> {
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

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let mut fingerprint = Fingerprint::default();
        for block in &self.blocks {
            fingerprint.block(block);
        }
        let coin = |coin: &Coin| CoinRow {
            owner: self.numbers.get(&coin.owner).map_or(0, |number| stored(*number)),
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
        for (found, number) in self.owners.iter().zip(0..) {
            if let Some(statistics) = self.statistics(found) {
                let owner = found.owner.clone();
                fingerprint.owner(&OwnerRow { number, owner, statistics });
            }
        }
        Ok(fingerprint.of(self.chain, self.start, self.sample))
    }
}
