//! Commands and scripts, over a connection that is made anew when it is lost.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, FromRedisValue, RedisError, Script};
use tokio::{sync::Notify, time::Instant};

use crate::{
    RedisSettings,
    connect::{self, Connection},
};

/// The wait after the first failure to connect; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Answers that may be late in a row before the connection is given up: a server that pauses for a moment
/// is not a lost one.
const MAX_CONSECUTIVE_TIMEOUTS: u32 = 16;

/// Why Redis gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RedisClientError {
    /// It is away, for the reason that was met last, and it is not yet time to try again.
    #[error("Redis is away: {0}")]
    Unavailable(Arc<str>),
    /// It cannot be reached in time.
    #[error("Redis cannot be reached in time")]
    Timeout,
    /// Credentials or certificates cannot be read.
    #[error("failed to read credentials for Redis: {0}")]
    Credentials(#[source] io::Error),
    /// It cannot be reached, or refuses.
    #[error("Redis fails: {0}")]
    Redis(#[from] RedisError),
}

/// A way to Redis, for many at once. Cheap to clone.
#[derive(Clone)]
pub struct RedisClient(Arc<Inner>);

struct Inner {
    settings: RedisSettings,
    state: Mutex<State>,
    /// Tells when a connection was made, or could not be.
    attempt_finished: Notify,
    commands: AtomicU64,
    unanswered: AtomicU64,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// Counts connections, so that what was said of an old one does not harm a new one.
    generation: u64,
    /// Late answers in a row.
    timeouts: u32,
    /// Whether a connection is being made.
    is_connecting: bool,
    /// Failures to connect in a row, and when to try again.
    failures: u32,
    retry_at: Option<(Instant, Arc<str>)>,
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RedisClient({})", self.0.settings.url)
    }
}

impl RedisClient {
    /// A way to Redis; a connection is made when it is needed first.
    #[must_use]
    pub fn new(settings: RedisSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            state: Mutex::new(State::default()),
            attempt_finished: Notify::new(),
            commands: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }))
    }

    /// How Redis is reached.
    #[must_use]
    pub fn settings(&self) -> &RedisSettings {
        &self.0.settings
    }

    /// Whether there is a connection now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.0.state().connection.is_some()
    }

    /// How many commands and scripts were sent.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.0.commands.load(Ordering::Relaxed)
    }

    /// How many commands and scripts got no answer, or none while somebody waited for it: Redis was away,
    /// or slow.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.0.unanswered.load(Ordering::Relaxed)
    }

    /// Sends a command.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisClientError> {
        let (pending, mut connection) = self.call().await?;
        pending.record(command.query_async(&mut connection).await)
    }

    /// Runs a script, which is loaded first where the server does not know it. In a Cluster all keys must have
    /// one hash tag.
    ///
    /// # Errors
    ///
    /// Where Redis is away or refuses.
    pub async fn script<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[Vec<u8>],
    ) -> Result<T, RedisClientError> {
        let (pending, mut connection) = self.call().await?;
        let mut call = script.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        for argument in arguments {
            call.arg(argument.as_slice());
        }
        pending.record(call.invoke_async(&mut connection).await)
    }

    async fn call(&self) -> Result<(PendingCall<'_>, Connection), RedisClientError> {
        let mut pending =
            PendingCall { inner: &self.0, generation: None, outcome: Outcome::TimedOut };
        let (connection, generation) = self.connection().await?;
        pending.generation = Some(generation);
        self.0.commands.fetch_add(1, Ordering::Relaxed);
        Ok((pending, connection))
    }

    /// The connection there is, or a new one where it is time for that. Who is tired of waiting for it
    /// may go: it is made all the same.
    async fn connection(&self) -> Result<(Connection, u64), RedisClientError> {
        loop {
            let attempt_finished = self.0.attempt_finished.notified();
            tokio::pin!(attempt_finished);
            // From here on nothing that is published is missed.
            attempt_finished.as_mut().enable();
            {
                let mut state = self.0.state();
                if let Some(connection) = state.current()? {
                    return Ok(connection);
                }
                if !state.is_connecting {
                    state.is_connecting = true;
                    tokio::spawn(reconnect(Arc::clone(&self.0)));
                }
            }
            attempt_finished.await;
        }
    }
}

