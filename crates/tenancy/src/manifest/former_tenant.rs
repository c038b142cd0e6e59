//! Former tenants: tenants that were deleted and whose records are still kept.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::RetentionSpec;

/// A tenant that was deleted. Its keys are refused. While anything that was recorded of it is kept, applying
/// the tenant again restores it with its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FormerTenantSpec {
    /// Time of the deletion.
    pub deleted_at: Timestamp,
    /// Retention of what was recorded of it, as its plan had it at that time.
    pub retention: RetentionSpec,
}

impl FormerTenantSpec {
    /// Time from which on nothing of it is kept.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        let longest = self.retention.checks.max(self.retention.usage).seconds();
        let longest = SignedDuration::from_secs(i64::try_from(longest).unwrap_or(i64::MAX));
        self.deleted_at.saturating_add(longest).unwrap_or(Timestamp::MAX)
    }

    /// Says whether everything that was recorded of it is due for deletion.
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
