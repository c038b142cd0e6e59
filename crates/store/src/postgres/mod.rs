//! The backend that several servers share: a PostgreSQL database, version 15 or newer.
//!
//! Any number of programs may read and write at once. A change of a counter of the installation
//! locks the counter's row first, so that such changes run one after the other, as they do in the
//! embedded backend; changes without a counter (usage, answers, the time at which a key was used)
//! run in parallel.

mod quotas;
mod roles;
mod schema;
mod slots;

use std::{path::Path, sync::Arc};

use assay_database::{
    ChangeSubscription, DatabaseError,
    postgres::{BEGIN_READ, BEGIN_WRITE, DatabaseAddress, PostgresDatabase, expect_suitable},
};
use assay_engine::facts::Environment;
use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Connection, PgConnection};

use crate::{
    Coordination, Revisions, Store, StoreError, row,
    sql::{self, Backend, RowScope, Session, SessionConnection, SessionMode},
    value,
};
pub use roles::{Roles, sql as roles_sql};

/// The time of the server in microseconds.
const TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now";

/// A store in a PostgreSQL database.
///
/// Limits, revocations and usage have connections of their own, so that they never wait for checks that read fetched
/// histories.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    database: PostgresDatabase,
    cache_folder: Option<Arc<Path>>,
}

impl PostgresStore {
    /// Opens the store in the database at `address`, creates it if there is none, and migrates its schema to the newest
    /// version. The database itself must exist. A new store holds data of `environment`; an existing store keeps its
    /// environment.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be reached or is not suitable, or if its schema is
    /// newer than this program. No error contains the password.
    pub async fn open_or_create(
        address: impl Into<DatabaseAddress>,
        environment: Environment,
    ) -> Result<Self, StoreError> {
        Self::connect(address.into(), Some(environment)).await
    }

    /// Opens the store in the database at `address`, and brings its schema up to date.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Empty`] if there is no store; otherwise the errors of [`PostgresStore::open_or_create`].
    pub async fn open(address: impl Into<DatabaseAddress>) -> Result<Self, StoreError> {
        Self::connect(address.into(), None).await
    }

    /// The same store with a folder on this machine for files that follow from its data.
    #[must_use]
    pub fn with_cache_folder(self, folder: &Path) -> Self {
        Self { cache_folder: Some(folder.into()), ..self }
    }

    async fn connect(
        address: DatabaseAddress,
        create: Option<Environment>,
    ) -> Result<Self, StoreError> {
        let (database, mut connection) = PostgresDatabase::connect_to_migrate(address).await?;
        let server = database.control.server_name();
        let prepared = prepare(&mut connection, &server, create).await;
        // The lock goes with the connection, said goodbye to or not.
        let _closed = connection.close().await;
        prepared?;
        Ok(Self { database, cache_folder: None })
    }

    /// Creates the roles of the programs, if this login may create roles, and grants the roles their rights.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    pub async fn ensure_roles(&self) -> Result<Roles, StoreError> {
        let working = async {
            let mut connection = self.database.control.acquire().await?;
            roles::ensure(&mut connection).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    /// Writes the name of the cluster installation that the data belongs to, unless a name is stored already, and
    /// returns the stored name.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails, or if the stored name is not valid.
    pub async fn claim_instance(&self, name: &Name) -> Result<Name, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let claim = "UPDATE installation SET instance = $1 WHERE instance IS NULL";
            session.execute(claim, &[name.as_str().into()]).await?;
            let row = session.row("SELECT instance FROM installation", &[]).await?;
            let owner = row::control::instance(&row)?;
            session.commit(owner).await
        };
        self.database.control.with_liveness_probe(working).await
    }
}

impl Backend for PostgresStore {
    fn cache_folder(&self) -> Option<&Path> {
        self.cache_folder.as_deref()
    }

    async fn session(&self, access: SessionMode<'_>) -> Result<Session, StoreError> {
        let PostgresDatabase { control, reads } = &self.database;
        let mut session = Session::Postgres(match access {
            SessionMode::Statements => SessionConnection::Connection(control.acquire().await?),
            SessionMode::ReadFetched => SessionConnection::Connection(reads.acquire().await?),
            SessionMode::WriteFetched => {
                SessionConnection::Transaction(reads.begin(BEGIN_WRITE).await?)
            }
            SessionMode::Read(_) => {
                SessionConnection::Transaction(control.begin(BEGIN_READ).await?)
            }
            SessionMode::Write(_) | SessionMode::Change(_) => {
                SessionConnection::Transaction(control.begin(BEGIN_WRITE).await?)
            }
        });
        if let SessionMode::Change(_) = access {
            session.execute("SELECT FROM installation FOR UPDATE", &[]).await?;
        }
        if let SessionMode::Read(scope) | SessionMode::Write(scope) | SessionMode::Change(scope) =
            access
        {
            session.enter(scope).await?;
        }
        Ok(session)
    }

    async fn with_timeout<T: Send>(
        &self,
        statements: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.database.control.with_timeout(statements).await
    }

    async fn with_liveness_probe<T: Send>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.database.control.with_liveness_probe(work).await
    }

    async fn next_part<T: Send>(
        &self,
        part: impl Future<Output = Result<T, sqlx::Error>> + Send,
    ) -> Result<T, DatabaseError> {
        self.database.control.next_part(part).await
    }
}

async fn prepare(
    connection: &mut PgConnection,
    place: &str,
    create: Option<Environment>,
) -> Result<(), StoreError> {
    expect_suitable(connection, place).await?;
    let there = schema::holds_installation(connection).await?;
    if create.is_none() && !there {
        return Err(StoreError::Empty(place.to_owned()));
    }
    schema::migrate(connection).await?;
    // If an installation exists, nothing is created; most logins have no right to do so.
    let Some(environment) = create.filter(|_| !there) else { return Ok(()) };
    sqlx::query(
        "INSERT INTO installation (id, environment, intel_generation, label_generation,
                                   data_number, data_hash, control_revision)
         VALUES (1, $1, 0, 0, 0, '', 0) ON CONFLICT (id) DO NOTHING",
    )
    .bind(environment.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

#[async_trait]
impl Store for PostgresStore {
    async fn environment(&self) -> Result<Environment, StoreError> {
        sql::environment(self).await
    }

    async fn revisions(&self) -> Result<Revisions, StoreError> {
        sql::revisions(self).await
    }

    async fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        let asking = async {
            let row = self.session(SessionMode::Statements).await?.row(TIME, &[]).await?;
            Ok(Some(value::microseconds("now", row.integer("now")?)?))
        };
        self.with_timeout(asking).await
    }

    fn subscribe(&self) -> Option<ChangeSubscription> {
        Some(self.database.subscribe())
    }

    fn coordination(&self) -> Option<Arc<dyn Coordination>> {
        Some(Arc::new(self.clone()))
    }

    async fn close(&self) {
        self.database.close().await;
    }
}
