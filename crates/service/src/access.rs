//! Who may ask: keys, tenants and plans.

use std::{collections::HashMap, sync::Arc};

use assay_engine::policy::Policy;
use assay_limiter::Account;
use assay_store::control::KeyRecord;
use assay_tenancy::{
    Directory,
    directory::Tenant,
    key::{ApiKey, KeyHash, KeyId, Scope},
};
use jiff::Timestamp;

/// Keys and tenants, as the store has them at two revisions.
#[derive(Debug)]
pub struct Access {
    /// The revision of the store's manifests.
    pub manifests_revision: u64,
    /// The revision of the store's keys.
    pub keys_revision: u64,
    /// Tenants with plan, policy and limits. A change of keys keeps it as it is.
    pub directory: Arc<Directory<Policy>>,
    /// Keys by their visible part.
    pub keys: HashMap<KeyId, KeyRecord>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key's visible part.
    pub key: KeyId,
    /// The customer.
    pub tenant: Arc<Tenant<Policy>>,
}

impl Caller {
    /// Whose limits the caller's requests count against.
    #[must_use]
    pub fn account(&self) -> Account<'_> {
        Account {
            plan: self.tenant.plan.name.as_str(),
            tenant: self.tenant.name.as_str(),
            key: self.key.as_str(),
        }
    }
}

/// Why somebody may not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The key is malformed, unknown, revoked or expired; which of these stays unsaid.
    InvalidKey,
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant's plan has no access to the API.
    NoApiAccess,
    /// The key may not be used for this.
    InsufficientScope,
}

impl Access {
    /// A caller as it is now: for what goes on longer than a request should trust one look at a key.
    ///
    /// # Errors
    ///
    /// Why the caller is denied by now.
    pub fn renew(&self, caller: &Caller, scope: Scope, now: Timestamp) -> Result<Caller, Denied> {
        let record = self.keys.get(&caller.key).filter(|record| record.is_active(now));
        self.admit(record.ok_or(Denied::InvalidKey)?, scope)
    }

    /// Who presents this key for something that needs `scope`.
    ///
    /// # Errors
    ///
    /// Why the caller is denied.
    pub fn authenticate(
        &self,
        presented: &str,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Caller, Denied> {
        let key: ApiKey = presented.parse().map_err(|_| Denied::InvalidKey)?;
        let hash = key.hash();
        // An unknown id costs the same comparison as a known one.
        let record = self.keys.get(key.id());
        let expected = record.map_or(KeyHash::from_bytes([0; 32]), |record| record.hash);
        let matches = expected == hash;
        let record =
            record.filter(|record| matches && record.is_active(now)).ok_or(Denied::InvalidKey)?;
        self.admit(record, scope)
    }

    /// Whether the tenant of a good key may do what needs `scope`.
    fn admit(&self, record: &KeyRecord, scope: Scope) -> Result<Caller, Denied> {
        let tenant =
            self.directory.tenants.get(&record.tenant).cloned().ok_or(Denied::InvalidKey)?;
        if tenant.suspended {
            return Err(Denied::TenantSuspended);
        }
        if !tenant.plan.api_access {
            return Err(Denied::NoApiAccess);
        }
        if !record.scopes.contains(&scope) {
            return Err(Denied::InsufficientScope);
        }
        Ok(Caller { key: record.id.clone(), tenant })
    }
}
