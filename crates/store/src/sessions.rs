//! Sessions of people in the console, found by the digest of a random token that is kept nowhere.

use std::{collections::BTreeMap, fmt, str::FromStr};

use assay_tenancy::{Name, key::KeyId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// Time without a request after which a session ends.
pub const IDLE_END: SignedDuration = SignedDuration::from_mins(30);
/// Time after which a session ends in any case.
pub const ABSOLUTE_END: SignedDuration = SignedDuration::from_hours(12);
/// Most sessions of one tenant: for a further one, the one that was idle the longest ends.
pub const MOST_SESSIONS: u32 = 1_000;
/// Most sessions of one actor, likewise.
pub const MOST_OF_ACTOR: u32 = 20;

/// The store of sessions. The servers of an installation share it, so that a session that ends is over on all of them.
#[async_trait]
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// Begins a session, and deletes the tenant's sessions that `over` names and those beyond [`MOST_SESSIONS`] and
    /// [`MOST_OF_ACTOR`].
    async fn begin_session(
        &self,
        session: &ConsoleSession,
        over: SessionsOver,
    ) -> Result<(), StoreError>;

    /// Finds a session of a tenant by the digest of its token, unless it is over.
    async fn session(
        &self,
        tenant: &Name,
        digest: &str,
        over: SessionsOver,
    ) -> Result<Option<ConsoleSession>, StoreError>;

    /// Records that a session was used. A later use that is recorded already stays.
    async fn note_session_use(
        &self,
        tenant: &Name,
        digest: &str,
        used_at: Timestamp,
    ) -> Result<(), StoreError>;

    /// Deletes the sessions of a tenant that are over. Returns how many.
    async fn purge_sessions(&self, tenant: &Name, over: SessionsOver) -> Result<u64, StoreError>;

    /// Counts the sessions of a tenant that are not over.
    async fn count_sessions(&self, tenant: &Name, over: SessionsOver) -> Result<u64, StoreError>;

    /// Returns the names of the people of a tenant who have a session, or had one that is not purged yet.
    async fn names_of_people(&self, tenant: &Name) -> Result<BTreeMap<KeyId, String>, StoreError>;

    /// Ends a session, if there is one.
    async fn end_session(&self, tenant: &Name, digest: &str) -> Result<(), StoreError>;

    /// Ends the sessions of a tenant: of one actor, or all. Returns how many.
    async fn end_sessions(
        &self,
        tenant: &Name,
        actor: Option<&SessionActor>,
    ) -> Result<u64, StoreError>;
}

/// Times by which a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsOver {
    /// Over, if it was last used before this time.
    pub used_before: Timestamp,
    /// Over in any case, if it began before this time.
    pub begun_before: Timestamp,
}

impl SessionsOver {
    /// Names every session.
    pub const ALL: Self = Self { used_before: Timestamp::MAX, begun_before: Timestamp::MAX };

    /// Returns the times by which sessions are over at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let before = |end: SignedDuration| now.checked_sub(end).unwrap_or(Timestamp::MIN);
        Self { used_before: before(IDLE_END), begun_before: before(ABSOLUTE_END) }
    }
}

/// A session of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleSession {
    /// The tenant whose data the person sees.
    pub tenant: Name,
    /// SHA-256 of the token, in hexadecimal digits.
    pub digest: String,
    /// The subject that acts.
    pub actor: SessionActor,
    /// Permissions of the person.
    pub role: SessionRole,
    /// Name of the person as the issuer tells it; empty if none is known.
    pub person: String,
    /// Digest of the authority that the person signed in by; empty for a link. A session of another authority is over.
    pub authority: String,
    /// Time of the sign-in.
    pub began_at: Timestamp,
    /// Time of the last request that was recorded.
    pub used_at: Timestamp,
}

/// The subject that acts in a session, and to whom its checks are charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionActor {
    /// A key of the tenant, for a session that began by a link: the session ends with the key.
    Key(KeyId),
    /// A person whom an OpenID Connect issuer names, with an identifier of the form of a key's.
    Person(KeyId),
}

impl SessionActor {
    /// Returns the identifier of the key or of the person.
    #[must_use]
    pub const fn id(&self) -> &KeyId {
        match self {
            Self::Key(id) | Self::Person(id) => id,
        }
    }

    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Person(_) => "person",
        }
    }
}

/// Permissions of a person. Each role may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionRole {
    /// Reads what the tenant has, and checks nothing.
    Viewer,
    /// Checks addresses and transfers too.
    Analyst,
    /// Changes keys, sources and sessions too.
    Admin,
}

impl SessionRole {
    /// All roles, from the least to the most that they may do.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Analyst, Self::Admin];

    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Analyst => "analyst",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for SessionRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A text that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role: a role is viewer, analyst or admin")]
pub struct UnknownRole(String);

impl FromStr for SessionRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| UnknownRole(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_by_its_name_and_may_more_than_the_one_before() {
        for role in SessionRole::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!(SessionRole::ALL.is_sorted());
        let error = "root".parse::<SessionRole>().unwrap_err().to_string();
        assert!(error.contains("`root`") && error.contains("viewer, analyst or admin"), "{error}");
    }
}
