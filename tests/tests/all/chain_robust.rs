//! Chains survive failures of programs and files: after any interruption of an ingest, the graph
//! equals that of an undisturbed ingest, or the program reports the error.

use std::{
    collections::BTreeSet,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Instant,
};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, Graph, Membership, WriterOptions, memory::MemoryGraph};
use assay_test_random::Random;
use assay_tests::{
    Finished, SmallDisk, append, assay,
    big_chain::{BigChain, ChainShape},
    is_full, measure_assay,
    raw_node::{Outputs, RawNode},
    start_assay, to_megabytes,
    wallets::{ChainSize, KnownChain},
};
use futures_util::FutureExt;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::wait_until;

/// Shape of a small chain that is ingested quickly.
const SHORT: ChainShape = ChainShape { seed: 5, blocks: 40, transactions: 12, hub: None };

/// A data directory, and the file of a chain in it.
struct ChainDirectory {
    directory: TempDir,
}

impl ChainDirectory {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn ingest(&self, file: &Path, more: &[&str]) -> Finished {
        assay(self.path(), arguments(file, more))
    }

    /// Removes the graph.
    fn remove_graph(&self) {
        fs::remove_dir_all(self.path().join("chains")).unwrap();
    }

    /// The height of the newest block.
    fn tip(&self) -> Option<u64> {
        self.with_graph(async |graph| Some(graph?.tip().await.unwrap()?.block.height))
    }

    /// The fingerprint of the graph; `None` if there is no graph.
    fn state(&self) -> Option<String> {
        self.with_graph(async |graph| Some(hex::encode(graph?.fingerprint().await.unwrap())))
    }

    fn with_graph<T>(&self, what: impl AsyncFnOnce(Option<Arc<dyn Graph>>) -> T) -> T {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let graphs = EmbeddedGraphs::new(self.path());
            what(graphs.graph(ChainId::BTC).unwrap()).await
        })
    }
}

fn arguments(file: &Path, more: &[&str]) -> Vec<String> {
    let file = file.display().to_string();
    let begin = ["ingest", "chain", "btc", "--jsonl", &file];
    begin.iter().chain(more).map(ToString::to_string).collect()
}

/// The file of a chain.
fn write_chain(folder: &TempDir, shape: ChainShape) -> PathBuf {
    let file = folder.path().join("chain.jsonl");
    BigChain::new(shape).write(&file).unwrap();
    file
}

/// Ingests a generated chain repeatedly, until `kills` ingests were killed.
fn ingest_with_kills(directory: &ChainDirectory, shape: ChainShape, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = write_chain(&folder, shape);
    ingest_file_with_kills(directory, &file, kills);
    assert_eq!(directory.tip(), Some(shape.blocks - 1));
}

/// Ingests the chain of a file repeatedly, until `kills` ingests were killed.
fn ingest_file_with_kills(directory: &ChainDirectory, file: &Path, kills: usize) {
    let timed = || {
        let begun = Instant::now();
        let _ = directory.ingest(file, &[]).ok();
        begun.elapsed()
    };
    let (whole, nothing_new) = (timed(), timed());
    let expected = directory.state();

    let mut dice = Random::new(kills as u64);
    let (mut killed, mut tips, mut patience, mut pace) = (0, BTreeSet::new(), 1.0, 1.0);
    while killed < kills {
        directory.remove_graph();
        let mut before = None;
        loop {
            let mut ingest = start_assay(directory.path(), arguments(file, &[]));
            // From the opening of the graph to about half of the work.
            let span = nothing_new / 2 + whole.saturating_sub(nothing_new).mul_f64(0.5 * patience);
            // It is killed at any point.
            let part = span * u32::try_from(dice.below(1000)).unwrap() / 1000;
            thread::sleep((nothing_new / 2 + part).mul_f64(pace));
            if let Some(status) = ingest.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                // On a machine that became faster, wait shorter.
                pace *= 0.8;
                break;
            }
            ingest.kill().unwrap();
            ingest.wait().unwrap();
            killed += 1;
            let tip = directory.tip();
            assert!(tip >= before, "{tip:?} after {before:?}: what was recorded is gone");
            // On a machine that became slower, wait longer.
            patience = if tip == before { patience * 1.5 } else { 1.0 };
            before = tip;
            tips.insert(tip);
            if killed == kills {
                let _ = directory.ingest(file, &[]).ok();
                break;
            }
        }
        assert_eq!(directory.state(), expected, "after {killed} kills");
    }
    eprintln!("{kills} kills, at {} heights: {tips:?}", tips.len());
    assert!(tips.len() > 3.min(kills / 4), "killed at {tips:?} only");
}

