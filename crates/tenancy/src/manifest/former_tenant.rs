//! Former tenants: who was deleted, and how long what is recorded of them is kept.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::RetentionSpec;

/// What stands in the place of a tenant that was deleted. Nobody gets in by it. While anything of the
/// tenant is kept, it can come back under its name, and its keys with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FormerTenantSpec {
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// How long what is recorded of it is kept, as its plan said then.
    pub retention: RetentionSpec,
}

impl FormerTenantSpec {
    /// From when on nothing of it is kept any more.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        let longest = self.retention.checks.max(self.retention.usage).seconds();
        let longest = SignedDuration::from_secs(i64::try_from(longest).unwrap_or(i64::MAX));
        self.deleted_at.saturating_add(longest).unwrap_or(Timestamp::MAX)
    }

    /// Whether it can no longer come back.
    #[must_use]
    pub fn is_forgotten(&self, now: Timestamp) -> bool {
        self.forgotten_at() <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Period;

    #[test]
    fn a_tenant_can_come_back_while_anything_of_it_is_kept() {
        let deleted_at: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let kept = |checks, usage| FormerTenantSpec {
            deleted_at,
            retention: RetentionSpec {
                checks: Period::from_seconds(checks),
                usage: Period::from_seconds(usage),
            },
        };
        let after = |seconds| deleted_at + SignedDuration::from_secs(seconds);
        assert_eq!(kept(10, 60).forgotten_at(), after(60));
        assert_eq!(kept(90, 60).forgotten_at(), after(90));
        assert!(!kept(10, 60).is_forgotten(after(59)));
        assert!(kept(10, 60).is_forgotten(after(60)));
        assert!(kept(0, 0).is_forgotten(deleted_at), "nothing is kept");
        assert_eq!(kept(u64::MAX, 0).forgotten_at(), Timestamp::MAX);
    }
}
