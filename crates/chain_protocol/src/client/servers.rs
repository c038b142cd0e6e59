//! The known servers of one chain: their addresses from DNS, with their last states.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use assay_address::ChainId;
use hyper::body::Bytes;
use tokio::{
    net::lookup_host,
    time::{Instant, timeout},
};

use super::{
    answer::{AskError, read},
    choice::Candidate,
    connection::{Connection, ReceivedAnswer, SendError, SharedConnection},
    credentials::ChainServerCredentials,
    url::ServerUrl,
};
use crate::message::{
    BranchBlocks, BranchBlocksQuestion, MinimumRevision, NewestBlock, Question, ROOT, RefusalCode,
    RequestEnvelope, ServerState,
};

/// Longest time for the answer to a question for the state, and for a DNS lookup.
pub(super) const STATE_TIMEOUT: Duration = Duration::from_secs(1);
/// Age above which a state is not used.
const MAX_STATE_AGE: Duration = Duration::from_secs(4);
/// Time for which a server that failed is asked only if no other server is available.
const AVOIDED_FOR: Duration = Duration::from_secs(5);

/// The servers of one chain.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) chain: ChainId,
    pub(super) urls: Vec<ServerUrl>,
    credentials: ChainServerCredentials,
    known: Mutex<BTreeMap<SocketAddr, Server>>,
    /// Number of callers' questions that were sent.
    question_count: AtomicU64,
}

/// One server.
#[derive(Clone, Debug)]
struct Server {
    url: ServerUrl,
    connection: SharedConnection,
    /// The server's state, and the time of the answer with the state.
    state: Option<(ServerState, Instant)>,
    /// The error for which the server cannot tell its state.
    failure: Option<String>,
    avoided_until: Option<Instant>,
}

/// The answer of a server to a question for its state, or the error.
#[derive(Debug)]
pub(super) struct StateAnswer {
    state: Result<ServerState, AskError>,
    is_heard: bool,
    is_timeout: bool,
}

/// The data of a server that comparisons use.
#[derive(Clone, Debug)]
pub(super) struct ComparedServer {
    pub(super) address: SocketAddr,
    /// The server's newest block; `None` if the server has no blocks or does not answer.
    pub(super) newest: Option<NewestBlock>,
    /// True if the server answers questions for blocks.
    pub(super) answers_blocks: bool,
}

impl StateAnswer {
    fn of(
        address: SocketAddr,
        answer: Result<Result<ReceivedAnswer, SendError>, tokio::time::error::Elapsed>,
    ) -> Self {
        let is_heard = matches!(answer, Ok(Ok(_) | Err(SendError::Connect(..))));
        let is_timeout = answer.is_err();
        let state = match answer {
            Ok(Ok(received)) => read::<ServerState>(address, &received),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(AskError::Timeout(address)),
        };
        Self { state, is_heard, is_timeout }
    }

    /// The error for which the server cannot tell its state: its graph cannot be read.
    fn failure(&self) -> Option<String> {
        match &self.state {
            Err(AskError::Refused { refusal, .. }) if refusal.code == RefusalCode::Failed => {
                Some(refusal.detail.clone())
            }
            _ => None,
        }
    }

    /// True if the server's last state stays valid, because the server is slow and not silent.
    const fn keeps_the_last_state(&self, is_silent: bool) -> bool {
        self.is_timeout && !is_silent
    }
}

impl Servers {
    pub(super) fn new(
        chain: ChainId,
        urls: Vec<ServerUrl>,
        credentials: ChainServerCredentials,
    ) -> Self {
        Self {
            chain,
            urls,
            credentials,
            known: Mutex::default(),
            question_count: AtomicU64::new(0),
        }
    }

