//! Manifests and API keys in `SQLite`.

use assay_tenancy::{
    Name,
    key::{KeyId, Scope},
    manifest::Kind,
};
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Row, Sqlite, SqlitePool, Transaction};

use super::{REVISIONS, SqliteStore};
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
impl ControlStore for SqliteStore {
    async fn control(&self) -> Result<Control, StoreError> {
        let mut transaction = self.pool.begin().await?;
        load(&mut transaction).await
    }

    async fn manifests(&self) -> Result<ManifestSet, StoreError> {
        let mut transaction = self.pool.begin().await?;
        load_manifests(&mut transaction).await
    }

    async fn keys(&self) -> Result<KeySet, StoreError> {
        let mut transaction = self.pool.begin().await?;
        load_keys(&mut transaction).await
    }

    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        removed: &[(Kind, Name)],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        put_manifests(&mut transaction, manifests, removed, expected, at).await?;
        Ok(transaction.commit().await?)
    }

    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
        keys_of(&self.pool, tenant).await
    }

    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
        let mut transaction = self.pool.begin().await?;
        keys_named(&mut transaction, name).await
    }

    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        add_key(&mut transaction, key, replaces).await?;
        Ok(transaction.commit().await?)
    }

    async fn update_key(
        &self,
        id: &KeyId,
        scopes: &[Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        update_key(&mut transaction, id, scopes, expires_at).await?;
        Ok(transaction.commit().await?)
    }

    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        revoke_key(&mut transaction, id, at).await?;
        Ok(transaction.commit().await?)
    }

    async fn record_key_use(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        record_key_use(&mut transaction, used).await?;
        Ok(transaction.commit().await?)
    }
}

type Write<'a> = Transaction<'a, Sqlite>;

async fn load(read: &mut Write<'_>) -> Result<Control, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut **read).await?;
    let manifests = sqlx::query(MANIFESTS).fetch_all(&mut **read).await?;
    let keys = sqlx::query(KEYS).fetch_all(&mut **read).await?;
    row::control::control(&revisions, &manifests, &keys)
}

async fn load_manifests(read: &mut Write<'_>) -> Result<ManifestSet, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut **read).await?;
    let manifests = sqlx::query(MANIFESTS).fetch_all(&mut **read).await?;
    row::control::manifest_set(&revisions, &manifests)
}

async fn load_keys(read: &mut Write<'_>) -> Result<KeySet, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut **read).await?;
    let keys = sqlx::query(KEYS).fetch_all(&mut **read).await?;
    row::control::key_set(&revisions, &keys)
}

async fn keys_of(pool: &SqlitePool, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
    let keys = sqlx::query(
        "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE tenant = ? ORDER BY created_at, id",
    )
    .bind(tenant.as_str())
    .fetch_all(pool)
    .await?;
    keys.iter().map(row::control::key).collect()
}

async fn keys_named(read: &mut Write<'_>, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
    let keys = sqlx::query(
        "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE name = ? ORDER BY created_at, id",
    )
    .bind(name)
    .fetch_all(&mut **read)
    .await?;
    row::control::keys(&keys)
}

async fn manifests_revision(read: &mut Write<'_>) -> Result<u64, StoreError> {
    let revisions = sqlx::query(REVISIONS).fetch_one(&mut **read).await?;
    Ok(row::control::revisions(&revisions)?.manifests)
}

/// Tells whether a tenant without any manifest has an active key.
const LEAVES_KEYS: &str = "
    SELECT EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1 AND revoked_at IS NULL
                                                AND (expires_at IS NULL OR expires_at > ?2))
           AND NOT EXISTS (SELECT 1 FROM manifests WHERE kind = 'Tenant' AND name = ?1)";

