//! `IntelSource` and `ChainSource`: the workloads that import lists, and chain servers, in the operator's
//! namespace.
//!
//! The publisher stores the specs of sources, like those of every manifest; the workloads here follow the
//! specs in force. The publisher also writes the statuses of sources, so that each object has a single
//! writer of its status; it gets the condition of the workload through [`Observed`].
//!
//! - [`observed`]: the state of sources beside their specs; [`chain_client`]: what chain servers say of it;
//!   [`branches`]: the condition of their branches
//! - [`kind`]: the two kinds of sources; [`task`]: the tasks of their workloads; [`names`]: the names of
//!   their objects; [`credentials`]: the Secrets that they may use
//! - [`controller`]: the loop around [`fetch`], [`validate`], [`build`], [`apply`] and [`state`];
//!   [`volumes`]: the growth of chain servers' volumes

mod apply;
mod branches;
mod build;
mod chain_client;
mod controller;
mod credentials;
mod fetch;
mod kind;
mod names;
mod observed;
mod state;
mod task;
mod validate;
mod volumes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_crds::{ChainSource, IntelSource};
use assay_store::Store;
use assay_tenancy::{
    Name,
    manifest::{ChainSourceSpec, IntelSourceSpec, Kind},
};
use kube::Client;
use tokio::sync::watch;

pub(crate) use self::{
    branches::BRANCHES_AGREE,
    chain_client::ChainClient,
    names::chain_servers_url,
    observed::Observed,
    state::{Replicas, WORKING},
};
use crate::{
    backoff::Failures,
    client::SharedClient,
    health::Health,
    in_force::InForce,
    instance::Instance,
    pod::{PodDefaults, SecretFile},
    writer::{WriteError, Writer},
};

/// The component of chain servers in labels and names.
pub(crate) const CHAIN_SERVER: &str = "chain";

/// The settings of all workloads.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadSettings {
    /// The settings of their pods.
    pub(crate) pods: PodDefaults,
    /// The Secret with the database's URL, for a login that may ingest.
    pub(crate) database: SecretFile,
    /// The Secret with the token that chain servers demand. `None`: the operator runs no chain servers.
    pub(crate) chain_token: Option<SecretFile>,
}

/// The sources in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DesiredSources {
    feeds: BTreeMap<Name, IntelSourceSpec>,
    chains: BTreeMap<Name, ChainSourceSpec>,
}

impl DesiredSources {
    fn of(in_force: &InForce) -> Self {
        let directory = &in_force.directory;
        let feeds = directory.feeds.values().map(|feed| (feed.name.clone(), feed.spec.clone()));
        let chains =
            directory.chains.values().map(|chain| (chain.name.clone(), chain.spec.clone()));
        Self { feeds: feeds.collect(), chains: chains.collect() }
    }
}

/// Why work on a source failed; it is retried.
#[derive(Debug, thiserror::Error)]
enum SourceError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the API server failed: {0}")]
    Server(#[from] kube::Error),
}

/// The context of work on sources.
#[derive(Clone, Debug)]
struct Context {
    client: SharedClient,
    instance: Instance,
    writer: Writer,
    health: Health,
    /// The namespace of workloads.
    namespace: String,
    /// `None`: the operator creates no workloads.
    settings: Option<WorkloadSettings>,
    desired: watch::Receiver<DesiredSources>,
    observed: watch::Sender<Observed>,
    failures: Arc<Failures>,
    /// The interval between reconciliations while nothing changes.
    resync: Duration,
    /// The sources of other installations that have no workload here.
    foreign: Arc<Mutex<BTreeSet<(Kind, Name)>>>,
}

impl Context {
    fn foreign(&self) -> MutexGuard<'_, BTreeSet<(Kind, Name)>> {
        self.foreign.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works on sources until the program ends, and updates `observed`.
#[expect(clippy::too_many_arguments, reason = "each is a part of the program")]
pub(crate) async fn run(
    client: Client,
    instance: Instance,
    store: Arc<dyn Store>,
    chain_client: ChainClient,
    writer: Writer,
    health: Health,
    namespace: String,
    settings: Option<WorkloadSettings>,
    mut in_force: watch::Receiver<InForce>,
    observed: watch::Sender<Observed>,
    resync: Duration,
) {
    // Before the first publication no source is in force, and all workloads would be deleted.
    if in_force.changed().await.is_err() {
        return;
    }
    let (sender, desired) = watch::channel(DesiredSources::of(&in_force.borrow_and_update()));
    let follow = async move {
        while in_force.changed().await.is_ok() {
            let now = DesiredSources::of(&in_force.borrow_and_update());
            sender.send_if_modified(|desired| {
                let has_changed = *desired != now;
                *desired = now;
                has_changed
            });
        }
    };
    let context = Arc::new(Context {
        client: SharedClient(client),
        instance,
        writer,
        health,
        namespace: namespace.clone(),
        settings,
        desired: desired.clone(),
        observed: observed.clone(),
        failures: Arc::default(),
        resync,
        foreign: Arc::default(),
    });
    tokio::join!(
        follow,
        observed::poll_store(store, observed.clone()),
        observed::poll_chains(&chain_client, &namespace, desired, observed),
        controller::run::<IntelSource>(Arc::clone(&context)),
        controller::run::<ChainSource>(context),
    );
}
