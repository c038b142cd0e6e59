//! Connections to the one server that takes writes, wherever it is and whatever the password is now.
//!
//! The pool knows one server at a time. Where it cannot connect, or is slow to, the servers of the address
//! are tried in their order with what the files say now, and the pool is told which one it is. A server
//! that takes no writes is left: it is a standby, or was the primary until a moment ago. Every connection
//! is asked as it is handed out (one that reads chains, where it was not asked just before), which is also
//! how it is found that it still lives; and as it comes back, where an answer may be under way.

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

use super::{address::DatabaseAddress, place::Server};
use crate::StoreError;

/// How long the server has for one answer of the control plane, and a store to close. Every such
/// statement takes milliseconds; whatever takes this long is lost on a network that was cut, where
/// nothing else would ever say so.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server may be silent while it sends what is long: it may have to sort all of it first.
const SILENCE: Duration = Duration::from_mins(1);
/// How often it is asked, beside work that may take long, whether its server is still there...
const ASK_EVERY: Duration = Duration::from_secs(5);
/// ...and after how many questions without an answer, one after the other, it is not.
const UNANSWERED: u32 = 2;
/// How long a call waits for a connection: for a server to take one, or for one to be free.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long all servers of an address together have to answer; each has its share.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(4);
/// After how long it is asked whether the server is still the right one.
const SLOW: Duration = Duration::from_millis(300);
/// How long a connection has to say whether its server takes writes.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(1);
/// For how long connections that read chains believe what it said: a busy one is not asked before each
/// statement, and what a server says that was demoted meanwhile is soon noticed.
const BELIEVED: Duration = Duration::from_millis(250);
/// How often the files are looked at, and a server that was found right is searched for again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What holds for every connection. No statement runs long enough to be worth compiling, whatever the
/// server believes. A single statement has the level that this program relies on, whatever the server's
/// default is.
const SETTINGS: &str = "SET jit = off; SET default_transaction_isolation = 'read committed'";
/// In recovery this is on, too.
const TAKES_WRITES: &str = "SELECT current_setting('transaction_read_only') = 'off'";

/// Connections to a database.
#[derive(Clone)]
pub(super) struct Connections {
    pool: PgPool,
    shared: Arc<Shared>,
}

struct Shared {
    address: DatabaseAddress,
    current: Mutex<Current>,
    /// Counts changes of the server.
    changes: AtomicU64,
    /// When it last became another one.
    moved: Moved,
    /// One search at a time; when the last one found a server.
    searching: tokio::sync::Mutex<Option<Instant>>,
}

type Moved = Arc<Mutex<Option<Instant>>>;

struct Current {
    server: Server,
    looked_at: Instant,
}

impl Connections {
    /// At most `count` connections to a server of an address, wherever that is later. Each is known to be
    /// to a server that takes writes at the moment when it is handed out.
    pub(super) fn to(server: Server, address: DatabaseAddress, count: u32) -> Self {
        Self::believing(Duration::ZERO, server, address, count)
    }

    /// The same, for reading only: many statements in a row go by one question.
    pub(super) fn of_readers(server: Server, address: DatabaseAddress, count: u32) -> Self {
        Self::believing(BELIEVED, server, address, count)
    }

    fn believing(believed: Duration, server: Server, address: DatabaseAddress, count: u32) -> Self {
        let moved = Moved::default();
        let seen = Arc::clone(&moved);
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
            // What was broken off may wait for an answer that never comes: it must not keep its place.
            .after_release(|connection, _| {
                Box::pin(async { Ok(takes_writes(connection).await.unwrap_or(false)) })
            })
            .test_before_acquire(false)
            .before_acquire(move |connection, about| {
                let is_elsewhere = moved_since(&seen, about.age);
                // It was asked when it came back.
                let is_believed = about.idle_for < believed;
                Box::pin(async move {
                    Ok(!is_elsewhere && (is_believed || takes_writes(connection).await?))
                })
            })
            .connect_lazy_with(server.options.clone());
        let shared = Shared {
            address,
            current: Mutex::new(Current { server, looked_at: Instant::now() }),
            changes: AtomicU64::new(0),
            moved,
            searching: tokio::sync::Mutex::new(None),
        };
        Self { pool, shared: Arc::new(shared) }
    }

