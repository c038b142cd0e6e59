//! Whose requests are counted together.

use std::{fmt, sync::Arc};

use assay_tenancy::manifest::Per;

/// Whose requests are counted together: a key, a tenant or a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitSubject {
    /// What it is.
    pub per: Per,
    /// Its name.
    pub name: Arc<str>,
}

impl fmt::Display for LimitSubject {
    /// Distinct for distinct payers: `tenant/acme`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.per {
            Per::Key => "key",
            Per::Tenant => "tenant",
            Per::Plan => "plan",
        };
        write!(formatter, "{kind}/{}", self.name)
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The plan.
    pub plan: &'a str,
    /// The tenant.
    pub tenant: &'a str,
    /// The key's visible part.
    pub key: &'a str,
}

impl Account<'_> {
    /// Who pays for a limit that counts so.
    #[must_use]
    pub fn subject(&self, per: Per) -> LimitSubject {
        let name = match per {
            Per::Key => self.key,
            Per::Tenant => self.tenant,
            Per::Plan => self.plan,
        };
        LimitSubject { per, name: name.into() }
    }
}
