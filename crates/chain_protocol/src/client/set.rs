//! The servers of one chain: finding them, watching their states, and asking them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::Hash,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_engine::chain::ChainId;
use http::StatusCode;
use hyper::body::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use tokio::{
    net::lookup_host,
    time::{Instant, sleep, timeout},
};

use super::{
    Credentials, SendError, ServerUrl,
    choice::{Candidate, newest, order},
    connection::{Connection, Received, SharedConnection},
};
use crate::message::{
    Asked, AtLeast, CopyPartQuestion, NewestBlock, PART_DIGEST, Question, ROOT, Refusal,
    RefusalCode, ServerState,
};

/// Interval at which servers are looked for and their states are asked for.
const WATCH: Duration = Duration::from_millis(500);
/// Longest time for a state, and for a name to be resolved.
const STATE_TIMEOUT: Duration = Duration::from_secs(1);
/// Age from which on a state says nothing any more.
const STATE_AGE: Duration = Duration::from_secs(4);
/// Blocks that an answer may lack of the newest one: servers do not get a new block at the same moment.
const BLOCKS_BEHIND: u64 = 1;
/// Longest time for an answer, waits included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// Time after which a second server is asked beside the first one.
const SLOW: Duration = Duration::from_secs(1);
/// Wait before servers that were all behind are asked again: lists reach all programs within a moment.
const BEHIND_WAIT: Duration = Duration::from_millis(50);
/// Longest time for which servers may be behind.
const BEHIND_AT_MOST: Duration = Duration::from_secs(2);
/// Time for which a server that failed is asked only if no other one is there.
const AVOIDED_FOR: Duration = Duration::from_secs(5);

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The URL leads to no server.
    #[error("no chain server was found at {0}")]
    NoServer(String),
    /// The server cannot be reached.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The server refused to answer.
    #[error("the chain server {address} refused: {}", .refusal.detail)]
    Refused {
        /// Its address.
        address: SocketAddr,
        /// Its reason.
        refusal: Refusal,
    },
    /// The answer is not one that this program understands.
    #[error("the chain server {0} gave an answer that cannot be read: {1}")]
    Unreadable(SocketAddr, String),
    /// There was no answer in time.
    #[error("the chain server {0} did not answer in time")]
    Timeout(SocketAddr),
}

impl AskError {
    /// The server's reason, if it refused.
    #[must_use]
    pub const fn refusal(&self) -> Option<RefusalCode> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.code),
            _ => None,
        }
    }
}

/// The servers of one chain.
#[derive(Debug)]
pub struct ServerSet {
    chain: ChainId,
    urls: Vec<ServerUrl>,
    credentials: Credentials,
    servers: Mutex<BTreeMap<SocketAddr, Server>>,
    /// Held by the one who looks for servers.
    refreshing: tokio::sync::Mutex<()>,
}

/// One server.
#[derive(Clone, Debug)]
struct Server {
    url: ServerUrl,
    connection: SharedConnection,
    /// Its state, and the time at which it told it.
    state: Option<(ServerState, Instant)>,
    avoided_until: Option<Instant>,
}

