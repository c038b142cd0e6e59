//! Regular questions for the states of a chain's servers: one task per server, so that a slow or silent server does not
//! delay the others.

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

/// Interval of DNS lookups and of questions for a server's state.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// The servers of one chain, which are compared after each state that one of them reports.
#[derive(Debug)]
pub(super) struct WatchedServers {
    pub(super) servers: Servers,
    comparison: Comparison,
    /// Number of URLs whose servers were looked up once.
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

    /// Asks all servers for their states until the future is dropped.
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

    /// Asks a server for its state as long as the server is known.
    async fn watch_server(self: Arc<Self>, address: SocketAddr) {
        loop {
            sleep(WATCH_INTERVAL).await;
            if !self.ask_state(address).await {
                return;
            }
        }
    }

    /// Waits until the servers of all URLs were looked up once, at most two seconds.
    pub(super) async fn wait_for_first_lookup(&self) {
        let mut looked_for = self.looked_for.subscribe();
        let all = looked_for.wait_for(|urls| *urls >= self.servers.urls.len());
        // A timeout, or the end of the task, is no error: callers use the servers known so far.
        let _ = timeout(2 * STATE_TIMEOUT, all).await;
    }

    /// Resolves the URLs and asks each server for its state.
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

    /// Asks a server for its state. Returns false if the server is not known any more.
    async fn ask_state(&self, address: SocketAddr) -> bool {
        let Some(told) = self.servers.ask_state(address).await else { return false };
        self.comparison.update(&self.servers, address, &told).await;
        true
    }

    /// Returns the servers with their states, without states that are too old.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        // One lock covers both, so that a newest block is read together with the result of its comparison.
        self.comparison.with(|branches| self.servers.candidates(&branches.excluded))
    }

    /// True if a server gets no questions because of its branch.
    pub(super) fn is_excluded(&self, address: SocketAddr) -> bool {
        self.comparison.with(|branches| branches.excluded.contains(&address))
    }

    /// The difference between the servers' branches, if an ordinary reorganization does not explain it.
    pub(super) fn difference(&self) -> Option<BranchDifference> {
        self.comparison.with(|branches| branches.difference.clone())
    }
}
