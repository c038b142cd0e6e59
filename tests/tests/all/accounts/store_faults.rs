//! Graphs of account chains under kills, full disks, damaged files and concurrent readers.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::account::AccountTransaction;
use assay_graph::{
    EmbeddedGraphs, WriterOptions,
    account::{AccountBlock, AccountEnds, AccountGraphView},
};
use assay_test_chains::account_chain::LongAccountChain;
use assay_test_random::Random;
use assay_tests::{SmallDisk, is_full};
use jiff::Timestamp;
use tempfile::TempDir;

use super::store::{blocks, fingerprint_at_once, open};

/// Names the folder that [`a_writer_that_another_test_kills`] writes to.
const FOLDER: &str = "ASSAY_TEST_ACCOUNTS";
/// Transactions of a block.
const OF_BLOCK: usize = 30;

fn ends() -> AccountEnds {
    LongAccountChain::ends().collect()
}

/// A chain of many small blocks.
fn transactions(count: usize) -> Vec<AccountTransaction> {
    let mut transactions: Vec<_> = LongAccountChain::new(9, 3_000, true).take(count).collect();
    for (number, transaction) in transactions.iter_mut().enumerate() {
        transaction.block = u64::try_from(number / OF_BLOCK).unwrap();
        let seconds = 1_700_000_000 + 12 * i64::try_from(transaction.block).unwrap();
        transaction.time = Timestamp::from_second(seconds).unwrap();
    }
    transactions
}

/// The chain that is written until it is killed.
fn killed_chain() -> Vec<AccountTransaction> {
    transactions(if is_full() { 30_000 } else { 9_000 })
}

/// Appends the blocks above the tip, one or two at a time, so that most of the work is merging. The newest blocks can be
/// rolled back.
fn append_rest(graphs: &EmbeddedGraphs, all: &[AccountBlock]) {
    let mut writer = open(graphs, &ends());
    let done = writer.recorded().map_or(0, |recorded| recorded.tip.height + 1);
    let rest = all.get(usize::try_from(done).unwrap()..).unwrap_or_default();
    for batch in rest.chunks(2) {
        let from = batch[0].reference.height.saturating_sub(20);
        writer.append(batch, from, Timestamp::UNIX_EPOCH).unwrap();
    }
}

#[test]
fn a_writer_that_another_test_kills() {
    if let Some(folder) = env::var_os(FOLDER) {
        append_rest(&EmbeddedGraphs::new(Path::new(&folder)), &blocks(&killed_chain()));
    }
}

fn start_writer(folder: &Path) -> Child {
    let name = module_path!().split_once("::").unwrap().1.to_owned();
    let test = format!("{name}::a_writer_that_another_test_kills");
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &test, "--include-ignored"]).env(FOLDER, folder);
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// The height and the fingerprint of a graph; `None` without blocks.
fn state(folder: &Path) -> Option<(u64, [u8; 32])> {
    let snapshot = EmbeddedGraphs::new(folder).account_snapshot(ChainId::ETH).unwrap()?;
    snapshot.check().unwrap();
    Some((snapshot.recorded().tip.height, snapshot.fingerprint().unwrap()))
}

#[test]
fn a_writer_killed_anywhere_loses_nothing_and_ends_in_the_same_graph() {
    // Given the time that a whole chain takes, and the time of a writer that has nothing to do...
    let chain = killed_chain();
    let expected = fingerprint_at_once(&chain, &ends());
    let timed = |folder: &Path| {
        let begun = Instant::now();
        assert!(start_writer(folder).wait().unwrap().success());
        begun.elapsed()
    };
    let straight = TempDir::new().unwrap();
    let (whole, nothing) = (timed(straight.path()), timed(straight.path()));
    assert_eq!(state(straight.path()).unwrap().1, expected);
    // ...when writers are killed at any moment, in batches, in merges between them and at the opening...
    let mut dice = Random::new(1);
    let (mut kills, mut heights) = (0, Vec::new());
    while kills < if is_full() { 60 } else { 12 } {
        let folder = TempDir::new().unwrap();
        let mut before = None;
        loop {
            let mut writer = start_writer(folder.path());
            let span = whole.saturating_sub(nothing) / 3 + nothing / 2;
            let wait = nothing / 2
                + span.mul_f64(f64::from(u32::try_from(dice.below(1_000)).unwrap()) / 1e3);
            thread::sleep(wait);
            if let Some(status) = writer.try_wait().unwrap() {
                assert!(status.success());
                break;
            }
            writer.kill().unwrap();
            writer.wait().unwrap();
            kills += 1;
            // ...then no recorded block is lost,
            let tip = state(folder.path()).map(|(height, _)| height);
            assert!(tip >= before, "{tip:?} after {before:?}");
            heights.extend((tip > before).then_some(tip));
            before = tip;
        }
        // and the graph is that of an undisturbed writer.
        assert_eq!(state(folder.path()).unwrap().1, expected, "after {kills} kills");
    }
    assert!(heights.len() > 3, "killed at {heights:?} only");
}

