//! Changes of keys and sources by a person on one machine, where the server alone writes its database. In a cluster,
//! manifests and the operator make these changes.

use std::time::Instant;

use assay_egress::AllowedSourcePaths;
use assay_store::{
    StoreError,
    control::{KeyRecord, key_environment},
    sessions::SessionActor,
};
use assay_tenancy::{
    ManifestProblem, Name,
    key::{ApiKey, KeyEnvironment, KeyId, Scope},
    manifest::Kind,
};
use jiff::Timestamp;

use crate::{
    Service,
    keys::{NewKey, issue},
    manifests::{self, ApplyError},
    ready_sources::{EnableError, by_name},
    revocations::{RevocationError, Revocations},
};

/// Means of a server to change its keys and sources.
#[derive(Clone, Debug)]
pub struct Administration {
    /// List of revoked keys, which outlives a restored backup.
    pub revocations: Revocations,
    /// Files that manifests of sources may name; `None` if the server fetches no sources.
    pub source_paths: Option<AllowedSourcePaths>,
}

/// Most keys of a tenant that can be used, beyond which a person creates none.
const MOST_KEYS: usize = 1_000;

/// Error of a change, of which nothing was made unless stated otherwise.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    /// The tenant has no such key.
    #[error("the tenant has no key `{0}`")]
    UnknownKey(String),
    /// The key of the person's session lacks a permission of the new key.
    #[error("the key of this session may not {0}, so a key that it creates may not either")]
    BeyondScope(Scope),
    /// The new key would be valid for longer than the key of the person's session.
    #[error("the key of this session expires at {0}: a key that it creates must expire by then")]
    BeyondExpiry(Timestamp),
    /// The key of the person's session is of the sandbox, and the new key would not be.
    #[error("the key of this session is of the sandbox, so it creates keys of the sandbox only")]
    BeyondSandbox,
    /// The tenant has as many keys as a person may create.
    #[error("the tenant has {MOST_KEYS} keys that can be used: revoke some of them first")]
    TooManyKeys,
    /// The key is revoked in the database, and the list of revoked keys could not be written.
    #[error("the key is revoked, but {0}")]
    Unlisted(#[from] RevocationError),
    /// The source is unknown, has no feed, or needs a licence.
    #[error(transparent)]
    Source(#[from] EnableError),
    /// The server fetches no sources: it serves the demo data set, or `feeds` is off.
    #[error("this server fetches no sources")]
    NothingFetched,
    /// The source has a manifest, which may hold what its operator wrote.
    #[error("`{0}` has a manifest already: change it with `assay apply`")]
    Exists(String),
    /// The manifest of the source has problems beside the stored ones.
    #[error("the source cannot be enabled: {}", joined(.0))]
    Problems(Vec<ManifestProblem>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn joined(problems: &[ManifestProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Administration {
    /// Creates a key of the server's data, or of the sandbox, and returns it. The key is shown once and stored nowhere. `by`
    /// acts: a key grants nothing that it has not itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the new key could do more than a key that creates it or would be valid for longer, the tenant has too many keys, or
    /// the store fails.
    pub async fn create_key(
        &self,
        service: &Service,
        by: &SessionActor,
        new_key: NewKey,
        is_sandbox: bool,
        now: Timestamp,
    ) -> Result<ApiKey, AdministrationError> {
        let environment = if is_sandbox {
            KeyEnvironment::Sandbox
        } else {
            key_environment(service.intel().environment())
        };
        let known = service.databases.store.keys_of(&new_key.tenant).await?;
        if let SessionActor::Key(by) = by {
            let own = known.iter().find(|key| key.id == *by && key.is_active(now));
            let own = own.ok_or_else(|| AdministrationError::UnknownKey(by.to_string()))?;
            may_grant(own, &new_key, is_sandbox)?;
        }
        if known.iter().filter(|key| key.is_active(now)).count() >= MOST_KEYS {
            return Err(AdministrationError::TooManyKeys);
        }
        let (key, record) = issue(environment, new_key, now);
        service.databases.store.add_key(&record, None).await?;
        service.refresh_requested.notify_one();
        tracing::info!(key = %record.id, tenant = %record.tenant, by = %by.id(), "created a key");
        Ok(key)
    }

    /// Revokes a key of a tenant at once and permanently. `by` acts.
    ///
    /// # Errors
    ///
    /// Returns an error if the tenant has no such key, or the store or the list of revoked keys fails.
    pub async fn revoke_key(
        &self,
        service: &Service,
        by: &SessionActor,
        (tenant, id): (&Name, &str),
        now: Timestamp,
    ) -> Result<KeyId, AdministrationError> {
        let keys = service.databases.store.keys_of(tenant).await?;
        let found = keys.into_iter().map(|key| key.id).find(|key| key.as_str() == id);
        let key =
            found.ok_or_else(|| AdministrationError::UnknownKey(id.chars().take(64).collect()))?;
        service.databases.store.revoke_key(&key, now).await?;
        service.revoked_keys.add(key.clone(), Instant::now(), service.bounds.key_data_age);
        service.refresh_requested.notify_one();
        // The key is revoked already; a failure to record it must be reported.
        self.revocations.append(&key, now)?;
        tracing::info!(%key, %tenant, by = %by.id(), "revoked a key");
        Ok(key)
    }

    /// Stores the manifest of a ready-made source, which is then fetched on its schedule. `by` acts.
    ///
    /// # Errors
    ///
    /// Returns an error if the server fetches no sources, or the source is unknown, has no feed, needs a licence, has
    /// a manifest already or has problems.
    pub async fn enable_source(
        &self,
        service: &Service,
        by: &SessionActor,
        name: &str,
        now: Timestamp,
    ) -> Result<(), AdministrationError> {
        let paths = self.source_paths.as_ref().ok_or(AdministrationError::NothingFetched)?;
        let document = by_name(name)?.manifest(None, false)?;
        let store = &*service.databases.store;
        let known = store.manifests().await?.manifests;
        if known.iter().any(|it| it.kind == Kind::IntelSource && it.name.as_str() == name) {
            return Err(AdministrationError::Exists(name.to_owned()));
        }
        match manifests::apply(store, vec![document], paths, now).await {
            Ok(_) => {
                service.refresh_requested.notify_one();
                tracing::info!(source = name, by = %by.id(), "enabled a source");
                Ok(())
            }
            Err(ApplyError::Problems(problems)) => Err(AdministrationError::Problems(problems)),
            Err(ApplyError::Store(error)) => Err(error.into()),
        }
    }
}

/// Checks that a new key is valid for no longer, and can do no more, than the key that creates it.
fn may_grant(own: &KeyRecord, new: &NewKey, is_sandbox: bool) -> Result<(), AdministrationError> {
    if let Some(scope) = new.scopes.iter().find(|scope| !own.scopes.contains(scope)) {
        return Err(AdministrationError::BeyondScope(*scope));
    }
    if let Some(end) = own.expires_at
        && new.expires_at.is_none_or(|new| new > end)
    {
        return Err(AdministrationError::BeyondExpiry(end));
    }
    if own.environment == KeyEnvironment::Sandbox && !is_sandbox {
        return Err(AdministrationError::BeyondSandbox);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc, time::Duration};

    use assay_engine::facts::Environment;
    use assay_graph::EmbeddedGraphs;
    use assay_limiter::Limiter;
    use assay_store::{SqliteStore, Store};
    use assay_tenancy::key::Scope;

    use super::*;
    use crate::{Bounds, Databases};

    async fn service(folder: &Path) -> Arc<Service> {
        let store = SqliteStore::open_or_create(folder, Environment::Production).await;
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let age = Duration::from_hours(1);
        let bounds = Bounds { key_data_age: age, intel_age: age };
        let clock = assay_system::Clock::new(|| Timestamp::UNIX_EPOCH);
        let graphs = Arc::new(EmbeddedGraphs::new(folder));
        let databases = Databases::without_chain_servers(store, graphs);
        Service::load(databases, clock, 1 << 20, bounds, None, Limiter::default()).await.unwrap()
    }

    fn administration(folder: &Path) -> Administration {
        let source_paths =
            AllowedSourcePaths { source_dir: folder.to_owned(), ..AllowedSourcePaths::default() };
        let revocations = Revocations::in_file(folder.join("revoked.jsonl"));
        Administration { revocations, source_paths: Some(source_paths) }
    }

    fn tomorrow(now: Timestamp) -> Timestamp {
        now + jiff::SignedDuration::from_hours(24)
    }

    /// A key of no tenant.
    fn nobody() -> SessionActor {
        SessionActor::Key(ApiKey::generate(KeyEnvironment::Live, 1, [1, 1]).id().clone())
    }

    #[tokio::test]
    async fn a_source_is_enabled_by_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path()).await;
        let mut means = administration(folder.path());
        let now = Timestamp::UNIX_EPOCH;
        means.enable_source(&service, &nobody(), "uk", now).await.unwrap();
        let stored = service.databases.store.manifests().await.unwrap().manifests;
        let names: Vec<&str> = stored.iter().map(|manifest| manifest.name.as_str()).collect();
        assert!(names.contains(&"uk"), "{names:?}");
        let refused = means.enable_source(&service, &nobody(), "uk", now).await.unwrap_err();
        assert!(matches!(refused, AdministrationError::Exists(_)), "{refused}");
        for wrong in ["opensanctions", "il-nbctf", "nothing"] {
            let refused = means.enable_source(&service, &nobody(), wrong, now).await.unwrap_err();
            assert!(matches!(refused, AdministrationError::Source(_)), "{refused}");
        }
        means.source_paths = None;
        let refused = means.enable_source(&service, &nobody(), "eu", now).await.unwrap_err();
        assert!(matches!(refused, AdministrationError::NothingFetched), "{refused}");
        let stored = service.databases.store.manifests().await.unwrap().manifests;
        assert!(!stored.iter().any(|manifest| manifest.name.as_str() == "eu"));
    }

    #[tokio::test]
    async fn a_revoked_key_is_on_the_list_that_outlives_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(folder.path()).await;
        let means = administration(folder.path());
        let now = Timestamp::UNIX_EPOCH;
        let tenant: Name = "acme".parse().unwrap();
        let new_key = NewKey {
            tenant: tenant.clone(),
            name: String::new(),
            scopes: vec![Scope::Check],
            expires_at: Some(tomorrow(now)),
        };
        // The key of the session may check for a day.
        let own = NewKey { expires_at: Some(tomorrow(now)), ..new_key.clone() };
        let (own, record) = issue(KeyEnvironment::Live, own, now);
        service.databases.store.add_key(&record, None).await.unwrap();
        let by = &SessionActor::Key(own.id().clone());
        for beyond in [
            NewKey { expires_at: None, ..new_key.clone() },
            NewKey { expires_at: Some(tomorrow(tomorrow(now))), ..new_key.clone() },
            NewKey { scopes: vec![Scope::Check, Scope::Usage], ..new_key.clone() },
        ] {
            let refused = means.create_key(&service, by, beyond, false, now).await.unwrap_err();
            let is_beyond = matches!(
                refused,
                AdministrationError::BeyondScope(Scope::Usage)
                    | AdministrationError::BeyondExpiry(_)
            );
            assert!(is_beyond, "{refused}");
        }
        // A person without a key grants what the role permits.
        let person = SessionActor::Person("0000000ada1".parse().unwrap());
        let forever = NewKey { expires_at: None, ..new_key.clone() };
        means.create_key(&service, &person, forever, false, now).await.unwrap();
        let key = means.create_key(&service, by, new_key, false, now).await.unwrap();
        assert_eq!(key.environment(), KeyEnvironment::Live);
        let id = key.id().as_str();
        let other: Name = "other".parse().unwrap();
        let refused = means.revoke_key(&service, by, (&other, id), now).await.unwrap_err();
        assert!(matches!(refused, AdministrationError::UnknownKey(_)), "{refused}");
        assert!(!means.revocations.exists());
        means.revoke_key(&service, by, (&tenant, id), now).await.unwrap();
        // Before key data is read again, too.
        assert!(service.revoked_keys.contains(key.id()));
        let keys = service.keys_of(&tenant).await.unwrap();
        let revoked = keys.iter().find(|it| it.id == *key.id()).unwrap();
        assert_eq!(revoked.revoked_at, Some(now));
        let listed = std::fs::read_to_string(folder.path().join("revoked.jsonl")).unwrap();
        assert!(listed.contains(id), "{listed}");
    }
}
