//! Reports the state of sources in their status: imported lists from the store, and graphs from chain servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_chain_protocol::client::ServerUrl;
use assay_crds::{
    ChainSource, IntelSource,
    status::{ChainSourceStatus, IntelSourceStatus},
};
use assay_store::{Store, StoreError};
use assay_tenancy::{Name, manifest::ChainMode};
use futures_util::future::join_all;
use jiff::tz::TimeZone;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Api, ResourceExt,
    api::{ApiResource, ListParams},
    runtime::reflector,
};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use super::{
    CHAIN_SERVER, ChainClient, Context,
    branches::BRANCHES_AGREE,
    chain_client::ObservedChain,
    following::{SOURCE_FOLLOWED, unknown},
    kind::Source,
    names,
    status::{self, CHAIN, STORED, StatusPart},
};
use crate::{
    backoff,
    conditions::ConditionState,
    owned::Owner,
    serving::API,
    watched::{WatchedObject, is_deleted, parse_status},
};

/// The interval between reads of the store and of chain servers. The interval bounds the number of status writes while
/// a chain is being read.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// Time for which no server of a chain answers, before its conditions are unknown: servers restart.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// Asks chain servers at an interval, and writes their state into the statuses of sources, until the program ends. A
/// chain whose servers do not answer keeps its last state, without conditions that would be a claim about the present.
pub(super) async fn report_chains(
    client: ChainClient,
    sources: reflector::Store<WatchedObject>,
    context: Arc<Context>,
) {
    let mut desired = context.desired.clone();
    let mut silent: BTreeMap<Name, Instant> = BTreeMap::new();
    loop {
        let followed: BTreeMap<Name, String> = {
            let desired = desired.borrow_and_update();
            let chains = desired.chains.iter();
            let followed = chains.filter(|(_, spec)| spec.mode == ChainMode::Follow);
            followed.map(|(name, spec)| (name.clone(), spec.chain.clone())).collect()
        };
        let ask = async |(name, chain): (&Name, &String)| {
            let urls = chain_servers(name, &context).await;
            Some((name.clone(), client.state(name, chain, urls).await?))
        };
        let answers: BTreeMap<Name, ObservedChain> =
            join_all(followed.iter().map(ask)).await.into_iter().flatten().collect();
        silent.retain(|name, _| followed.contains_key(name) && !answers.contains_key(name));
        let now = Instant::now();
        // Without a token no server is asked.
        let asked = followed.keys().filter(|_| client.can_ask());
        for name in asked.filter(|name| !answers.contains_key(*name)) {
            silent.entry(name.clone()).or_insert(now);
        }
        for (name, object) in own_sources(&sources, &context) {
            if let Some(chain) = answers.get(&name) {
                let [following, branches] = [SOURCE_FOLLOWED, BRANCHES_AGREE].map(unknown);
                let known: ChainSourceStatus = parse_status(&object);
                // Without a state of any server, the last one stays.
                let (fields, branches, following) = if let Some(following) = &chain.following {
                    (status::chain_fields(chain), chain.branches.as_ref(), following)
                } else {
                    let branches = has_branches(&known).then_some(&branches);
                    (known, branches, &following)
                };
                let conditions: Vec<&ConditionState> =
                    branches.into_iter().chain([following, &chain.graphs]).collect();
                report_status::<ChainSource>(&CHAIN, &object, (&fields, &*conditions), &context)
                    .await;
            } else if silent
                .get(&name)
                .is_some_and(|since| now.duration_since(*since) >= LONGEST_SILENCE)
            {
                let known: ChainSourceStatus = parse_status(&object);
                let [following, branches] = [SOURCE_FOLLOWED, BRANCHES_AGREE].map(unknown);
                let branches = has_branches(&known).then_some(&branches);
                let conditions: Vec<&ConditionState> =
                    branches.into_iter().chain([&following]).collect();
                report_status::<ChainSource>(&CHAIN, &object, (&known, &*conditions), &context)
                    .await;
            } else if !followed.contains_key(&name) {
                let none = (&ChainSourceStatus::default(), &[][..]);
                report_status::<ChainSource>(&CHAIN, &object, none, &context).await;
            }
        }
        tokio::select! {
            () = next_poll() => {}
            changed = desired.changed() => if changed.is_err() { return },
        }
    }
}

/// True if a status tells whether the branches of chain servers agree.
fn has_branches(status: &ChainSourceStatus) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == BRANCHES_AGREE)
}

