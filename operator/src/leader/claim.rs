//! The decision to take a Lease. A Lease has expired once it was observed unchanged for its duration; its timestamps
//! are not compared with the local clock.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use tokio::time::Instant;

/// The action on a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Renew the Lease, which this operator holds.
    Renew,
    /// Take the Lease, which nobody holds or which has expired.
    Take,
    /// Leave the Lease to the operator that holds it.
    Leave,
}

/// The last observed state of a Lease, and the time since which that state is unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedLease {
    lease: Option<LeaseSpec>,
    since: Option<Instant>,
}

impl ObservedLease {
    /// Records the current state of the Lease, and returns the next action.
    pub(super) fn observe(
        &mut self,
        lease: Option<&LeaseSpec>,
        name: &str,
        own_duration: Duration,
        now: Instant,
    ) -> Claim {
        if self.lease.as_ref() != lease || self.since.is_none() {
            self.lease = lease.cloned();
            self.since = Some(now);
        }
        let holder = lease.and_then(|lease| lease.holder_identity.as_deref()).unwrap_or_default();
        if holder == name {
            return Claim::Renew;
        }
        let seconds = lease.and_then(|lease| lease.lease_duration_seconds);
        let duration = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(own_duration, Duration::from_secs);
        let unchanged = self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        if holder.is_empty() || unchanged > duration { Claim::Take } else { Claim::Leave }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    fn held(by: &str, transitions: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(by.into()),
            lease_duration_seconds: Some(15),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_lease_is_taken_once_it_is_unchanged_for_its_duration() {
        let start = Instant::now();
        let mut observed = ObservedLease::default();
        let mut observe = |lease: Option<&LeaseSpec>, seconds| {
            observed.observe(lease, "b", DURATION, start + Duration::from_secs(seconds))
        };
        assert_eq!(observe(None, 0), Claim::Take);
        assert_eq!(observe(Some(&held("a", 1)), 1), Claim::Leave);
        assert_eq!(observe(Some(&held("a", 1)), 16), Claim::Leave);
        assert_eq!(observe(Some(&held("a", 2)), 17), Claim::Leave, "it was renewed");
        assert_eq!(observe(Some(&held("a", 2)), 33), Claim::Take);
        assert_eq!(observe(Some(&held("b", 3)), 34), Claim::Renew);
        assert_eq!(observe(Some(&held("", 4)), 35), Claim::Take, "it was released");
    }
}
