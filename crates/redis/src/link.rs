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
    dial::{self, Connection},
};

/// The wait after the first failure to connect; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Answers that may be late in a row before the connection is given up: a server that pauses for a moment
/// is not a lost one.
const MOST_LATE: u32 = 16;

/// Why Redis gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// It is away, for the reason that was met last, and it is not yet time to try again.
    #[error("Redis is away: {0}")]
    Away(Arc<str>),
    /// It cannot be reached in time.
    #[error("Redis cannot be reached in time")]
    Silent,
    /// Credentials or certificates cannot be read.
    #[error("failed to read credentials for Redis: {0}")]
    Credentials(#[source] io::Error),
    /// It cannot be reached, or refuses.
    #[error("Redis fails: {0}")]
    Redis(#[from] RedisError),
}

/// A way to Redis, for many at once. Cheap to clone.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    settings: RedisSettings,
    state: Mutex<State>,
    /// Tells when a connection was made, or could not be.
    dialled: Notify,
    commands: AtomicU64,
    unanswered: AtomicU64,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// Counts connections, so that what was said of an old one does not harm a new one.
    number: u64,
    /// Late answers in a row.
    late: u32,
    /// Whether a connection is being made.
    dialling: bool,
    /// Failures to connect in a row, and when to try again.
    failures: u32,
    not_before: Option<(Instant, Arc<str>)>,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Link({})", self.0.settings.place)
    }
}

impl Link {
    /// A way to Redis; a connection is made when it is needed first.
    #[must_use]
    pub fn new(settings: RedisSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            state: Mutex::new(State::default()),
            dialled: Notify::new(),
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
    pub async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LinkError> {
        let (asked, mut connection) = self.ask().await?;
        asked.judge(command.query_async(&mut connection).await)
    }

    /// Runs a script, which the server is told where it does not know it. In a Cluster all keys must have
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
    ) -> Result<T, LinkError> {
        let (asked, mut connection) = self.ask().await?;
        let mut call = script.prepare_invoke();
        for key in keys {
            call.key(key);
        }
        for argument in arguments {
            call.arg(argument.as_slice());
        }
        asked.judge(call.invoke_async(&mut connection).await)
    }

    async fn ask(&self) -> Result<(Asked<'_>, Connection), LinkError> {
        let mut asked = Asked { inner: &self.0, number: None, end: End::Late };
        let (connection, number) = self.connection().await?;
        asked.number = Some(number);
        self.0.commands.fetch_add(1, Ordering::Relaxed);
        Ok((asked, connection))
    }

    /// The connection there is, or a new one where it is time for that. Who is tired of waiting for it
    /// may go: it is made all the same.
    async fn connection(&self) -> Result<(Connection, u64), LinkError> {
        loop {
            let dialled = self.0.dialled.notified();
            tokio::pin!(dialled);
            // From here on nothing that is told is missed.
            dialled.as_mut().enable();
            {
                let mut state = self.0.state();
                if let Some(connection) = state.there_is()? {
                    return Ok(connection);
                }
                if !state.dialling {
                    state.dialling = true;
                    tokio::spawn(dial(Arc::clone(&self.0)));
                }
            }
            dialled.await;
        }
    }
}

/// Makes a connection, or notes that there is none.
async fn dial(inner: Arc<Inner>) {
    let limit = inner.settings.connect_timeout + inner.settings.answer_timeout;
    let made = tokio::time::timeout(limit, dial::connect(&inner.settings)).await;
    let made = made.unwrap_or(Err(LinkError::Silent));
    {
        let mut state = inner.state();
        state.dialling = false;
        match made {
            Ok(connection) => {
                if state.failures > 0 {
                    tracing::info!(redis = %inner.settings.place, "Redis answers again");
                }
                state.connected(connection);
            }
            Err(error) => inner.failed(&mut state, &error),
        }
    }
    inner.dialled.notify_waiters();
}

/// A question. Where whoever asked it stops waiting, its answer is late.
struct Asked<'a> {
    inner: &'a Inner,
    /// The connection over which it was sent, once it was.
    number: Option<u64>,
    end: End,
}

/// What became of a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    /// Nobody waited long enough.
    Late,
    /// The connection is lost.
    Lost,
}

impl Asked<'_> {
    /// Takes note of what the outcome says of the connection.
    fn judge<T>(mut self, outcome: Result<T, RedisError>) -> Result<T, LinkError> {
        self.end = match &outcome {
            Err(error) if error.is_timeout() => End::Late,
            Err(error) if is_lost(error) => End::Lost,
            _ => End::Answered,
        };
        outcome.map_err(LinkError::Redis)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.end != End::Answered {
            self.inner.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        let mut state = self.inner.state();
        // Another connection is not to blame.
        if self.number == Some(state.number) {
            match self.end {
                End::Answered => state.late = 0,
                End::Late => state.late(),
                End::Lost => state.lose(),
            }
        }
    }
}

/// Whether another connection may do better: this one broke, leads to a server that takes no writes
/// (a demoted master), or was made with a password that no longer holds.
fn is_lost(error: &RedisError) -> bool {
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

    fn failed(&self, state: &mut State, error: &LinkError) {
        if state.failures == 0 {
            tracing::warn!(redis = %self.settings.place, %error, "failed to reach Redis; trying on");
        }
        let wait = FIRST_WAIT.saturating_mul(1 << state.failures.min(10)).min(LONGEST_WAIT);
        state.failures = state.failures.saturating_add(1);
        state.not_before = Some((Instant::now() + wait, error.to_string().into()));
    }
}

impl State {
    fn there_is(&self) -> Result<Option<(Connection, u64)>, LinkError> {
        if let Some(connection) = &self.connection {
            return Ok(Some((connection.clone(), self.number)));
        }
        match &self.not_before {
            Some((not_before, why)) if Instant::now() < *not_before => {
                Err(LinkError::Away(Arc::clone(why)))
            }
            _ => Ok(None),
        }
    }

    fn connected(&mut self, connection: Connection) {
        *self = Self { connection: Some(connection), number: self.number + 1, ..Self::default() };
    }

    /// An answer came late, or nobody waited for it any more.
    fn late(&mut self) {
        self.late += 1;
        if self.late >= MOST_LATE {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.connection = None;
        self.late = 0;
    }
}
