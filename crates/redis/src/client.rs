//! Client for commands and scripts, over a connection that is reestablished after a loss.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, FromRedisValue, RedisError, Script};
use tokio::{sync::Notify, time::Instant};

use crate::{
    RedisClientError, RedisSettings,
    connect::{self, Connection},
};

/// Delay after the first failure to connect; each further failure doubles it.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
/// Longest delay between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// Consecutive timeouts after which the connection is dropped: a server that pauses for a moment is not
/// lost.
const MAX_CONSECUTIVE_TIMEOUTS: u32 = 16;

/// Redis client for concurrent callers. Cheap to clone.
#[derive(Clone)]
pub struct RedisClient(Arc<Inner>);

struct Inner {
    settings: RedisSettings,
    state: Mutex<State>,
    /// Notified when an attempt to connect succeeded or failed.
    attempt_finished: Notify,
    commands: AtomicU64,
    unanswered: AtomicU64,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// Number of the connection, so that failures of an old connection do not affect a new one.
    generation: u64,
    /// Consecutive timeouts.
    timeouts: u32,
    /// True while an attempt to connect is in progress.
    is_connecting: bool,
    /// Consecutive failures to connect, and the time of the next attempt.
    failures: u32,
    retry_at: Option<(Instant, Arc<str>)>,
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RedisClient({})", self.0.settings.url)
    }
}

impl RedisClient {
    /// Creates a client, which connects at the first command.
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

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &RedisSettings {
        &self.0.settings
    }

    /// True if there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.0.state().connection.is_some()
    }

    /// Returns the number of commands and scripts sent.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.0.commands.load(Ordering::Relaxed)
    }

    /// Returns the number of commands and scripts without a response in time: Redis was unavailable, or
    /// slow.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.0.unanswered.load(Ordering::Relaxed)
    }

    /// Sends a command.
    ///
    /// # Errors
    ///
    /// Returns an error if Redis is unavailable or refuses.
    pub async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisClientError> {
        let (pending, mut connection) = self.call().await?;
        pending.record(command.query_async(&mut connection).await)
    }

    /// Runs a script, and loads it first if the server does not know it. In a Cluster all keys must
    /// have one hash tag.
    ///
    /// # Errors
    ///
    /// Returns an error if Redis is unavailable or refuses.
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

    /// Returns the connection, or a new connection after the backoff. The attempt to connect goes on if its caller is
    /// canceled.
    async fn connection(&self) -> Result<(Connection, u64), RedisClientError> {
        loop {
            let attempt_finished = self.0.attempt_finished.notified();
            tokio::pin!(attempt_finished);
            // From here on no notification is missed.
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

/// Connects, or records the failure.
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
                    tracing::info!(redis = %inner.settings.url, "reconnected to Redis");
                }
                state.connected(connection);
            }
            Err(error) => inner.failed(&mut state, &error),
        }
    }
    inner.attempt_finished.notify_waiters();
}

/// A command in progress. If the caller is canceled, the command counts as timed out.
struct PendingCall<'a> {
    inner: &'a Inner,
    /// Number of the connection over which the command was sent.
    generation: Option<u64>,
    outcome: Outcome,
}

/// Outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// No response arrived before the command's caller stopped waiting.
    TimedOut,
    /// The connection was lost before the response arrived.
    ConnectionLost,
}

impl PendingCall<'_> {
    /// Records the consequences of a command's outcome for the connection.
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
        // A newer connection is not affected.
        if self.generation == Some(state.generation) {
            match self.outcome {
                Outcome::Answered => state.timeouts = 0,
                Outcome::TimedOut => state.timed_out(),
                Outcome::ConnectionLost => state.disconnect(),
            }
        }
    }
}

/// True if a new connection may succeed: the present one broke, leads to a server that accepts no writes (a demoted
/// master), or was made with a password that has been replaced.
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
        // Every change is a few plain assignments: the state is sound even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, state: &mut State, error: &RedisClientError) {
        if state.failures == 0 {
            tracing::warn!(redis = %self.settings.url, %error, "failed to connect to Redis; retrying");
        }
        let wait = MIN_BACKOFF.saturating_mul(1 << state.failures.min(10)).min(MAX_BACKOFF);
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

    /// Counts a timeout, and disconnects after too many.
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
