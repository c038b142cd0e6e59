//! The backend that several servers share: a PostgreSQL database, version 15 or newer.
//!
//! Any number of programs may read and write at once. A change of a counter of the installation
//! locks the counter's row first, so that such changes run one after the other, as they do in the
//! embedded backend; changes without a counter (usage, answers, the time at which a key was used)
//! run in parallel.

mod control;
mod fetched;
mod intel;
mod jobs;
mod quotas;
mod roles;
mod schema;
mod scope;
mod slots;
mod usage;

use std::sync::Arc;

use assay_database::{
    ChangeSubscription,
    postgres::{DatabaseAddress, PostgresDatabase, READ, WRITE, expect_suitable},
};
use assay_engine::facts::Environment;
use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Connection, PgConnection, Postgres, Transaction};

use crate::{
    Coordination, Revisions, Store, StoreError,
    row::{self, Columns as _},
    value,
};
pub use roles::{Roles, sql as roles_sql};
use scope::Scope;

/// The columns that the revisions are computed from.
const REVISIONS: &str =
    "SELECT intel_generation, control_revision, manifest_changes, key_changes FROM installation";
/// The time of the server in microseconds.
const TIME: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now";

/// A store in a PostgreSQL database.
///
/// However many checks read fetched histories at once, limits, revocations and usage do not wait for them: they have
/// connections of their own.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    database: PostgresDatabase,
}

impl PostgresStore {
    /// Opens the store in the database at `address`, creates it if there is none, and migrates its
    /// schema to the newest version. The database itself must exist. A new store holds data of
    /// `environment`; an existing one keeps its environment.
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
    /// Returns [`StoreError::Empty`] if there is none; otherwise the errors of
    /// [`PostgresStore::open_or_create`].
    pub async fn open(address: impl Into<DatabaseAddress>) -> Result<Self, StoreError> {
        Self::connect(address.into(), None).await
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
        Ok(Self { database })
    }

    /// Creates the roles of the programs, if this login may, and grants them their rights.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails.
    pub async fn arrange_roles(&self) -> Result<Roles, StoreError> {
        let working = async {
            let mut connection = self.database.control.acquire().await?;
            roles::arrange(&mut connection).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    /// Writes the name of the cluster installation that the data belongs to, unless one is written already, and
    /// returns the name that is.
    ///
    /// # Errors
    ///
    /// Returns an error if the database fails, or if its name is not valid.
    pub async fn claim_instance(&self, name: &Name) -> Result<Name, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            sqlx::query("UPDATE installation SET instance = $1 WHERE instance IS NULL")
                .bind(name.as_str())
                .execute(&mut *transaction)
                .await?;
            let row = sqlx::query("SELECT instance FROM installation")
                .fetch_one(&mut *transaction)
                .await?;
            let owner = row::control::instance(&row)?;
            transaction.commit().await?;
            Ok(owner)
        };
        self.database.control.with_liveness_probe(working).await
    }

    /// A transaction in which every statement reads the same state.
    async fn read(&self) -> Result<Transaction<'_, Postgres>, StoreError> {
        Ok(self.database.control.begin(READ).await?)
    }

    /// The same, of tenants' rows.
    async fn read_in(&self, scope: Scope<'_>) -> Result<Transaction<'_, Postgres>, StoreError> {
        let mut transaction = self.read().await?;
        scope::enter(&mut transaction, scope).await?;
        Ok(transaction)
    }

    /// A transaction for what changes no counter.
    async fn write(&self) -> Result<Transaction<'_, Postgres>, StoreError> {
        Ok(self.database.control.begin(WRITE).await?)
    }

    /// The same, of tenants' rows.
    async fn write_in(&self, scope: Scope<'_>) -> Result<Transaction<'_, Postgres>, StoreError> {
        let mut transaction = self.write().await?;
        scope::enter(&mut transaction, scope).await?;
        Ok(transaction)
    }

    /// A transaction that holds the lock on the counters from the start, so that values it read
    /// stay valid.
    async fn change(&self) -> Result<Transaction<'_, Postgres>, StoreError> {
        let mut transaction = self.write().await?;
        sqlx::query("SELECT FROM installation FOR UPDATE").execute(&mut *transaction).await?;
        Ok(transaction)
    }
}

async fn prepare(
    connection: &mut PgConnection,
    place: &str,
    create: Option<Environment>,
) -> Result<(), StoreError> {
    expect_suitable(connection, place).await?;
    let there = schema::is_there(connection).await?;
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
        let asking = async {
            let row = sqlx::query("SELECT environment FROM installation")
                .fetch_one(&mut *self.database.control.acquire().await?)
                .await?;
            row::control::environment(&row)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn revisions(&self) -> Result<Revisions, StoreError> {
        let asking = async {
            let row = sqlx::query(REVISIONS)
                .fetch_one(&mut *self.database.control.acquire().await?)
                .await?;
            row::control::revisions(&row)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        let asking = async {
            let row =
                sqlx::query(TIME).fetch_one(&mut *self.database.control.acquire().await?).await?;
            Ok(Some(value::microseconds("now", row.integer("now")?)?))
        };
        self.database.control.with_timeout(asking).await
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
