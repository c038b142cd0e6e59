use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::message::BranchBlock;

const BOUND: u64 = 6;

/// A tree of blocks: each names the one before it. The first block of the tree is the genesis block.
#[derive(Clone, Debug)]
struct World(Vec<Placed>);

#[derive(Clone, Copy, Debug)]
struct Placed {
    before: usize,
    height: u64,
    work: Option<u128>,
}

impl World {
    fn new() -> Self {
        Self(vec![Placed { before: 0, height: 0, work: Some(1) }])
    }

    /// Adds blocks of the same work after a block, and returns the last block.
    fn grow(&mut self, mut after: usize, count: u64, work: Option<u128>) -> usize {
        for _ in 0..count {
            let height = self.0[after].height + 1;
            self.0.push(Placed { before: after, height, work });
            after = self.0.len() - 1;
        }
        after
    }

    fn block(&self, index: usize) -> BlockRefMessage {
        let hash = |index: usize| {
            let mut hash = [7; 32];
            hash[..8].copy_from_slice(&index.to_be_bytes());
            hash
        };
        let Placed { before, height, .. } = self.0[index];
        let parent = if index == 0 { [0; 32] } else { hash(before) };
        BlockRefMessage { height, hash: hash(index), parent, time: Timestamp::UNIX_EPOCH }
    }

    /// The blocks from a block down to the genesis block.
    fn branch(&self, tip: usize) -> Vec<usize> {
        let down = std::iter::successors(Some(tip), |at| (*at > 0).then(|| self.0[*at].before));
        down.collect()
    }

    fn answer(&self, tip: usize, heights: &BTreeSet<u64>) -> BranchBlocks {
        let branch = self.branch(tip);
        let asked = branch.iter().filter(|index| heights.contains(&self.0[**index].height));
        let blocks = asked.map(|index| {
            let height = self.0[*index].height;
            let above = branch.iter().filter(|it| self.0[**it].height > height);
            let work_above = above.map(|it| self.0[*it].work).sum();
            BranchBlock { block: self.block(*index), work_above }
        });
        BranchBlocks { blocks: blocks.collect() }
    }
}

fn address(number: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, u8::try_from(number).unwrap()], 8080))
}

/// Servers, each with the newest block of its number.
struct Servers<'w> {
    world: &'w World,
    tips: Vec<usize>,
    chains: Vec<ServerChain>,
    asked: usize,
}

impl<'w> Servers<'w> {
    fn at(world: &'w World, tips: &[usize]) -> Self {
        let chain = |(number, tip): (usize, &usize)| ServerChain {
            address: address(number),
            start: 0,
            is_current: true,
            known: KnownBlocks::from_newest(world.block(*tip)),
        };
        let chains = tips.iter().enumerate().map(chain).collect();
        Self { world, tips: tips.to_vec(), chains, asked: 0 }
    }

    /// Asks servers for the blocks that comparisons need, and chooses a branch.
    fn choose_branch(&mut self) -> BranchChoice {
        for _ in 0..10 {
            let questions = block_questions(&self.chains, BOUND);
            if questions.is_empty() {
                return choose_branch(&self.chains, BOUND);
            }
            for (server, heights) in questions {
                assert!(!heights.is_empty() && heights.len() <= BRANCH_BLOCKS);
                let is_asked = |it: &ServerChain| it.address == server;
                let number = self.chains.iter().position(is_asked).unwrap();
                let answer = self.world.answer(self.tips[number], &heights);
                self.chains[number].known.add(&heights, &answer).unwrap();
                self.asked += 1;
            }
        }
        panic!("questions do not end: {:?}", block_questions(&self.chains, BOUND));
    }
}

/// The numbers of the servers that are asked, with the difference between the branches.
fn chosen(world: &World, tips: &[usize]) -> (Vec<usize>, Option<BranchDifference>) {
    let BranchChoice { excluded, difference } = Servers::at(world, tips).choose_branch();
    let numbers = (0..tips.len()).filter(|number| !excluded.contains(&address(*number)));
    (numbers.collect(), difference)
}

const EASY: Option<u128> = Some(2);
const HARD: Option<u128> = Some(1000);

