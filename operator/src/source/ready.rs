//! The condition `Ready` of a source: its spec is in force, and its data is there and current. Pure.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{
    branches::BRANCHES_AGREE, following::SOURCE_FOLLOWED, graphs::GRAPHS_READABLE, status::WORKING,
};
use crate::{
    conditions::{PUBLISHED, READY, transition_time},
    reason::ConditionReason,
};

/// Time after a missed run in which it still counts as running.
const RUN_TIME: SignedDuration = SignedDuration::from_mins(15);

/// The data of a source, as the store and the chain servers state it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceData {
    /// The store was not read yet.
    Unread,
    /// A list, label set or file of prices that was never fetched.
    NeverFetched,
    /// A list, label set or file of prices.
    Fetched {
        /// The last successful fetch.
        at: Timestamp,
        /// The second scheduled time after it: from then on two runs are missed.
        missed_from: Option<Timestamp>,
    },
    /// A chain whose histories servers read during checks.
    OnDemand,
    /// A chain whose histories servers would read, were the source not suspended.
    Suspended,
    /// A chain that is followed.
    Followed {
        /// Height and time of the newest block.
        newest: Option<(u64, Timestamp)>,
        /// Height of the source's newest block, while earlier blocks are read.
        source_height: Option<u64>,
        /// The rate of reading, as the status states it; `None` while no blocks are read.
        blocks_per_second: Option<String>,
        /// The longest age of a newest block.
        longest_age: SignedDuration,
    },
}

