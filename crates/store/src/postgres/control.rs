//! Manifests and API keys in PostgreSQL.

use std::collections::BTreeMap;

use assay_tenancy::{
    Name,
    key::{self, KeyId},
    manifest::Kind,
};
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};

use super::{
    PostgresStore, REVISIONS,
    scope::{self, Scope},
};
use crate::{
    StoreError,
    control::{Control, ControlStore, KeyRecord, KeySet, ManifestRecord, ManifestSet},
    row, value,
};

/// All keys, in order of creation.
const KEYS: &str =
    "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
     FROM api_keys ORDER BY created_at, id";

/// All manifests, by kind and name.
const MANIFESTS: &str = "SELECT kind, name, spec FROM manifests ORDER BY kind, name";

#[async_trait]
impl ControlStore for PostgresStore {
    async fn control(&self) -> Result<Control, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            load(&mut transaction).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn manifests(&self) -> Result<ManifestSet, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            load_manifests(&mut transaction).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn keys(&self) -> Result<KeySet, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            load_keys(&mut transaction).await
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
            put_manifests(&mut transaction, manifests, removed, expected, at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(Scope::Tenant(tenant)).await?;
            keys_of(&mut transaction, tenant).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(Scope::Directory).await?;
            keys_named(&mut transaction, name).await
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
            add_key(&mut transaction, key, replaces).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn update_key(
        &self,
        id: &KeyId,
        scopes: &[key::Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            scope::enter(&mut transaction, Scope::Directory).await?;
            update_key(&mut transaction, id, scopes, expires_at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            scope::enter(&mut transaction, Scope::Directory).await?;
            revoke_key(&mut transaction, id, at).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn record_key_use(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            record_key_use(&mut transaction, used).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }
}

async fn load(read: &mut PgConnection) -> Result<Control, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut *read).await?;
    let manifests = sqlx::query(MANIFESTS).fetch_all(&mut *read).await?;
    let keys = sqlx::query(KEYS).fetch_all(read).await?;
    row::control::control(&revisions, &manifests, &keys)
}

async fn load_manifests(read: &mut PgConnection) -> Result<ManifestSet, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut *read).await?;
    let manifests = sqlx::query(MANIFESTS).fetch_all(read).await?;
    row::control::manifest_set(&revisions, &manifests)
}

async fn load_keys(read: &mut PgConnection) -> Result<KeySet, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut *read).await?;
    let keys = sqlx::query(KEYS).fetch_all(read).await?;
    row::control::key_set(&revisions, &keys)
}

async fn keys_of(read: &mut PgConnection, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
    let keys = sqlx::query(
        "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE tenant = $1 ORDER BY created_at, id",
    )
    .bind(tenant.as_str())
    .fetch_all(read)
    .await?;
    keys.iter().map(row::control::key).collect()
}

async fn keys_named(read: &mut PgConnection, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
    let keys: Vec<PgRow> = sqlx::query(
        "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE name = $1 ORDER BY created_at, id",
    )
    .bind(name)
    .fetch_all(read)
    .await?;
    row::control::keys(&keys)
}

async fn manifests_revision(read: &mut PgConnection) -> Result<u64, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(read).await?;
    Ok(row::control::revisions(&revisions)?.manifests)
}

/// Tells whether a tenant without any manifest has an active key.
const LEAVES_KEYS: &str = "
    SELECT EXISTS (SELECT FROM api_keys WHERE tenant = $1 AND revoked_at IS NULL
                                              AND (expires_at IS NULL OR expires_at > $2))
           AND NOT EXISTS (SELECT FROM manifests WHERE kind = 'Tenant' AND name = $1)";