    /// Resolves the host of a URL, and updates the known servers. If the lookup fails, the known servers stay.
    pub(super) async fn resolve(&self, url: &ServerUrl) {
        let found = timeout(STATE_TIMEOUT, lookup_host((&*url.host, url.port))).await;
        let Ok(Ok(found)) = found else { return };
        let found: BTreeSet<SocketAddr> = found.collect();
        let mut known = self.known();
        known.retain(|address, server| server.url != *url || found.contains(address));
        for address in found {
            known.entry(address).or_insert_with(|| Server {
                url: url.clone(),
                connection: Arc::new(Connection::new(address)),
                state: None,
                failure: None,
                avoided_until: None,
            });
        }
    }

    /// Asks a server for its state; `None` if the server is not known any more.
    pub(super) async fn ask_state(&self, address: SocketAddr) -> Option<StateAnswer> {
        let (url, connection) = self.server(address)?;
        let path = self.path("state");
        let asking = timeout(STATE_TIMEOUT, connection.send(&url, &self.credentials, &path, None));
        tokio::pin!(asking);
        let answer = tokio::select! {
            biased;
            answer = &mut asking => answer,
            () = connection.contact().wait_for_silence() => {
                self.note_silence(address);
                asking.await
            }
        };
        Some(StateAnswer::of(address, answer))
    }

    /// Returns the servers with their newest blocks; the newest block of the server at `address` is from the server's
    /// new answer.
    pub(super) fn compared(&self, address: SocketAddr, told: &StateAnswer) -> Vec<ComparedServer> {
        let candidates = self.candidates(&BTreeSet::new()).into_iter();
        let newest = candidates.map(|Candidate { address: each, state, .. }| {
            let is_told = each == address && !told.keeps_the_last_state(self.is_silent(address));
            let state = if is_told { told.state.as_ref().ok().cloned() } else { state };
            let answers_blocks = state.as_ref().is_some_and(|state| state.answers_blocks);
            let newest = state.and_then(|state| state.newest);
            ComparedServer { address: each, newest, answers_blocks }
        });
        newest.collect()
    }