/// A condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Readiness {
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Readiness {
    fn new(status: &'static str, reason: ConditionReason, message: String) -> Self {
        Self { status, reason: reason.as_str().to_owned(), message }
    }

    fn ready(reason: ConditionReason, message: String) -> Self {
        Self::new("True", reason, message)
    }

    fn unready(reason: ConditionReason, message: String) -> Self {
        Self::new("False", reason, message)
    }

    /// Readiness that says the same as another condition.
    fn like(other: &Condition) -> Self {
        let status = if other.status == "Unknown" { "Unknown" } else { "False" };
        Self { status, reason: other.reason.clone(), message: other.message.clone() }
    }

    /// The condition. Its transition time changes only with its status.
    pub(super) fn condition(
        self,
        before: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Condition {
        Condition {
            last_transition_time: transition_time(READY, self.status, before, now),
            type_: READY.into(),
            status: self.status.into(),
            reason: self.reason,
            message: self.message,
            observed_generation: generation,
        }
    }
}

/// The readiness of a source with other conditions. `None` until these are known.
pub(super) fn readiness(
    conditions: &[Condition],
    data: &SourceData,
    now: Timestamp,
) -> Option<Readiness> {
    let find = |kind| conditions.iter().find(|condition| condition.type_ == kind);
    let published = find(PUBLISHED)?;
    if published.status != "True" {
        return Some(Readiness::like(published));
    }
    let working = find(WORKING);
    let failing = working.filter(|working| working.status != "True");
    let because = || failing.map(|working| format!(": {}", working.message)).unwrap_or_default();
    Some(match data {
        SourceData::Unread => return None,
        SourceData::NeverFetched => {
            let message = format!("the source was never fetched{}", because());
            Readiness::unready(ConditionReason::NeverFetched, message)
        }
        SourceData::Fetched { at, missed_from } => {
            let is_missed = missed_from.is_some_and(|from| now.duration_since(from) >= RUN_TIME);
            if is_missed {
                let message = format!(
                    "the source was last fetched at {at:.0}, and two runs of its schedule are missed{}",
                    because()
                );
                Readiness::unready(ConditionReason::Stale, message)
            } else {
                Readiness::ready(ConditionReason::Fetched, format!("last fetched at {at:.0}"))
            }
        }
        SourceData::Suspended => {
            let message = "the source is suspended: servers do not read it".to_owned();
            Readiness::unready(ConditionReason::NothingToRun, message)
        }
        SourceData::OnDemand => {
            let message = "servers read histories during checks".to_owned();
            Readiness::ready(ConditionReason::ReadOnDemand, message)
        }
        SourceData::Followed { newest, source_height, blocks_per_second, longest_age } => {
            let (followed, branches) = (find(SOURCE_FOLLOWED), find(BRANCHES_AGREE));
            let refuted = |condition: &&Condition| condition.status != "True";
            let disabled = |working: &&Condition| {
                working.reason == ConditionReason::WorkloadsDisabled.as_str()
            };
            if let Some(disabled) = failing.filter(disabled) {
                return Some(Readiness { status: "Unknown", ..Readiness::like(disabled) });
            }
            // A server whose graph is damaged, or whose source was never reached, is not ready: these are the causes.
            let causes = [find(GRAPHS_READABLE), followed, failing, branches].into_iter().flatten();
            if let Some(cause) = causes.filter(refuted).find(|cause| cause.status == "False") {
                return Some(Readiness::like(cause));
            }
            let Some(followed) = followed else { return working.map(not_reported) };
            if refuted(&followed) {
                return Some(Readiness::like(followed));
            }
            synchronized((*newest, *source_height), blocks_per_second.as_deref(), *longest_age, now)
        }
    })
}

/// The readiness of a chain whose servers have not told their state yet.
fn not_reported(working: &Condition) -> Readiness {
    let message = format!("no chain server has told its state yet; {}", working.message);
    Readiness::new("Unknown", ConditionReason::ServersSilent, message)
}

/// The readiness of a chain by its newest block, and by that of its source.
fn synchronized(
    (newest, source_height): (Option<(u64, Timestamp)>, Option<u64>),
    blocks_per_second: Option<&str>,
    longest_age: SignedDuration,
    now: Timestamp,
) -> Readiness {
    let rate = blocks_per_second.map(|rate| format!(", at {rate} blocks a second"));
    let Some((height, time)) = newest else {
        let message = "no block was read yet".to_owned();
        return Readiness::unready(ConditionReason::Syncing, message);
    };
    let of_source = source_height.map(|of_source| format!(" of {of_source} of the source"));
    let of_source = of_source.unwrap_or_default();
    let place = format!("the newest block is {height}{of_source}, of {time:.0}");
    if now.duration_since(time) <= longest_age {
        // Without the block: each new one would be a write.
        let message = "the newest block is recent".to_owned();
        return Readiness::ready(ConditionReason::Followed, message);
    }
    match rate {
        Some(rate) => Readiness::unready(
            ConditionReason::Syncing,
            format!("{place}{rate}: until the chain is read, checks lack its latest flows"),
        ),
        None => Readiness::unready(
            ConditionReason::Stale,
            format!("{place}: the source has no later one, and checks lack the latest flows"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-11-28T12:00:00Z";

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
        serde_json::from_value(json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-22T01:00:00Z",
        }))
        .unwrap()
    }

    fn published() -> Condition {
        condition(PUBLISHED, "True", "Published", "the spec is in force")
    }

    fn told(conditions: &[Condition], data: &SourceData) -> (&'static str, String, String) {
        let readiness = readiness(conditions, data, NOW.parse().unwrap()).unwrap();
        (readiness.status, readiness.reason, readiness.message)
    }

    fn followed(newest: Option<(u64, &str)>, rate: Option<&str>) -> SourceData {
        SourceData::Followed {
            newest: newest.map(|(height, time)| (height, time.parse().unwrap())),
            source_height: rate.map(|_| 4_200),
            blocks_per_second: rate.map(ToOwned::to_owned),
            longest_age: SignedDuration::from_hours(2),
        }
    }

    #[test]
    fn a_source_whose_spec_is_refused_is_not_ready_for_that_reason() {
        let refused = condition(PUBLISHED, "False", "Invalid", "spec.schedule: wrong");
        let fetched = SourceData::Fetched { at: NOW.parse().unwrap(), missed_from: None };
        assert_eq!(
            told(&[refused], &fetched),
            ("False", "Invalid".into(), "spec.schedule: wrong".into())
        );
        assert_eq!(readiness(&[], &fetched, NOW.parse().unwrap()), None, "not published yet");
    }

    #[test]
    fn a_list_is_ready_once_it_was_fetched_and_until_two_runs_are_missed() {
        let failed = condition(WORKING, "False", "WorkloadNotReady", "Job `x` failed");
        let never = told(&[published(), failed.clone()], &SourceData::NeverFetched);
        assert_eq!((never.0, &*never.1), ("False", "NeverFetched"));
        assert_eq!(never.2, "the source was never fetched: Job `x` failed");
        let fetched = |missed: &str| SourceData::Fetched {
            at: "2026-11-28T06:17:00Z".parse().unwrap(),
            missed_from: Some(missed.parse().unwrap()),
        };
        // A run that failed alone makes no data old.
        let current = told(&[published(), failed.clone()], &fetched("2026-11-28T18:17:00Z"));
        assert_eq!((current.0, &*current.1), ("True", "Fetched"));
        let running = told(&[published()], &fetched("2026-11-28T11:50:00Z"));
        assert_eq!((running.0, &*running.1), ("True", "Fetched"), "the run may still be going on");
        let stale = told(&[published(), failed], &fetched("2026-11-28T11:40:00Z"));
        assert_eq!((stale.0, &*stale.1), ("False", "Stale"));
        assert!(stale.2.ends_with("two runs of its schedule are missed: Job `x` failed"));
        assert_eq!(readiness(&[published()], &SourceData::Unread, NOW.parse().unwrap()), None);
    }

    #[test]
    fn a_chain_is_ready_once_its_newest_block_is_recent() {
        let working = condition(WORKING, "True", "ServersReady", "2 of 2 chain servers ready");
        let follows = condition(SOURCE_FOLLOWED, "True", "Followed", "");
        let conditions = [published(), working, follows];
        for (data, expected) in [
            (followed(None, None), ("False", "Syncing", "no block was read yet")),
            (
                followed(Some((9, "2026-11-01T00:00:00Z")), Some("120")),
                (
                    "False",
                    "Syncing",
                    "block is 9 of 4200 of the source, of 2026-11-01T00:00:00Z, at 120 blocks a second",
                ),
            ),
            (
                followed(Some((9, "2026-11-28T09:59:00Z")), None),
                ("False", "Stale", "the source has no later one"),
            ),
            (followed(Some((9, "2026-11-28T10:01:00Z")), None), ("True", "Followed", "is recent")),
        ] {
            let (status, reason, message) = told(&conditions, &data);
            assert_eq!((status, &*reason), (expected.0, expected.1), "{message}");
            assert!(message.contains(expected.2), "{message}");
        }
    }

    #[test]
    fn the_cause_of_a_chain_without_data_is_its_source() {
        let none_ready = condition(WORKING, "False", "NoServerReady", "0 of 1 chain server ready");
        let refused =
            condition(SOURCE_FOLLOWED, "False", "EndpointUnreachable", "connection refused");
        let unknown = condition(SOURCE_FOLLOWED, "Unknown", "ServersSilent", "no server answers");
        let disagree = condition(BRANCHES_AGREE, "False", "NoMajority", "two branches");
        let working = condition(WORKING, "True", "ServersReady", "1 of 1 chain server ready");
        let follows = condition(SOURCE_FOLLOWED, "True", "Followed", "");
        let disabled = condition(WORKING, "False", "WorkloadsDisabled", "no image");
        let damaged = condition(GRAPHS_READABLE, "False", "GraphUnreadable", "1 of 2");
        let recent = followed(Some((9, NOW)), None);
        for (others, status, reason) in [
            (vec![none_ready.clone(), refused.clone()], "False", "EndpointUnreachable"),
            (vec![none_ready.clone(), refused, damaged.clone()], "False", "GraphUnreadable"),
            (vec![working.clone(), follows.clone(), damaged], "False", "GraphUnreadable"),
            (vec![none_ready], "False", "NoServerReady"),
            (vec![working.clone(), unknown], "Unknown", "ServersSilent"),
            (vec![working.clone()], "Unknown", "ServersSilent"),
            (vec![working, follows, disagree], "False", "NoMajority"),
            (vec![disabled], "Unknown", "WorkloadsDisabled"),
        ] {
            let conditions: Vec<Condition> = [published()].into_iter().chain(others).collect();
            let found = told(&conditions, &recent);
            assert_eq!((found.0, &*found.1), (status, reason));
        }
        let on_demand = told(&[published()], &SourceData::OnDemand);
        assert_eq!((on_demand.0, &*on_demand.1), ("True", "ReadOnDemand"));
        let suspended = told(&[published()], &SourceData::Suspended);
        assert_eq!((suspended.0, &*suspended.1), ("False", "NothingToRun"));
    }
}