    /// What the control plane asks, where it is answered in time. Otherwise it is broken off, and its
    /// connection goes with it. Whether something that was to be written was written is not known then.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoAnswer`] where there is no answer in time.
    pub(super) async fn in_time<T>(
        &self,
        asking: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.within(ANSWER_TIMEOUT, asking).await
    }

    /// The next part of an answer that is long.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoAnswer`] where the server falls silent.
    pub(super) async fn heard<T>(
        &self,
        part: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        self.within(SILENCE, async { Ok(part.await?) }).await
    }

    /// Work that may take long, such as an import, for as long as its server is there: where it is not,
    /// or another one is in its place, it is broken off, and its connection goes with it. Whether
    /// something that was to be written was written is not known then.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoAnswer`] where the server went.
    pub(super) async fn while_there<T>(
        &self,
        working: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let place = self.place();
        tokio::select! {
            biased;
            worked = working => worked,
            () = self.until_gone(&place) => {
                Err(StoreError::NoAnswer { place, limit: ASK_EVERY * UNANSWERED })
            }
        }
    }

    /// Waits until a server does not answer any more, or another one is in its place.
    async fn until_gone(&self, place: &str) {
        let mut unanswered = 0;
        while unanswered < UNANSWERED && self.place() == place {
            tokio::time::sleep(ASK_EVERY).await;
            // On a connection of its own: those of the pool may all be at work.
            match self.own().await {
                Ok(connection) => {
                    let _closed = timeout(QUESTION_TIMEOUT, connection.close()).await;
                    unanswered = 0;
                }
                // It says that it is there, but has no room for this question.
                Err(StoreError::Connect { source: sqlx::Error::Database(_), .. }) => unanswered = 0,
                Err(_) => unanswered += 1,
            }
        }
    }

    async fn within<T>(
        &self,
        limit: Duration,
        asking: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let no_answer = |_elapsed| Err(StoreError::NoAnswer { place: self.place(), limit });
        timeout(limit, asking).await.unwrap_or_else(no_answer)
    }

    /// A connection of the pool.
    pub(super) async fn get(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        self.look_at_files();
        // Boxed: every call of the store would be as large as a search for the server.
        let waited = timeout(ACQUIRE_TIMEOUT, Box::pin(self.acquire())).await;
        waited.unwrap_or_else(|_elapsed| {
            Err(StoreError::Connect { place: self.place(), source: sqlx::Error::PoolTimedOut })
        })
    }