#[test]
fn a_longer_branch_of_a_minority_is_not_asked() {
    // Given two servers at block 105, and one at 120 of a branch that left theirs at block 90,
    let mut world = World::new();
    let common = world.grow(0, 90, HARD);
    let (right, forged) = (world.grow(common, 15, HARD), world.grow(common, 30, HARD));
    // then the two answer, and the difference is known with its height.
    let (asked, difference) = chosen(&world, &[right, right, forged]);
    let difference = difference.unwrap();
    assert_eq!((asked, difference.last_common), (vec![0, 1], Some(90)));
    assert_eq!(difference.branches[0].servers, [address(0), address(1)]);
    assert_eq!(difference.branches[1].newest.height, 120);
    let told = difference.to_string();
    assert!(
        told.starts_with(
            "the chain servers differ above block 90: 10.0.0.0:8080, 10.0.0.1:8080 have block 105 "
        ),
        "{told}"
    );
    assert!(told.ends_with("; the first branch has the majority and answers"), "{told}");
}

#[test]
fn one_against_one_nobody_is_asked() {
    let mut world = World::new();
    let common = world.grow(0, 20, HARD);
    let (right, forged) = (world.grow(common, 7, HARD), world.grow(common, 30, HARD));
    let (asked, difference) = chosen(&world, &[right, forged]);
    assert_eq!((asked, difference.unwrap().is_decided), (vec![], false));
    // A server below the fork is of both branches, and votes for neither.
    let (asked, difference) = chosen(&world, &[right, forged, common]);
    assert_eq!((asked, difference.unwrap().is_decided), (vec![], false));
    // Of three branches none has a majority.
    let third = world.grow(common, 9, HARD);
    assert!(chosen(&world, &[right, forged, third]).0.is_empty());
    // Nor has one that as many others oppose together.
    assert!(chosen(&world, &[right, right, forged, third]).0.is_empty());
    assert_eq!(chosen(&world, &[right, right, right, forged, third]).0, [0, 1, 2]);
}

#[test]
fn within_the_bound_more_work_decides_and_nothing_is_reported() {
    let mut world = World::new();
    let common = world.grow(0, 100, HARD);
    // A forger's blocks are more, and easier; the other branch has as many blocks as the bound.
    let (right, forged) = (world.grow(common, BOUND, HARD), world.grow(common, 20, EASY));
    assert_eq!(chosen(&world, &[right, forged]), (vec![0], None));
    assert_eq!(chosen(&world, &[forged, forged, right]), (vec![2], None));
    // The heavier branch of one server wins against two that have not been reorganized yet.
    let heavier = world.grow(common, BOUND + 1, HARD);
    assert_eq!(chosen(&world, &[right, right, heavier]), (vec![2], None));
    // One block more on both, and the majority decides.
    let (right, forged) = (world.grow(right, 1, HARD), world.grow(common, 9, HARD));
    let (asked, difference) = chosen(&world, &[right, right, forged]);
    assert_eq!((asked, difference.unwrap().last_common), (vec![0, 1], Some(100)));
    // Of equal work the branch of most counts.
    let (one, other) = (world.grow(common, 1, HARD), world.grow(common, 1, HARD));
    assert_eq!(chosen(&world, &[one, other, other]), (vec![1, 2], None));
    assert_eq!(chosen(&world, &[one, other]).0.len(), 1, "one of both");
}

#[test]
fn without_work_the_majority_alone_decides() {
    let mut world = World::new();
    let common = world.grow(0, 100, None);
    let (right, forged) = (world.grow(common, 2, None), world.grow(common, 5, HARD));
    assert_eq!(chosen(&world, &[right, right, forged]), (vec![0, 1], None));
    let (asked, difference) = chosen(&world, &[right, forged]);
    assert_eq!((asked, difference.unwrap().is_decided), (vec![], false));
}

#[test]
fn a_server_on_the_common_part_is_asked_after_the_others() {
    let mut world = World::new();
    let common = world.grow(0, 50, HARD);
    let (right, forged) = (world.grow(common, 20, HARD), world.grow(common, 20, HARD));
    let syncing = world.branch(common)[30];
    let (asked, _) = chosen(&world, &[right, syncing, forged, right]);
    assert_eq!(asked, [0, 1, 3]);
}