async fn put_manifests(
    write: &mut PgConnection,
    manifests: &[ManifestRecord],
    removed: &[(Kind, Name)],
    expected: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    if manifests_revision(write).await? != expected {
        return Err(StoreError::Conflict);
    }
    // One by one: a later manifest of the same name replaces an earlier one.
    for manifest in manifests {
        sqlx::query(
            "INSERT INTO manifests (kind, name, spec, applied_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (kind, name) DO UPDATE SET spec = excluded.spec,
                 applied_at = excluded.applied_at",
        )
        .bind(manifest.kind.as_str())
        .bind(manifest.name.as_str())
        .bind(manifest.spec.to_string())
        .bind(value::milliseconds(at))
        .execute(&mut *write)
        .await?;
    }
    for (kind, name) in removed {
        sqlx::query("DELETE FROM manifests WHERE kind = $1 AND name = $2")
            .bind(kind.as_str())
            .bind(name.as_str())
            .execute(&mut *write)
            .await?;
    }
    for (_, name) in removed.iter().filter(|(kind, _)| *kind == Kind::FormerTenant) {
        scope::enter(write, Scope::Tenant(name)).await?;
        let leaves_keys = sqlx::query(LEAVES_KEYS)
            .bind(name.as_str())
            .bind(value::milliseconds(at))
            .fetch_one(&mut *write)
            .await?;
        if leaves_keys.try_get(0)? {
            return Err(StoreError::Conflict);
        }
    }
    count_manifest_change(write).await
}

async fn add_key(
    write: &mut PgConnection,
    key: &KeyRecord,
    replaces: Option<(&KeyId, Timestamp)>,
) -> Result<(), StoreError> {
    if let Some((old, expires)) = replaces {
        // `least` passes over NULL: a key without expiry gets one, and no key gets a later one.
        let changed = sqlx::query(
            "UPDATE api_keys SET expires_at = least(expires_at, $1)
             WHERE id = $2 AND revoked_at IS NULL",
        )
        .bind(value::milliseconds(expires))
        .bind(old.as_str())
        .execute(&mut *write)
        .await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::UnknownKey(old.clone()));
        }
    }
    sqlx::query(
        "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(key.id.as_str())
    .bind(key.tenant.as_str())
    .bind(&key.name)
    .bind(key.hash.as_bytes().as_slice())
    .bind(row::control::scopes(&key.scopes)?)
    .bind(value::milliseconds(key.created_at))
    .bind(key.expires_at.map(value::milliseconds))
    .execute(&mut *write)
    .await?;
    count_key_change(write).await
}

/// Counts the change of one key, where there was one to change.
async fn changed_key(write: &mut PgConnection, id: &KeyId, rows: u64) -> Result<(), StoreError> {
    if rows == 0 {
        return Err(StoreError::UnknownKey(id.clone()));
    }
    count_key_change(write).await
}

async fn update_key(
    write: &mut PgConnection,
    id: &KeyId,
    scopes: &[key::Scope],
    expires_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let changed = sqlx::query("UPDATE api_keys SET scopes = $1, expires_at = $2 WHERE id = $3")
        .bind(row::control::scopes(scopes)?)
        .bind(expires_at.map(value::milliseconds))
        .bind(id.as_str())
        .execute(&mut *write)
        .await?;
    changed_key(write, id, changed.rows_affected()).await
}

async fn revoke_key(write: &mut PgConnection, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
    let changed =
        sqlx::query("UPDATE api_keys SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2")
            .bind(value::milliseconds(at))
            .bind(id.as_str())
            .execute(&mut *write)
            .await?;
    changed_key(write, id, changed.rows_affected()).await
}

/// Changes no counter, and so runs beside other writers. Rows are locked in the order of their ids:
/// two programs that note the same keys wait for each other and never in a circle.
async fn record_key_use(
    write: &mut PgConnection,
    used: &[(KeyId, Timestamp)],
) -> Result<(), StoreError> {
    let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
    for (id, at) in used {
        let at = value::milliseconds(*at);
        newest.entry(id.as_str()).and_modify(|known| *known = at.max(*known)).or_insert(at);
    }
    let (ids, times): (Vec<&str>, Vec<i64>) = newest.into_iter().unzip();
    sqlx::query("SELECT FROM api_keys WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE")
        .bind(&ids)
        .execute(&mut *write)
        .await?;
    sqlx::query(
        "UPDATE api_keys SET last_used_at = greatest(api_keys.last_used_at, used.at)
         FROM unnest($1::text[], $2::bigint[]) AS used (id, at) WHERE api_keys.id = used.id",
    )
    .bind(&ids)
    .bind(&times)
    .execute(write)
    .await?;
    Ok(())
}

async fn count_manifest_change(write: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE installation SET control_revision = control_revision + 1,
             manifest_changes = manifest_changes + 1",
    )
    .execute(write)
    .await?;
    Ok(())
}

async fn count_key_change(write: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE installation SET control_revision = control_revision + 1,
             key_changes = key_changes + 1",
    )
    .execute(write)
    .await?;
    Ok(())
}
