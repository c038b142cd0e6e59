//! The branches of one chain's servers: the height at which their blocks begin to differ, and the choice of the branch
//! whose servers are asked. Pure functions.
//!
//! Two servers are compared at their highest common height. If at most as many blocks differ as the chain's
//! reorganization bound allows, the branch with more work is chosen. If more blocks differ, some servers read blocks
//! that the others refuse: the branch with the majority of the servers that have a block above the fork is chosen, and
//! none without a majority.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
};

use crate::message::{BlockIdMessage, BlockRefMessage};

use crate::message::{BRANCH_BLOCKS, BranchBlocks};

/// Number of heights at which two servers are compared at once in the search for their last common block.
const HEIGHTS_PER_SEARCH: u64 = 32;
/// Maximum number of block hashes kept for one server.
const MAX_HASHES: usize = 4096;

/// A server and its known blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerChain {
    /// The server's address.
    pub address: SocketAddr,
    /// Height of the server's first block.
    pub start: u64,
    /// True if the server's newest block is recent: the server is not still reading old blocks.
    pub is_current: bool,
    /// The server's known blocks.
    pub known: KnownBlocks,
}

/// The known block hashes of one server, up to its newest block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBlocks {
    newest: BlockRefMessage,
    hashes: BTreeMap<u64, [u8; 32]>,
    /// Total work of the blocks above a height, by that height; `None` if the server does not know the work.
    work_above: BTreeMap<u64, Option<u128>>,
    /// False if the server does not answer questions for blocks, because the server is of an earlier release.
    answers: bool,
}

/// The reason why an answer about blocks is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InconsistentBlocks {
    /// The answer has a block at a height that the question did not name.
    #[error("block {0} was not asked for")]
    NotAsked(u64),
    /// A block has another hash than in an earlier answer, or than the block above names as its parent.
    #[error("block {0} has two hashes on one branch")]
    TwoHashes(u64),
}

impl KnownBlocks {
    /// The blocks of a server whose newest block alone is known.
    #[must_use]
    pub fn from_newest(newest: BlockRefMessage) -> Self {
        let mut known =
            Self { newest, hashes: BTreeMap::new(), work_above: BTreeMap::new(), answers: true };
        known.learn(newest);
        known
    }

    /// The newest block.
    #[must_use]
    pub const fn newest(&self) -> &BlockRefMessage {
        &self.newest
    }

    /// Records the server's newest block. The known hashes are kept if the newest block follows the previous newest
    /// block.
    pub fn advance(&mut self, newest: BlockRefMessage) {
        if newest.id() == self.newest.id() {
            return;
        }
        let follows = newest.parent == self.newest.hash;
        let answers = self.answers;
        if !follows || self.hashes.len() > MAX_HASHES {
            *self = Self { answers, ..Self::from_newest(newest) };
        }
        self.newest = newest;
        self.work_above.clear();
        self.learn(newest);
    }

    /// Records whether the server answers questions for its blocks.
    pub const fn answer(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// Removes all known blocks but the newest.
    pub fn forget(&mut self) {
        *self = Self { answers: self.answers, ..Self::from_newest(self.newest) };
    }

    /// Adds an answer to a question for `heights`.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer contradicts itself or an earlier answer of the server.
    pub fn add(
        &mut self,
        heights: &BTreeSet<u64>,
        answer: &BranchBlocks,
    ) -> Result<(), InconsistentBlocks> {
        for told in &answer.blocks {
            let BlockIdMessage { height, hash } = told.block.id();
            if !heights.contains(&height) || height > self.newest.height {
                return Err(InconsistentBlocks::NotAsked(height));
            }
            let parent = height.checked_sub(1).map(|below| (below, told.block.parent));
            for (height, hash) in [(height, hash)].into_iter().chain(parent) {
                if self.hash(height).is_some_and(|known| known != hash) {
                    return Err(InconsistentBlocks::TwoHashes(height));
                }
            }
            self.learn(told.block);
            self.work_above.insert(height, told.work_above);
        }
        // The server does not have blocks that its answer lacks.
        for height in heights {
            self.work_above.entry(*height).or_default();
        }
        Ok(())
    }

    fn learn(&mut self, block: BlockRefMessage) {
        self.hashes.insert(block.height, block.hash);
        if let Some(below) = block.height.checked_sub(1) {
            self.hashes.insert(below, block.parent);
        }
    }

    fn hash(&self, height: u64) -> Option<[u8; 32]> {
        self.hashes.get(&height).copied()
    }
}

impl ServerChain {
    const fn height(&self) -> u64 {
        self.known.newest.height
    }