impl ServerSet {
    /// The servers behind URLs. None is known before they are [looked for](Self::refresh).
    #[must_use]
    pub fn new(chain: ChainId, urls: Vec<ServerUrl>, credentials: Credentials) -> Self {
        Self {
            chain,
            urls,
            credentials,
            servers: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        }
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// Watches the servers until the task is aborted.
    pub async fn watch(self: Arc<Self>) {
        loop {
            self.refresh().await;
            sleep(WATCH).await;
        }
    }

    /// Looks for servers and asks each for its state: within two seconds.
    pub async fn refresh(&self) {
        let _refreshing = self.refreshing.lock().await;
        self.refresh_alone().await;
    }

    async fn refresh_alone(&self) {
        for url in &self.urls {
            // While a name cannot be resolved, its servers go on as they are known.
            let found = timeout(STATE_TIMEOUT, lookup_host((&*url.host, url.port))).await;
            let Ok(Ok(found)) = found else { continue };
            let found: BTreeSet<SocketAddr> = found.collect();
            let mut servers = self.servers();
            servers.retain(|address, server| server.url != *url || found.contains(address));
            for address in found {
                servers.entry(address).or_insert_with(|| Server {
                    url: url.clone(),
                    connection: Arc::new(Connection::new(address)),
                    state: None,
                    avoided_until: None,
                });
            }
        }
        let known: Vec<SocketAddr> = self.servers().keys().copied().collect();
        let mut asking = tokio::task::JoinSet::new();
        for address in known {
            let Some((url, connection)) = self.server(address) else { continue };
            let credentials = self.credentials.clone();
            let path = self.path("state");
            asking.spawn(async move {
                let sent = connection.send(&url, &credentials, &path, None);
                (address, timeout(STATE_TIMEOUT, sent).await)
            });
        }
        while let Some(asked) = asking.join_next().await {
            let Ok((address, answer)) = asked else { continue };
            let read = match answer {
                Ok(Ok(received)) => read::<ServerState>(address, &received),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(AskError::Timeout(address)),
            };
            self.note_state(address, read);
        }
    }

    /// The servers with their states, as far as these are known and of now.
    #[must_use]
    pub fn states(&self) -> Vec<Candidate> {
        let now = Instant::now();
        let servers = self.servers();
        let states = servers.iter().map(|(address, server)| {
            let state = server.state.as_ref();
            let state = state.filter(|(_, told_at)| now.duration_since(*told_at) < STATE_AGE);
            Candidate {
                address: *address,
                state: state.map(|(state, _)| state.clone()),
                is_avoided: server.avoided_until.is_some_and(|until| until > now),
            }
        });
        states.collect()
    }

    /// Looks for servers if none is known to answer, unless somebody just did.
    pub async fn find(&self) {
        let is_known = || self.states().iter().any(|it| it.state.is_some());
        if is_known() {
            return;
        }
        let _refreshing = self.refreshing.lock().await;
        if !is_known() {
            self.refresh_alone().await;
        }
    }

    /// The newest block of the servers.
    #[must_use]
    pub fn newest(&self) -> Option<NewestBlock> {
        newest(&self.states())
    }

    /// Asks a question about a subject. If a server fails or is slow, another one is asked, once.
    ///
    /// # Errors
    ///
    /// Returns an error if no server answers in time.
    pub async fn ask<Q: Question + Clone>(
        &self,
        subject: &(impl Hash + Sync + ?Sized),
        lists: u64,
        question: &Q,
    ) -> Result<Q::Answer, AskError> {
        let begun = Instant::now();
        loop {
            let asked = self.ask_once(subject, lists, question, begun).await;
            let is_behind =
                asked.as_ref().is_err_and(|error| error.refusal() == Some(RefusalCode::Behind));
            if !is_behind || begun.elapsed() >= BEHIND_AT_MOST {
                return asked;
            }
            sleep(BEHIND_WAIT).await;
        }
    }

    async fn ask_once<Q: Question + Clone>(
        &self,
        subject: &(impl Hash + Sync + ?Sized),
        lists: u64,
        question: &Q,
        begun: Instant,
    ) -> Result<Q::Answer, AskError> {
        self.find().await;
        let candidates = self.states();
        let block = newest(&candidates).map_or(0, |it| it.block.height);
        let knows = AtLeast { lists, block: block.saturating_sub(BLOCKS_BEHIND) };
        let mut order = order(&candidates, subject).into_iter();
        let Some(first) = order.next() else {
            return Err(AskError::NoServer(self.to_string()));
        };
        let mut first = Box::pin(self.ask_one(first, knows, question, begun));
        let Some(second) = order.next() else { return first.await };
        let mut second = Box::pin(self.ask_one(second, knows, question, begun));
        let failed = tokio::select! {
            answer = &mut first => match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => Some(error),
            },
            () = sleep(SLOW) => None,
        };
        if let Some(failed) = failed {
            tracing::debug!(chain = %self.chain, error = %failed, "asking another chain server");
            return second.await.map_err(|error| passing(failed, error));
        }
        // Both work on it; the first answer counts.
        tokio::select! {
            answer = &mut first => match answer {
                Ok(answer) => Ok(answer),
                Err(failed) => second.await.map_err(|error| passing(failed, error)),
            },
            answer = &mut second => match answer {
                Ok(answer) => Ok(answer),
                Err(failed) => first.await.map_err(|error| passing(failed, error)),
            },
        }
    }

    async fn ask_one<Q: Question + Clone>(
        &self,
        address: SocketAddr,
        knows: AtLeast,
        question: &Q,
        begun: Instant,
    ) -> Result<Q::Answer, AskError> {
        let left = ANSWER_TIMEOUT.saturating_sub(begun.elapsed());
        let sent = self.send_to(address, Q::PATH, left, knows, question.clone()).await;
        let answer = sent.and_then(|received| read(address, &received));
        if matches!(answer, Err(AskError::Send(_) | AskError::Timeout(_))) {
            self.avoid(address);
        }
        answer
    }

