//! Histories from an Esplora.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_engine::{
    address::CanonicalAddress,
    utxo::{BlockRef, Txid},
};

use super::{ConfirmedTransaction, Histories, Summary};
use crate::{SourceError, TestNetworks, esplora::Esplora};

/// An Esplora that tells histories.
#[derive(Debug)]
pub struct EsploraHistories {
    esplora: Esplora,
    test_networks: TestNetworks,
    /// Whether it was found to serve the right chain.
    known: AtomicBool,
}

impl EsploraHistories {
    /// Asks an Esplora. That it serves the right chain is checked before it is believed.
    #[must_use]
    pub const fn new(esplora: Esplora, test_networks: TestNetworks) -> Self {
        Self { esplora, test_networks, known: AtomicBool::new(false) }
    }

    fn classify(&self, found: &mut ConfirmedTransaction) {
        found.transaction.classify(self.esplora.chain(), found.time);
    }
}

impl Histories for EsploraHistories {
    fn tip(&self) -> Result<BlockRef, SourceError> {
        if !self.known.load(Ordering::Relaxed) {
            self.esplora.check_chain(self.test_networks)?;
            self.known.store(true, Ordering::Relaxed);
        }
        self.esplora.newest()
    }

    fn summary(&self, address: &CanonicalAddress) -> Result<Summary, SourceError> {
        let statistics = self.esplora.address(address)?;
        Ok(Summary {
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
}
