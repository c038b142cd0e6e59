//! The backend that several servers share: a PostgreSQL database, version 15 or newer.
//!
//! Any number of programs may read and write at once. Whoever changes a counter of the installation
//! locks its row first, and so changes come one after the other, as they do in the embedded backend;
//! what changes no counter (usage, answers, when a key was used) runs beside it.

mod control;
mod fetched;
mod intel;
mod labels;
mod quotas;
mod roles;
mod schema;
mod scope;
mod seats;
mod usage;

use assay_database::{
    ChangeSubscription,
    postgres::{DatabaseAddress, PostgresDatabase, READ, WRITE},
};
use assay_engine::{
    address::CanonicalAddress, chain::ChainId, facts::Environment, names::SourceId,
};
use assay_tenancy::{
    Name,
    key::{self, KeyId},
    manifest::Kind,
};
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};
use sqlx::{Connection, PgConnection, Postgres, Transaction};

use crate::{
    Revisions, Shared, Store, StoreError,
    control::{Control, KeyRecord, ManifestRecord},
    fetched::{Fetched, FetchedKind},
    intel::{
        FetchConditions, Intel, LabelChange, LabelFilter, LabelImport, LabelReading,
        PublicationImport, RecordedHistory, RecordedLabel, Suppression,
    },
    row,
    usage::{KeptCheck, Purge, Purged, UsageBatch, UsageCount},
};
pub use roles::{Roles, sql as roles_sql};
use scope::Scope;

/// A store in a PostgreSQL database.
///
/// However many checks read chains at once, limits, revocations and usage do not wait for them: they have
/// connections of their own.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    database: PostgresDatabase,
}

impl PostgresStore {
    /// Opens the store in the database at `address`, makes it where there is none, and brings its schema up to date. The database itself must be there. A
    /// new store holds data of `environment`; an existing one keeps what it holds.
    ///
    /// # Errors
    ///
    /// Where the database cannot be reached or is not suitable, or its schema is newer than this
    /// program. No error tells the password.
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
    /// [`StoreError::Empty`] where there is none; otherwise as [`PostgresStore::open_or_create`].
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

    /// The database that the store is in, which chain graphs can share.
    #[must_use]
    pub const fn database(&self) -> &PostgresDatabase {
        &self.database
    }

    /// Makes the roles of the programs, where this login may, and gives them their rights.
    ///
    /// # Errors
    ///
    /// Where the database fails.
    pub async fn arrange_roles(&self) -> Result<Roles, StoreError> {
        let working = async {
            let mut connection = self.database.control.acquire().await?;
            roles::arrange(&mut connection).await
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

    /// A transaction that holds the lock on the counters from the start, so that what it read stays
    /// true.
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
    schema::expect_suitable(connection, place).await?;
    let there = schema::is_there(connection).await?;
    if create.is_none() && !there {
        return Err(StoreError::Empty(place.to_owned()));
    }
    schema::migrate(connection).await?;
    // Where there is one, most logins may make none.
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
            let row = sqlx::query("SELECT intel_generation, control_revision FROM installation")
                .fetch_one(&mut *self.database.control.acquire().await?)
                .await?;
            row::control::revisions(&row)
        };
        self.database.control.with_timeout(asking).await
    }

    fn subscribe(&self) -> Option<ChangeSubscription> {
        Some(self.database.subscribe())
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }

    async fn intel(&self, labels: Option<LabelReading<'_>>) -> Result<Intel, StoreError> {
        let loading = async {
            let mut transaction = self.read().await?;
            let intel = intel::load(&mut transaction).await?;
            Ok::<_, StoreError>((transaction, intel))
        };
        let (mut transaction, intel) = self.database.control.with_timeout(loading).await?;
        if let Some(reading) = labels
            && reading.known != Some(intel.label_generation)
        {
            labels::standing(&mut transaction, &self.database.control, reading.each).await?;
        }
        Ok(intel)
    }

    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError> {
        let asking = async {
            let mut transaction = self.read().await?;
            intel::history(&mut transaction, source).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            intel::record_publication(&mut transaction, &import).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn record_labels(&self, import: LabelImport) -> Result<Option<LabelChange>, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let change = labels::record(&mut transaction, &import).await?;
            transaction.commit().await?;
            Ok(change)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError> {
        let working =
            async { labels::all(&mut *self.database.control.acquire().await?, filter, each).await };
        self.database.control.with_liveness_probe(working).await
    }

    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let withdrawn = labels::suppress(&mut transaction, suppression).await?;
            transaction.commit().await?;
            Ok(withdrawn)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let lifted = labels::lift(&mut transaction, source, address, at).await?;
            transaction.commit().await?;
            Ok(lifted)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError> {
        let working =
            async { labels::suppressions(&mut *self.database.control.acquire().await?).await };
        self.database.control.with_liveness_probe(working).await
    }

    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError> {
        let asking = async {
            intel::fetch_conditions(&mut *self.database.control.acquire().await?, source, url).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            intel::confirm_fetch(&mut transaction, source, at, fetched).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn control(&self) -> Result<Control, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            control::load(&mut transaction).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        removed: &[(Kind, Name)],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            control::put_manifests(&mut transaction, manifests, removed, expected, at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(Scope::Tenant(tenant)).await?;
            control::keys_of(&mut transaction, tenant).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            control::keys_named(&mut transaction, name).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            scope::enter(&mut transaction, Scope::Tenant(&key.tenant)).await?;
            control::add_key(&mut transaction, key, replaces).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn regrant_key(
        &self,
        id: &KeyId,
        scopes: &[key::Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            scope::enter(&mut transaction, Scope::Directory).await?;
            control::regrant_key(&mut transaction, id, scopes, expires_at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            scope::enter(&mut transaction, Scope::Directory).await?;
            control::revoke_key(&mut transaction, id, at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            control::touch_keys(&mut transaction, used).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            if usage::is_new(&mut transaction, batch).await? {
                usage::add(&mut transaction, &batch.counts).await?;
            }
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(tenant.map_or(Scope::Report, Scope::Tenant)).await?;
            usage::between(&mut transaction, tenant, from, to).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            usage::keep(&mut transaction, checks).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Tenant(tenant)).await?;
            usage::kept(&mut transaction, tenant, id).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<Fetched>, StoreError> {
        fetched::read(&mut *self.database.reads.acquire().await?, chain, kind, keys).await
    }

    async fn keep_fetched(&self, records: &[Fetched]) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.database.reads.begin(WRITE).await?;
            fetched::keep(&mut transaction, records).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        let working = async {
            let mut transaction = self.write_in(Scope::Tenant(&purge.tenant)).await?;
            let purged = usage::purge(&mut transaction, purge).await?;
            transaction.commit().await?;
            Ok(purged)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn purge_common(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let fetched = fetched::purge(&mut transaction, before).await?;
            usage::purge_writers(&mut transaction, before).await?;
            quotas::purge(&mut transaction).await?;
            transaction.commit().await?;
            Ok(fetched)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn close(&self) {
        self.database.close().await;
    }
}
