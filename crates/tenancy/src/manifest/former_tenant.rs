//! Former tenants: tenants that were deleted and whose records are still kept.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::RetentionSpec;

/// A tenant that was deleted. The API refuses the keys of a former tenant. While records of the tenant are kept,
/// applying the tenant again restores the tenant and its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FormerTenantSpec {
    /// Time of the deletion.
    pub deleted_at: Timestamp,
    /// Retention of the tenant's records, as the plan set it at the deletion.
    pub retention: RetentionSpec,
}

impl FormerTenantSpec {
    /// Time from which no record of the tenant is kept.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        let longest = self.retention.checks.max(self.retention.usage).seconds();
        let longest = SignedDuration::from_secs(i64::try_from(longest).unwrap_or(i64::MAX));
        self.deleted_at.saturating_add(longest).unwrap_or(Timestamp::MAX)
    }

    /// True if every record of the tenant is due for deletion.
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