    const fn has(&self, height: u64) -> bool {
        self.start <= height && height <= self.height()
    }

    /// True if the server can be asked for its unknown block at a height.
    fn lacks(&self, height: u64) -> bool {
        let is_asked_for = self.known.work_above.contains_key(&height);
        self.known.answers && self.has(height) && self.known.hash(height).is_none() && !is_asked_for
    }

    fn lacks_work(&self, height: u64) -> bool {
        self.known.answers && self.has(height) && !self.known.work_above.contains_key(&height)
    }
}

/// The relation between the blocks of two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The newest block of one server is on the branch of the other.
    Same,
    /// The servers have no height in common.
    Apart,
    /// The block at the highest common height is not known for both servers.
    Unknown { top: u64 },
    /// The servers have different blocks at some height.
    Differ {
        /// The highest height that both servers have.
        top: u64,
        /// The lowest height at which the servers are known to differ.
        at: u64,
        /// The lowest height at which the servers may differ.
        least: u64,
    },
}

impl Relation {
    fn of(one: &ServerChain, other: &ServerChain) -> Self {
        let (low, top) = (one.start.max(other.start), one.height().min(other.height()));
        if top < low {
            return Self::Apart;
        }
        let common = one
            .known
            .hashes
            .range(low..=top)
            .filter_map(|(height, hash)| Some((*height, *hash == other.known.hash(*height)?)));
        let (mut least, mut is_same) = (low, false);
        for (height, is_equal) in common {
            if !is_equal {
                return Self::Differ { top, at: height, least };
            }
            least = height + 1;
            is_same = height == top;
        }
        if is_same { Self::Same } else { Self::Unknown { top } }
    }
}

fn pairs<'a>(
    servers: &'a [&'a ServerChain],
) -> impl Iterator<Item = (&'a ServerChain, &'a ServerChain)> {
    let from = |index: usize| servers.get(index + 1..).unwrap_or_default();
    let pair = move |(index, one): (usize, &&'a ServerChain)| {
        let one = *one;
        from(index).iter().map(move |other| (one, *other))
    };
    servers.iter().enumerate().flat_map(pair)
}

/// The heights at which each server is to be asked for its blocks before the servers can be compared. The list is empty
/// once the servers can be compared.
#[must_use]
pub fn block_questions(servers: &[ServerChain], bound: u64) -> BTreeMap<SocketAddr, BTreeSet<u64>> {
    let all: Vec<&ServerChain> = servers.iter().collect();
    let mut questions: BTreeMap<SocketAddr, BTreeSet<u64>> = BTreeMap::new();
    let mut ask = |server: &ServerChain, height: u64| {
        let heights = questions.entry(server.address).or_default();
        if heights.len() < BRANCH_BLOCKS {
            heights.insert(height);
        }
    };
    for (one, other) in pairs(&all) {
        match Relation::of(one, other) {
            Relation::Same | Relation::Apart => {}
            Relation::Unknown { top } => {
                for server in [one, other].into_iter().filter(|server| server.lacks(top)) {
                    ask(server, top);
                }
            }
            Relation::Differ { top, at, least } if least < at => {
                // Ordinary reorganizations replace the last blocks, so these come first. Then the range is divided.
                let near = top.saturating_sub(bound).max(least);
                let step = (at - least).div_ceil(HEIGHTS_PER_SEARCH).max(1);
                let heights: Vec<u64> = if near < at {
                    (near..at).collect()
                } else {
                    (least..at).rev().step_by(usize::try_from(step).unwrap_or(1)).collect()
                };
                for server in [one, other] {
                    heights.iter().filter(|it| server.lacks(**it)).for_each(|it| ask(server, *it));
                }
            }
            Relation::Differ { top, at, .. } => {
                all.iter().filter(|server| server.lacks(at)).for_each(|server| ask(server, at));
                let Some(common) = at.checked_sub(1) else { continue };
                if top - common <= bound {
                    for server in [one, other].into_iter().filter(|it| it.lacks_work(common)) {
                        ask(server, common);
                    }
                }
            }
        }
    }
    questions
}

/// The choice between the branches of a chain's servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchChoice {
    /// The servers that get no questions: those on a branch that was not chosen, or all if no branch was chosen.
    pub excluded: BTreeSet<SocketAddr>,
    /// The difference between the servers, if an ordinary reorganization does not explain it.
    pub difference: Option<BranchDifference>,
}

