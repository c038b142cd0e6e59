//! Comparison of a chain's servers, after each state that one of them reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use assay_address::ChainId;
use futures_util::future::join_all;
use jiff::SignedDuration;
use tokio::time::Instant;

use super::{
    branches::{
        BranchChoice, BranchDifference, KnownBlocks, ServerChain, block_questions, choose_branch,
    },
    choice::is_confirmed,
    servers::{ComparedServer, Servers, StateAnswer},
};
use crate::message::BranchBlocksQuestion;

/// Maximum number of questions to a server in one comparison: each question narrows the search for the last common
/// block by a factor of 32.
const MAX_ROUNDS: usize = 10;
/// Time for which a server gets no questions for blocks after it left one unanswered: the states of other servers wait
/// for each such question.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// The result of the last comparison.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Locked during a comparison.
    known: tokio::sync::Mutex<ServerRecords>,
    branches: Mutex<BranchChoice>,
}

/// The known blocks of the servers, and the servers that failed.
#[derive(Debug, Default)]
struct ServerRecords {
    blocks: BTreeMap<SocketAddr, KnownBlocks>,
    /// Servers that did not answer a question for blocks, each with the end of its pause.
    failed: BTreeMap<SocketAddr, Instant>,
}

impl Comparison {
    /// Compares the servers with the state that one of them reported, and then records the state: callers never see a
    /// newest block that was not compared.
    pub(super) async fn update(&self, servers: &Servers, address: SocketAddr, told: &StateAnswer) {
        let mut known = self.known.lock().await;
        let (mut chains, failed) = known.chains(servers, &servers.compared(address, told), self);
        let mut branches = known.compare(servers, &mut chains).await;
        branches.excluded.extend(failed);
        self.log(servers.chain, &branches);
        let mut current = self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        servers.note_state(address, told);
        *current = branches;
    }

    /// True if the server is on one of several branches.
    fn differs(&self, address: SocketAddr) -> bool {
        let of = |difference: &BranchDifference| {
            difference.branches.iter().any(|branch| branch.servers.contains(&address))
        };
        self.with(|branches| branches.difference.as_ref().is_some_and(of))
    }

    fn log(&self, chain: ChainId, branches: &BranchChoice) {
        let place = |difference: &Option<BranchDifference>| {
            let of = |it: &BranchDifference| (it.last_common, it.is_decided);
            difference.as_ref().map(of)
        };
        let is_known = self.with(|known| place(&known.difference) == place(&branches.difference));
        match &branches.difference {
            Some(difference) if !is_known => tracing::error!(%chain, "{difference}"),
            None if !is_known => {
                tracing::info!(%chain, "the chain servers are on one branch again");
            }
            _ => {}
        }
    }

    /// Passes the result of the last comparison to `read`.
    pub(super) fn with<T>(&self, read: impl FnOnce(&BranchChoice) -> T) -> T {
        read(&self.branches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ServerRecords {
    /// Returns the servers to compare, and the addresses of the servers that are left out after a failure.
    fn chains(
        &mut self,
        servers: &Servers,
        compared: &[ComparedServer],
        last: &Comparison,
    ) -> (Vec<ServerChain>, BTreeSet<SocketAddr>) {
        let longest_age = servers.chain.info().longest_tip_age_seconds();
        let longest_age = SignedDuration::from_secs(longest_age);
        let is_there = |address: &SocketAddr| compared.iter().any(|it| it.address == *address);
        self.blocks.retain(|address, _| is_there(address));
        let now = Instant::now();
        self.failed.retain(|address, until| is_there(address) && *until > now);
        let newest = compared.iter().filter_map(|server| server.newest.as_ref());
        let confirmed_at = newest.map(|newest| newest.verified_at).max();
        let mut chains = Vec::new();
        for ComparedServer { address, newest, answers_blocks } in compared {
            if self.failed.contains_key(address) {
                continue;
            }
            if let Some(newest) = newest {
                let new = || KnownBlocks::from_newest(newest.block);
                let blocks = self.blocks.entry(*address).or_insert_with(new);
                blocks.advance(newest.block);
                blocks.answer(*answers_blocks);
                let is_current = confirmed_at.is_some_and(|at| is_confirmed(newest, at))
                    && newest.verified_at.duration_since(newest.block.time) <= longest_age;
                let (address, known) = (*address, blocks.clone());
                chains.push(ServerChain { address, start: newest.start, is_current, known });
            } else if last.differs(*address)
                && let Some(blocks) = self.blocks.get_mut(address)
            {
                // A server keeps its vote for its branch when it stops answering.
                blocks.answer(false);
                let (address, known) = (*address, blocks.clone());
                chains.push(ServerChain { address, start: 0, is_current: false, known });
            }
        }
        (chains, self.failed.keys().copied().collect())
    }

    /// Asks servers for unknown blocks until the servers can be compared. A server that fails is left out.
    async fn compare(&mut self, servers: &Servers, chains: &mut Vec<ServerChain>) -> BranchChoice {
        let chain = servers.chain;
        // On account chains the digest of all transfers stands for a block's hash: servers that differ have other transfers.
        let bound = chain.info().outputs().map_or(0, |ledger| ledger.reorganization_bound);
        let mut failed = BTreeSet::new();
        for _ in 0..MAX_ROUNDS {
            let questions = block_questions(chains, bound);
            if questions.is_empty() {
                break;
            }
            let asking = questions.into_iter().filter_map(|(address, heights)| {
                let server = chains.iter().find(|server| server.address == address)?;
                let newest = server.known.newest().id();
                let asked = heights.iter().copied().collect();
                let question = BranchBlocksQuestion { newest, heights: asked };
                let asking = servers.ask_blocks(address, question);
                Some(async move { (address, heights, asking.await) })
            });
            for (address, heights, answer) in join_all(asking).await {
                let Some(server) = chains.iter_mut().find(|server| server.address == address)
                else {
                    continue;
                };
                let problem = match answer {
                    Ok(Some(answer)) => match server.known.add(&heights, &answer) {
                        Ok(()) => continue,
                        Err(error) => error.to_string(),
                    },
                    // The server's chain was reorganized meanwhile, as its next state will show.
                    Ok(None) => "its newest block is not on its chain any more".to_owned(),
                    Err(error) => {
                        self.failed.insert(address, Instant::now() + PAUSE_AFTER_FAILURE);
                        error.to_string()
                    }
                };
                tracing::debug!(%chain, server = %address, problem, "a chain server is not compared");
                server.known.forget();
                failed.insert(address);
            }
            for ServerChain { address, known, .. } in &*chains {
                self.blocks.insert(*address, known.clone());
            }
            chains.retain(|server| !failed.contains(&server.address));
        }
        let mut branches = choose_branch(chains, bound);
        branches.excluded.extend(failed);
        branches
    }
}
