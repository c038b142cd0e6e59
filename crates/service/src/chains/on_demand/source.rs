//! Data that a trace reads from an API, transaction by transaction.

use std::collections::BTreeSet;

use assay_chain::histories::ConfirmedTransaction;
use assay_engine::{
    ledger::TransactionNumber,
    reading::{ChainView, GatheredChain, LookupResult, ReadRequest, Waypoint},
    utxo::{OutPoint, OutputNumber, Txid},
};
use assay_graph::ReadSource;
use async_trait::async_trait;

use super::{
    UsedTransactions, fetch::HistoryFetcher, history::in_block, order::BlockOrder,
    stored::StoredResponses,
};
use crate::chains::subject::ReadError;

/// The part of a chain that was fetched.
pub(super) struct OnDemandSource<'a> {
    pub(super) fetcher: &'a HistoryFetcher,
    pub(super) stored: &'a StoredResponses<'a>,
    /// Height of the newest block.
    pub(super) tip: u64,
    pub(super) gathered: GatheredChain,
    pub(super) order: BlockOrder,
    pub(super) used: UsedTransactions,
}

impl OnDemandSource<'_> {
    /// Adds transactions that were read, and sorts them in the order of the chain.
    pub(super) async fn add(
        &mut self,
        transactions: impl Iterator<Item = &ConfirmedTransaction> + Clone,
    ) -> Result<(), ReadError> {
        for confirmed in transactions.clone() {
            self.gathered.add(&confirmed.transaction, in_block(confirmed));
        }
        let heights = transactions.map(|it| (it.transaction.txid, it.height));
        let from = (self.fetcher, self.stored);
        Ok(self.order.add(heights, from, &mut self.gathered).await?)
    }

    /// Fetches transactions as long as there is time; the lookups of the other transactions fail. A missing transaction
    /// fails too: another transaction refers to it, so that the API contradicts itself for now.
    async fn fetch_transactions(
        &mut self,
        numbers: Vec<TransactionNumber>,
    ) -> Result<(), ReadError> {
        let is_unread = |number: &TransactionNumber| !self.gathered.is_read(*number);
        let numbers: Vec<TransactionNumber> = numbers.into_iter().filter(is_unread).collect();
        let txids = numbers.iter().map(|number| self.gathered.txid(*number));
        let wanted = txids.collect::<Result<BTreeSet<Txid>, _>>()?;
        let found = self.fetcher.transactions(self.stored, &wanted, self.tip).await?;
        self.used.add(found.keys().copied());
        self.add(found.values().flatten()).await?;
        for number in numbers {
            self.gathered.fail(number);
        }
        Ok(())
    }

    /// Fetches the transactions that spend outputs.
    async fn fetch_spenders(&mut self, outputs: Vec<OutputNumber>) -> Result<(), ReadError> {
        let outpoints = outputs.iter().map(|output| self.gathered.outpoint(*output));
        let outpoints = outpoints.collect::<Result<Vec<OutPoint>, _>>()?;
        let spenders = self.fetcher.spenders(self.stored, &outpoints).await?;
        self.used.add(spenders.keys().map(|output| output.txid));
        let mut spending = Vec::new();
        for (output, outpoint) in outputs.iter().zip(&outpoints) {
            if let Some(spender) = spenders.get(outpoint) {
                self.gathered.set_spender(*output, *spender);
                spending.extend(spender.map(|txid| self.gathered.number(txid)));
            }
            self.gathered.fail_output(*output);
        }
        self.fetch_transactions(spending).await
    }

    /// True if an output is known to be unspent, or its spender is known.
    pub(super) fn knows_spender(&self, output: OutputNumber) -> bool {
        let found = self.gathered.look_up(Waypoint::Output(output));
        matches!(found, Ok(LookupResult::Transaction { .. } | LookupResult::Nothing))
    }
}

#[async_trait]
impl ReadSource for OnDemandSource<'_> {
    type Error = ReadError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        read(&self.gathered);
    }

    async fn fetch(&mut self, request: ReadRequest) -> Result<(), ReadError> {
        self.fetch_transactions(request.transactions).await?;
        if !request.outputs.is_empty() {
            self.fetch_spenders(request.outputs).await?;
        }
        Ok(())
    }
}