    /// A transaction that begins with a statement.
    pub(super) async fn begin(
        &self,
        statement: &'static str,
    ) -> Result<Transaction<'static, Postgres>, StoreError> {
        let connection = self.get().await?;
        Ok(Transaction::begin(connection, Some(statement.into_sql_str())).await?)
    }

    /// A connection of one's own, outside the pool.
    pub(super) async fn own(&self) -> Result<PgConnection, StoreError> {
        let (connection, server) = search(&self.shared.address).await?;
        self.turn_to(server);
        Ok(connection)
    }

    /// How to connect to the server as it is found now.
    pub(super) async fn options(&self) -> Result<PgConnectOptions, StoreError> {
        let _closed = self.own().await?.close().await;
        Ok(self.current().server.options.clone())
    }

    /// Closes them, those in use once they come back: on a network that was cut, they may not.
    pub(super) async fn close(&self) {
        let _ = timeout(ANSWER_TIMEOUT, self.pool.close()).await;
    }

    async fn acquire(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        let before = self.changes();
        let mut acquiring = pin!(self.pool.acquire());
        match timeout(SLOW, &mut acquiring).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(sqlx::Error::PoolClosed)) => return Err(sqlx::Error::PoolClosed.into()),
            // The password or the server is another one by now, however short ago one was found.
            Ok(Err(_refused)) => {
                *self.shared.searching.lock().await = None;
                self.find(before).await?;
            }
            Err(_slow) => {
                // All connections may be in use; or the server is not there any more.
                tokio::select! {
                    biased;
                    acquired = &mut acquiring => match acquired {
                        Ok(connection) => return Ok(connection),
                        Err(_) => self.find(before).await?,
                    },
                    found = self.find(before) => {
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

    /// Searches for the server, unless another call just found it.
    async fn find(&self, before: u64) -> Result<(), StoreError> {
        let mut found_at = self.shared.searching.lock().await;
        let just_found = found_at.is_some_and(|at| at.elapsed() < LOOK_EVERY);
        if self.changes() != before || just_found {
            return Ok(());
        }
        let (connection, server) = search(&self.shared.address).await?;
        let _closed = connection.close().await;
        self.turn_to(server);
        *found_at = Some(Instant::now());
        Ok(())
    }

    /// Has new connections made to a server.
    fn turn_to(&self, server: Server) {
        let mut current = self.current();
        if current.server.identity != server.identity {
            self.pool.set_connect_options(server.options.clone());
            if current.server.place != server.place {
                let mut moved = self.shared.moved.lock().unwrap_or_else(PoisonError::into_inner);
                *moved = Some(Instant::now());
            }
            current.server = server;
            self.shared.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Uses for new connections what the files say by now about the server. A file that cannot be read is
    /// just being written; what was right before is tried then.
    fn look_at_files(&self) {
        let mut current = self.current();
        if !self.shared.address.has_files() || current.looked_at.elapsed() < LOOK_EVERY {
            return;
        }
        current.looked_at = Instant::now();
        let place = current.server.place.clone();
        drop(current);
        let Ok(servers) = self.shared.address.servers() else { return };
        if let Some(server) = servers.into_iter().find(|server| server.place == place) {
            self.turn_to(server);
        }
    }

    /// Server and database, without the password.
    pub(super) fn place(&self) -> String {
        self.current().server.place.clone()
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::Connect { place: self.place(), source }
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
        formatter.debug_tuple("Connections").field(&self.place()).finish()
    }
}

/// The first server that takes writes, with what the files say now, and a connection to it.
pub(super) async fn search(
    address: &DatabaseAddress,
) -> Result<(PgConnection, Server), StoreError> {
    let servers = address.servers()?;
    let several = servers.len() > 1;
    let share = SEARCH_TIMEOUT / u32::try_from(servers.len()).unwrap_or(u32::MAX).max(1);
    let mut failures = Vec::new();
    for server in servers {
        match timeout(share, reach(&server)).await {
            Ok(Ok(connection)) => return Ok((connection, server)),
            Ok(Err(error)) => failures.push(error),
            Err(_elapsed) => failures.push(StoreError::Connect {
                place: server.place,
                source: sqlx::Error::Io(ErrorKind::TimedOut.into()),
            }),
        }
    }
    match failures.pop() {
        Some(last) if !several => Err(last),
        Some(last) => {
            failures.push(last);
            Err(StoreError::NoPrimary(failures))
        }
        None => Err(StoreError::DatabaseUrl("it names no server".into())),
    }
}

async fn reach(server: &Server) -> Result<PgConnection, StoreError> {
    let failed = |source| StoreError::Connect { place: server.place.clone(), source };
    let mut connection = server.options.connect().await.map_err(failed)?;
    connection.execute(SETTINGS).await.map_err(failed)?;
    if takes_writes(&mut connection).await.map_err(failed)? {
        return Ok(connection);
    }
    let _closed = connection.close().await;
    Err(StoreError::ReadOnly(server.place.clone()))
}

/// Whether a connection of this age is to a server that was left: it may never answer again.
fn moved_since(moved: &Moved, age: Duration) -> bool {
    let moved = moved.lock().unwrap_or_else(PoisonError::into_inner);
    moved.is_some_and(|at| at.elapsed() <= age)
}

async fn takes_writes(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let asked = timeout(QUESTION_TIMEOUT, connection.fetch_one(sqlx::query(TAKES_WRITES))).await;
    asked.unwrap_or_else(|_elapsed| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))?.try_get(0)
}

fn read_only() -> sqlx::Error {
    sqlx::Error::Configuration("the server takes no writes".into())
}
