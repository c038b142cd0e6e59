//! The condition about the sources of a chain's servers: nodes, indexers and folders.

use std::net::SocketAddr;

use assay_chain_protocol::message::{ServerState, SourceProblemKindMessage, SourceProblemMessage};

use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: all chain servers follow their source.
pub(crate) const SOURCE_FOLLOWED: &str = "SourceFollowed";

/// A chain server with its state.
pub(super) type AskedServer<'s> = (SocketAddr, &'s ServerState);

/// The condition for the states of a chain's servers.
pub(super) fn condition(servers: &[AskedServer<'_>]) -> ConditionState {
    let problems = servers.iter().filter_map(|(address, state)| {
        state.source_problem.as_ref().map(|problem| (address, problem))
    });
    let worst = problems.clone().map(|(_, problem)| problem.kind).min();
    let (reason, messages): (_, Vec<String>) = match worst {
        Some(kind) => {
            let told = problems.map(|(address, SourceProblemMessage { at, text, .. })| {
                format!("{address} does not follow its source since {at:.0}: {text}")
            });
            (reason_of(kind), told.collect())
        }
        None if servers.iter().any(|(_, state)| state.lacks_internal_transfers) => (
            ConditionReason::FollowedWithoutTraces,
            vec![
                "the chain servers follow their source, which does not state the transfers inside of all transactions: a \
                 node that traces (debug_traceBlockByHash or trace_block) is needed for complete answers"
                    .to_owned(),
            ],
        ),
        None => {
            (ConditionReason::Followed, vec!["the chain servers follow their source".to_owned()])
        }
    };
    let message = messages.join("; ");
    ConditionState { kind: SOURCE_FOLLOWED, holds: worst.is_none(), reason, message }
}

/// A condition of a chain none of whose servers answers any more.
pub(super) fn unknown(kind: &'static str) -> ConditionState {
    let message = "no chain server answers: whether it follows its source is unknown".to_owned();
    ConditionState { kind, holds: false, reason: ConditionReason::ServersSilent, message }
}

const fn reason_of(kind: SourceProblemKindMessage) -> ConditionReason {
    match kind {
        SourceProblemKindMessage::OtherNetwork => ConditionReason::WrongNetwork,
        SourceProblemKindMessage::CredentialsRefused => ConditionReason::CredentialsRefused,
        SourceProblemKindMessage::Unreachable => ConditionReason::EndpointUnreachable,
        SourceProblemKindMessage::Pruned => ConditionReason::SourcePruned,
        SourceProblemKindMessage::Behind => ConditionReason::SourceBehind,
        SourceProblemKindMessage::BranchRefused => ConditionReason::SourceBranchRefused,
        SourceProblemKindMessage::Failed => ConditionReason::SourceFailed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(problem: Option<(&str, &str)>, lacks_internal_transfers: bool) -> ServerState {
        let problem = problem
            .map(|(kind, text)| json!({"at": "2026-11-22T01:00:00Z", "kind": kind, "text": text}));
        serde_json::from_value(json!({
            "release": "1", "lists": 7, "newest": null, "bytes": 0, "blocks_per_second": null,
            "is_draining": false, "traces": 0, "source_problem": problem,
            "lacks_internal_transfers": lacks_internal_transfers,
        }))
        .unwrap()
    }

    fn condition_of(states: &[ServerState]) -> ConditionState {
        let addresses = (1..).map(|number: u8| SocketAddr::from(([10, 0, 0, number], 8080)));
        let servers = addresses.zip(states);
        condition(&servers.collect::<Vec<_>>())
    }

    #[test]
    fn the_worst_problem_is_the_reason_and_each_server_is_named() {
        let states = [
            state(Some(("behind", "the source lags")), false),
            state(None, false),
            state(Some(("other_network", "http://node:8545 serves bsc, not eth")), false),
        ];
        let told = condition_of(&states);
        assert_eq!((told.holds, told.reason), (false, ConditionReason::WrongNetwork));
        for part in [
            "10.0.0.1:8080 does not follow its source since 2026-11-22T01:00:00Z: the source lags",
            "10.0.0.3:8080 does not follow",
            "http://node:8545 serves bsc, not eth",
        ] {
            assert!(told.message.contains(part), "{}", told.message);
        }
        assert!(!told.message.contains("10.0.0.2"), "{}", told.message);
    }

    #[test]
    fn a_kind_of_a_later_release_is_a_failure() {
        let told = condition_of(&[state(Some(("on_fire", "smoke")), false)]);
        assert_eq!((told.holds, told.reason), (false, ConditionReason::SourceFailed));
    }

    #[test]
    fn a_source_without_traces_is_followed_and_told() {
        let told = condition_of(&[state(None, false), state(None, true)]);
        assert_eq!((told.holds, told.reason), (true, ConditionReason::FollowedWithoutTraces));
        let told = condition_of(&[state(None, false)]);
        assert_eq!((told.holds, told.reason), (true, ConditionReason::Followed));
    }
}
