//! Manifests and API keys.

use std::collections::BTreeMap;

use assay_tenancy::{
    Name,
    key::{self, KeyId},
    manifest::Kind,
};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Backend, REVISIONS, RowScope, Session, SessionMode};
use crate::{
    StoreError,
    control::{Control, ControlStore, KeyRecord, KeySet, ManifestRecord, ManifestSet},
    row, value,
};

/// All keys, in order of creation.
const KEYS: &str =
    "SELECT id, tenant, name, environment, hash, scopes, created_at, expires_at, revoked_at, last_used_at
     FROM api_keys ORDER BY created_at, id";

/// All manifests, by kind and name.
const MANIFESTS: &str = "SELECT kind, name, spec FROM manifests ORDER BY kind, name";

#[async_trait]
impl<B: Backend> ControlStore for B {
    async fn control(&self) -> Result<Control, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Directory)).await?;
            let revisions = session.row(REVISIONS, &[]).await?;
            let manifests = session.rows(MANIFESTS, &[]).await?;
            let keys = session.rows(KEYS, &[]).await?;
            row::control::control(&revisions, &manifests, &keys)
        };
        self.with_timeout(asking).await
    }

    async fn manifests(&self) -> Result<ManifestSet, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Directory)).await?;
            let revisions = session.row(REVISIONS, &[]).await?;
            let manifests = session.rows(MANIFESTS, &[]).await?;
            row::control::manifest_set(&revisions, &manifests)
        };
        self.with_timeout(asking).await
    }

    async fn keys(&self) -> Result<KeySet, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Directory)).await?;
            let revisions = session.row(REVISIONS, &[]).await?;
            let keys = session.rows(KEYS, &[]).await?;
            row::control::key_set(&revisions, &keys)
        };
        self.with_timeout(asking).await
    }

    async fn put_manifests(
        &self,
        manifests: &[ManifestRecord],
        removed: &[(Kind, Name)],
        expected: u64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            put_manifests(&mut session, manifests, removed, expected, at).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            let keys = "SELECT id, tenant, name, environment, hash, scopes, created_at, expires_at,
                               revoked_at, last_used_at
                        FROM api_keys WHERE tenant = $1 ORDER BY created_at, id";
            row::control::keys(&session.rows(keys, &[tenant.as_str().into()]).await?)
        };
        self.with_liveness_probe(working).await
    }

    async fn keys_named(&self, name: &str) -> Result<Vec<KeyRecord>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Read(RowScope::Directory)).await?;
            let keys = "SELECT id, tenant, name, environment, hash, scopes, created_at, expires_at,
                               revoked_at, last_used_at
                        FROM api_keys WHERE name = $1 ORDER BY created_at, id";
            row::control::keys(&session.rows(keys, &[name.into()]).await?)
        };
        self.with_liveness_probe(working).await
    }

    async fn add_key(
        &self,
        key: &KeyRecord,
        replaces: Option<(&KeyId, Timestamp)>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut session =
                self.session(SessionMode::Change(RowScope::Tenant(&key.tenant))).await?;
            add_key(&mut session, key, replaces).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn update_key(
        &self,
        id: &KeyId,
        scopes: &[key::Scope],
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Directory)).await?;
            let update = "UPDATE api_keys SET scopes = $1, expires_at = $2 WHERE id = $3";
            let scopes = row::control::scopes(scopes)?;
            let values = [scopes.into(), expires_at.into(), id.as_str().into()];
            let changed = session.execute(update, &values).await?;
            count_key_change(&mut session, id, changed).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Directory)).await?;
            let revoke = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2";
            let changed = session.execute(revoke, &[at.into(), id.as_str().into()]).await?;
            count_key_change(&mut session, id, changed).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn record_key_use(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Write(RowScope::Record)).await?;
            record_key_use(&mut session, used).await?;
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }
}

/// Query that returns true if a tenant without any manifest has an active key.
const FORMER_TENANT_HAS_KEYS: &str = "
    SELECT EXISTS (SELECT 1 FROM api_keys WHERE tenant = $1 AND revoked_at IS NULL
                                                AND (expires_at IS NULL OR expires_at > $2))
           AND NOT EXISTS (SELECT 1 FROM manifests WHERE kind = 'Tenant' AND name = $1) AS leaves_keys";