#[test]
fn an_ingest_killed_anywhere_ends_in_the_same_graph() {
    let shape = ChainShape { seed: 11, blocks: 5200, transactions: 2, hub: None };
    ingest_with_kills(&ChainDirectory::new(), shape, if is_full() { 50 } else { 12 });
}

#[test]
fn an_ingest_killed_anywhere_ends_in_the_same_clusters() {
    // Given a chain of wallets that spend together, and make joint transactions...
    let (blocks, kills) = if is_full() { (1_500, 50) } else { (300, 3) };
    let extent = ChainSize { wallets: 40, blocks, payments_for_a_payjoin: 1_000 };
    let known = KnownChain::generate(21, extent);
    let (directory, folder) = (ChainDirectory::new(), tempfile::tempdir().unwrap());
    let file = folder.path().join("chain.jsonl");
    known.write(&file).unwrap();
    // ...when its ingest is killed and taken up again...
    ingest_file_with_kills(&directory, &file, kills);
    // ...then every address is in the cluster of a straight ingest.
    let blocks = known.blocks().to_vec();
    let straight = MemoryGraph::new(ChainId::BTC, 0, false, blocks, Timestamp::UNIX_EPOCH);
    let found = directory.with_graph(async |graph| members(&*graph.unwrap()).await);
    assert!(!found.is_empty());
    assert!(found == members(&straight).now_or_never().unwrap(), "other clusters");
}

/// The addresses that share a cluster with others.
async fn members(graph: &dyn Graph) -> Vec<Membership> {
    let mut members = Vec::new();
    let mut each = |member| {
        members.push(member);
        ControlFlow::Continue(())
    };
    graph.each_member(&mut each).await.unwrap();
    members
}

#[test]
fn an_ingest_needs_little_memory() {
    let (directory, folder) = (ChainDirectory::new(), tempfile::tempdir().unwrap());
    let shape = ChainShape { seed: 13, blocks: 18, transactions: 2500, hub: None };
    let file = write_chain(&folder, shape);
    let (status, seconds, peak) = measure_assay(directory.path(), arguments(&file, &[]));
    assert!(status.success());
    eprintln!(
        "{} blocks of {} transactions: {seconds:.1} s, peak memory {:.0} MB",
        shape.blocks,
        shape.transactions,
        to_megabytes(peak)
    );
    assert!(peak < 512 << 20, "{} MB", to_megabytes(peak));
}

#[test]
#[ignore = "needs more time"]
fn large_blocks_behind_small_ones_need_little_memory() {
    // Given blocks so small that many are requested at once, after them some of the largest blocks
    // of these chains, and one with very many outputs...
    let mut shapes = vec![Outputs { count: 1, script: 1 }; 300];
    shapes.extend([Outputs { count: 3_500, script: 9_000 }; 4]);
    shapes.push(Outputs { count: 100_000, script: 22 });
    shapes.extend([Outputs { count: 1, script: 1 }; 30]);
    let (node, directory) = (RawNode::start(&shapes), ChainDirectory::new());
    let url = node.url();
    let ingest = ["ingest", "chain", "btc", "--test-network", "--rpc", &url];
    let (status, seconds, peak) = measure_assay(directory.path(), ingest);
    // ...then all are recorded, in little memory.
    assert!(status.success());
    assert_eq!(directory.tip(), Some(node.height()));
    eprintln!(
        "blocks of 32 MB behind small ones: {seconds:.1} s, answers up to {:.0} MB asked for, peak \
         memory {:.0} MB",
        to_megabytes(node.largest_answer()),
        to_megabytes(peak)
    );
    assert!(node.largest_answer() > 128 << 20, "nothing to be refused was asked for");
    assert!(peak < 256 << 20, "{} MB", to_megabytes(peak));
}

