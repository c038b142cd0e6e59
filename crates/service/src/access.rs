//! Key data: keys, tenants and plans, and the authentication of callers.

use std::{collections::HashMap, sync::Arc};

use assay_engine::{facts::Environment, policy::Policy};
use assay_limiter::Account;
use assay_store::{
    control::{KeyRecord, key_environment},
    sessions::SessionActor,
};
use assay_tenancy::{
    Directory, Name,
    directory::Tenant,
    key::{KeyEnvironment, KeyHash, KeyId, PresentedKey, Scope},
};
use jiff::Timestamp;

use crate::sandbox::tenant_of_sandbox;

/// Key data of the store at a revision of its manifests and a revision of its keys.
#[derive(Debug)]
pub struct Access {
    /// Revision of the manifests.
    pub manifests_revision: u64,
    /// Revision of the keys.
    pub keys_revision: u64,
    /// Tenants with plan, policy and limits. A change of keys does not rebuild these tenants.
    pub directory: Arc<Directory<Policy>>,
    /// Keys by their public part.
    pub keys: HashMap<KeyId, KeyRecord>,
}

/// Authenticated caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Public part of the key; for a person who signed in without a key, the identifier of the person.
    pub key: KeyId,
    /// Tenant of the caller; for a key of the sandbox, a tenant that keeps nothing and has a name of its own.
    pub tenant: Arc<Tenant<Policy>>,
    /// Environment of the key; for a person, that of the server's data.
    pub environment: KeyEnvironment,
}

impl Caller {
    /// True if the caller's requests are answered by the sandbox, without any data.
    #[must_use]
    pub fn is_sandbox(&self) -> bool {
        self.environment == KeyEnvironment::Sandbox
    }

    /// True if the plan keeps the checks of the caller's tenant for some time.
    #[must_use]
    pub fn keeps_checks(&self) -> bool {
        self.tenant.plan.retention.checks.seconds() > 0
    }

    /// Returns the subject whose limits count the caller's requests.
    #[must_use]
    pub fn account(&self) -> Account<'_> {
        Account {
            plan: self.tenant.plan.name.as_str(),
            tenant: self.tenant.name.as_str(),
            key: self.key.as_str(),
        }
    }
}

/// Reason for which a caller is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// The key is malformed, unknown, revoked or expired. Callers are not told which of these reasons applies.
    InvalidKey,
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant's plan has no access to the API.
    NoApiAccess,
    /// The key lacks the scope.
    InsufficientScope,
}

impl Access {
    /// Returns a caller of each tenant that may check addresses, by the first of the tenant's keys in the order of their
    /// creation that may. People who sign in by a link act as this caller.
    #[must_use]
    pub fn checking_callers(&self, now: Timestamp) -> Vec<Caller> {
        let mut records: Vec<&KeyRecord> = self
            .keys
            .values()
            .filter(|key| key.environment != KeyEnvironment::Sandbox && key.is_active(now))
            .collect();
        records.sort_by(|one, other| {
            (&one.tenant, one.created_at, one.id.as_str()).cmp(&(
                &other.tenant,
                other.created_at,
                other.id.as_str(),
            ))
        });
        let mut callers: Vec<Caller> = Vec::new();
        for record in records {
            if callers.last().is_some_and(|caller| caller.tenant.name == record.tenant) {
                continue;
            }
            callers.extend(self.admit(record, Scope::Check));
        }
        callers
    }

    /// Authenticates a caller again by current key data, so that a long request ends once its key is revoked.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied now.
    pub fn renew(
        &self,
        caller: &Caller,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        self.admit_key(&caller.key, scope, now)
    }

    /// Returns the caller as whom somebody acts in a session of a tenant: a key, or a person without one, who may do what a
    /// key with every scope may. `environment` is that of the server's data.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied now. A key of another tenant is invalid.
    pub fn caller_of_session(
        &self,
        tenant: &Name,
        actor: &SessionActor,
        environment: Environment,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        match actor {
            SessionActor::Key(key) => {
                let caller = self.admit_key(key, Scope::Check, now)?;
                let is_own = caller.tenant.name == *tenant;
                is_own.then_some(caller).ok_or(DenialReason::InvalidKey)
            }
            SessionActor::Person(id) => {
                let tenant = self.active_tenant(tenant)?;
                Ok(Caller { key: id.clone(), tenant, environment: key_environment(environment) })
            }
        }
    }

    /// Authenticates a key by its public part, of which somebody else has shown that it is the caller's.
    fn admit_key(&self, key: &KeyId, scope: Scope, now: Timestamp) -> Result<Caller, DenialReason> {
        let record = self.keys.get(key).filter(|record| record.is_active(now));
        self.admit(record.ok_or(DenialReason::InvalidKey)?, scope)
    }

    /// Authenticates the caller that presents a key, for an operation that needs `scope`.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the caller is denied.
    pub fn authenticate(
        &self,
        presented: &str,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, DenialReason> {
        let key = PresentedKey::parse(presented).map_err(|_| DenialReason::InvalidKey)?;
        let hash = key.hash();
        // An unknown id costs the same comparison as a known one.
        let record = self.keys.get(key.id());
        let expected = record.map_or(KeyHash::from_bytes([0; 32]), |record| record.hash);
        let matches = expected == hash;
        let record = record
            .filter(|record| matches && record.is_active(now))
            .ok_or(DenialReason::InvalidKey)?;
        self.admit(record, scope)
    }

    /// Says whether the tenant and scopes of an active key permit an operation that needs `scope`.
    fn admit(&self, record: &KeyRecord, scope: Scope) -> Result<Caller, DenialReason> {
        let tenant = self.active_tenant(&record.tenant)?;
        if !record.scopes.contains(&scope) {
            return Err(DenialReason::InsufficientScope);
        }
        let environment = record.environment;
        let tenant = match environment {
            KeyEnvironment::Sandbox => Arc::new(tenant_of_sandbox(&tenant)),
            KeyEnvironment::Live | KeyEnvironment::Sample => tenant,
        };
        Ok(Caller { key: record.id.clone(), tenant, environment })
    }

    /// Returns a tenant whose callers are answered.
    fn active_tenant(&self, name: &Name) -> Result<Arc<Tenant<Policy>>, DenialReason> {
        let tenant = self.directory.tenants.get(name).cloned().ok_or(DenialReason::InvalidKey)?;
        if tenant.suspended {
            return Err(DenialReason::TenantSuspended);
        }
        if !tenant.plan.api_access {
            return Err(DenialReason::NoApiAccess);
        }
        Ok(tenant)
    }
}
