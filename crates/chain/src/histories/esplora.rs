//! Histories from an Esplora.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_engine::{
    address::CanonicalAddress,
    utxo::{Pool, ScriptOwner, Txid},
};

use super::{FullTransaction, Histories, ReportedTip, Summary};
use crate::{
    Hidden, SourceError, TestNetworks,
    esplora::{Esplora, PlacedTransaction},
};

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
}

impl Histories for EsploraHistories {
    fn tip(&self) -> Result<ReportedTip, SourceError> {
        if !self.known.load(Ordering::Relaxed) {
            self.esplora.check_chain(self.test_networks)?;
            self.known.store(true, Ordering::Relaxed);
        }
        let head = self.esplora.newest()?;
        Ok(ReportedTip { height: head.height, hash: head.hash, time: head.time })
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
    ) -> Result<Vec<FullTransaction>, SourceError> {
        let page = self.esplora.address_transactions(address, after)?;
        Ok(page.into_iter().map(full).collect())
    }

    fn transaction(&self, txid: &Txid) -> Result<Option<FullTransaction>, SourceError> {
        Ok(self.esplora.transaction(txid)?.map(full))
    }

    fn spends(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError> {
        let spends = self.esplora.spends(txid)?;
        Ok(spends.into_iter().map(|spend| spend.map(|spend| spend.txid)).collect())
    }
}

/// A transaction as a trace needs it. What enters or leaves a pool is an input or output of the pool's;
/// an Esplora always says what an input spends.
fn full(placed: PlacedTransaction) -> FullTransaction {
    let PlacedTransaction { transaction, block } = placed;
    let txid = transaction.txid;
    let mut inputs: Vec<_> = transaction
        .inputs
        .into_iter()
        .filter_map(|input| input.coin.map(|coin| (input.output, coin.owner, coin.value)))
        .collect();
    let mut outputs: Vec<_> =
        transaction.outputs.into_iter().map(|coin| (coin.owner, coin.value)).collect();
    let pool = ScriptOwner::Pool(Pool::ZcashShielded);
    match transaction.hidden {
        Hidden::FromPool(value) => {
            let index = crate::resolve::NO_PLACE;
            inputs.push((assay_engine::utxo::OutPoint { txid, index }, pool, value));
        }
        Hidden::IntoPool(value) => outputs.push((pool, value)),
        Hidden::None | Hidden::FromNowhere => {}
    }
    FullTransaction {
        txid,
        height: block.height,
        time: block.time,
        coinbase: transaction.coinbase,
        inputs,
        outputs,
    }
}