/// Makes a connection, or notes that there is none.
async fn reconnect(inner: Arc<Inner>) {
    let limit = inner.settings.connect_timeout + inner.settings.response_timeout;
    let made = tokio::time::timeout(limit, connect::connect(&inner.settings)).await;
    let made = made.unwrap_or(Err(RedisClientError::Timeout));
    {
        let mut state = inner.state();
        state.is_connecting = false;
        match made {
            Ok(connection) => {
                if state.failures > 0 {
                    tracing::info!(redis = %inner.settings.url, "Redis answers again");
                }
                state.connected(connection);
            }
            Err(error) => inner.failed(&mut state, &error),
        }
    }
    inner.attempt_finished.notify_waiters();
}

/// A question. Where whoever pending it stops waiting, its answer is late.
struct PendingCall<'a> {
    inner: &'a Inner,
    /// The connection over which it was sent, once it was.
    generation: Option<u64>,
    outcome: Outcome,
}

/// What became of a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// Nobody waited long enough.
    TimedOut,
    /// The connection is lost.
    ConnectionLost,
}

impl PendingCall<'_> {
    /// Takes note of what the outcome says of the connection.
    fn record<T>(mut self, outcome: Result<T, RedisError>) -> Result<T, RedisClientError> {
        self.outcome = match &outcome {
            Err(error) if error.is_timeout() => Outcome::TimedOut,
            Err(error) if needs_reconnect(error) => Outcome::ConnectionLost,
            _ => Outcome::Answered,
        };
        outcome.map_err(RedisClientError::Redis)
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if self.outcome != Outcome::Answered {
            self.inner.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        let mut state = self.inner.state();
        // Another connection is not to blame.
        if self.generation == Some(state.generation) {
            match self.outcome {
                Outcome::Answered => state.timeouts = 0,
                Outcome::TimedOut => state.timed_out(),
                Outcome::ConnectionLost => state.disconnect(),
            }
        }
    }
}

/// Whether another connection may do better: this one broke, leads to a server that takes no writes
/// (a demoted master), or was made with a password that no longer holds.
fn needs_reconnect(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_connection_refusal()
        || error.is_unrecoverable_error()
        || matches!(
            error.code(),
            Some("READONLY" | "NOAUTH" | "WRONGPASS" | "MASTERDOWN" | "LOADING")
        )
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a few plain assignments: what a panicking holder left is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, state: &mut State, error: &RedisClientError) {
        if state.failures == 0 {
            tracing::warn!(redis = %self.settings.url, %error, "failed to reach Redis; trying on");
        }
        let wait = FIRST_WAIT.saturating_mul(1 << state.failures.min(10)).min(LONGEST_WAIT);
        state.failures = state.failures.saturating_add(1);
        state.retry_at = Some((Instant::now() + wait, error.to_string().into()));
    }
}

impl State {
    fn current(&self) -> Result<Option<(Connection, u64)>, RedisClientError> {
        if let Some(connection) = &self.connection {
            return Ok(Some((connection.clone(), self.generation)));
        }
        match &self.retry_at {
            Some((retry_at, why)) if Instant::now() < *retry_at => {
                Err(RedisClientError::Unavailable(Arc::clone(why)))
            }
            _ => Ok(None),
        }
    }

    fn connected(&mut self, connection: Connection) {
        *self = Self {
            connection: Some(connection),
            generation: self.generation + 1,
            ..Self::default()
        };
    }

    /// An answer came late, or nobody waited for it any more.
    fn timed_out(&mut self) {
        self.timeouts += 1;
        if self.timeouts >= MAX_CONSECUTIVE_TIMEOUTS {
            self.disconnect();
        }
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.timeouts = 0;
    }
}
