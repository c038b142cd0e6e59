//! Subjects of limits: keys, tenants and plans.

use std::{fmt, sync::Arc};

use assay_tenancy::manifest::Per;

/// Subject of a limit, whose requests are counted together: a key, a tenant or a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitSubject {
    /// Kind of subject.
    pub per: Per,
    /// Name: a key's visible part, or the name of a tenant or plan.
    pub name: Arc<str>,
}

impl fmt::Display for LimitSubject {
    /// Writes a text that is distinct for distinct subjects, such as `tenant/acme`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.per {
            Per::Key => "key",
            Per::Tenant => "tenant",
            Per::Plan => "plan",
        };
        write!(formatter, "{kind}/{}", self.name)
    }
}

/// The caller of a request.
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
    /// Returns the subject of a limit that counts `per` key, tenant or plan.
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
