//! The chains that can be read now, and their readers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_address::ChainId;
use assay_chain::{TestNetworks, location};
use assay_engine::{
    evidence::Tip,
    facts::{DifferingBranches, Environment},
    policy::Policy,
};
use assay_tenancy::{
    Directory,
    manifest::{ChainMode, ChainSourceSpec},
};
use sha2::{Digest, Sha256};

use super::{
    graph::GraphReaders, on_demand::OnDemand, reader::ChainReader, remote::RemoteReader,
    subject::ReadError,
};
use crate::Databases;

/// All chains that can be read.
#[derive(Clone, Debug, Default)]
pub struct ChainReaders {
    remote: BTreeMap<ChainId, RemoteReader>,
    graphs: GraphReaders,
    on_demand: BTreeMap<ChainId, Arc<OnDemand>>,
    /// The source of each chain that has one, whether or not it has delivered anything.
    declared: BTreeMap<ChainId, ChainSourceSpec>,
    /// Identifies the set of chains and how they are read: another set may give another answer.
    revision: Arc<str>,
}

impl ChainReaders {
    /// The chains with chain servers, those with a graph, and those with a source that is read on demand. A chain
    /// that has several is read from the first of these.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    pub async fn open(
        databases: &Databases,
        directory: &Directory<Policy>,
    ) -> Result<Self, ReadError> {
        let environment = databases.store.environment().await?;
        Self::default().renewed(databases, environment, directory)
    }

    /// The registry for the current manifests. A reader on demand keeps its state if its source is
    /// unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    pub fn renewed(
        &self,
        databases: &Databases,
        environment: Environment,
        directory: &Directory<Policy>,
    ) -> Result<Self, ReadError> {
        let sample = environment == Environment::Sample;
        let mut renewed = Self::default();
        let mut revision = Sha256::new();
        for feed in directory.chains.values().filter(|feed| !feed.spec.suspended) {
            let spec = &feed.spec;
            let Ok(chain) = spec.chain.parse::<ChainId>() else { continue };
            renewed.declared.insert(chain, spec.clone());
            revision.update(format!("{spec:?}"));
            if spec.mode == ChainMode::OnDemand
                && let Some(reader) = self
                    .unchanged(chain, spec)
                    .or_else(|| on_demand(chain, spec, databases, sample))
            {
                renewed.on_demand.insert(chain, reader);
            }
        }
        for (chain, servers) in databases.chain_servers.iter() {
            revision.update(format!("servers of {chain}"));
            renewed.remote.insert(chain, RemoteReader::new(Arc::clone(servers)));
        }
        let chains = databases.graphs.chains();
        renewed.graphs = self.graphs.clone();
        renewed.graphs.keep(&chains);
        for chain in chains {
            if renewed.graphs.reading(chain, databases.graphs.graph(chain)?).is_some() {
                revision.update(format!("graph of {chain}"));
            }
        }
        renewed.revision = hex::encode(revision.finalize()).into();
        Ok(renewed)
    }

    /// The reader of a source that is unchanged.
    fn unchanged(&self, chain: ChainId, spec: &ChainSourceSpec) -> Option<Arc<OnDemand>> {
        let reader = self.on_demand.get(&chain)?;
        (self.declared.get(&chain) == Some(spec)).then(|| Arc::clone(reader))
    }

    /// True if a chain has a source or a graph: its flows are then mandatory.
    #[must_use]
    pub fn is_followed(&self, chain: ChainId) -> bool {
        self.declared.contains_key(&chain) || self.reader(chain).is_some()
    }

    /// Identifies the set of chains and how they are read. Answers with the same revision rest on the same
    /// sources.
    #[must_use]
    pub const fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// The reader of a chain; `None` if the chain cannot be read.
    #[must_use]
    pub fn reader(&self, chain: ChainId) -> Option<&dyn ChainReader> {
        match self.ingested(chain) {
            Some(reader) => Some(reader),
            None => Some(&**self.on_demand.get(&chain)?),
        }
    }

    /// The reader of a chain whose blocks are all recorded.
    fn ingested(&self, chain: ChainId) -> Option<&dyn ChainReader> {
        match self.remote.get(&chain) {
            Some(servers) => Some(servers),
            None => Some(&**self.graphs.get(chain)?),
        }
    }

    /// The reader of a chain if it is read on demand.
    #[must_use]
    pub fn read_on_demand(&self, chain: ChainId) -> Option<&Arc<OnDemand>> {
        self.on_demand.get(&chain).filter(|_| self.ingested(chain).is_none())
    }

    /// A difference between the servers that a chain is read from; `None` while they have one branch.
    #[must_use]
    pub fn differing_branches(&self, chain: ChainId) -> Option<DifferingBranches> {
        self.reader(chain)?.differing_branches()
    }

    /// The chains with a graph in the data directory.
    pub fn with_graphs(&self) -> impl Iterator<Item = ChainId> {
        self.graphs.chains()
    }

    /// The readers of all chains whose blocks are recorded.
    pub fn readers(&self) -> impl Iterator<Item = (ChainId, &dyn ChainReader)> {
        let chains = self.remote.keys().copied().chain(self.graphs.chains());
        let chains: BTreeSet<ChainId> = chains.collect();
        chains.into_iter().filter_map(|chain| Some((chain, self.ingested(chain)?)))
    }

    /// The latest block of each chain that is ingested.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    pub async fn latest_blocks(&self) -> Result<Vec<(ChainId, Tip)>, ReadError> {
        let mut latest = Vec::new();
        for (chain, reader) in self.readers() {
            latest.extend(reader.latest_block().await?.map(|block| (chain, block)));
        }
        Ok(latest)
    }
}

fn on_demand(
    chain: ChainId,
    spec: &ChainSourceSpec,
    databases: &Databases,
    sample: bool,
) -> Option<Arc<OnDemand>> {
    let test_networks = TestNetworks::allowed_if(spec.allow_test_network || sample);
    let bound = Duration::from_secs(spec.fetch_timeout.seconds());
    match location::histories(chain, &spec.endpoint, bound, test_networks) {
        Ok(histories) => {
            let store = Arc::clone(&databases.store);
            Some(Arc::new(OnDemand::new(chain, store, histories, bound)))
        }
        Err(error) => {
            tracing::error!(%chain, %error, "failed to set up a chain that is read on demand");
            None
        }
    }
}