#[test]
fn a_full_disk_fails_a_batch_or_a_merge_and_leaves_the_graph_as_it_was() {
    let disk = SmallDisk::mount(48);
    let graphs = EmbeddedGraphs::new(disk.path());
    let (chain, ends) = (transactions(9_000), ends());
    let all = blocks(&chain);
    let expected = |count: usize| Some(fingerprint_at_once(&chain[..count * OF_BLOCK], &ends));
    let state = || {
        let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap();
        snapshot.map(|snapshot| snapshot.fingerprint().unwrap())
    };
    let mut writer = open(&graphs, &ends);
    let mut done = 0;
    // Given a graph with some blocks, with more and with fewer merges that are due, on a disk that is full...
    for (some, one_by_one) in [(40, 37), (120, 101), (200, 160)] {
        writer.append(&all[done..one_by_one], u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        for block in &all[one_by_one..some] {
            writer.append(std::slice::from_ref(block), u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        }
        done = some;
        disk.fill();
        // ...when many more are recorded, then that fails, and no block changes...
        for _ in 0..2 {
            let error = writer.append(&all[done..], u64::MAX, Timestamp::UNIX_EPOCH).unwrap_err();
            assert!(error.to_string().contains("no space is left"), "{error}");
            assert_eq!(state(), expected(done));
        }
        // ...until there is space again.
        disk.clear();
    }
    let last = all.len() - 20;
    writer.append(&all[done..last], u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    writer.append(&all[last..], 0, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(state(), expected(all.len()));
    writer.roll_back(all[last + 4].reference.height).unwrap();
    assert_eq!(state(), expected(last + 5));
    drop(writer);
    // A writer that opens the graph finds what the failed ones left.
    open(&graphs, &ends).append(&all[last + 5..], 0, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(state(), expected(all.len()));
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, &ends());
    writer.append(&blocks(&transactions(3_000)), u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    drop(writer);
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    drop(graphs.writer(ChainId::BTC, options).unwrap());
    graphs.close();
    let file = folder.path().join("chains/eth.accounts/1/data.mdb");
    let whole = fs::read(&file).unwrap();
    // Given a file that was cut, one that was written over, and files of other kinds...
    let of_btc = fs::read(folder.path().join("chains/btc.graph/data.mdb")).unwrap();
    let foreign = "is not a file of assay-account-graph";
    let damages: [(Vec<u8>, &str); 6] = [
        (whole[..20 * 4_096].to_vec(), "is damaged: it has"),
        (whole[..10].to_vec(), foreign),
        (Vec::new(), "has no graph"),
        ([&[7; 64], &whole[64..]].concat(), foreign),
        (b"no graph, although it is long enough to be one".repeat(400), foreign),
        (of_btc, foreign),
    ];
    for (damaged, said) in damages {
        fs::write(&file, &damaged).unwrap();
        // ...when it is read or written, then that is refused,
        let graphs = EmbeddedGraphs::new(folder.path());
        let read = graphs.account_snapshot(ChainId::ETH).unwrap_err().to_string();
        let written = graphs.account_writer(ChainId::ETH, false, &ends()).unwrap_err().to_string();
        for error in [read, written] {
            assert!(error.contains(said), "{error}");
        }
        // and the file stays as it is.
        assert!(fs::read(&file).unwrap() == damaged, "{said}");
    }
    // A graph that is gone is not begun anew either.
    fs::remove_file(&file).unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let error = graphs.account_writer(ChainId::ETH, false, &ends()).unwrap_err().to_string();
    assert!(error.contains("has no graph"), "{error}");
    // The whole one is read again.
    fs::write(&file, &whole).unwrap();
    assert!(EmbeddedGraphs::new(folder.path()).account_snapshot(ChainId::ETH).unwrap().is_some());
}

#[test]
fn readers_see_whole_states_during_commits_merges_and_rollbacks() {
    const READERS: usize = 3;
    let chain = transactions(if is_full() { 24_000 } else { 6_000 });
    let all = blocks(&chain);
    // Given what the graph says after each batch...
    let heights = |batch: &[AccountBlock]| batch[batch.len() - 1].reference.height;
    let batches: Vec<&[AccountBlock]> = all.chunks(all.len() / 200).collect();
    let mut expected: BTreeMap<u64, [u8; 32]> = BTreeMap::new();
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, &ends());
    for batch in &batches {
        writer.append(batch, 0, Timestamp::UNIX_EPOCH).unwrap();
        let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
        expected.insert(heights(batch), snapshot.fingerprint().unwrap());
    }
    drop(writer);
    // ...when it is written again while others read...
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, &ends());
    writer.append(batches[0], u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    let is_done = AtomicBool::new(false);
    let read = || {
        let mut heights_read = Vec::new();
        while !is_done.load(Ordering::Relaxed) {
            let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
            let height = snapshot.recorded().tip.height;
            // A reader that began before commits reads on after them.
            thread::sleep(Duration::from_millis(height % 7));
            for _ in 0..2 {
                let found = snapshot.fingerprint().unwrap();
                // ...then each state that they read is a whole one.
                assert!(expected.get(&height) == Some(&found), "a torn state at block {height}");
            }
            snapshot.check().unwrap();
            heights_read.push(height);
        }
        heights_read
    };
    let read = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let mut dice = Random::new(3);
        for (at, batch) in batches.iter().enumerate().skip(1) {
            if dice.one_in(5) {
                writer.append(batch, 0, Timestamp::UNIX_EPOCH).unwrap();
                writer.roll_back(heights(batches[at - 1])).unwrap();
            }
            // Most blocks are settled, so that each commit makes runs and each is followed by merges.
            writer.append(batch, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect::<Vec<u64>>()
    });
    assert!(read.iter().collect::<std::collections::BTreeSet<_>>().len() > 3, "{read:?}");
}
