//! Connections to the primary, which follow changes of its location and of the password.
//!
//! The pool knows one server at a time. If the pool cannot connect, or connects slowly, the servers of the address are
//! tried in order with the current contents of the credential files, and the pool is switched to the server that takes
//! writes. A server that takes no writes is skipped: it is a standby, or was the primary until a moment ago. Every
//! connection is probed when it is acquired (a connection for reads only if its last probe is older than
//! [`PRIMARY_CHECK_TTL`]) and when it is released, because a canceled statement may leave an answer pending.

use std::{
    fmt,
    io::ErrorKind,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, Executor, PgConnection, PgPool, Postgres, Row, SqlSafeStr,
    Transaction,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::timeout;

use super::{address::DatabaseAddress, server::Server};
use crate::DatabaseError;

/// Timeout of one short statement, and of closing the pool. Short statements take milliseconds: a timeout means that
/// the network is cut, which nothing else reports.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of the next part of a long answer: the server may have to sort the whole answer first.
const NEXT_PART_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of the liveness probes during long work.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// Consecutive failed probes after which the server counts as gone.
const FAILED_PROBES: u32 = 2;
/// Timeout of acquiring a connection: of connecting, or of waiting for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of searching for the primary, divided among the servers of the address.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(4);
/// Time after which a pending acquisition triggers a search for the primary.
const SEARCH_AFTER: Duration = Duration::from_millis(300);
/// Timeout of one probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which a connection for reads relies on its last probe: a busy connection is not probed before each
/// statement, and a demoted server is still noticed soon.
const PRIMARY_CHECK_TTL: Duration = Duration::from_millis(250);
/// Interval at which credential files are read again, and the shortest interval between two searches.
const RELOAD_EVERY: Duration = Duration::from_secs(1);

/// Settings of every connection: no just-in-time compilation, since no statement runs long enough, and the isolation
/// level that single statements rely on, regardless of the server's default.
const SETTINGS: &str = "SET jit = off; SET default_transaction_isolation = 'read committed'";
/// Query that returns true if the server takes writes and no transaction is open on the connection. A standby returns
/// false, and so does a transaction of [`BEGIN_READ`](super::BEGIN_READ) or [`BEGIN_WRITE`](super::BEGIN_WRITE) that
/// began after nobody waited for it any more.
const TAKES_WRITES: &str = "SELECT current_setting('transaction_read_only') = 'off' \
    AND coalesce(current_setting('assay.transaction', true), '') = ''";

/// Connections to a database.
#[derive(Clone)]
pub struct Connections {
    pool: PgPool,
    shared: Arc<Shared>,
}

struct Shared {
    address: DatabaseAddress,
    current: Mutex<Current>,
    /// Counts changes of the server.
    changes: AtomicU64,
    /// Time of the last change of the server.
    last_switch: LastSwitch,
    /// Admits one search at a time; holds the time at which the last search found a server.
    searching: tokio::sync::Mutex<Option<Instant>>,
}

type LastSwitch = Arc<Mutex<Option<Instant>>>;

struct Current {
    server: Server,
    looked_at: Instant,
}

impl Connections {
    /// A pool of at most `count` connections to the primary of an address. Each connection is probed when it is
    /// acquired.
    pub(super) fn new(server: Server, address: DatabaseAddress, count: u32) -> Self {
        Self::with_probe_ttl(Duration::ZERO, server, address, count)
    }

    /// A pool for reads, in which one probe serves many statements in a row.
    pub(super) fn for_reads(server: Server, address: DatabaseAddress, count: u32) -> Self {
        Self::with_probe_ttl(PRIMARY_CHECK_TTL, server, address, count)
    }

    fn with_probe_ttl(
        trusted_for: Duration,
        server: Server,
        address: DatabaseAddress,
        count: u32,
    ) -> Self {
        let last_switch = LastSwitch::default();
        let seen = Arc::clone(&last_switch);
        let pool = PgPoolOptions::new()
            .max_connections(count)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(address.lifetime)
            .after_connect(|connection, _| {
                Box::pin(async {
                    connection.execute(SETTINGS).await?;
                    if takes_writes(connection).await? { Ok(()) } else { Err(read_only()) }
                })
            })
            // A canceled statement may wait for an answer that never comes, and a transaction whose beginning was
            // canceled is open although nobody knows: such connections must not stay in the pool.
            .after_release(|connection, _| {
                Box::pin(async { Ok(takes_writes(connection).await.unwrap_or(false)) })
            })
            .test_before_acquire(false)
            .before_acquire(move |connection, about| {
                let is_elsewhere = switched_since(&seen, about.age);
                // It was probed when it was released.
                let is_trusted = about.idle_for < trusted_for;
                Box::pin(async move {
                    Ok(!is_elsewhere && (is_trusted || takes_writes(connection).await?))
                })
            })
            .connect_lazy_with(server.options.clone());
        let shared = Shared {
            address,
            current: Mutex::new(Current { server, looked_at: Instant::now() }),
            changes: AtomicU64::new(0),
            last_switch,
            searching: tokio::sync::Mutex::new(None),
        };
        Self { pool, shared: Arc::new(shared) }
    }

    /// Runs a short statement with a timeout. On timeout the statement's connection is closed, and a write may or may
    /// not have been committed.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::NoAnswer`] on timeout.
    pub async fn with_timeout<T, E: From<DatabaseError>>(
        &self,
        statement: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.within(ANSWER_TIMEOUT, statement).await
    }

    /// Waits for the next part of a long answer.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::NoAnswer`] if the server stops sending.
    pub async fn next_part<T>(
        &self,
        part: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, DatabaseError> {
        self.within(NEXT_PART_TIMEOUT, async { part.await.map_err(DatabaseError::from) }).await
    }

    /// Runs work of any length, such as an import, while another connection probes the server. If the server is gone
    /// or replaced, the work is canceled and its connection closed; a write may or may not have been committed.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::NoAnswer`] if the server is gone.
    pub async fn with_liveness_probe<T, E: From<DatabaseError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let server = self.server_name();
        tokio::select! {
            biased;
            done = work => done,
            () = self.until_gone(&server) => {
                Err(DatabaseError::NoAnswer { server, limit: PROBE_EVERY * FAILED_PROBES }.into())
            }
        }
    }

    /// Waits until a server does not answer any more, or is replaced.
    async fn until_gone(&self, server: &str) {
        let mut unanswered = 0;
        while unanswered < FAILED_PROBES && self.server_name() == server {
            tokio::time::sleep(PROBE_EVERY).await;
            // On a dedicated connection: those of the pool may all be busy.
            match self.dedicated().await {
                Ok(connection) => {
                    let _closed = timeout(PROBE_TIMEOUT, connection.close()).await;
                    unanswered = 0;
                }
                // The server answers, but refuses another connection.
                Err(DatabaseError::Connect { source: sqlx::Error::Database(_), .. }) => {
                    unanswered = 0;
                }
                Err(_) => unanswered += 1,
            }
        }
    }

    async fn within<T, E: From<DatabaseError>>(
        &self,
        limit: Duration,
        statement: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let no_answer =
            |_elapsed| Err(DatabaseError::NoAnswer { server: self.server_name(), limit }.into());
        timeout(limit, statement).await.unwrap_or_else(no_answer)
    }

    /// Acquires a connection of the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if no server of the address takes writes, or no connection becomes free in
    /// time.
    pub async fn acquire(&self) -> Result<PoolConnection<Postgres>, DatabaseError> {
        self.reload_files();
        // Boxed: the future of every caller would be as large as a search for the primary.
        let waited = timeout(ACQUIRE_TIMEOUT, Box::pin(self.acquire_or_search())).await;
        waited.unwrap_or_else(|_elapsed| {
            Err(DatabaseError::Connect {
                server: self.server_name(),
                source: sqlx::Error::PoolTimedOut,
            })
        })
    }

    /// Begins a transaction with a statement.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Connections::acquire`], or if the statement fails.
    pub async fn begin(
        &self,
        statement: &'static str,
    ) -> Result<Transaction<'static, Postgres>, DatabaseError> {
        let connection = self.acquire().await?;
        Ok(Transaction::begin(connection, Some(statement.into_sql_str())).await?)
    }

    /// Opens a connection outside the pool.
    async fn dedicated(&self) -> Result<PgConnection, DatabaseError> {
        let (connection, server) = find_primary(&self.shared.address).await?;
        self.switch_to(server);
        Ok(connection)
    }

    /// Options to connect to the current primary.
    pub(super) async fn options(&self) -> Result<PgConnectOptions, DatabaseError> {
        let _closed = self.dedicated().await?.close().await;
        Ok(self.current().server.options.clone())
    }

    /// Closes the pool, within a timeout: on a cut network, connections in use may never be released.
    pub async fn close(&self) {
        let _ = timeout(ANSWER_TIMEOUT, self.pool.close()).await;
    }

    async fn acquire_or_search(&self) -> Result<PoolConnection<Postgres>, DatabaseError> {
        let before = self.changes();
        let mut acquiring = pin!(self.pool.acquire());
        match timeout(SEARCH_AFTER, &mut acquiring).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(sqlx::Error::PoolClosed)) => return Err(sqlx::Error::PoolClosed.into()),
            // The password or the primary has changed since the last search, however recent that was.
            Ok(Err(_refused)) => {
                *self.shared.searching.lock().await = None;
                self.search_primary(before).await?;
            }
            Err(_slow) => {
                // All connections may be in use, or the server is gone.
                tokio::select! {
                    biased;
                    acquired = &mut acquiring => match acquired {
                        Ok(connection) => return Ok(connection),
                        Err(_) => self.search_primary(before).await?,
                    },
                    found = self.search_primary(before) => {
                        if found.is_err() || self.changes() == before {
                            match (acquiring.await, found) {
                                (Ok(connection), _) => return Ok(connection),
                                (Err(_), Err(error)) => return Err(error),
                                (Err(error), Ok(())) => return Err(self.failed(error)),
                            }
                        }
                    }
                }
            }
        }
        self.pool.acquire().await.map_err(|error| self.failed(error))
    }

    /// Searches for the primary, unless another call just found it.
    async fn search_primary(&self, before: u64) -> Result<(), DatabaseError> {
        let mut found_at = self.shared.searching.lock().await;
        let just_found = found_at.is_some_and(|at| at.elapsed() < RELOAD_EVERY);
        if self.changes() != before || just_found {
            return Ok(());
        }
        let (connection, server) = find_primary(&self.shared.address).await?;
        let _closed = connection.close().await;
        self.switch_to(server);
        *found_at = Some(Instant::now());
        Ok(())
    }

    /// Switches new connections to a server.
    fn switch_to(&self, server: Server) {
        let mut current = self.current();
        if current.server.identity != server.identity {
            self.pool.set_connect_options(server.options.clone());
            if current.server.name != server.name {
                let mut last_switch =
                    self.shared.last_switch.lock().unwrap_or_else(PoisonError::into_inner);
                *last_switch = Some(Instant::now());
            }
            current.server = server;
            self.shared.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Applies changed credential files to new connections. A file that cannot be read counts as being written; the
    /// previous credentials stay in use.
    fn reload_files(&self) {
        let mut current = self.current();
        if !self.shared.address.has_files() || current.looked_at.elapsed() < RELOAD_EVERY {
            return;
        }
        current.looked_at = Instant::now();
        let name = current.server.name.clone();
        drop(current);
        let Ok(servers) = self.shared.address.servers() else { return };
        if let Some(server) = servers.into_iter().find(|server| server.name == name) {
            self.switch_to(server);
        }
    }

    /// Server and database, without the password.
    #[must_use]
    pub fn server_name(&self) -> String {
        self.current().server.name.clone()
    }

    fn failed(&self, source: sqlx::Error) -> DatabaseError {
        DatabaseError::Connect { server: self.server_name(), source }
    }

    fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Acquire)
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.shared.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Connections").field(&self.server_name()).finish()
    }
}