/// The chain servers of a source, also those that are not ready, such as the servers of a source that was never reached.
/// Without the right to list pods, the ready ones.
async fn chain_servers(source: &Name, context: &Context) -> Vec<ServerUrl> {
    let Context { shared, namespace, .. } = context;
    let (reference, installation) = (OwnerReference::default(), shared.instance.name());
    let owner = Owner::new(reference, installation, namespace, source.as_str(), CHAIN_SERVER);
    let pods: Api<Pod> = Api::namespaced(shared.client.clone(), namespace);
    match pods.list(&ListParams::default().labels(&owner.pod_query())).await {
        Ok(pods) => {
            let addresses = pods.items.into_iter().filter_map(|pod| pod.status?.pod_ip);
            addresses.map(|host| ServerUrl { host, port: API.1, is_tls: false }).collect()
        }
        Err(error) => {
            tracing::debug!(%error, %source, "pods of chain servers are not listed");
            let url = names::chain_servers_url(source.as_str(), namespace);
            ServerUrl::parse(&url).into_iter().collect()
        }
    }
}

/// Reads the store at an interval, and writes the state of lists into the statuses of sources, until the program ends.
/// The names of sources that were ever `imported` are sent to that channel. While the store cannot be read, the last
/// state stays.
pub(super) async fn report_stored(
    store: Arc<dyn Store>,
    sources: reflector::Store<WatchedObject>,
    imported: watch::Sender<Option<BTreeSet<String>>>,
    context: Arc<Context>,
) {
    let mut desired = context.desired.clone();
    let mut stored: Option<StoredSources> = None;
    loop {
        match read_sources(&*store, stored.as_ref().map(|(generation, _)| *generation)).await {
            Ok(None) => {}
            Ok(Some(read)) => {
                let names = Some(read.1.keys().cloned().collect());
                imported.send_if_modified(|before| {
                    let has_changed = *before != names;
                    *before = names;
                    has_changed
                });
                stored = Some(read);
            }
            Err(error) => {
                tracing::warn!(%error, "failed to read the state of sources; retrying");
            }
        }
        if let Some((_, stored)) = &stored {
            for (name, object) in own_sources(&sources, &context) {
                let status = stored.get(name.as_str()).cloned().unwrap_or_default();
                report_status::<IntelSource>(&STORED, &object, (&status, &[]), &context).await;
            }
        }
        tokio::select! {
            () = next_poll() => {}
            changed = desired.changed() => if changed.is_err() { return },
        }
    }
}

/// The sources of this installation that are not being deleted.
fn own_sources(
    sources: &reflector::Store<WatchedObject>,
    context: &Context,
) -> Vec<(Name, Arc<WatchedObject>)> {
    let is_own =
        |object: &WatchedObject| context.shared.instance.owns(object) && !is_deleted(object);
    let own = sources.state().into_iter().filter(|object| is_own(object));
    own.filter_map(|object| Some((object.name_any().parse().ok()?, object))).collect()
}

/// Writes a part of a source's status. A failure is retried with the next poll.
async fn report_status<K: Source>(
    part: &StatusPart,
    object: &WatchedObject,
    (status, conditions): (&K::Status, &[&ConditionState]),
    context: &Context,
) {
    let kind = ApiResource::erase::<K>(&());
    if let Err(error) = part.write(object, &kind, (status, conditions), &context.shared).await {
        let (kind, name) = (K::KIND.as_str(), object.name_any());
        tracing::warn!(%error, kind, %name, "failed to write a status; retrying");
    }
}

fn next_poll() -> Sleep {
    sleep(backoff::with_jitter(POLL_INTERVAL, assay_system::random_fraction()))
}

/// The generation of lists, label sets and prices in the store, and the status of each source by its name.
type StoredSources = (u64, BTreeMap<String, IntelSourceStatus>);

/// The lists in the store, unless their generation is `seen`.
async fn read_sources(
    store: &dyn Store,
    seen: Option<u64>,
) -> Result<Option<StoredSources>, StoreError> {
    if seen == Some(store.revisions().await?.intel) {
        return Ok(None);
    }
    let intel = store.intel(None, None).await?;
    let midnight =
        |day: jiff::civil::Date| day.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let sources = intel.sources.into_iter().chain(intel.price_sources);
    let status = sources.map(|source| {
        let status = IntelSourceStatus {
            verified_at: Some(source.fetched_at),
            published_at: source.publications.last().copied().and_then(midnight),
            digest: Some(source.digest),
            entries: Some(source.entries),
            ..IntelSourceStatus::default()
        };
        (source.id.as_str().to_owned(), status)
    });
    Ok(Some((intel.generation, status.collect())))
}
