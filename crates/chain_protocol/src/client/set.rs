//! The servers of one chain: questions go to a chosen server, and to a second one after a failure.

use std::{
    fmt,
    hash::Hash,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use assay_address::ChainId;
use http::StatusCode;
use hyper::body::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    answer::{AskError, read, refusal_error},
    branches::BranchDifference,
    choice::{Candidate, newest, order},
    connection::ReceivedAnswer,
    credentials::ChainServerCredentials,
    url::ServerUrl,
    watch::WatchedServers,
};
use crate::message::{
    CopyPartQuestion, MinimumRevision, NewestBlock, PART_DIGEST, Question, RefusalCode,
    RefusedQuestion, RequestEnvelope,
};

/// Number of blocks that an answer's newest block may be behind: servers do not get a new block at the same moment.
const BLOCKS_BEHIND: u64 = 1;
/// Longest time for an answer, retries included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// Time after which a second server is asked in parallel.
const SECOND_SERVER_DELAY: Duration = Duration::from_secs(1);
/// Interval at which servers are asked again after all were behind: all servers soon have the same lists and labels.
const BEHIND_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time for which servers that are behind are asked again.
const BEHIND_TIMEOUT: Duration = Duration::from_secs(2);

/// The servers of one chain. The servers are asked for their states from the first question on, until the set is
/// dropped.
#[derive(Debug)]
pub struct ServerSet {
    watched: Arc<WatchedServers>,
    watch: OnceLock<AbortHandle>,
}

impl ServerSet {
    /// The servers at these URLs. No server is known before [`watch`](Self::watch) or [`refresh`](Self::refresh).
    #[must_use]
    pub fn new(chain: ChainId, urls: Vec<ServerUrl>, credentials: ChainServerCredentials) -> Self {
        let watched = Arc::new(WatchedServers::new(chain, urls, credentials));
        Self { watched, watch: OnceLock::new() }
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> ChainId {
        self.watched.servers.chain
    }

    /// Starts to ask the servers for their states regularly.
    pub fn watch(&self) {
        let watch = || tokio::spawn(Arc::clone(&self.watched).watch()).abort_handle();
        self.watch.get_or_init(watch);
    }

    /// Resolves the URLs and asks each server for its state, within two seconds.
    pub async fn refresh(&self) {
        self.watched.refresh().await;
    }

    /// The servers with their states, without states that are too old.
    #[must_use]
    pub fn states(&self) -> Vec<Candidate> {
        self.watched.candidates()
    }

    /// The servers that cannot read their graph, with their errors: those that cannot tell their states, and those whose
    /// graph failed to answer a question.
    #[must_use]
    pub fn unreadable_graphs(&self) -> Vec<(SocketAddr, String)> {
        let told = self
            .states()
            .into_iter()
            .filter_map(|candidate| Some((candidate.address, candidate.state?.graph_problem?)));
        self.watched.servers.failures().into_iter().chain(told).collect()
    }

    /// The difference between the servers' branches, if an ordinary reorganization does not explain it.
    #[must_use]
    pub fn difference(&self) -> Option<BranchDifference> {
        self.watched.difference()
    }

    /// Number of silent servers: they sent no byte for a second, and get no question until they answer questions for
    /// their states again.
    #[must_use]
    pub fn silent_count(&self) -> usize {
        self.watched.servers.silent_addresses().len()
    }

    /// Number of questions that were sent to servers, without those for states.
    #[must_use]
    pub fn question_count(&self) -> u64 {
        self.watched.servers.question_count()
    }

    /// Waits for the first lookup of the servers; later calls return at once.
    pub async fn wait_until_found(&self) {
        self.watch();
        self.watched.wait_for_first_lookup().await;
    }

    /// The newest block of the servers.
    #[must_use]
    pub fn newest(&self) -> Option<NewestBlock> {
        newest(&self.states())
    }

    /// Asks a question about a subject. If a server fails or is slow, one other server is asked.
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
        self.wait_until_found().await;
        let begun = Instant::now();
        loop {
            let asked = self.ask_once(subject, lists, question, begun).await;
            let time = begun.elapsed();
            match &asked {
                Err(error) if error.refusal() == Some(RefusalCode::Behind) => {
                    if time >= BEHIND_TIMEOUT {
                        return asked;
                    }
                    sleep(BEHIND_RETRY_INTERVAL).await;
                }
                // The asked servers are silent; other servers may answer.
                Err(AskError::Silent(_)) if self.has_others() && time < ANSWER_TIMEOUT => {}
                _ => return asked,
            }
        }
    }