#[test]
fn a_chain_has_one_writer_at_a_time() {
    let (directory, folder) = (ChainDirectory::new(), tempfile::tempdir().unwrap());
    let file = write_chain(&folder, SHORT);
    let _ = assay(directory.path(), ["migrate"]).ok();
    let mut first = start_assay(directory.path(), arguments(&file, &["--follow"]));
    let tip = Some(SHORT.blocks - 1);
    wait_until("the first one recorded the chain", || directory.tip() == tip);
    let second = directory.ingest(&file, &[]);
    assert_eq!(second.code, 1, "{}", second.stdout);
    let expected = "another program is ingesting the btc chain: only one can at a time";
    assert!(second.stderr.contains(expected), "{}", second.stderr);
    first.kill().unwrap();
    first.wait().unwrap();
    let _ = directory.ingest(&file, &[]).ok();
}

#[test]
fn a_chain_ingested_in_any_way_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    // Long enough to be a backfill, with the indexes at the end.
    let shape = ChainShape { seed: 14, blocks: 5400, transactions: 2, hub: None };
    let file = write_chain(&folder, shape);
    let directory = ChainDirectory::new();
    let _ = directory.ingest(&file, &[]).ok();
    let expected = directory.state();

    directory.remove_graph();
    for to in ["0", "17", "3000", "3000", "5398", "9999"] {
        let _ = directory.ingest(&file, &["--to", to]).ok();
    }
    assert_eq!(directory.state(), expected, "in steps, with indexes from the beginning");

    let exported = folder.path().join("exported.jsonl").display().to_string();
    let export = ["export", "transfers", "btc", "--format", "jsonl", "-o", &exported];
    let _ = assay(directory.path(), export).ok();
    directory.remove_graph();
    let _ = directory.ingest(Path::new(&exported), &[]).ok();
    assert_eq!(directory.state(), expected, "from what was exported");
}

/// Fault of a file from block 30, and the expected message.
struct Fault {
    done: fn(&mut Vec<Value>),
    said: &'static [&'static str],
}

const FAULTS: [Fault; 7] = [
    Fault {
        done: |lines| lines.retain(|line| line["block"]["height"] != 30),
        said: &["broken.jsonl, line ", ": block 31 stands behind block 29: expected 30"],
    },
    Fault {
        done: |lines| {
            for line in lines.iter_mut().filter(|line| line["block"]["height"] == 30) {
                line["block"]["parent"] = "ab".repeat(32).into();
            }
        },
        said: &["broken.jsonl, line ", ": block 30 has the parent abab", "the block before it is"],
    },
    Fault {
        done: |lines| payment(lines)["outputs"][0]["value"] = 900_000_000_000_000_u64.into(),
        said: &["nothing of this block was written", " in block 30 makes ", "does not add up"],
    },
    Fault {
        done: |lines| {
            let mut again = payment(lines).clone();
            again["txid"] = "cd".repeat(32).into();
            let index = lines.iter().position(|line| line["block"]["height"] == 32).unwrap();
            again["block"] = lines[index]["block"].clone();
            lines.insert(index + 1, again);
        },
        said: &["transaction cdcd", " in block 32 spends ", "was spent before it"],
    },
    Fault {
        done: |lines| {
            let spent = lines.iter().find(|line| spends(line) && line["block"]["height"] == 12);
            let spent = spent.unwrap()["inputs"][0].clone();
            payment(lines)["inputs"].as_array_mut().unwrap().push(spent);
        },
        said: &[" in block 30 of the btc chain spends ", "was spent before"],
    },
    Fault {
        done: |lines| payment(lines)["inputs"][0]["index"] = 77.into(),
        said: &[
            "input 0 of transaction ",
            " in block 30 spends ",
            ":77, which that transaction does not have",
        ],
    },
    Fault {
        done: |lines| {
            let whole = payment(lines).clone();
            let index = lines.iter().position(|line| *line == whole).unwrap();
            lines.truncate(index);
            let whole = whole.to_string();
            lines.push(Value::String(whole[..whole.len() / 2].to_owned()));
        },
        said: &["broken.jsonl, line ", "EOF while parsing"],
    },
];

