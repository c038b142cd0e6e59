//! Histories from an Esplora API.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_address::CanonicalAddress;
use assay_engine::{ledger::BlockRef, utxo::Txid};

use super::{AddressSummary, ChainPosition, ConfirmedTransaction, HistorySource};
use crate::{SourceError, esplora::Esplora};

/// Source of histories from an Esplora API.
#[derive(Debug)]
pub struct EsploraHistories {
    esplora: Esplora,
    /// True if the server was verified to serve the chain.
    verified: AtomicBool,
}

impl EsploraHistories {
    /// Returns histories from an API. Before its first answer is used, the API is verified to serve the chain.
    #[must_use]
    pub const fn new(esplora: Esplora) -> Self {
        Self { esplora, verified: AtomicBool::new(false) }
    }

    fn classify(&self, found: &mut ConfirmedTransaction) {
        found.transaction.classify(self.esplora.chain(), found.time);
    }
}

impl HistorySource for EsploraHistories {
    fn tip(&self) -> Result<BlockRef, SourceError> {
        if !self.verified.load(Ordering::Relaxed) {
            self.esplora.check_chain()?;
            self.verified.store(true, Ordering::Relaxed);
        }
        self.esplora.newest()
    }

    fn summary(&self, address: &CanonicalAddress) -> Result<AddressSummary, SourceError> {
        let statistics = self.esplora.address(address)?;
        Ok(AddressSummary {
            funded: statistics.received.into(),
            spent: statistics.spent.into(),
            transactions: statistics.transactions,
        })
    }

    fn page(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError> {
        let mut page = self.esplora.address_transactions(address, after)?;
        for found in &mut page {
            self.classify(found);
        }
        Ok(page)
    }

    fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError> {
        let mut found = self.esplora.transaction(txid)?;
        if let Some(found) = &mut found {
            self.classify(found);
        }
        Ok(found)
    }

    fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError> {
        self.esplora.spenders(txid)
    }

    fn position(&self, txid: &Txid) -> Result<Option<ChainPosition>, SourceError> {
        self.esplora.position(txid)
    }
}
