//! The choice of the server to ask. Pure functions.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash},
    net::SocketAddr,
};

use jiff::{SignedDuration, Timestamp};

use crate::message::{NewestBlock, ServerState};

/// Longest time between the latest confirmation of any server's newest block and that of one server's newest block. A
/// server with an older confirmation counts as behind at any height: its node may be on another branch.
const CONFIRMATION_WINDOW: SignedDuration = SignedDuration::from_mins(2);

/// A server with its last known state.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The server's address.
    pub address: SocketAddr,
    /// The server's state; `None` if the server does not answer.
    pub state: Option<ServerState>,
    /// True if the server failed within the last seconds.
    pub is_avoided: bool,
    /// True if the server gets no questions, because its blocks are on a branch that was not chosen or cannot be
    /// compared.
    pub is_excluded: bool,
}

/// True if a source confirmed a newest block within two minutes before `latest`, the latest confirmation of any server.
pub(super) fn is_confirmed(newest: &NewestBlock, latest: Timestamp) -> bool {
    latest.duration_since(newest.verified_at) <= CONFIRMATION_WINDOW
}

/// Returns the newest block of the servers on the chosen branch: the highest block that a source confirmed recently,
/// and of several blocks at that height the block that most servers have.
#[must_use]
pub fn newest(candidates: &[Candidate]) -> Option<NewestBlock> {
    let known = || {
        let candidates = candidates.iter().filter(|it| !it.is_excluded);
        candidates.filter_map(|it| it.state.as_ref()?.newest)
    };
    let confirmed_at = known().map(|it| it.verified_at).max()?;
    let mut agree: HashMap<[u8; 32], usize> = HashMap::new();
    for it in known() {
        *agree.entry(it.block.hash).or_default() += 1;
    }
    let rank = |it: &NewestBlock| {
        let agreeing = agree.get(&it.block.hash).copied().unwrap_or(0);
        (it.block.height, agreeing, it.block.hash, it.verified_at)
    };
    known().filter(|it| is_confirmed(it, confirmed_at)).max_by_key(rank)
}

/// Returns the servers in the order in which they are asked about a subject. Servers with the newest block come first,
/// ordered by rendezvous hashing, so that one server has the subject's pages in memory; then servers that are behind,
/// the highest block first; then servers that are about to stop, that failed recently, or that do not answer. Excluded
/// servers are left out.
#[must_use]
pub fn order(candidates: &[Candidate], subject: &(impl Hash + ?Sized)) -> Vec<SocketAddr> {
    let newest = newest(candidates);
    let mut ranked: Vec<_> = candidates
        .iter()
        .filter(|candidate| !candidate.is_excluded)
        .map(|candidate| {
            let state = candidate.state.as_ref();
            let own = state.and_then(|it| it.newest);
            let is_newest = own.map(|it| it.block) == newest.map(|it| it.block) && own.is_some();
            let height = own.map_or(0, |it| it.block.height);
            let is_draining = state.is_some_and(|it| it.is_draining);
            let behind = if is_newest { 0 } else { u64::MAX - height };
            let weight = weight(subject, candidate.address);
            let is_there = (state.is_none(), candidate.is_avoided, own.is_none(), is_draining);
            ((is_there, behind, weight), candidate.address)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, address)| address).collect()
}

/// Returns the weight of a server for a subject (rendezvous hashing): when a server is added or removed, only subjects
/// of that server move.
fn weight(subject: &(impl Hash + ?Sized), address: SocketAddr) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((subject, address))
}

#[cfg(test)]
mod tests {
    use crate::message::BlockRefMessage;
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn server(number: u8, height: u64, branch: u8, confirmed_before: i64) -> Candidate {
        let mut hash = [branch; 32];
        hash[..8].copy_from_slice(&height.to_be_bytes());
        let time = Timestamp::from_second(NOW).unwrap();
        let block = BlockRefMessage { height, hash, parent: [0; 32], time };
        let verified_at = Timestamp::from_second(NOW - confirmed_before).unwrap();
        let newest = NewestBlock { block, verified_at, start: 0, sample: false };
        let state = ServerState {
            release: "1".into(),
            lists: 1,
            newest: Some(newest),
            bytes: 0,
            blocks_per_second: None,
            source_height: None,
            is_draining: false,
            traces: 0,
            answers_blocks: true,
            refused_branch: None,
            source_problem: None,
            lacks_internal_transfers: false,
            graph_problem: None,
        };
        let address = address(number);
        Candidate { address, state: Some(state), is_avoided: false, is_excluded: false }
    }

    fn address(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, number], 8080))
    }

    fn first(candidates: &[Candidate], subject: u64) -> SocketAddr {
        order(candidates, &subject)[0]
    }

    #[test]
    fn the_newest_block_is_preferred_and_subjects_are_spread_among_those_who_have_it() {
        let servers = [server(1, 100, 0, 1), server(2, 100, 0, 2), server(3, 99, 0, 1)];
        let asked: Vec<_> = (0..1_000).map(|subject| first(&servers, subject)).collect();
        let count = |number| asked.iter().filter(|it| **it == address(number)).count();
        assert!(count(1) > 400 && count(2) > 400 && count(3) == 0, "{} {}", count(1), count(2));
        assert_eq!(order(&servers, &1)[2], address(3));
    }

    #[test]
    fn a_server_that_goes_moves_no_subject_of_another_one() {
        let servers = [server(1, 9, 0, 1), server(2, 9, 0, 1), server(3, 9, 0, 1)];
        let fewer = &servers[..2];
        for subject in 0..1_000 {
            let before = first(&servers, subject);
            if before != address(3) {
                assert_eq!(first(fewer, subject), before);
            }
        }
    }

    #[test]
    fn a_branch_of_one_server_loses_against_that_of_two_and_one_that_nobody_confirms_against_any() {
        let servers = [server(1, 100, 7, 1), server(2, 100, 0, 1), server(3, 100, 0, 1)];
        assert_ne!(first(&servers, 1), address(1));
        let servers = [server(1, 105, 7, 3_600), server(2, 100, 0, 1)];
        assert_eq!(newest(&servers).unwrap().block.height, 100);
        assert_eq!(first(&servers, 1), address(2));
        // Alone, an old block is the newest one; the answer states its age.
        assert_eq!(first(&servers[..1], 1), address(1));
    }

    #[test]
    fn who_stops_or_does_not_answer_is_asked_last() {
        let mut draining = server(1, 100, 0, 1);
        draining.state.as_mut().unwrap().is_draining = true;
        let silent = Candidate { state: None, ..server(2, 0, 0, 0) };
        let failed = Candidate { is_avoided: true, ..server(4, 101, 0, 1) };
        let servers = [silent, failed, draining, server(3, 90, 0, 1)];
        let order: Vec<_> = order(&servers, &5);
        assert_eq!(order, [address(3), address(1), address(4), address(2)]);
        assert_eq!(newest(&servers).unwrap().block.height, 101, "it may be back soon");
        assert!(super::order(&[], &5).is_empty());
    }

    proptest! {
        #[test]
        fn every_server_is_in_the_order_once(
            heights in proptest::collection::vec((0_u64..5, 0_u8..3, 0_i64..300), 0..6),
            subject: u64,
        ) {
            let servers: Vec<_> = (1..).zip(&heights)
                .map(|(number, (height, branch, age))| server(number, *height, *branch, *age))
                .collect();
            let mut asked: Vec<_> = order(&servers, &subject);
            asked.sort();
            prop_assert_eq!(asked, servers.iter().map(|it| it.address).collect::<Vec<_>>());
        }
    }
}
