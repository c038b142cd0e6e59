//! Readers of the chains that can be read now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_address::ChainId;
use assay_chain::{
    TestNetworks,
    location::{self, AccountApi, NodeCredentials},
};
use assay_engine::{
    evidence::Tip,
    facts::{DifferingBranches, Environment},
    policy::Policy,
};
use assay_tenancy::{
    Directory,
    directory::ChainFeed,
    manifest::{ChainMode, ChainProtocol, ChainSourceSpec},
};
use sha2::{Digest, Sha256};

use super::{
    accounts::AccountReaders,
    accounts_on_demand::{AccountsOnDemand, MOST_REQUESTS},
    graph::GraphReaders,
    mempool::{Mempool, Mempools},
    on_demand::OnDemand,
    reader::ChainReader,
    remote::RemoteReader,
    subject::{ReadError, SubjectData, TraceRequest},
    unreadable::UnreadableChains,
};
use crate::{Databases, api_limits::request_counters};

/// Reader of a chain whose histories are fetched on demand.
#[derive(Clone, Debug)]
pub enum OnDemandReader {
    /// Of a chain like Bitcoin.
    Coins(Arc<OnDemand>),
    /// Of an account chain.
    Accounts(Arc<AccountsOnDemand>),
}

impl OnDemandReader {
    fn reader(&self) -> &dyn ChainReader {
        match self {
            Self::Coins(reader) => &**reader,
            Self::Accounts(reader) => &**reader,
        }
    }

    /// Reads beside the checks what they could not read in time, for at most `bound`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn complete(
        &self,
        request: TraceRequest<'_>,
        bound: Duration,
    ) -> Result<SubjectData, ReadError> {
        match self {
            Self::Coins(reader) => reader.trace_within(request, bound).await,
            Self::Accounts(reader) => reader.read_within(request, bound, MOST_REQUESTS).await,
        }
    }
}

/// Readers of all chains.
#[derive(Clone, Debug, Default)]
pub struct ChainReaders {
    remote: BTreeMap<ChainId, RemoteReader>,
    graphs: GraphReaders,
    accounts: AccountReaders,
    on_demand: BTreeMap<ChainId, OnDemandReader>,
    /// Unconfirmed transactions of the chains that this program follows.
    mempools: Mempools,
    /// Configured source of each chain, including sources that have not delivered data yet.
    declared: BTreeMap<ChainId, ChainSourceSpec>,
    /// Checks that could not read a chain.
    unreadable: UnreadableChains,
    /// Revision of the set of chains and of their sources: another set may give another answer.
    revision: Arc<str>,
}

impl ChainReaders {
    /// Counts a check that could not read a chain, and logs it with others, once a minute.
    pub(super) fn report_unreadable(&self, chain: ChainId, error: &ReadError) {
        self.unreadable.report(chain, error);
    }

    /// Opens the readers of chains with chain servers, of chains with a graph, and of chains with a source on demand. A
    /// chain with several of these sources is read from the first of them.
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

    /// Returns the readers for the current manifests. A reader on demand keeps its state if its source is unchanged.
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
        let (mempools, unreadable) = (databases.mempools.clone(), self.unreadable.clone());
        let mut renewed = Self { mempools, unreadable, ..Self::default() };
        let mut revision = Sha256::new();
        for feed in directory.chains.values().filter(|feed| !feed.spec.suspended) {
            let spec = &feed.spec;
            let Ok(chain) = spec.chain.parse::<ChainId>() else { continue };
            renewed.declared.insert(chain, spec.clone());
            revision.update(format!("{spec:?}"));
            if spec.mode == ChainMode::OnDemand
                && let Some(reader) = self
                    .unchanged(chain, spec)
                    .or_else(|| on_demand(chain, feed, databases, sample))
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
        renewed.graphs.retain(&chains);
        for chain in chains {
            if renewed.graphs.renew_reader(chain, databases.graphs.graph(chain)?).is_some() {
                revision.update(format!("graph of {chain}"));
            }
        }
        renewed.accounts = self.accounts.renewed(&databases.graphs);
        for chain in renewed.accounts.chains() {
            revision.update(format!("transfers of {chain}"));
        }
        renewed.revision = hex::encode(revision.finalize()).into();
        Ok(renewed)
    }

    /// Returns the reader of a source that is unchanged.
    fn unchanged(&self, chain: ChainId, spec: &ChainSourceSpec) -> Option<OnDemandReader> {
        let reader = self.on_demand.get(&chain)?;
        (self.declared.get(&chain) == Some(spec)).then(|| reader.clone())
    }

    /// True if a chain has a source or a graph: assessments then require its flows.
    #[must_use]
    pub fn is_followed(&self, chain: ChainId) -> bool {
        self.declared.contains_key(&chain) || self.reader(chain).is_some()
    }

    /// Returns the revision of the set of chains and of their sources. Answers with the same revision use the same
    /// sources.
    #[must_use]
    pub const fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// Returns the reader of a chain; `None` if the chain cannot be read.
    #[must_use]
    pub fn reader(&self, chain: ChainId) -> Option<&dyn ChainReader> {
        match self.ingested(chain) {
            Some(reader) => Some(reader),
            None => Some(self.on_demand.get(&chain)?.reader()),
        }
    }

