//! The condition about the branches of a chain's servers.

use std::net::SocketAddr;

use assay_chain_protocol::{client::branches::BranchDifference, message::RefusedBranchMessage};

use crate::{conditions::ConditionState, reason::ConditionReason};

/// The condition type: all chain servers are on the branch of their source.
pub(crate) const BRANCHES_AGREE: &str = "BranchesAgree";

/// A chain server that refuses its source's branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StayingServer {
    /// The server's address.
    pub(crate) address: SocketAddr,
    /// The refused branch of the source.
    pub(crate) refused: RefusedBranchMessage,
}

/// The condition for a difference of branches, and for servers that refuse their source's branch.
pub(super) fn condition(
    difference: Option<&BranchDifference>,
    staying: &[StayingServer],
) -> ConditionState {
    let refused = staying.iter().map(|StayingServer { address, refused }| {
        let above = match refused.last_common {
            Some(height) => format!("above block {height}"),
            None => "further down than it can undo blocks".to_owned(),
        };
        let (height, hash) = (refused.newest.height, hex::encode(refused.newest.hash));
        format!(
            "{address} stays on its branch, which differs from its source's {above}; if the source's is the right one, \
             set acceptBranch to the hash of one of its blocks, such as block {height} {hash}"
        )
    });
    let mut messages: Vec<String> = difference.map(ToString::to_string).into_iter().collect();
    messages.extend(refused);
    let reason = match difference {
        Some(difference) if difference.is_decided => ConditionReason::BranchesDiffer,
        Some(_) => ConditionReason::NoMajority,
        None if !staying.is_empty() => ConditionReason::SourceBranchRefused,
        None => ConditionReason::OneBranch,
    };
    let holds = messages.is_empty();
    if holds {
        messages.push("the chain servers have the blocks of one branch".to_owned());
    }
    ConditionState { kind: BRANCHES_AGREE, holds, reason, message: messages.join("; ") }
}

#[cfg(test)]
mod tests {
    use assay_chain_protocol::client::branches::Branch;
    use assay_chain_protocol::message::{BlockIdMessage, BlockRefMessage};
    use jiff::Timestamp;

    use super::*;

    fn branch(numbers: &[u8], height: u64) -> Branch {
        let time = Timestamp::UNIX_EPOCH;
        let newest = BlockRefMessage { height, hash: [7; 32], parent: [0; 32], time };
        let address = |number: &u8| SocketAddr::from(([10, 0, 0, *number], 8080));
        Branch { newest, servers: numbers.iter().map(address).collect() }
    }

    #[test]
    fn servers_heights_and_the_fork_are_named() {
        let agree = condition(None, &[]);
        assert_eq!((agree.holds, agree.reason), (true, ConditionReason::OneBranch));

        let branches = vec![branch(&[1, 2], 105), branch(&[3], 120)];
        let mut difference = BranchDifference { last_common: Some(90), branches, is_decided: true };
        let state = condition(Some(&difference), &[]);
        assert_eq!((state.holds, state.reason), (false, ConditionReason::BranchesDiffer));
        for part in [
            "above block 90",
            "10.0.0.1:8080, 10.0.0.2:8080 have block 105",
            "10.0.0.3:8080 has block 120",
        ] {
            assert!(state.message.contains(part), "{}", state.message);
        }
        difference.is_decided = false;
        assert_eq!(condition(Some(&difference), &[]).reason, ConditionReason::NoMajority);
    }

    #[test]
    fn a_server_that_stays_names_the_block_to_accept() {
        let newest = BlockIdMessage { height: 120, hash: [7; 32] };
        let refused = RefusedBranchMessage { last_common: Some(90), newest };
        let address = SocketAddr::from(([10, 0, 0, 1], 8080));
        let state = condition(None, &[StayingServer { address, refused }]);
        assert_eq!((state.holds, state.reason), (false, ConditionReason::SourceBranchRefused));
        let block = format!(
            "acceptBranch to the hash of one of its blocks, such as block 120 {}",
            "07".repeat(32)
        );
        assert!(state.message.contains(&block), "{}", state.message);
    }
}