#[test]
fn servers_on_one_branch_are_rarely_asked() {
    let mut world = World::new();
    let newest = world.grow(0, 1_000, HARD);
    let branch = world.branch(newest);
    let next = world.grow(newest, 1, HARD);
    let other = world.grow(branch[3], 9, HARD);
    let asked = |tips: &[usize]| {
        let mut servers = Servers::at(&world, tips);
        assert_eq!(servers.choose_branch(), BranchChoice::default());
        servers.asked
    };
    assert_eq!(asked(&[newest, newest, branch[1]]), 0, "a block names the one before it");
    assert_eq!(asked(&[newest, branch[2]]), 1);
    assert_eq!(asked(&[branch[900], newest, branch[10]]), 2);
    // What is known stays known when a block follows.
    let mut servers = Servers::at(&world, &[newest, branch[5]]);
    servers.choose_branch();
    servers.tips[0] = next;
    servers.chains[0].known.advance(world.block(next));
    let before = servers.asked;
    assert_eq!((servers.choose_branch(), servers.asked), (BranchChoice::default(), before));
    // After a reorganization nothing is.
    servers.chains[0].known.advance(world.block(other));
    assert_eq!(servers.chains[0].known, KnownBlocks::from_newest(world.block(other)));
}

#[test]
fn a_deep_fork_is_found_by_few_questions() {
    let mut world = World::new();
    let common = world.grow(0, 12_345, HARD);
    let (right, forged) = (world.grow(common, 40_000, HARD), world.grow(common, 50_000, EASY));
    let mut servers = Servers::at(&world, &[right, forged, right]);
    assert_eq!(servers.choose_branch().difference.unwrap().last_common, Some(12_345));
    assert!(servers.asked <= 3 * 8, "{}", servers.asked);
    // Another first block leaves nothing in common.
    let mut other = World::new();
    other.0.push(Placed { before: 1, height: 0, work: HARD });
    let stranger = other.grow(1, 9, HARD);
    let mut servers = Servers::at(&world, &[right, right]);
    let known = KnownBlocks::from_newest(other.block(stranger));
    servers.chains.push(ServerChain { address: address(2), start: 9, is_current: true, known });
    servers.tips.push(right);
    let BranchChoice { excluded, difference } = servers.choose_branch();
    assert_eq!(excluded, BTreeSet::from([address(2)]));
    assert_eq!(difference.unwrap().branches.len(), 2);
}

#[test]
fn a_server_that_cannot_be_asked_counts_as_different_unless_it_reads_earlier_blocks() {
    let mut world = World::new();
    let newest = world.grow(0, 100, HARD);
    let earlier = world.branch(newest)[40];
    let mut servers = Servers::at(&world, &[earlier, newest, newest]);
    for server in &mut servers.chains[1..] {
        server.known.answer(false);
    }
    // Of an earlier release, at a block of its own that nobody can show to be on the branch of another:
    let BranchChoice { excluded, difference } = servers.choose_branch();
    assert_eq!((excluded.len(), difference.unwrap().is_decided), (3, false));
    // A server that is still reading earlier blocks is behind, and no more.
    servers.chains[0].is_current = false;
    assert_eq!(servers.choose_branch(), BranchChoice::default());
    // The higher server can show its blocks: nothing is unknown.
    servers.chains[0].is_current = true;
    servers.chains[1].known.answer(true);
    assert_eq!(servers.choose_branch(), BranchChoice::default());
    // One that differs and cannot show from where on is of a minority.
    let forged = world.grow(world.branch(newest)[3], 4, HARD);
    let mut servers = Servers::at(&world, &[newest, newest, forged]);
    servers.chains[2].known.answer(false);
    let BranchChoice { excluded, difference } = servers.choose_branch();
    assert_eq!((excluded, difference.is_some()), (BTreeSet::from([address(2)]), true));
}

