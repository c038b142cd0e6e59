//! Subjects of limits: keys, tenants and plans.

use std::{fmt, str::FromStr, sync::Arc};

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

/// The error of a text that names no subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no subject of a limit: write `key/`, `tenant/` or `plan/` and a name")]
pub struct InvalidSubject(pub String);

impl FromStr for LimitSubject {
    type Err = InvalidSubject;

    /// Reads a text that [`LimitSubject`]'s `Display` wrote.
    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let per = match text.split_once('/') {
            Some(("key", name)) => Some((Per::Key, name)),
            Some(("tenant", name)) => Some((Per::Tenant, name)),
            Some(("plan", name)) => Some((Per::Plan, name)),
            _ => None,
        };
        let (per, name) = per.ok_or_else(|| InvalidSubject(text.to_owned()))?;
        Ok(Self { per, name: name.into() })
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