    /// Returns the reader of a chain whose blocks are all recorded.
    fn ingested(&self, chain: ChainId) -> Option<&dyn ChainReader> {
        match self.remote.get(&chain) {
            Some(servers) => Some(servers),
            None => match self.graphs.get(chain) {
                Some(graph) => Some(&**graph),
                None => Some(&**self.accounts.get(chain)?),
            },
        }
    }

    /// Returns the unconfirmed transactions of a chain; `None` if this program follows the chain from no node.
    #[must_use]
    pub fn mempool(&self, chain: ChainId) -> Option<Arc<Mempool>> {
        self.mempools.get(chain)
    }

    /// Returns the reader of a chain if it is read on demand.
    #[must_use]
    pub fn read_on_demand(&self, chain: ChainId) -> Option<&OnDemandReader> {
        self.on_demand.get(&chain).filter(|_| self.ingested(chain).is_none())
    }

    /// Iterates over the readers of account chains that are read on demand.
    pub fn accounts_on_demand(&self) -> impl Iterator<Item = &Arc<AccountsOnDemand>> {
        self.on_demand.values().filter_map(|reader| match reader {
            OnDemandReader::Accounts(reader) => Some(reader),
            OnDemandReader::Coins(_) => None,
        })
    }

    /// Returns the revision of the parties for which the compositions (origin breakdowns) of a chain are computed now;
    /// `None` if no single revision answers.
    #[must_use]
    pub fn composition_revision(&self, chain: ChainId) -> Option<String> {
        self.reader(chain)?.composition_revision()
    }

    /// Returns a difference between the branches of the chain's servers; `None` while all have the same branch.
    #[must_use]
    pub fn differing_branches(&self, chain: ChainId) -> Option<DifferingBranches> {
        self.reader(chain)?.differing_branches()
    }

    /// Iterates over the chains with a graph in the data directory.
    pub fn with_graphs(&self) -> impl Iterator<Item = ChainId> {
        self.graphs.chains()
    }

    /// Iterates over the account chains with recorded transfers.
    pub fn with_transfers(&self) -> impl Iterator<Item = ChainId> {
        self.accounts.chains()
    }

    /// Iterates over the readers of all chains whose blocks are recorded.
    pub fn readers(&self) -> impl Iterator<Item = (ChainId, &dyn ChainReader)> {
        let recorded = self.graphs.chains().chain(self.accounts.chains());
        let chains = self.remote.keys().copied().chain(recorded);
        let chains: BTreeSet<ChainId> = chains.collect();
        chains.into_iter().filter_map(|chain| Some((chain, self.ingested(chain)?)))
    }

    /// Returns the latest block of each chain that is ingested.
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
    feed: &ChainFeed,
    databases: &Databases,
    sample: bool,
) -> Option<OnDemandReader> {
    let spec = &feed.spec;
    let test_networks = TestNetworks::allowed_if(spec.allow_test_network || sample);
    let bound = Duration::from_secs(spec.fetch_timeout.seconds());
    let store = Arc::clone(&databases.store);
    let reader = match account_api(spec.protocol) {
        Some(api) => {
            let named = spec.credentials_file.as_deref();
            let file = match named.map(|path| databases.files.credentials(path)) {
                None => databases.files.credentials_of(feed.name.as_str()),
                named => named,
            };
            if let (None, Some(secret)) = (&file, &spec.credentials_secret) {
                tracing::error!(
                    %chain, source = %feed.name, secret = %secret.name,
                    "the key of the source is in a Secret that this program was not given: name its file in the setting \
                     source-credentials"
                );
            }
            let credentials = file.map_or(NodeCredentials::None, NodeCredentials::File);
            let counters = request_counters(&*store);
            let place = (&*spec.endpoint, &credentials);
            location::account_histories(chain, api, place, bound, &counters).map(|source| {
                let reader = AccountsOnDemand::new(chain, store, source, bound);
                OnDemandReader::Accounts(Arc::new(reader))
            })
        }
        None => location::histories(chain, &spec.endpoint, bound, test_networks).map(|histories| {
            OnDemandReader::Coins(Arc::new(OnDemand::new(chain, store, histories, bound)))
        }),
    };
    reader
        .map_err(|error| {
            tracing::error!(%chain, %error, "failed to set up a chain that is read on demand");
        })
        .ok()
}

/// The API of an explorer of account chains that a protocol stands for; `None` for another protocol.
const fn account_api(protocol: ChainProtocol) -> Option<AccountApi> {
    match protocol {
        ChainProtocol::Etherscan => Some(AccountApi::Etherscan),
        ChainProtocol::Blockscout => Some(AccountApi::Blockscout),
        ChainProtocol::TronGrid => Some(AccountApi::TronGrid),
        ChainProtocol::Rpc | ChainProtocol::Esplora | ChainProtocol::Transfers => None,
    }
}