    /// Asks a question as [`ServerSet::ask`] does, and then the servers one after the other until an answer is enough:
    /// each server may have a node of its own. Without such an answer, returns the first one.
    ///
    /// # Errors
    ///
    /// Returns an error if no server answers in time.
    pub async fn ask_until<Q: Question + Clone>(
        &self,
        subject: &(impl Hash + Sync + ?Sized),
        lists: u64,
        question: &Q,
        is_enough: impl Fn(&Q::Answer) -> bool,
    ) -> Result<Q::Answer, AskError> {
        let begun = Instant::now();
        let first = self.ask(subject, lists, question).await?;
        let candidates = self.states();
        if candidates.len() < 2 || is_enough(&first) {
            return Ok(first);
        }
        let (minimum, silent) =
            (minimum(&candidates, lists), self.watched.servers.silent_addresses());
        let order = order(&candidates, subject).into_iter();
        for address in order.filter(|address| !silent.contains(address)) {
            if begun.elapsed() >= ANSWER_TIMEOUT {
                break;
            }
            match self.ask_one(address, minimum, question, begun).await {
                Ok(answer) if is_enough(&answer) => return Ok(answer),
                _ => {}
            }
        }
        Ok(first)
    }

    async fn ask_once<Q: Question + Clone>(
        &self,
        subject: &(impl Hash + Sync + ?Sized),
        lists: u64,
        question: &Q,
        begun: Instant,
    ) -> Result<Q::Answer, AskError> {
        let candidates = self.states();
        if let Some(difference) = self.difference().filter(|difference| !difference.is_decided) {
            return Err(AskError::BranchesDiffer(Box::new(difference)));
        }
        let minimum = minimum(&candidates, lists);
        let silent = self.watched.servers.silent_addresses();
        let order = order(&candidates, subject).into_iter();
        let mut order = order.filter(|address| !silent.contains(address));
        let Some(first) = order.next() else {
            let urls = self.to_string();
            let none = if silent.is_empty() { AskError::NoServer } else { AskError::Silent };
            return Err(none(urls));
        };
        let mut first = Box::pin(self.ask_one(first, minimum, question, begun));
        let Some(second) = order.next() else { return first.await };
        let mut second = Box::pin(self.ask_one(second, minimum, question, begun));
        let failed = tokio::select! {
            answer = &mut first => match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => Some(error),
            },
            () = sleep(SECOND_SERVER_DELAY) => None,
        };
        if let Some(failed) = failed {
            tracing::debug!(chain = %self.chain(), error = %failed, "asking another chain server");
            return second.await.map_err(|error| prefer_behind(failed, error));
        }
        // Both servers work on the question; the first answer is used.
        tokio::select! {
            answer = &mut first => match answer {
                Ok(answer) => Ok(answer),
                Err(failed) => second.await.map_err(|error| prefer_behind(failed, error)),
            },
            answer = &mut second => match answer {
                Ok(answer) => Ok(answer),
                Err(failed) => first.await.map_err(|error| prefer_behind(failed, error)),
            },
        }
    }

    async fn ask_one<Q: Question + Clone>(
        &self,
        address: SocketAddr,
        minimum: MinimumRevision,
        question: &Q,
        begun: Instant,
    ) -> Result<Q::Answer, AskError> {
        let left = ANSWER_TIMEOUT.saturating_sub(begun.elapsed());
        let sent = self.send_to(address, Q::PATH, left, minimum, question.clone());
        let answer = tokio::select! {
            biased;
            sent = sent => sent.and_then(|received| read(address, &received)),
            () = self.watched.servers.wait_for_silence_of(address) => {
                self.watched.servers.note_silence(address);
                return Err(AskError::Silent(address.to_string()));
            }
        };
        if matches!(answer, Err(AskError::Send(_) | AskError::Timeout(_))) {
            self.watched.servers.avoid(address);
        }
        if answer.is_ok() && self.watched.is_excluded(address) {
            // The answer is from a branch that was not chosen.
            let detail = "its blocks are of another branch".to_owned();
            let refusal = RefusedQuestion { code: RefusalCode::Behind, detail };
            return Err(AskError::Refused { address, refusal });
        }
        answer
    }

    /// True if some known server is not silent.
    fn has_others(&self) -> bool {
        let silent = self.watched.servers.silent_addresses();
        self.states().iter().any(|it| !silent.contains(&it.address))
    }

    /// Asks one server a question, without a minimum revision.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer in time.
    pub async fn ask_server<Q: Question + Clone>(
        &self,
        address: SocketAddr,
        within: Duration,
        question: &Q,
    ) -> Result<Q::Answer, AskError> {
        let minimum = MinimumRevision::default();
        let received = self.send_to(address, Q::PATH, within, minimum, question.clone()).await?;
        read(address, &received)
    }

    /// Asks one server for a part of a graph's copy, and verifies the digest of the bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer in time, or if the bytes do not match the digest.
    pub async fn copy_part_from(
        &self,
        address: SocketAddr,
        within: Duration,
        question: CopyPartQuestion,
    ) -> Result<Bytes, AskError> {
        let minimum = MinimumRevision::default();
        let path = CopyPartQuestion::PATH;
        let received = self.send_to(address, path, within, minimum, question).await?;
        if received.status != StatusCode::OK {
            return Err(refusal_error(address, &received));
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
        minimum: MinimumRevision,
        question: Q,
    ) -> Result<ReceivedAnswer, AskError> {
        let deadline_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
        let body = serde_json::to_vec(&RequestEnvelope { deadline_ms, minimum, question });
        let body = body.map_err(|error| AskError::Unreadable(address, error.to_string()))?;
        let sent =
            timeout(within, self.watched.servers.send(address, path, Bytes::from(body))).await;
        sent.unwrap_or_else(|_| Err(AskError::Timeout(address)))
    }
}

