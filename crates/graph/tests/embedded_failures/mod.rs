//! Embedded graphs through reorganizations and kills: a graph always equals that of an uninterrupted ingest of the same
//! blocks.

use assay_test_random::Random;
use std::{
    collections::{BTreeSet, HashMap},
    env,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use assay_engine::ledger::BlockRef;
use assay_graph::{EmbeddedGraphs, Graph, GraphWriter, WriterOptions, utxo::Snapshot};
use futures_util::FutureExt;

use crate::conformance::{
    CHAIN, TestChain, append, at, expect_equal, graph, options, record, reference, writer,
};

/// Names the data directory to a test program that is to be killed.
const VICTIM: &str = "ASSAY_GRAPH_VICTIM";
/// Height up to which both branches of the victim's chain are the same.
const FORK: u64 = 140;

fn is_full() -> bool {
    env::var_os("ASSAY_FULL").is_some()
}

/// Digest of the graph of [`CHAIN`].
async fn fingerprint(store: &EmbeddedGraphs) -> [u8; 32] {
    graph(store).fingerprint().await.unwrap()
}

async fn expected(chain: &TestChain) -> [u8; 32] {
    reference(chain).fingerprint().await.unwrap()
}

/// All data of a snapshot, by numbers.
fn shown(snapshot: &Snapshot) -> Vec<String> {
    let reader = snapshot.reader();
    let mut lines = vec![format!("{:?}", snapshot.tip().unwrap())];
    for tx in 0.. {
        let Some(record) = reader.transaction(tx).unwrap() else { break };
        lines.push(format!("{} {:?}", reader.txid(tx).unwrap(), record.head()));
        record.inputs(|entry| lines.push(format!("{entry:?}"))).unwrap();
        record
            .outputs(|entry| {
                let output = record.head().first_output + u64::from(entry.index);
                let owner = entry.output.owner;
                lines.push(format!(
                    "{entry:?} {:?} {:?} {:?}",
                    reader.spender(output).unwrap(),
                    reader.cluster(owner).unwrap(),
                    reader.statistics(owner).unwrap()
                ));
            })
            .unwrap();
    }
    lines
}

#[tokio::test]
async fn random_reorganisations_leave_no_trace() {
    let reorganisations = if is_full() { 1_000 } else { 120 };
    let (mut random, mut done) = (Random::new(31), 0);
    for seed in 0.. {
        if done >= reorganisations {
            break;
        }
        let directory = tempfile::tempdir().unwrap();
        let store = EmbeddedGraphs::new(directory.path());
        // Some batches begin with blocks that cannot be rolled back.
        let finalized = *random.pick(&[0, 0, 130]);
        let mut chain = TestChain::generate(seed, 0, finalized + 1 + random.index(12));
        let mut open = writer(&store, 0);
        append(&mut open, &chain.blocks, 1 + random.index(40));
        let mut held: Vec<(Snapshot, Vec<String>)> = Vec::new();
        for _ in 0..20 {
            let tip = chain.blocks.last().unwrap().reference.height;
            if random.one_in(4) {
                let snapshot = store.open(CHAIN).unwrap().unwrap().snapshot().unwrap();
                let lines = shown(&snapshot);
                held.push((snapshot, lines));
            }
            if random.one_in(6) {
                drop(open);
                open = writer(&store, 0);
            }
            let depth = random.below(14).min(tip);
            open.roll_back(tip - depth).unwrap();
            chain = chain.fork(tip - depth, random.next(), 0);
            assert_eq!(fingerprint(&store).await, expected(&chain).await, "{depth} blocks back");
            let kept = chain.blocks.len();
            chain = chain.fork(tip - depth, random.next(), 1 + random.index(16));
            append(&mut open, &chain.blocks[kept..], 1 + random.index(9));
            assert_eq!(fingerprint(&store).await, expected(&chain).await, "and on");
            done += 1;
        }
        // The snapshot shows none of these changes.
        for (snapshot, lines) in held {
            assert_eq!(shown(&snapshot), lines);
        }
        if seed % 3 == 0 {
            expect_equal(&graph(&store), &chain).await;
        }
    }
}

#[tokio::test]
async fn a_chain_in_many_runs_equals_the_reference() {
    let chain = TestChain::generate(35, 0, 420);
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    // A backfill that is interrupted and resumed, with one run per batch.
    let (finalized, rest) = chain.blocks.split_at(300);
    let backfill = WriterOptions { backfill: true, ..options(0) };
    for part in finalized.chunks(130) {
        let mut open = store.writer(CHAIN, backfill).unwrap();
        for batch in part.chunks(3) {
            record(&mut open, batch, 300, at(0)).unwrap();
        }
    }
    // Blocks that can be rolled back, whose entries later move into runs.
    let mut open = writer(&store, 0);
    append(&mut open, rest, 7);
    expect_equal(&graph(&store), &chain).await;
    open.roll_back(360).unwrap();
    expect_equal(&graph(&store), &chain.fork(360, 0, 0)).await;
}

/// The two branches that the victim records in turn.
fn branches() -> [TestChain; 2] {
    let one = TestChain::generate(41, 0, 190);
    let other = one.fork(FORK, 42, 60);
    [one, other]
}

/// Records one branch, rolls it back, records the other one, and so on, until this process is killed.
fn record_until_killed(directory: &Path) {
    let store = EmbeddedGraphs::new(directory);
    let mut writer = writer(&store, 0);
    let mut random = Random::new(u64::from(std::process::id()));
    loop {
        for branch in branches() {
            go_to(&mut writer, &branch, &mut random);
        }
    }
}

/// Records the rest of a branch after the graph's newest block, in batches of random sizes.
fn go_to(writer: &mut GraphWriter, branch: &TestChain, random: &mut Random) {
    let tip = writer.tip().map(|tip| tip.block);
    let is_own = |height: u64, hash: [u8; 32]| {
        branch
            .blocks
            .iter()
            .any(|block| block.reference.height == height && block.reference.hash == hash)
    };
    if tip.is_some_and(|tip| !is_own(tip.height, tip.hash)) {
        writer.roll_back(FORK).unwrap();
    }
    let mut next = writer.tip().map_or(0, |tip| tip.block.height + 1);
    while let Some(rest) = branch.blocks.get(usize::try_from(next).unwrap()..) {
        let Some(batch) = rest.chunks(1 + random.index(12)).next() else { break };
        record(writer, batch, 0, at(0)).unwrap();
        next += u64::try_from(batch.len()).unwrap();
    }
}

/// The blocks of a branch up to a block.
fn part_of(branches: &[TestChain], tip: BlockRef) -> Option<TestChain> {
    let has_it = |branch: &&TestChain| branch.blocks.iter().any(|block| block.reference == tip);
    Some(branches.iter().find(has_it)?.fork(tip.height, 0, 0))
}

/// A process that is killed when this guard is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn start_victim(directory: &Path) -> Killed {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "embedded_failures::a_writer_killed_anywhere_leaves_a_whole_graph"])
        .env(VICTIM, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Killed(child)
}

#[tokio::test]
async fn a_writer_killed_anywhere_leaves_a_whole_graph() {
    if let Some(directory) = env::var_os(VICTIM) {
        // This process is the one that another process of this test kills.
        return record_until_killed(Path::new(&directory));
    }
    let kills = if is_full() { 200 } else { 50 };
    let directory = tempfile::tempdir().unwrap();
    let (branches, mut random) = (branches(), Random::new(43));
    let mut known: HashMap<[u8; 32], [u8; 32]> = HashMap::new();
    let (mut tips, mut checked) = (BTreeSet::new(), 0);
    for kill in 0..kills {
        let victim = start_victim(directory.path());
        let wait = if kill == 0 { 400 } else { 20 + random.below(180) };
        // It is killed at any point.
        thread::sleep(Duration::from_millis(wait));
        drop(victim);
        let store = EmbeddedGraphs::new(directory.path());
        let Some(graph) = store.graph(CHAIN).unwrap() else { continue };
        let Some(tip) = graph.tip().await.unwrap() else { continue };
        let part = part_of(&branches, tip.block).unwrap();
        let known =
            known.entry(tip.block.hash).or_insert_with(|| expected(&part).now_or_never().unwrap());
        assert_eq!(graph.fingerprint().await.unwrap(), *known, "kill {kill}");
        tips.insert(tip.block.height);
        if kill % 10 == 0 {
            expect_equal(&graph, &part).await;
            checked += 1;
        }
    }
    assert!(tips.len() > 10 && checked > 2, "killed at the heights {tips:?} only");
}

/// Two programs: this program reads while the other program writes, and cannot write.
#[tokio::test]
async fn a_graph_is_read_while_another_program_writes_it() {
    let directory = tempfile::tempdir().unwrap();
    let victim = start_victim(directory.path());
    let store = EmbeddedGraphs::new(directory.path());
    let mut states: HashMap<[u8; 32], [u8; 32]> = HashMap::new();
    let branches = branches();
    let mut seen = BTreeSet::new();
    let begun = Instant::now();
    while seen.len() < 8 && begun.elapsed() < Duration::from_mins(1) {
        let Some(graph) = store.open(CHAIN).unwrap() else { continue };
        // The fingerprint and the tip are of one state only if nothing was written between.
        let snapshot = graph.snapshot().unwrap();
        let Some(tip) = snapshot.tip().unwrap() else { continue };
        let found = graph.fingerprint().await.unwrap();
        if graph.snapshot().unwrap().id() != snapshot.id() {
            continue;
        }
        let known = states.entry(tip.block.hash).or_insert_with(|| {
            let part = part_of(&branches, tip.block).unwrap();
            expected(&part).now_or_never().unwrap()
        });
        assert_eq!(found, *known);
        seen.insert(tip.block.hash);
        let busy = store.writer(CHAIN, options(0)).unwrap_err();
        assert!(matches!(busy, assay_graph::GraphError::Busy(CHAIN)), "{busy}");
    }
    assert!(seen.len() >= 8, "{} states", seen.len());
    drop(victim);
    // The lock ended with the program.
    drop(store.writer(CHAIN, options(0)).unwrap());
}
