//! The branches of the servers of one chain: from which height on their blocks differ, and which branch counts. Pure.
//!
//! Two servers are compared at their highest common height. Where fewer blocks differ than the chain's reorganization
//! bound, both are states of one chain, and more work decides. Where more differ, a server read blocks that the others
//! refuse: the majority of the servers that have a block above the fork decides, and nothing without one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
};

use crate::message::{BlockIdMessage, BlockRefMessage};

use crate::message::{BRANCH_BLOCKS, BranchBlocks};

/// Heights at which two servers are compared at once while their last common block is looked for.
const HEIGHTS_PER_SEARCH: u64 = 32;
/// Hashes that are kept of one server.
const MAX_HASHES: usize = 4096;

/// A server with what is known of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerChain {
    /// Its address.
    pub address: SocketAddr,
    /// Height of its first block.
    pub start: u64,
    /// True if its newest block is one of now: the server is not reading earlier blocks.
    pub is_current: bool,
    /// What is known of its blocks.
    pub known: KnownBlocks,
}

/// What is known of the blocks of one server, up to its newest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBlocks {
    newest: BlockRefMessage,
    hashes: BTreeMap<u64, [u8; 32]>,
    /// By height: the work of the blocks above it; `None` where the server does not know it.
    work_above: BTreeMap<u64, Option<u128>>,
    /// False for a server that is not asked for its blocks: an earlier release does not know the question.
    answers: bool,
}

/// Why an answer about blocks is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InconsistentBlocks {
    /// A block was not asked for.
    #[error("block {0} was not asked for")]
    NotAsked(u64),
    /// A block has another hash than it had before, or than the block above names as its parent.
    #[error("block {0} has two hashes on one branch")]
    TwoHashes(u64),
}

impl KnownBlocks {
    /// A server of which only the newest block is known.
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

    /// Notes the server's newest block. What was known stays known if the new one follows the last one.
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

    /// Notes whether the server answers questions for its blocks.
    pub const fn answer(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// Forgets everything but the newest block.
    pub fn forget(&mut self) {
        *self = Self { answers: self.answers, ..Self::from_newest(self.newest) };
    }

    /// Adds an answer to a question for `heights`.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer contradicts itself or what the server told before.
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
        // What the server leaves out it does not have.
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

    /// True if the server can be asked for a block that is not known.
    fn lacks(&self, height: u64) -> bool {
        let is_asked_for = self.known.work_above.contains_key(&height);
        self.known.answers && self.has(height) && self.known.hash(height).is_none() && !is_asked_for
    }

    fn lacks_work(&self, height: u64) -> bool {
        self.known.answers && self.has(height) && !self.known.work_above.contains_key(&height)
    }
}

/// How the blocks of two servers are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The one's newest block is on the other's branch.
    Same,
    /// They have no height in common.
    Apart,
    /// The block at their highest common height is not known of both.
    Unknown { top: u64 },
    /// They differ.
    Differ {
        /// Their highest common height.
        top: u64,
        /// The lowest height at which they are known to differ.
        at: u64,
        /// The lowest height that may be the first one at which they differ.
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

/// The heights at which servers are to be asked for their blocks until they can be compared. Empty once they can.
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
                // The last blocks first: there a difference is an ordinary one. Then the range is divided.
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

/// The branch that counts among those of the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchChoice {
    /// The servers that are not asked: they have blocks of a branch that does not count, or no branch counts.
    pub excluded: BTreeSet<SocketAddr>,
    /// The difference that is no ordinary reorganization, if there is one.
    pub difference: Option<BranchDifference>,
}

/// Servers that differ in more blocks than a reorganization replaces, or between which nothing decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchDifference {
    /// Height of the last block that all of them have, if it was found.
    pub last_common: Option<u64>,
    /// The branches, the one that counts first, then those of more servers.
    pub branches: Vec<Branch>,
    /// True if the first of them counts; false if none has a majority.
    pub is_decided: bool,
}

/// A branch of servers that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The highest block of its servers.
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

/// Chooses the branch that counts.
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

/// The servers, where those of an earlier release are known to have the blocks of the servers on their branch.
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

/// The lowest height at which two of the servers differ.
fn lowest_difference(servers: &[&ServerChain]) -> Option<u64> {
    let differ_at = |(one, other): (&ServerChain, &ServerChain)| match Relation::of(one, other) {
        Relation::Differ { at, .. } => Some(at),
        // Servers differ until the opposite is known, unless one of them is still reading earlier blocks.
        Relation::Unknown { top } if one.is_current && other.is_current => Some(top),
        Relation::Same | Relation::Apart | Relation::Unknown { .. } => None,
    };
    pairs(servers).filter_map(differ_at).min()
}

/// A height at which servers have different blocks.
struct Fork<'s> {
    at: u64,
    sides: Vec<ForkBranch<'s>>,
    /// Servers with a block at that height that is not known.
    unplaced: Vec<&'s ServerChain>,
}

/// The servers that have one block at a fork.
struct ForkBranch<'s> {
    hash: [u8; 32],
    servers: Vec<&'s ServerChain>,
    height: u64,
    /// The most work above the fork; `None` where it is not known.
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

    /// True if two sides differ in more blocks than a reorganization replaces, as far as is known.
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

    /// The side that counts; `None` if nothing decides.
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
            // Of equal work: nodes keep the one that they saw first, which is that of most.
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