impl Drop for ServerSet {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get() {
            watch.abort();
        }
    }
}

impl fmt::Display for ServerSet {
    /// Writes the URLs, separated by commas.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<String> =
            self.watched.servers.urls.iter().map(|url| url.with_path("")).collect();
        formatter.write_str(&urls.join(", "))
    }
}

/// The revision that an answer must have: lists and labels of this revision, and almost the newest block.
fn minimum(candidates: &[Candidate], lists: u64) -> MinimumRevision {
    let newest = newest(candidates).map(|it| it.block);
    let block = newest.map_or(0, |it| it.height);
    // Servers that are one block behind have the parent of the newest block.
    let branch_block = newest.and_then(|it| it.parent_id());
    MinimumRevision { lists, block: block.saturating_sub(BLOCKS_BEHIND), branch_block }
}

/// Of two errors, returns the error of a server that is behind, which a retry may resolve, or else the second error.
fn prefer_behind(first: AskError, second: AskError) -> AskError {
    if first.refusal() == Some(RefusalCode::Behind) { first } else { second }
}

#[cfg(test)]
mod tests {
    use crate::message::TransactionId;
    use axum::{
        Json, Router,
        routing::{get, post},
    };
    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;
    use crate::message::TransactionQuestion;

    async fn listener() -> (TcpListener, ServerUrl) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = ServerUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        (listener, url)
    }

    /// A server that reports its state at once, and takes a while for an answer.
    async fn slow(by: Duration) -> ServerUrl {
        let state = json!({
            "release": "1", "lists": 7, "newest": null, "bytes": 1, "blocks_per_second": null,
            "is_draining": false, "traces": 0,
        });
        let answer = async move || {
            sleep(by).await;
            Json(Value::Null)
        };
        let app = Router::new()
            .route("/chain/v1/btc/state", get(async || Json(state)))
            .route("/chain/v1/btc/transaction", post(answer));
        let (listener, url) = listener().await;
        tokio::spawn(axum::serve(listener, app).into_future());
        url
    }

    fn set(urls: &[&ServerUrl]) -> ServerSet {
        let urls = urls.iter().copied().cloned().collect();
        ServerSet::new(ChainId::BTC, urls, ChainServerCredentials::default())
    }

    async fn ask(servers: &ServerSet, subject: u32) -> Result<bool, AskError> {
        let question = TransactionQuestion { transaction: TransactionId([7; 32]), largest: 1 };
        Ok(servers.ask(&subject, 0, &question).await?.is_none())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_works_for_long_is_not_silent() {
        let servers = set(&[&slow(Duration::from_secs(3)).await]);
        assert!(ask(&servers, 1).await.unwrap());
        assert_eq!((servers.silent_count(), servers.question_count()), (0, 1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn silent_servers_get_no_question_and_leave_those_of_others_alone() {
        // Given two servers that accept connections and never say a word, as those of a program that was stopped,
        let (one, first) = listener().await;
        let (other, second) = listener().await;
        let servers = set(&[&first, &second]);
        // when they are asked by many, then each is told that they are silent,
        let asking = (0..20).map(|subject| ask(&servers, subject));
        for answer in futures_util::future::join_all(asking).await {
            assert!(matches!(answer, Err(AskError::Silent(_))), "{answer:?}");
        }
        // and from then on nobody asks them.
        assert_eq!(servers.silent_count(), 2);
        let asked = servers.question_count();
        for subject in 0..20 {
            assert!(matches!(ask(&servers, subject).await, Err(AskError::Silent(_))));
        }
        assert_eq!(servers.question_count(), asked);

        // Given a server that answers beside them, it answers all.
        let third = slow(Duration::ZERO).await;
        let servers = set(&[&first, &second, &third]);
        for subject in 0..20 {
            assert!(ask(&servers, subject).await.unwrap());
        }
        drop((one, other));
    }
}
