//! The condition about the graphs of a chain's servers.

use std::net::SocketAddr;

use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: all chain servers can read their graphs.
pub(crate) const GRAPHS_READABLE: &str = "GraphsReadable";

/// The way to a graph that can be read.
const REMEDY: &str = "if its pages are damaged and the disk works, delete the PersistentVolumeClaim of the server's pod and then the pod: another \
                      server, or the source, fills the new volume";

/// The condition for the errors of the servers that cannot read their graphs, of `servers` in all.
pub(super) fn condition(servers: usize, errors: &[(SocketAddr, String)]) -> ConditionState {
    let (reason, message) = if errors.is_empty() {
        (ConditionReason::GraphsReadable, "the chain servers can read their graphs".to_owned())
    } else {
        let told = errors.iter().map(|(address, error)| format!("{address}: {error}"));
        let (failed, told) = (errors.len(), told.collect::<Vec<_>>().join("; "));
        let message = format!(
            "of the chain servers, {failed} of {servers} cannot read the graph: {told}; {REMEDY}"
        );
        (ConditionReason::GraphUnreadable, message)
    };
    ConditionState { kind: GRAPHS_READABLE, holds: errors.is_empty(), reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_cannot_read_their_graphs_are_counted_and_named_with_the_remedy() {
        // Given one server of two whose graph is damaged,
        let address = SocketAddr::from(([10, 0, 0, 2], 8080));
        let error = "MDB_CORRUPTED: Located page was wrong type".to_owned();
        let told = condition(2, &[(address, error)]);
        // then it is named, with the way to a new graph.
        assert_eq!((told.holds, told.reason), (false, ConditionReason::GraphUnreadable));
        for part in [
            "1 of 2 cannot read the graph: 10.0.0.2:8080: MDB_CORRUPTED",
            "delete the PersistentVolumeClaim of the server's pod and then the pod",
        ] {
            assert!(told.message.contains(part), "{}", told.message);
        }
        // Given none, then it holds.
        let told = condition(2, &[]);
        assert_eq!((told.holds, told.reason), (true, ConditionReason::GraphsReadable));
    }
}