/// The first server that takes writes, with the current credentials, and a connection to it.
pub(super) async fn find_primary(
    address: &DatabaseAddress,
) -> Result<(PgConnection, Server), DatabaseError> {
    let servers = address.servers()?;
    let several = servers.len() > 1;
    let share = SEARCH_TIMEOUT / u32::try_from(servers.len()).unwrap_or(u32::MAX).max(1);
    let mut failures = Vec::new();
    for server in servers {
        match timeout(share, connect_to_primary(&server)).await {
            Ok(Ok(connection)) => return Ok((connection, server)),
            Ok(Err(error)) => failures.push(error),
            Err(_elapsed) => failures.push(DatabaseError::Connect {
                server: server.name,
                source: sqlx::Error::Io(ErrorKind::TimedOut.into()),
            }),
        }
    }
    match failures.pop() {
        Some(last) if !several => Err(last),
        Some(last) => {
            failures.push(last);
            Err(DatabaseError::NoPrimary(failures))
        }
        None => Err(DatabaseError::InvalidUrl("it names no server".into())),
    }
}

async fn connect_to_primary(server: &Server) -> Result<PgConnection, DatabaseError> {
    let failed = |source| DatabaseError::Connect { server: server.name.clone(), source };
    let mut connection = server.options.connect().await.map_err(failed)?;
    connection.execute(SETTINGS).await.map_err(failed)?;
    if takes_writes(&mut connection).await.map_err(failed)? {
        return Ok(connection);
    }
    let _closed = connection.close().await;
    Err(DatabaseError::ReadOnly(server.name.clone()))
}

/// True if a connection of this age leads to a previous server, which may never answer again.
fn switched_since(last_switch: &LastSwitch, age: Duration) -> bool {
    let last_switch = last_switch.lock().unwrap_or_else(PoisonError::into_inner);
    last_switch.is_some_and(|at| at.elapsed() <= age)
}

async fn takes_writes(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let asked = timeout(PROBE_TIMEOUT, connection.fetch_one(sqlx::query(TAKES_WRITES))).await;
    asked.unwrap_or_else(|_elapsed| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))?.try_get(0)
}

fn read_only() -> sqlx::Error {
    sqlx::Error::Configuration("the server takes no writes".into())
}