async fn put_manifests(
    write: &mut Write<'_>,
    manifests: &[ManifestRecord],
    removed: &[(Kind, Name)],
    expected: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    if manifests_revision(write).await? != expected {
        return Err(StoreError::Conflict);
    }
    for manifest in manifests {
        sqlx::query(
            "INSERT INTO manifests (kind, name, spec, applied_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (kind, name) DO UPDATE SET spec = excluded.spec,
                 applied_at = excluded.applied_at",
        )
        .bind(manifest.kind.as_str())
        .bind(manifest.name.as_str())
        .bind(manifest.spec.to_string())
        .bind(value::milliseconds(at))
        .execute(&mut **write)
        .await?;
    }
    for (kind, name) in removed {
        sqlx::query("DELETE FROM manifests WHERE kind = ? AND name = ?")
            .bind(kind.as_str())
            .bind(name.as_str())
            .execute(&mut **write)
            .await?;
    }
    for (_, name) in removed.iter().filter(|(kind, _)| *kind == Kind::FormerTenant) {
        let leaves_keys = sqlx::query(LEAVES_KEYS)
            .bind(name.as_str())
            .bind(value::milliseconds(at))
            .fetch_one(&mut **write)
            .await?;
        if leaves_keys.try_get(0)? {
            return Err(StoreError::Conflict);
        }
    }
    count_manifest_change(write).await
}

async fn add_key(
    write: &mut Write<'_>,
    key: &KeyRecord,
    replaces: Option<(&KeyId, Timestamp)>,
) -> Result<(), StoreError> {
    if let Some((old, expires)) = replaces {
        let changed = sqlx::query(
            "UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1)
             WHERE id = ?2 AND revoked_at IS NULL",
        )
        .bind(value::milliseconds(expires))
        .bind(old.as_str())
        .execute(&mut **write)
        .await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::UnknownKey(old.clone()));
        }
    }
    sqlx::query(
        "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(key.id.as_str())
    .bind(key.tenant.as_str())
    .bind(&key.name)
    .bind(key.hash.as_bytes().as_slice())
    .bind(row::control::scopes(&key.scopes)?)
    .bind(value::milliseconds(key.created_at))
    .bind(key.expires_at.map(value::milliseconds))
    .execute(&mut **write)
    .await?;
    count_key_change(write).await
}

/// Counts the change of one key, where there was one to change.
async fn changed_key(write: &mut Write<'_>, id: &KeyId, rows: u64) -> Result<(), StoreError> {
    if rows == 0 {
        return Err(StoreError::UnknownKey(id.clone()));
    }
    count_key_change(write).await
}

async fn update_key(
    write: &mut Write<'_>,
    id: &KeyId,
    scopes: &[Scope],
    expires_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let changed = sqlx::query("UPDATE api_keys SET scopes = ?, expires_at = ? WHERE id = ?")
        .bind(row::control::scopes(scopes)?)
        .bind(expires_at.map(value::milliseconds))
        .bind(id.as_str())
        .execute(&mut **write)
        .await?;
    changed_key(write, id, changed.rows_affected()).await
}

async fn revoke_key(write: &mut Write<'_>, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
    let changed =
        sqlx::query("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
            .bind(value::milliseconds(at))
            .bind(id.as_str())
            .execute(&mut **write)
            .await?;
    changed_key(write, id, changed.rows_affected()).await
}

async fn record_key_use(
    write: &mut Write<'_>,
    used: &[(KeyId, Timestamp)],
) -> Result<(), StoreError> {
    for (id, at) in used {
        sqlx::query(
            "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, ?1), ?1) WHERE id = ?2",
        )
        .bind(value::milliseconds(*at))
        .bind(id.as_str())
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}

async fn count_manifest_change(write: &mut Write<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE installation SET control_revision = control_revision + 1,
             manifest_changes = manifest_changes + 1",
    )
    .execute(&mut **write)
    .await?;
    Ok(())
}

async fn count_key_change(write: &mut Write<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE installation SET control_revision = control_revision + 1,
             key_changes = key_changes + 1",
    )
    .execute(&mut **write)
    .await?;
    Ok(())
}