/// A difference between servers in more blocks than a reorganization replaces, or without a chosen branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchDifference {
    /// Height of the last block that all servers have, if it was found.
    pub last_common: Option<u64>,
    /// The branches: the chosen branch first, then by falling number of servers.
    pub branches: Vec<Branch>,
    /// True if the first branch was chosen; false if no branch has a majority.
    pub is_decided: bool,
}

/// One of several branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The highest block of the branch's servers.
    pub newest: BlockRefMessage,
    /// The servers with blocks of the branch.
    pub servers: Vec<SocketAddr>,
}

impl fmt::Display for BranchDifference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last_common {
            Some(height) => write!(formatter, "the chain servers differ above block {height}: ")?,
            None => formatter.write_str("the chain servers have no block in common: ")?,
        }
        for (index, branch) in self.branches.iter().enumerate() {
            let servers: Vec<String> = branch.servers.iter().map(ToString::to_string).collect();
            let BlockIdMessage { height, hash } = branch.newest.id();
            let separator = if index == 0 { "" } else { "; " };
            let (servers, verb) =
                (servers.join(", "), if servers.len() == 1 { "has" } else { "have" });
            write!(formatter, "{separator}{servers} {verb} block {height} {}", hex::encode(hash))?;
        }
        formatter.write_str(if self.is_decided {
            "; the first branch has the majority and answers"
        } else {
            "; no branch has a majority, so that none answers"
        })
    }
}

/// Chooses the branch whose servers are asked. `bound` is the chain's reorganization bound.
#[must_use]
pub fn choose_branch(servers: &[ServerChain], bound: u64) -> BranchChoice {
    let servers = with_inferred(servers);
    let mut on: Vec<&ServerChain> = servers.iter().collect();
    // The servers that have no block above a fork are on every branch.
    let mut below: Vec<&ServerChain> = Vec::new();
    let mut difference = None;
    while let Some(at) = lowest_difference(&on) {
        let (above, not_above): (Vec<_>, Vec<_>) =
            on.iter().copied().partition(|it| it.height() >= at);
        below.extend(not_above);
        let fork = Fork::of(at, &above);
        if fork.sides.len() < 2 && fork.unplaced.is_empty() {
            break;
        }
        let winner = fork.winner(bound);
        if difference.is_none() && (winner.is_none() || fork.has_deep_side(bound)) {
            difference = Some(fork.difference(winner));
        }
        let Some(side) = winner.and_then(|winner| fork.sides.get(winner)) else {
            let excluded = servers.iter().map(|server| server.address).collect();
            return BranchChoice { excluded, difference: Some(fork.difference(None)) };
        };
        on.clone_from(&side.servers);
    }
    let chosen: BTreeSet<SocketAddr> = on.iter().chain(&below).map(|it| it.address).collect();
    let all = servers.iter().map(|server| server.address);
    let excluded = all.filter(|address| !chosen.contains(address)).collect();
    BranchChoice { excluded, difference }
}

/// Returns the servers. Servers of an earlier release get the known hashes of the servers on their branch.
fn with_inferred(servers: &[ServerChain]) -> Vec<ServerChain> {
    let mut inferred = servers.to_vec();
    for server in inferred.iter_mut().filter(|server| !server.known.answers) {
        for other in servers.iter().filter(|other| other.known.answers) {
            if Relation::of(server, other) == Relation::Same {
                let top = server.height().min(other.height());
                for (height, hash) in other.known.hashes.range(..=top) {
                    server.known.hashes.entry(*height).or_insert(*hash);
                }
            }
        }
    }
    inferred
}

/// Returns the lowest height at which two of the servers differ.
fn lowest_difference(servers: &[&ServerChain]) -> Option<u64> {
    let differ_at = |(one, other): (&ServerChain, &ServerChain)| match Relation::of(one, other) {
        Relation::Differ { at, .. } => Some(at),
        // Servers whose blocks are unknown count as different, unless one of the servers is still reading old blocks.
        Relation::Unknown { top } if one.is_current && other.is_current => Some(top),
        Relation::Same | Relation::Apart | Relation::Unknown { .. } => None,
    };
    pairs(servers).filter_map(differ_at).min()
}

/// A height at which servers have different blocks.
struct Fork<'s> {
    at: u64,
    sides: Vec<ForkBranch<'s>>,
    /// Servers whose block at the height of the fork is not known.
    unplaced: Vec<&'s ServerChain>,
}