    /// Asks a server for its blocks.
    pub(super) async fn ask_blocks(
        &self,
        address: SocketAddr,
        question: BranchBlocksQuestion,
    ) -> Result<Option<BranchBlocks>, AskError> {
        let gone = || AskError::NoServer(address.to_string());
        let (url, connection) = self.server(address).ok_or_else(gone)?;
        let deadline_ms = u32::try_from(STATE_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
        let asked = RequestEnvelope { deadline_ms, minimum: MinimumRevision::default(), question };
        let body = serde_json::to_vec(&asked);
        let body = body.map_err(|error| AskError::Unreadable(address, error.to_string()))?;
        let path = self.path(BranchBlocksQuestion::PATH);
        let sent = connection.send(&url, &self.credentials, &path, Some(Bytes::from(body)));
        let sent = timeout(STATE_TIMEOUT, sent).await;
        read(address, &sent.map_err(|_| AskError::Timeout(address))??)
    }

    fn is_silent(&self, address: SocketAddr) -> bool {
        let known = self.known();
        known.get(&address).is_some_and(|server| server.connection.contact().is_silent())
    }

    /// Records the answer of a server to a question for its state, or its error.
    pub(super) fn note_state(&self, address: SocketAddr, told: &StateAnswer) {
        let chain = self.chain;
        let mut known = self.known();
        let Some(server) = known.get_mut(&address) else { return };
        let contact = server.connection.contact();
        if told.is_heard && contact.set_silent(false) {
            tracing::info!(%chain, server = %address, "a silent chain server is heard again");
        }
        if !told.is_timeout {
            server.failure = told.failure();
        }
        match &told.state {
            Ok(state) => {
                if server.state.is_none() {
                    tracing::info!(%chain, server = %address, "chain server found");
                }
                server.state = Some((state.clone(), Instant::now()));
            }
            Err(error) if told.keeps_the_last_state(contact.is_silent()) => {
                tracing::debug!(%chain, %error, "a chain server is slow to tell its state");
            }
            Err(error) => {
                if server.state.take().is_some() {
                    tracing::warn!(%chain, %error, "a chain server does not answer");
                } else {
                    tracing::debug!(%chain, %error, "a chain server does not answer");
                }
            }
        }
    }

    /// Records that a server is silent: the server gets no question until it answers a question for its state again.
    pub(super) fn note_silence(&self, address: SocketAddr) {
        let mut known = self.known();
        let Some(server) = known.get_mut(&address) else { return };
        server.state = None;
        server.failure = None;
        if server.connection.contact().set_silent(true) {
            // The server need not answer its open questions after it is available again.
            server.connection.close();
            let chain = self.chain;
            tracing::warn!(%chain, server = %address, "a chain server has been silent for a second");
        }
    }

    /// Returns the servers with their states, without states that are too old. Servers in `excluded` are marked as
    /// excluded.
    pub(super) fn candidates(&self, excluded: &BTreeSet<SocketAddr>) -> Vec<Candidate> {
        let now = Instant::now();
        let known = self.known();
        let candidates = known.iter().map(|(address, server)| {
            let state = server.state.as_ref();
            let state = state.filter(|(_, told_at)| now.duration_since(*told_at) < MAX_STATE_AGE);
            Candidate {
                address: *address,
                state: state.map(|(state, _)| state.clone()),
                is_avoided: server.avoided_until.is_some_and(|until| until > now),
                is_excluded: excluded.contains(address),
            }
        });
        candidates.collect()
    }

    /// Returns the servers that cannot tell their states, with their errors.
    pub(super) fn failures(&self) -> Vec<(SocketAddr, String)> {
        let known = self.known();
        let failed =
            known.iter().filter_map(|(address, server)| Some((*address, server.failure.clone()?)));
        failed.collect()
    }

    /// Returns the addresses of the silent servers.
    pub(super) fn silent_addresses(&self) -> BTreeSet<SocketAddr> {
        let known = self.known();
        let silent = known.iter().filter(|(_, server)| server.connection.contact().is_silent());
        silent.map(|(address, _)| *address).collect()
    }

    /// Marks a server as avoided for five seconds: it is asked only if no other server is available.
    pub(super) fn avoid(&self, address: SocketAddr) {
        if let Some(server) = self.known().get_mut(&address) {
            server.avoided_until = Some(Instant::now() + AVOIDED_FOR);
        }
    }

    /// Sends a question to one server.
    pub(super) async fn send(
        &self,
        address: SocketAddr,
        path: &str,
        body: Bytes,
    ) -> Result<ReceivedAnswer, AskError> {
        let gone = || AskError::NoServer(address.to_string());
        let (url, connection) = self.server(address).ok_or_else(gone)?;
        self.question_count.fetch_add(1, Ordering::Relaxed);
        let path = self.path(path);
        Ok(connection.send(&url, &self.credentials, &path, Some(body)).await?)
    }

    /// Completes once a server has been silent for a second; never for an unknown server.
    pub(super) async fn wait_for_silence_of(&self, address: SocketAddr) {
        match self.server(address) {
            Some((_, connection)) => connection.contact().wait_for_silence().await,
            None => std::future::pending().await,
        }
    }

    /// Number of callers' questions that were sent.
    pub(super) fn question_count(&self) -> u64 {
        self.question_count.load(Ordering::Relaxed)
    }

    pub(super) fn addresses(&self, url: &ServerUrl) -> Vec<SocketAddr> {
        let known = self.known();
        let of_url = known.iter().filter(|(_, server)| server.url == *url);
        of_url.map(|(address, _)| *address).collect()
    }

    fn server(&self, address: SocketAddr) -> Option<(ServerUrl, SharedConnection)> {
        let known = self.known();
        let server = known.get(&address)?;
        Some((server.url.clone(), Arc::clone(&server.connection)))
    }

    fn path(&self, last: &str) -> String {
        format!("{ROOT}/{}/{last}", self.chain)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Server>> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
