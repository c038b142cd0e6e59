//! Callers that send requests continuously without retries: a request without an answer is lost.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use assay_tests::{Connection, repeat, wait_at_most};

use crate::world::PATIENCE;

/// Address that is checked.
pub(crate) const ADDRESS: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
/// Callers of each kind.
const CALLERS: usize = 2;

/// Use of connections by a caller: one or several requests per connection.
#[derive(Clone, Copy, Debug)]
enum ConnectionUse {
    NewConnections,
    OneConnection,
}

/// Results of the callers' requests.
#[derive(Debug, Default)]
struct TrafficCounts {
    answered: u64,
    /// Answers that state that limits could not be counted in time. On a busy machine the database answers a server's
    /// first request late.
    uncounted: u64,
    lost: Vec<String>,
}

/// Result of a request.
#[derive(Clone, Copy, Debug)]
enum AnswerKind {
    Well,
    Uncounted,
}

/// Running callers.
#[derive(Debug)]
pub(crate) struct Traffic {
    begun: Instant,
    is_over: Arc<AtomicBool>,
    counts: Arc<Mutex<TrafficCounts>>,
    callers: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// Callers with a key, who pause between two requests.
    pub(crate) fn start(server: SocketAddr, key: &str, pause: Duration) -> Self {
        let (is_over, counts) = <(Arc<AtomicBool>, Arc<Mutex<TrafficCounts>>)>::default();
        let request = Connection::check(key, "btc", ADDRESS);
        let begun = Instant::now();
        let uses = [ConnectionUse::NewConnections, ConnectionUse::OneConnection].repeat(CALLERS);
        let callers = uses.into_iter().map(|connection_use| {
            let (is_over, counts, request) = (is_over.clone(), counts.clone(), request.clone());
            thread::spawn(move || {
                let mut connection = None;
                repeat(
                    pause,
                    || is_over.load(Ordering::Relaxed),
                    || {
                        let outcome = ask(server, &request, connection_use, &mut connection);
                        let at = begun.elapsed().as_secs_f64();
                        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                        match outcome {
                            Ok(AnswerKind::Well) => counts.answered += 1,
                            Ok(AnswerKind::Uncounted) => counts.uncounted += 1,
                            Err(why) => counts
                                .lost
                                .push(format!("{connection_use:?} after {at:.1} s: {why}")),
                        }
                    },
                );
            })
        });
        let callers = callers.collect();
        Self { begun, is_over, counts, callers }
    }

    fn counts(&self) -> MutexGuard<'_, TrafficCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `requests` more requests were answered.
    pub(crate) fn wait_for_requests(&self, requests: u64) {
        let before = self.counts().answered;
        wait_at_most(PATIENCE, "answers", || self.counts().answered >= before + requests);
    }

    /// Number of requests that were lost since the last call; `what` names the event.
    #[expect(clippy::print_stdout, reason = "a figure is for people")]
    pub(crate) fn take_lost(&self, what: &str) -> usize {
        // Late effects of the event count too.
        self.wait_for_requests(300);
        let mut counts = self.counts();
        let lost = std::mem::take(&mut counts.lost);
        let (answered, uncounted) = (counts.answered, counts.uncounted);
        let (seconds, first) = (self.begun.elapsed().as_secs(), lost.get(..lost.len().min(5)));
        println!(
            "{what}: {} lost; in {seconds} s {answered} answered, {uncounted} not counted: {first:?}",
            lost.len()
        );
        lost.len()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for caller in self.callers.drain(..) {
            // It never panics.
            let _ = caller.join();
        }
    }
}

/// Does something while a caller goes on asking, and returns the number of its right answers.
///
/// # Panics
///
/// Panics if an answer is wrong.
pub(crate) fn while_asking(
    is_right: impl Fn() -> bool + Send + 'static,
    event: impl FnOnce(),
) -> usize {
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&is_over);
    let caller = thread::spawn(move || {
        let (mut right, mut wrong) = (0, 0);
        repeat(
            Duration::from_millis(20),
            || ended.load(Ordering::Relaxed),
            || if is_right() { right += 1 } else { wrong += 1 },
        );
        (right, wrong)
    });
    event();
    is_over.store(true, Ordering::Relaxed);
    let (right, wrong) = caller.join().unwrap();
    assert_eq!(wrong, 0, "wrong, besides {right} right answers");
    right
}

/// Sends a request without retries.
fn ask(
    server: SocketAddr,
    request: &[u8],
    connection_use: ConnectionUse,
    kept: &mut Option<Connection>,
) -> Result<AnswerKind, String> {
    let mut connection = match kept.take() {
        Some(connection) => connection,
        None => Connection::try_open(server).map_err(|error| format!("no connection: {error}"))?,
    };
    let status = connection.try_ask(request).map_err(|error| format!("no answer: {error}"))?;
    let body = String::from_utf8_lossy(&connection.body).into_owned();
    let answered = match status {
        200 => AnswerKind::Well,
        429 if body.contains("\"reduced_capacity\"") => AnswerKind::Uncounted,
        _ => return Err(format!("{status} {body}")),
    };
    if matches!(connection_use, ConnectionUse::OneConnection) && !connection.is_over {
        *kept = Some(connection);
    }
    Ok(answered)
}
