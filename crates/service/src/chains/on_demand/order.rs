//! Order of transactions within their blocks. The position of a transaction takes a request of its own, so that
//! positions are requested only where two or more transactions of one block were read.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{reading::GatheredChain, utxo::Txid};
use assay_store::StoreError;

use super::{ByTxid, fetch::HistoryFetcher, history, stored::StoredResponses};

/// Transactions that were read, by block, and their indexes as far as they were requested.
#[derive(Debug, Default)]
pub(super) struct BlockOrder {
    blocks: BTreeMap<u64, BTreeSet<Txid>>,
    /// Index in the block; `None` if the API did not answer in time.
    indexes: ByTxid<Option<u64>>,
}

impl BlockOrder {
    /// Adds gathered transactions, each with the height of its block, and sorts them.
    ///
    /// The transactions of a block with an unknown index are in the order of identifiers.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(super) async fn add(
        &mut self,
        transactions: impl Iterator<Item = (Txid, u64)>,
        (fetcher, stored): (&HistoryFetcher, &StoredResponses<'_>),
        gathered: &mut GatheredChain,
    ) -> Result<(), StoreError> {
        let mut grown = BTreeSet::new();
        for (txid, height) in transactions {
            if self.blocks.entry(height).or_default().insert(txid) {
                grown.insert(height);
            }
        }
        self.ask(&grown, fetcher, stored).await?;
        for height in grown {
            self.order(height, gathered);
        }
        Ok(())
    }

    /// Requests the missing indexes of transactions in blocks with more than one transaction.
    async fn ask(
        &mut self,
        heights: &BTreeSet<u64>,
        fetcher: &HistoryFetcher,
        stored: &StoredResponses<'_>,
    ) -> Result<(), StoreError> {
        let mut wanted = BTreeMap::new();
        for height in heights {
            let of_block = self.blocks.get(height).filter(|of_block| of_block.len() > 1);
            let unasked = of_block.into_iter().flatten();
            let unasked = unasked.filter(|txid| !self.indexes.contains_key(txid));
            wanted.extend(unasked.map(|txid| (*txid, *height)));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let told = fetcher.indexes(stored, &wanted).await?;
        self.indexes.extend(wanted.keys().map(|txid| (*txid, told.get(txid).copied())));
        Ok(())
    }

    /// Sorts the transactions of a block.
    fn order(&self, height: u64, gathered: &mut GatheredChain) {
        let of_block = self.blocks.get(&height).into_iter().flatten();
        let told: Option<Vec<(Txid, u64)>> =
            of_block.clone().map(|txid| Some((*txid, self.index(txid)?))).collect();
        let by_identifier = || of_block.map(|txid| (*txid, history::index_by_identifier(txid)));
        for (txid, index) in told.unwrap_or_else(|| by_identifier().collect()) {
            let number = gathered.number(txid);
            gathered.set_index_in_block(number, index);
        }
    }

    /// Returns the index of a transaction in its block if the API answered it.
    pub(super) fn index(&self, txid: &Txid) -> Option<u64> {
        self.indexes.get(txid).copied().flatten()
    }
}
