//! The chains that can be read now.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_chain::{TestNetworks, location};
use assay_engine::{chain::ChainId, facts::Environment, policy::Policy};
use assay_graph::{Graph, GraphError};
use assay_store::StoreError;
use assay_tenancy::{
    Directory,
    manifest::{ChainMode, ChainSourceSpec},
};
use sha2::{Digest, Sha256};

use super::on_demand::OnDemand;
use crate::Databases;

/// A chain could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// How a chain is read.
#[derive(Clone, Debug)]
pub enum ChainReader {
    /// From a graph into which its blocks were ingested.
    Graph(Arc<dyn Graph>),
    /// From an API, address by address.
    OnDemand(Arc<OnDemand>),
}

/// Every chain that can be read.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    readers: BTreeMap<ChainId, ChainReader>,
    /// The source of each chain that has one, whether it gave anything yet or not.
    declared: BTreeMap<ChainId, ChainSourceSpec>,
    /// Names what is followed and how: another set may answer otherwise.
    revision: Arc<str>,
}

impl Chains {
    /// The chains that a store has graphs of, and those whose source is read on demand. A graph goes
    /// before.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn of(
        databases: &Databases,
        directory: &Directory<Policy>,
    ) -> Result<Self, ReadError> {
        Self::default().renewed(databases, directory).await
    }

    /// The same as they are now. A reader whose source says what it said is kept, with what it knows.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn renewed(
        &self,
        databases: &Databases,
        directory: &Directory<Policy>,
    ) -> Result<Self, ReadError> {
        let sample = databases.store.environment().await? == Environment::Sample;
        let mut readers = BTreeMap::new();
        let mut declared = BTreeMap::new();
        let mut revision = Sha256::new();
        for feed in directory.chains.values().filter(|feed| !feed.spec.suspended) {
            let spec = &feed.spec;
            let Ok(chain) = spec.chain.parse::<ChainId>() else { continue };
            declared.insert(chain, spec.clone());
            revision.update(format!("{spec:?}"));
            if spec.mode == ChainMode::OnDemand
                && let Some(reader) =
                    self.kept(chain, spec).or_else(|| on_demand(chain, spec, databases, sample))
            {
                readers.insert(chain, ChainReader::OnDemand(reader));
            }
        }
        for chain in databases.graphs.chains().await? {
            if let Some(graph) = databases.graphs.graph(chain).await? {
                revision.update(format!("graph of {chain}"));
                readers.insert(chain, ChainReader::Graph(graph));
            }
        }
        let revision = hex::encode(revision.finalize()).into();
        Ok(Self { readers, declared, revision })
    }

    /// The reader of a source that says what it said.
    fn kept(&self, chain: ChainId, spec: &ChainSourceSpec) -> Option<Arc<OnDemand>> {
        match self.readers.get(&chain) {
            Some(ChainReader::OnDemand(reader)) if self.declared.get(&chain) == Some(spec) => {
                Some(Arc::clone(reader))
            }
            _ => None,
        }
    }

    /// Whether a chain is to be followed: its flows are then mandatory.
    #[must_use]
    pub fn is_followed(&self, chain: ChainId) -> bool {
        self.declared.contains_key(&chain) || self.readers.contains_key(&chain)
    }

    /// Names what is followed and how. Answers under one name rest on the same sources.
    #[must_use]
    pub const fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// How a chain is read; `None` where it is not.
    #[must_use]
    pub fn reader(&self, chain: ChainId) -> Option<&ChainReader> {
        self.readers.get(&chain)
    }

    /// The graphs.
    pub fn graphs(&self) -> impl Iterator<Item = (ChainId, &Arc<dyn Graph>)> {
        self.readers.iter().filter_map(|(chain, reader)| match reader {
            ChainReader::Graph(graph) => Some((*chain, graph)),
            ChainReader::OnDemand(_) => None,
        })
    }
}

fn on_demand(
    chain: ChainId,
    spec: &ChainSourceSpec,
    databases: &Databases,
    sample: bool,
) -> Option<Arc<OnDemand>> {
    let test_networks = TestNetworks::allowed_if(spec.test_network || sample);
    let bound = Duration::from_secs(spec.time_bound.seconds());
    match location::histories(chain, &spec.endpoint, bound, test_networks) {
        Ok(histories) => {
            let store = Arc::clone(&databases.store);
            Some(Arc::new(OnDemand::new(chain, store, histories, bound)))
        }
        Err(error) => {
            tracing::error!(%chain, %error, "a chain cannot be read on demand");
            None
        }
    }
}
