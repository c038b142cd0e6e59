//! Manifests and API keys in `SQLite`.

use assay_tenancy::{
    key::{KeyHash, KeyId, Scope},
    manifest::Kind,
};
use jiff::Timestamp;
use sqlx::{Row, Sqlite, Transaction, sqlite::SqliteRow};

use super::value;
use crate::{
    StoreError,
    control::{Control, KeyRecord, ManifestRecord},
};

type Write<'a> = Transaction<'a, Sqlite>;

pub(super) async fn load(read: &mut Write<'_>) -> Result<Control, StoreError> {
    let revision = revision(read).await?;
    let manifests = sqlx::query("SELECT kind, name, spec FROM manifests ORDER BY kind, name")
        .fetch_all(&mut **read)
        .await?;
    let keys = sqlx::query(
        "SELECT id, tenant, name, hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys ORDER BY created_at, id",
    )
    .fetch_all(&mut **read)
    .await?;
    Ok(Control {
        revision,
        manifests: manifests.iter().map(manifest).collect::<Result<_, _>>()?,
        keys: keys.iter().map(key).collect::<Result<_, _>>()?,
    })
}

async fn revision(read: &mut Write<'_>) -> Result<u64, StoreError> {
    let row =
        sqlx::query("SELECT control_revision FROM installation").fetch_one(&mut **read).await?;
    value::unsigned("installation.control_revision", row.try_get(0)?)
}

fn manifest(row: &SqliteRow) -> Result<ManifestRecord, StoreError> {
    let kind: &str = row.try_get("kind")?;
    Ok(ManifestRecord {
        kind: Kind::ALL
            .into_iter()
            .find(|known| known.as_str() == kind)
            .ok_or_else(|| StoreError::unreadable("manifests.kind", kind))?,
        name: value::parsed("manifests.name", row.try_get("name")?)?,
        spec: value::json("manifests.spec", row.try_get("spec")?)?,
    })
}

fn key(row: &SqliteRow) -> Result<KeyRecord, StoreError> {
    let hash: &[u8] = row.try_get("hash")?;
    let scopes: Vec<Scope> = value::json("api_keys.scopes", row.try_get("scopes")?)?;
    Ok(KeyRecord {
        id: value::parsed("api_keys.id", row.try_get("id")?)?,
        tenant: value::parsed("api_keys.tenant", row.try_get("tenant")?)?,
        name: row.try_get("name")?,
        hash: KeyHash::from_bytes(
            hash.try_into().map_err(|error| StoreError::unreadable("api_keys.hash", error))?,
        ),
        scopes,
        created_at: value::time("api_keys.created_at", row.try_get("created_at")?)?,
        expires_at: value::optional_time("api_keys.expires_at", row.try_get("expires_at")?)?,
        revoked_at: value::optional_time("api_keys.revoked_at", row.try_get("revoked_at")?)?,
        last_used_at: value::optional_time("api_keys.last_used_at", row.try_get("last_used_at")?)?,
    })
}

pub(super) async fn put_manifests(
    write: &mut Write<'_>,
    manifests: &[ManifestRecord],
    expected: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    if revision(write).await? != expected {
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
    count_change(write).await
}

pub(super) async fn add_key(
    write: &mut Write<'_>,
    key: &KeyRecord,
    replaces: Option<(&KeyId, Timestamp)>,
) -> Result<(), StoreError> {
    if let Some((old, expires)) = replaces {
        let changed = sqlx::query(
            "UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE id = ?2",
        )
        .bind(value::milliseconds(expires))
        .bind(old.as_str())
        .execute(&mut **write)
        .await?;
        if changed.rows_affected() == 0 {
            return Err(StoreError::UnknownKey(old.clone()));
        }
    }
    let scopes = serde_json::to_string(&key.scopes)
        .map_err(|error| StoreError::unreadable("api_keys.scopes", error))?;
    sqlx::query(
        "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(key.id.as_str())
    .bind(key.tenant.as_str())
    .bind(&key.name)
    .bind(key.hash.as_bytes().as_slice())
    .bind(scopes)
    .bind(value::milliseconds(key.created_at))
    .bind(key.expires_at.map(value::milliseconds))
    .execute(&mut **write)
    .await?;
    count_change(write).await
}

pub(super) async fn revoke_key(
    write: &mut Write<'_>,
    id: &KeyId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let changed =
        sqlx::query("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
            .bind(value::milliseconds(at))
            .bind(id.as_str())
            .execute(&mut **write)
            .await?;
    if changed.rows_affected() == 0 {
        return Err(StoreError::UnknownKey(id.clone()));
    }
    count_change(write).await
}

pub(super) async fn touch_keys(
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

async fn count_change(write: &mut Write<'_>) -> Result<(), StoreError> {
    sqlx::query("UPDATE installation SET control_revision = control_revision + 1")
        .execute(&mut **write)
        .await?;
    Ok(())
}
