//! Watching the servers of one chain: each by itself, so that one that is slow or silent delays the news of no other.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use assay_address::ChainId;
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{
    branches::BranchDifference,
    choice::Candidate,
    comparison::Comparison,
    credentials::ChainServerCredentials,
    servers::{STATE_TIMEOUT, Servers},
    url::ServerUrl,
};

/// Interval at which servers are looked for and their states are asked for.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// The servers of one chain, which are compared whenever one of them tells its state.
#[derive(Debug)]
pub(super) struct WatchedServers {
    pub(super) servers: Servers,
    comparison: Comparison,
    /// URLs whose servers were looked for once.
    looked_for: watch::Sender<usize>,
}

impl WatchedServers {
    pub(super) fn new(
        chain: ChainId,
        urls: Vec<ServerUrl>,
        credentials: ChainServerCredentials,
    ) -> Self {
        let servers = Servers::new(chain, urls, credentials);
        Self { servers, comparison: Comparison::default(), looked_for: watch::Sender::new(0) }
    }

    /// Watches all servers until the future is dropped.
    pub(super) async fn watch(self: Arc<Self>) {
        let mut watches = JoinSet::new();
        for url in self.servers.urls.clone() {
            watches.spawn(Arc::clone(&self).watch_url(url));
        }
        while watches.join_next().await.is_some() {}
    }

    async fn watch_url(self: Arc<Self>, url: ServerUrl) {
        self.refresh_url(&url).await;
        self.looked_for.send_modify(|urls| *urls += 1);
        let (mut watched, mut tasks) = (BTreeMap::new(), JoinSet::new());
        loop {
            while tasks.try_join_next().is_some() {}
            watched.retain(|_, task: &mut AbortHandle| !task.is_finished());
            for address in self.servers.addresses(&url) {
                let watch = || tasks.spawn(Arc::clone(&self).watch_server(address));
                watched.entry(address).or_insert_with(watch);
            }
            sleep(WATCH_INTERVAL).await;
            self.servers.resolve(&url).await;
        }
    }

    /// Watches a server for as long as it is known.
    async fn watch_server(self: Arc<Self>, address: SocketAddr) {
        loop {
            sleep(WATCH_INTERVAL).await;
            if !self.ask_state(address).await {
                return;
            }
        }
    }

    /// Waits until the servers of all URLs were looked for once, at most for twice the time of an answer.
    pub(super) async fn wait_for_first_lookup(&self) {
        let mut looked_for = self.looked_for.subscribe();
        let all = looked_for.wait_for(|urls| *urls >= self.servers.urls.len());
        // Neither a later look nor the error of an ended watch changes what is known.
        let _ = timeout(2 * STATE_TIMEOUT, all).await;
    }

    /// Looks for servers and asks each for its state.
    pub(super) async fn refresh(self: &Arc<Self>) {
        let mut refreshing = JoinSet::new();
        for url in self.servers.urls.clone() {
            let watched = Arc::clone(self);
            refreshing.spawn(async move { watched.refresh_url(&url).await });
        }
        while refreshing.join_next().await.is_some() {}
    }

    async fn refresh_url(self: &Arc<Self>, url: &ServerUrl) {
        self.servers.resolve(url).await;
        let mut asking = JoinSet::new();
        for address in self.servers.addresses(url) {
            let watched = Arc::clone(self);
            asking.spawn(async move { watched.ask_state(address).await });
        }
        while asking.join_next().await.is_some() {}
    }

    /// Asks a server for its state. Returns false if it is not known any more.
    async fn ask_state(&self, address: SocketAddr) -> bool {
        let Some(told) = self.servers.ask_state(address).await else { return false };
        self.comparison.update(&self.servers, address, &told).await;
        true
    }

    /// The servers with their states, as far as these are known and of now.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        // One state of both: a newest block is seen together with what it was compared with.
        self.comparison.with(|branches| self.servers.candidates(&branches.excluded))
    }

    /// True if a server is not asked, because of its blocks.
    pub(super) fn is_excluded(&self, address: SocketAddr) -> bool {
        self.comparison.with(|branches| branches.excluded.contains(&address))
    }

    /// The difference between the servers, if it is no ordinary reorganization.
    pub(super) fn difference(&self) -> Option<BranchDifference> {
        self.comparison.with(|branches| branches.difference.clone())
    }
}