fn spends(line: &Value) -> bool {
    line["inputs"].as_array().is_some_and(|inputs| !inputs.is_empty())
}

/// A payment in block 30.
fn payment(lines: &mut [Value]) -> &mut Value {
    lines.iter_mut().find(|line| line["block"]["height"] == 30 && spends(line)).unwrap()
}

#[test]
fn nothing_of_a_broken_block_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_chain(&folder, SHORT);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let directory = ChainDirectory::new();
    let _ = directory.ingest(&file, &[]).ok();
    let whole = directory.state();
    for (number, Fault { done, said }) in FAULTS.iter().enumerate() {
        directory.remove_graph();
        let _ = directory.ingest(&file, &["--to", "20"]).ok();
        let before = directory.state();

        let mut lines = lines.clone();
        done(&mut lines);
        let broken = folder.path().join("broken.jsonl");
        // A line that is no JSON any more is written unchanged.
        let written =
            lines.iter().map(|line| line.as_str().map_or(line.to_string(), str::to_owned));
        fs::write(&broken, written.collect::<Vec<_>>().join("\n")).unwrap();
        let refused = directory.ingest(&broken, &[]);
        assert_eq!(refused.code, 3, "fault {number}: {}{}", refused.stdout, refused.stderr);
        for words in *said {
            assert!(refused.stderr.contains(words), "fault {number}: {}", refused.stderr);
        }
        assert_eq!(directory.state(), before, "fault {number}");

        let address = lines[0]["outputs"][0]["address"].as_str().unwrap();
        let check = assay(directory.path(), ["check", "btc", address, "--json"]).json();
        assert_eq!(check["activity"]["status"], "seen", "fault {number}: {check}");
        let _ = directory.ingest(&file, &[]).ok();
        assert_eq!(directory.state(), whole, "fault {number}");
    }
}

#[tokio::test]
async fn a_full_disk_fails_an_ingest_and_leaves_the_graph_as_it_was() {
    let disk = SmallDisk::mount(24);
    let graphs = EmbeddedGraphs::new(disk.path());
    let shape = ChainShape { seed: 15, blocks: 160, transactions: 40, hub: None };
    let blocks: Vec<_> = BigChain::new(shape).collect();
    let at = Timestamp::UNIX_EPOCH;
    let expected = async |count: usize| {
        let blocks = blocks.iter().take(count).cloned().collect();
        let straight = MemoryGraph::new(ChainId::BTC, 0, false, blocks, at);
        straight.fingerprint().await.unwrap()
    };
    let state = async || {
        let graph = graphs.graph(ChainId::BTC).unwrap().unwrap();
        graph.fingerprint().await.unwrap()
    };
    // Given a graph with some blocks, on a disk that is full...
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = graphs.writer(ChainId::BTC, options).unwrap();
    for some in blocks[..80].chunks(20) {
        append(&mut writer, some, 0, at).unwrap();
    }
    disk.fill();
    // ...when many more are recorded, then that fails, and nothing changes...
    for _ in 0..2 {
        let error = append(&mut writer, &blocks[80..], 0, at).unwrap_err();
        assert!(error.to_string().contains("no space is left"), "{error}");
        assert_eq!(state().await, expected(80).await);
    }
    // ...until there is space again.
    disk.clear();
    append(&mut writer, &blocks[80..], 0, at).unwrap();
    assert_eq!(state().await, expected(160).await);
    writer.roll_back(120).unwrap();
    assert_eq!(state().await, expected(121).await);
}