/// The servers that have the same block at a fork.
struct ForkBranch<'s> {
    hash: [u8; 32],
    servers: Vec<&'s ServerChain>,
    height: u64,
    /// The most work above the fork; `None` if it is not known.
    work: Option<u128>,
}

impl<'s> Fork<'s> {
    fn of(at: u64, above: &[&'s ServerChain]) -> Self {
        let mut sides: BTreeMap<[u8; 32], Vec<&'s ServerChain>> = BTreeMap::new();
        let mut unplaced = Vec::new();
        for server in above {
            match server.known.hash(at) {
                Some(hash) => sides.entry(hash).or_default().push(server),
                None => unplaced.push(*server),
            }
        }
        let work = |server: &&ServerChain| {
            at.checked_sub(1).and_then(|common| *server.known.work_above.get(&common)?)
        };
        let side = |(hash, servers): ([u8; 32], Vec<&'s ServerChain>)| ForkBranch {
            hash,
            height: servers.iter().map(|server| server.height()).max().unwrap_or(at),
            work: servers.iter().filter_map(work).max(),
            servers,
        };
        Self { at, sides: sides.into_iter().map(side).collect(), unplaced }
    }

    /// True if two branches differ in more known blocks than a reorganization replaces.
    fn is_deep(&self, one: &ForkBranch<'_>, other: &ForkBranch<'_>, bound: u64) -> bool {
        let Some(common) = self.at.checked_sub(1) else { return true };
        let shares = |one: &ServerChain, other: &ServerChain| {
            let hash = one.known.hash(common);
            hash.is_some() && hash == other.known.hash(common)
        };
        let is_last_common = one
            .servers
            .iter()
            .any(|first| other.servers.iter().any(|second| shares(first, second)));
        !is_last_common || one.height.min(other.height) - common > bound
    }

    fn has_deep_side(&self, bound: u64) -> bool {
        let deep = |one: &ForkBranch<'_>| {
            self.sides.iter().any(|other| one.hash != other.hash && self.is_deep(one, other, bound))
        };
        !self.unplaced.is_empty() || self.sides.iter().any(deep)
    }

    /// The index of the chosen branch; `None` if neither work nor a majority decides.
    fn winner(&self, bound: u64) -> Option<usize> {
        let loses = |one: &ForkBranch<'_>| {
            self.sides.iter().any(|other| {
                let has_more = one.work.zip(other.work).is_some_and(|(one, other)| one < other);
                has_more && !self.is_deep(one, other, bound)
            })
        };
        let left: Vec<(usize, &ForkBranch<'_>)> =
            self.sides.iter().enumerate().filter(|(_, side)| !loses(side)).collect();
        let is_equal = |one: &ForkBranch<'_>, other: &ForkBranch<'_>| {
            one.hash == other.hash
                || (one.work.is_some()
                    && one.work == other.work
                    && !self.is_deep(one, other, bound))
        };
        let are_equal =
            left.iter().all(|(_, one)| left.iter().all(|(_, other)| is_equal(one, other)));
        if are_equal && self.unplaced.is_empty() {
            // The branches have equal work: nodes keep the branch that they saw first, so that most servers decide.
            return left
                .into_iter()
                .max_by_key(|(_, it)| (it.servers.len(), it.hash))
                .map(|it| it.0);
        }
        let votes = left.iter().map(|(_, side)| side.servers.len()).sum::<usize>();
        let votes = votes + self.unplaced.len();
        left.into_iter().find(|(_, side)| side.servers.len() * 2 > votes).map(|(index, _)| index)
    }

    fn difference(&self, winner: Option<usize>) -> BranchDifference {
        let mut sides: Vec<(bool, Vec<&ServerChain>)> = self
            .sides
            .iter()
            .enumerate()
            .map(|(index, side)| (winner == Some(index), side.servers.clone()))
            .collect();
        sides.extend(self.unplaced.iter().map(|server| (false, vec![*server])));
        sides.sort_by_key(|(wins, servers)| (!wins, std::cmp::Reverse(servers.len())));
        let branch = |(_, servers): (bool, Vec<&ServerChain>)| {
            let newest = servers.iter().map(|it| it.known.newest).max_by_key(|it| it.height)?;
            Some(Branch { newest, servers: servers.iter().map(|it| it.address).collect() })
        };
        BranchDifference {
            last_common: self.at.checked_sub(1),
            branches: sides.into_iter().filter_map(branch).collect(),
            is_decided: winner.is_some(),
        }
    }
}

#[cfg(test)]
mod tests;
