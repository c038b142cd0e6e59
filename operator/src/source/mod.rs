//! Controllers of `IntelSource` and `ChainSource`: run the workloads that import lists, and chain servers, in the
//! operator's namespace.
//!
//! The publisher stores the specs of sources, like those of every manifest, and writes the conditions about the
//! publication. These controllers run workloads for the specs in force, and write other parts of the status.
//!
//! - [`observed`]: the state of sources in the store and in chain servers; [`chain_client`]: the client of chain
//!   servers; [`branches`]: the condition of their branches; [`following`]: the condition of their sources;
//!   [`graphs`]: the condition of their graphs
//! - [`kind`]: the two kinds of sources; [`task`]: the tasks of their workloads; [`names`]: the names of
//!   their objects; [`credentials`]: the Secrets that they may use
//! - [`ready`]: the condition that a source's data is there and current, from the other conditions
//! - [`controller`]: the loop around [`fetch`], [`validate`], [`build`], [`apply`], [`state`] and [`status`];
//!   [`volumes`]: the growth of chain servers' volumes

mod apply;
mod branches;
mod build;
mod chain_client;
mod controller;
mod credentials;
mod fetch;
mod following;
mod graphs;
mod kind;
mod names;
mod observed;
mod ready;
mod state;
mod status;
mod task;
mod validate;
mod volumes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_crds::{ChainSource, IntelSource};
use assay_store::Store;
use assay_tenancy::{
    Name,
    manifest::{ChainSourceSpec, IntelSourceSpec, Kind},
};
use tokio::sync::watch;

pub(crate) use self::{
    chain_client::ChainClient,
    credentials::{RequestedCredentials, SourceCredentials},
    names::chain_servers_url,
};
use crate::{
    backoff::Failures,
    in_force::ConfigurationInForce,
    pod::{PodDefaults, SecretFile},
    shared::SharedContext,
};

/// The component of chain servers in labels and names.
pub(crate) const CHAIN_SERVER: &str = "chain";

/// The settings of all workloads.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadSettings {
    /// The settings of the workloads' pods.
    pub(crate) pods: PodDefaults,
    /// The Secret with the database's URL, for a login that may ingest.
    pub(crate) database: SecretFile,
    /// The Secret with the token that chain servers demand. `None`: the operator runs no chain servers.
    pub(crate) chain_token: Option<SecretFile>,
}

/// The specs of the sources in force, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DesiredSources {
    feeds: BTreeMap<Name, IntelSourceSpec>,
    chains: BTreeMap<Name, ChainSourceSpec>,
}

impl DesiredSources {
    fn from_configuration(in_force: &ConfigurationInForce) -> Self {
        let directory = &in_force.directory;
        let feeds = directory.feeds.values().map(|feed| (feed.name.clone(), feed.spec.clone()));
        let chains =
            directory.chains.values().map(|chain| (chain.name.clone(), chain.spec.clone()));
        Self { feeds: feeds.collect(), chains: chains.collect() }
    }
}

/// The context of reconciliations of sources.
#[derive(Debug)]
struct Context {
    shared: SharedContext,
    /// The namespace of workloads.
    namespace: String,
    /// The settings of workloads. `None`: the operator creates no workloads.
    settings: Option<WorkloadSettings>,
    desired: watch::Receiver<DesiredSources>,
    /// The lists and label sets that were ever imported. `None` until the store was read.
    imported: watch::Receiver<Option<BTreeSet<String>>>,
    failures: Failures,
    /// The sources of other installations whose workloads this operator has already deleted.
    foreign: Mutex<BTreeSet<(Kind, Name)>>,
}

impl Context {
    fn foreign(&self) -> MutexGuard<'_, BTreeSet<(Kind, Name)>> {
        self.foreign.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reconciles sources until the program ends.
pub(crate) async fn run(
    shared: SharedContext,
    store: Arc<dyn Store>,
    chain_client: ChainClient,
    namespace: String,
    settings: Option<WorkloadSettings>,
) {
    let mut in_force = shared.in_force.clone();
    // Before the first publication no source is in force, and all workloads would be deleted.
    if in_force.changed().await.is_err() {
        return;
    }
    let (sender, desired) =
        watch::channel(DesiredSources::from_configuration(&in_force.borrow_and_update()));
    let follow = async move {
        while in_force.changed().await.is_ok() {
            let now = DesiredSources::from_configuration(&in_force.borrow_and_update());
            sender.send_if_modified(|desired| {
                let has_changed = *desired != now;
                *desired = now;
                has_changed
            });
        }
    };
    let (imported_sender, imported) = watch::channel(None);
    let (failures, foreign) = Default::default();
    let context = Context { shared, namespace, settings, desired, imported, failures, foreign };
    let context = Arc::new(context);
    let (feeds, working_on_feeds) = controller::start::<IntelSource>(&context);
    let (chains, working_on_chains) = controller::start::<ChainSource>(&context);
    tokio::join!(
        follow,
        observed::report_stored(store, feeds, imported_sender, Arc::clone(&context)),
        observed::report_chains(chain_client, chains, context),
        working_on_feeds,
        working_on_chains,
    );
}
