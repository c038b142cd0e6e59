//! `IntelSource` and `ChainSource`: what fetches lists and follows chains, in the operator's namespace.
//!
//! What a source says is published like every manifest; what is done about it here follows what is in
//! force. Where it all stands is told by whoever tells of manifests: an object has one teller.
//!
//! - [`known`]: what is known of sources beside what their objects say
//! - [`build`]: the workloads
//! - [`work`]: making them
//! - [`status`]: what is told of sources

mod build;
mod observed;
mod status;
mod work;

use std::{collections::BTreeMap, sync::Arc};

use assay_crds::{ChainSource, EgressSpec, IntelSource, SecretKey, TelemetrySpec};
use assay_graph::GraphStore;
use assay_store::Store;
use assay_tenancy::{
    Name,
    manifest::{ChainSourceSpec, IntelSourceSpec},
};
use kube::Client;
use tokio::sync::watch;

pub(crate) use self::{
    observed::Observed,
    status::{chain_status, feed_status},
};
use crate::{
    backoff::Failures, client::SharedClient, health::Health, publish::InForce, writer::Writer,
};

/// What workloads are made of.
#[derive(Clone, Debug)]
pub struct Workloads {
    /// The image that holds `assay`.
    pub image: String,
    /// Secrets that let it be pulled.
    pub image_pull_secrets: Vec<Name>,
    /// The URL of the database, for a login that may ingest.
    pub database_secret: SecretKey,
    /// How they reach what is outside the cluster.
    pub egress: EgressSpec,
    /// Where they send what they tell about themselves.
    pub telemetry: TelemetrySpec,
}

/// The sources that are in force.
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

/// What work on sources needs.
#[derive(Clone, Debug)]
pub struct Context {
    client: SharedClient,
    writer: Writer,
    health: Health,
    /// Where workloads are.
    namespace: String,
    /// What they are made of; `None` where there are to be none.
    workloads: Option<Workloads>,
    desired: watch::Receiver<DesiredSources>,
    known: watch::Sender<Observed>,
    failures: Arc<Failures>,
}

/// Looks after sources until the program ends, and says in `known` what is known of them.
#[expect(clippy::too_many_arguments, reason = "each is a part of the program")]
pub(crate) async fn run(
    client: Client,
    store: Arc<dyn Store>,
    graphs: Arc<dyn GraphStore>,
    writer: Writer,
    health: Health,
    namespace: String,
    workloads: Option<Workloads>,
    mut in_force: watch::Receiver<InForce>,
    known: watch::Sender<Observed>,
) {
    // Until something was published, every source would seem to be gone.
    if in_force.changed().await.is_err() {
        return;
    }
    let (sender, desired) = watch::channel(DesiredSources::of(&in_force.borrow_and_update()));
    let follow = async move {
        while in_force.changed().await.is_ok() {
            let now = DesiredSources::of(&in_force.borrow_and_update());
            sender.send_if_modified(|desired| {
                let is_news = *desired != now;
                *desired = now;
                is_news
            });
        }
    };
    let context = Arc::new(Context {
        client: SharedClient(client),
        writer,
        health,
        namespace,
        workloads,
        desired: desired.clone(),
        known: known.clone(),
        failures: Arc::default(),
    });
    tokio::join!(
        follow,
        observed::look(store, graphs, desired, known),
        work::run::<IntelSource>(Arc::clone(&context)),
        work::run::<ChainSource>(context),
    );
}