async fn put_manifests(
    session: &mut Session,
    manifests: &[ManifestRecord],
    removed: &[(Kind, Name)],
    expected: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let revisions = session.row(REVISIONS, &[]).await?;
    if row::control::revisions(&revisions)?.manifests != expected {
        return Err(StoreError::Conflict);
    }
    // One by one: a later manifest of the same name replaces an earlier one.
    for ManifestRecord { kind, name, spec } in manifests {
        let put = "INSERT INTO manifests (kind, name, spec, applied_at) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (kind, name) DO UPDATE SET spec = excluded.spec,
                       applied_at = excluded.applied_at";
        let values =
            [kind.as_str().into(), name.as_str().into(), spec.to_string().into(), at.into()];
        session.execute(put, &values).await?;
    }
    for (kind, name) in removed {
        let remove = "DELETE FROM manifests WHERE kind = $1 AND name = $2";
        session.execute(remove, &[kind.as_str().into(), name.as_str().into()]).await?;
    }
    for (_, name) in removed.iter().filter(|(kind, _)| *kind == Kind::FormerTenant) {
        session.enter(RowScope::Tenant(name)).await?;
        let row = session.row(FORMER_TENANT_HAS_KEYS, &[name.as_str().into(), at.into()]).await?;
        if row.flag("leaves_keys")? {
            return Err(StoreError::Conflict);
        }
    }
    let count = "UPDATE installation SET control_revision = control_revision + 1,
                     manifest_changes = manifest_changes + 1";
    session.execute(count, &[]).await?;
    Ok(())
}

async fn add_key(
    session: &mut Session,
    key: &KeyRecord,
    replaces: Option<(&KeyId, Timestamp)>,
) -> Result<(), StoreError> {
    if let Some((old, expires)) = replaces {
        // A key without expiry gets one, and no key gets a later one.
        let update = "UPDATE api_keys
                      SET expires_at = CASE WHEN expires_at < $1 THEN expires_at ELSE $1 END
                      WHERE id = $2 AND revoked_at IS NULL";
        if session.execute(update, &[expires.into(), old.as_str().into()]).await? == 0 {
            return Err(StoreError::UnknownKey(old.clone()));
        }
    }
    let insert =
        "INSERT INTO api_keys (id, tenant, name, environment, hash, scopes, created_at, expires_at)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = [
        key.id.as_str().into(),
        key.tenant.as_str().into(),
        key.name.as_str().into(),
        key.environment.as_str().into(),
        key.hash.as_bytes().as_slice().into(),
        row::control::scopes(&key.scopes)?.into(),
        key.created_at.into(),
        key.expires_at.into(),
    ];
    let inserted = session.execute(insert, &values).await?;
    count_key_change(session, &key.id, inserted).await
}

/// Counts the change of one key in the revision, if a row changed.
async fn count_key_change(
    session: &mut Session,
    id: &KeyId,
    changed: u64,
) -> Result<(), StoreError> {
    if changed == 0 {
        return Err(StoreError::UnknownKey(id.clone()));
    }
    let count = "UPDATE installation SET control_revision = control_revision + 1,
                     key_changes = key_changes + 1";
    session.execute(count, &[]).await?;
    Ok(())
}

/// Changes no counter, and so runs in parallel with other writers. Rows are locked in the order of their ids, so that
/// programs that record the same keys never deadlock.
async fn record_key_use(
    session: &mut Session,
    used: &[(KeyId, Timestamp)],
) -> Result<(), StoreError> {
    let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
    for (id, at) in used {
        let at = value::milliseconds(*at);
        newest.entry(id.as_str()).and_modify(|known| *known = at.max(*known)).or_insert(at);
    }
    if let Session::Sqlite(_) = session {
        for (id, at) in newest {
            let update = "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, $1), $1)
                          WHERE id = $2";
            session.execute(update, &[at.into(), id.into()]).await?;
        }
        return Ok(());
    }
    let (ids, times): (Vec<&str>, Vec<i64>) = newest.into_iter().unzip();
    let values = [ids.into(), times.into()];
    let lock = "SELECT FROM api_keys WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
    session.execute(lock, &values[..1]).await?;
    let update = "UPDATE api_keys SET last_used_at = greatest(api_keys.last_used_at, used.at)
         FROM unnest($1::text[], $2::bigint[]) AS used (id, at) WHERE api_keys.id = used.id";
    session.execute(update, &values).await?;
    Ok(())
}
