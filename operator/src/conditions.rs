//! Conditions of objects, in the form that kstatus reads.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::reason::ConditionReason;

/// The condition type: the object works; of published objects, that the spec is in force, and of sources, that their data is
/// there and current.
pub const READY: &str = "Ready";
/// The condition type of sources: the spec of the object is in force.
pub const PUBLISHED: &str = "Published";
/// The condition type: a person has to act. The condition is absent while no person has to act.
pub const STALLED: &str = "Stalled";

/// The state of an object's spec, from which its conditions follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyState {
    /// The spec is in force.
    Ready(ConditionReason, String),
    /// The spec is not in force, and a person has to act.
    Stalled(ConditionReason, String),
    /// The spec is not in force yet; the operator retries.
    Waiting(ConditionReason, String),
}

impl ReadyState {
    /// The state while the database cannot be reached.
    #[must_use]
    pub fn store_unavailable() -> Self {
        let message = "the database cannot be reached or refuses the request; retrying";
        Self::Waiting(ConditionReason::StoreUnavailable, message.to_owned())
    }

    /// The reason.
    #[must_use]
    pub const fn reason(&self) -> ConditionReason {
        let (Self::Ready(reason, _) | Self::Stalled(reason, _) | Self::Waiting(reason, _)) = self;
        *reason
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        let (Self::Ready(_, message) | Self::Stalled(_, message) | Self::Waiting(_, message)) =
            self;
        message
    }

    /// Appends `detail` to the message of the state.
    #[must_use]
    pub fn with_detail(mut self, detail: Option<&str>) -> Self {
        let (Self::Ready(_, message) | Self::Stalled(_, message) | Self::Waiting(_, message)) =
            &mut self;
        append(message, detail);
        self
    }

    /// Says whether the spec of the object is in force.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(..))
    }
}

/// A condition of an object, without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    /// The condition's type.
    pub kind: &'static str,
    /// True if the status of the condition is `True`.
    pub holds: bool,
    /// The reason.
    pub reason: ConditionReason,
    /// The message.
    pub message: String,
}

impl ConditionState {
    /// Appends `detail` to the message.
    pub fn add_detail(&mut self, detail: Option<&str>) {
        append(&mut self.message, detail);
    }
}

fn append(message: &mut String, detail: Option<&str>) {
    if let Some(detail) = detail {
        message.push_str("; ");
        message.push_str(detail);
    }
}

/// The condition of a state, about a generation. The condition's transition time, with a precision of a second, changes
/// only with the condition's status.
#[must_use]
pub fn condition(
    state: &ConditionState,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let status = match (state.holds, state.reason) {
        (true, _) => "True",
        (false, ConditionReason::ServersSilent) => "Unknown",
        (false, _) => "False",
    };
    Condition {
        type_: state.kind.into(),
        status: status.into(),
        reason: state.reason.as_str().into(),
        message: state.message.clone(),
        observed_generation: generation,
        last_transition_time: transition_time(state.kind, status, before, now),
    }
}

/// The time since which a condition has its status, with a precision of a second.
pub(crate) fn transition_time(
    kind: &str,
    status: &str,
    before: &[Condition],
    now: Timestamp,
) -> Time {
    let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let same = before.iter().find(|old| old.type_ == kind && old.status == status);
    same.map_or(Time(second), |old| old.last_transition_time.clone())
}

/// The conditions `Ready` and `Stalled` of a state, about a generation.
#[must_use]
pub fn conditions(
    ready_state: &ReadyState,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    conditions_named(READY, ready_state, before, generation, now)
}

/// The condition of a type, and `Stalled`, of a state, about a generation.
#[must_use]
pub fn conditions_named(
    kind: &'static str,
    ready_state: &ReadyState,
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let condition = |kind, holds| {
        let message = ready_state.message().to_owned();
        condition(
            &ConditionState { kind, holds, reason: ready_state.reason(), message },
            before,
            generation,
            now,
        )
    };
    let mut conditions = vec![condition(kind, ready_state.is_ready())];
    if matches!(ready_state, ReadyState::Stalled(..)) {
        conditions.push(condition(STALLED, true));
    }
    conditions
}

/// The reason of the condition of a type.
#[must_use]
pub fn reason_of<'a>(kind: &str, conditions: &'a [Condition]) -> Option<&'a str> {
    let found = conditions.iter().find(|condition| condition.type_ == kind);
    found.map(|condition| condition.reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_stays() {
        let ready = |words: &str| ReadyState::Ready(ConditionReason::Published, words.into());
        let first = conditions(&ready("a"), &[], Some(1), at(1));
        let second = conditions(&ready("b"), &first, Some(2), at(2));
        assert_eq!(second[0].last_transition_time, Time(at(1)));
        assert_eq!((second[0].message.as_str(), second[0].observed_generation), ("b", Some(2)));
        let wrong = ReadyState::Stalled(ConditionReason::PlanNotFound, "no plan".into());
        let third = conditions(&wrong, &second, Some(3), at(3));
        let said: Vec<_> = third
            .iter()
            .map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str()))
            .collect();
        assert_eq!(said, [("Ready", "False", "PlanNotFound"), ("Stalled", "True", "PlanNotFound")]);
        assert!(third.iter().all(|c| c.last_transition_time == Time(at(3))));
        assert_eq!(conditions(&ready("c"), &third, Some(4), at(4)).len(), 1, "nobody has to act");
    }
}