    /// Asks a question of one server, whatever it knows.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not answer in time.
    pub async fn ask_at<Q: Question + Clone>(
        &self,
        address: SocketAddr,
        within: Duration,
        question: &Q,
    ) -> Result<Q::Answer, AskError> {
        let knows = AtLeast::default();
        let received = self.send_to(address, Q::PATH, within, knows, question.clone()).await?;
        read(address, &received)
    }

    /// Asks one server for a part of a copy. The digest of the bytes was compared.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not answer in time, or if the bytes have another digest.
    pub async fn copy_part_at(
        &self,
        address: SocketAddr,
        within: Duration,
        question: CopyPartQuestion,
    ) -> Result<Bytes, AskError> {
        let knows = AtLeast::default();
        let path = CopyPartQuestion::PATH;
        let received = self.send_to(address, path, within, knows, question).await?;
        if received.status != StatusCode::OK {
            return Err(refused(address, &received));
        }
        let expected = received.headers.get(PART_DIGEST).and_then(|value| value.to_str().ok());
        if expected != Some(&*hex::encode(Sha256::digest(&received.body))) {
            let wrong = "the part of a copy has another digest".to_owned();
            return Err(AskError::Unreadable(address, wrong));
        }
        Ok(received.body)
    }

    async fn send_to<Q: Serialize>(
        &self,
        address: SocketAddr,
        path: &str,
        within: Duration,
        knows: AtLeast,
        question: Q,
    ) -> Result<Received, AskError> {
        let gone = || AskError::NoServer(address.to_string());
        let (url, connection) = self.server(address).ok_or_else(gone)?;
        let deadline_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
        let body = serde_json::to_vec(&Asked { deadline_ms, knows, question });
        let body = body.map_err(|error| AskError::Unreadable(address, error.to_string()))?;
        let path = self.path(path);
        let sent = connection.send(&url, &self.credentials, &path, Some(Bytes::from(body)));
        match timeout(within, sent).await {
            Ok(sent) => Ok(sent?),
            Err(_) => Err(AskError::Timeout(address)),
        }
    }

    fn note_state(&self, address: SocketAddr, read: Result<ServerState, AskError>) {
        let mut servers = self.servers();
        let Some(server) = servers.get_mut(&address) else { return };
        match read {
            Ok(state) => {
                if server.state.is_none() {
                    tracing::info!(chain = %self.chain, server = %address, "chain server found");
                }
                server.state = Some((state, Instant::now()));
            }
            Err(error) => {
                if server.state.take().is_some() {
                    tracing::warn!(chain = %self.chain, %error, "a chain server does not answer");
                } else {
                    tracing::debug!(chain = %self.chain, %error, "a chain server does not answer");
                }
            }
        }
    }

    fn avoid(&self, address: SocketAddr) {
        if let Some(server) = self.servers().get_mut(&address) {
            server.avoided_until = Some(Instant::now() + AVOIDED_FOR);
        }
    }

    fn server(&self, address: SocketAddr) -> Option<(ServerUrl, SharedConnection)> {
        let servers = self.servers();
        let server = servers.get(&address)?;
        Some((server.url.clone(), Arc::clone(&server.connection)))
    }

    fn path(&self, last: &str) -> String {
        format!("{ROOT}/{}/{last}", self.chain)
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Server>> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for ServerSet {
    /// Its URLs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> = self.urls.iter().map(|url| url.with_path("")).collect();
        formatter.write_str(&urls.join(", "))
    }
}

/// Of two errors the one that time may mend: that a server is behind.
fn passing(first: AskError, second: AskError) -> AskError {
    if first.refusal() == Some(RefusalCode::Behind) { first } else { second }
}

fn read<T: DeserializeOwned>(address: SocketAddr, received: &Received) -> Result<T, AskError> {
    let unreadable = |error: serde_json::Error| AskError::Unreadable(address, error.to_string());
    if received.status == StatusCode::OK {
        return serde_json::from_slice(&received.body).map_err(unreadable);
    }
    Err(refused(address, received))
}

fn refused(address: SocketAddr, received: &Received) -> AskError {
    let refusal = serde_json::from_slice(&received.body).unwrap_or_else(|_| Refusal {
        code: RefusalCode::Failed,
        detail: format!("status {}", received.status),
    });
    AskError::Refused { address, refusal }
}
