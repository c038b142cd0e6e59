//! Comparing the servers of a chain, whenever one of them told its state.

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

/// Most questions to a server in one comparison: each divides the blocks in which the last common one may be by 32.
const MAX_ROUNDS: usize = 10;
/// Time for which a server that did not answer a question for its blocks gets no other one: the states of others wait for
/// each.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// What the last comparison found.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Held by the one who compares.
    known: tokio::sync::Mutex<ServerRecords>,
    branches: Mutex<BranchChoice>,
}

/// What is known of the servers.
#[derive(Debug, Default)]
struct ServerRecords {
    blocks: BTreeMap<SocketAddr, KnownBlocks>,
    /// Servers that did not answer questions for their blocks, until when they are not asked.
    failed: BTreeMap<SocketAddr, Instant>,
}

impl Comparison {
    /// Compares the servers once one of them told its state, and then notes the state: nobody sees a newest block that was
    /// not compared.
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

    /// True if the server has blocks of one of several branches.
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

    /// Reads what the last comparison found.
    pub(super) fn with<T>(&self, read: impl FnOnce(&BranchChoice) -> T) -> T {
        read(&self.branches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ServerRecords {
    /// The servers that are compared, and those that are not because they did not answer.
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
                // A server that stops to answer does not make the others right.
                blocks.answer(false);
                let (address, known) = (*address, blocks.clone());
                chains.push(ServerChain { address, start: 0, is_current: false, known });
            }
        }
        (chains, self.failed.keys().copied().collect())
    }

    /// Asks for what is not known until the servers can be compared. A server that fails is left out.
    async fn compare(&mut self, servers: &Servers, chains: &mut Vec<ServerChain>) -> BranchChoice {
        let chain = servers.chain;
        let bound = chain.info().reorganization_bound();
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
                    // It was reorganized meanwhile: its next state says so.
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