#[test]
fn an_answer_that_contradicts_itself_is_not_used() {
    let mut world = World::new();
    let newest = world.grow(0, 100, HARD);
    let forged = world.grow(world.branch(newest)[50], 50, EASY);
    let asked = BTreeSet::from([60, 61]);
    let mut known = KnownBlocks::from_newest(world.block(newest));
    known.add(&asked, &world.answer(newest, &asked)).unwrap();
    // Blocks of another branch below its own newest block.
    let lower = BTreeSet::from([59, 60]);
    let error = known.clone().add(&lower, &world.answer(forged, &lower)).unwrap_err();
    assert_eq!(error, InconsistentBlocks::TwoHashes(60));
    let top = BTreeSet::from([99]);
    let error = known.clone().add(&top, &world.answer(forged, &top)).unwrap_err();
    assert_eq!(error, InconsistentBlocks::TwoHashes(99));
    let error = known.clone().add(&BTreeSet::from([5]), &world.answer(newest, &top)).unwrap_err();
    assert_eq!(error, InconsistentBlocks::NotAsked(99));
    // What is left out is not asked for again.
    let all = BTreeSet::from([7]);
    known.add(&all, &BranchBlocks { blocks: Vec::new() }).unwrap();
    let server = ServerChain { address: address(1), start: 0, is_current: true, known };
    assert!(!server.lacks(7) && server.lacks(8));
}

/// Trees of some branches, and servers at some of their blocks.
fn worlds() -> impl Strategy<Value = (World, Vec<usize>)> {
    let grown = (any::<prop::sample::Index>(), 1_u64..12, prop_oneof![Just(EASY), Just(HARD)]);
    let branches = proptest::collection::vec(grown, 1..6);
    let servers = proptest::collection::vec(any::<prop::sample::Index>(), 1..7);
    (branches, servers).prop_map(|(branches, servers)| {
        let mut world = World::new();
        for (after, count, work) in branches {
            let after = after.index(world.0.len());
            world.grow(after, count, work);
        }
        let tips = servers.iter().map(|server| server.index(world.0.len())).collect();
        (world, tips)
    })
}

proptest! {
    /// The servers that are asked are all on one branch, and every server on that branch is among them.
    #[test]
    fn the_servers_that_are_asked_have_one_branch((world, tips) in worlds()) {
        let (asked, difference) = chosen(&world, &tips);
        let newest = asked.iter().map(|number| tips[*number]).max_by_key(|tip| world.0[*tip].height);
        if let Some(newest) = newest {
            let branch = world.branch(newest);
            for (number, tip) in tips.iter().enumerate() {
                prop_assert_eq!(asked.contains(&number), branch.contains(tip));
            }
        } else {
            prop_assert!(!difference.unwrap().is_decided);
        }
    }

    /// A branch that most servers have, with more blocks than the bound above every fork from it, is asked whatever
    /// blocks the other servers have.
    #[test]
    fn a_majority_above_the_bound_is_never_outvoted((world, tips) in worlds()) {
        let (asked, _) = chosen(&world, &tips);
        for (number, tip) in tips.iter().enumerate() {
            let branch = world.branch(*tip);
            let others: Vec<usize> =
                tips.iter().copied().filter(|other| !branch.contains(other)).collect();
            let height = world.0[*tip].height;
            let is_settled = others.iter().all(|other| {
                let fork = world.branch(*other).into_iter().find(|at| branch.contains(at)).unwrap();
                let fork = world.0[fork].height;
                let voters = tips.iter().filter(|it| world.0[**it].height > fork && branch.contains(it));
                world.0[*other].height.min(height) > fork + BOUND
                    && voters.count() * 2 > tips.iter().filter(|it| world.branch(**it).iter().any(|at| world.0[*at].height == fork + 1 && world.0[world.0[*at].before].height == fork && branch.contains(&world.0[*at].before))).count()
            });
            if is_settled {
                prop_assert!(asked.contains(&number), "{number} of {tips:?}: {asked:?}");
            }
        }
    }

    /// The order of the servers does not matter.
    #[test]
    fn the_choice_does_not_depend_on_the_order((world, tips) in worlds()) {
        let mut reversed = tips.clone();
        reversed.reverse();
        let (asked, _) = chosen(&world, &tips);
        let (again, _) = chosen(&world, &reversed);
        let tips_of = |numbers: &[usize], tips: &[usize]| {
            let mut of: Vec<usize> = numbers.iter().map(|number| tips[*number]).collect();
            of.sort_unstable();
            of
        };
        prop_assert_eq!(tips_of(&asked, &tips), tips_of(&again, &reversed));
    }
}
