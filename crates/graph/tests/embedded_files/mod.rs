//! Files of embedded graphs: their folder, and files that are refused.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use assay_graph::{EmbeddedGraphs, Graph, GraphError};
use assay_mapped::MappedError;
use tempfile::TempDir;

use crate::conformance::{CHAIN, TestChain, append, graph, options, reference, writer};

/// The format's name in a graph's file; the version precedes it.
const NAME: &[u8] = b"assay-chain-graph";

fn data_file(directory: &Path) -> PathBuf {
    directory.join("chains/btc.graph/data.mdb")
}

/// A folder with the graph of a chain, which no program has open.
fn written(chain: &TestChain) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    append(&mut writer(&store, chain.start), &chain.blocks, 4);
    directory
}

/// The errors of opening the graph for reading and for writing.
fn refusals(directory: &Path) -> [MappedError; 2] {
    let store = EmbeddedGraphs::new(directory);
    let [read, write] =
        [store.graph(CHAIN).unwrap_err(), store.writer(CHAIN, options(0)).unwrap_err()];
    [read, write].map(|error| match error {
        GraphError::Environment(error) => error,
        error => unreachable!("{error}"),
    })
}

#[tokio::test]
async fn a_graph_is_a_private_folder() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    assert_eq!(store.chains(), []);
    let folder = directory.path().join("chains");
    assert!(!folder.exists(), "looking does not make it");
    drop(writer(&store, 0));
    assert!(data_file(directory.path()).is_file());
    for folder in [folder.clone(), folder.join("btc.graph")] {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    for file in fs::read_dir(folder.join("btc.graph")).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(store.chains(), [CHAIN]);
}

#[tokio::test]
async fn a_deleted_graph_is_gone_and_a_new_one_is_seen() {
    let (first, second) = (TestChain::generate(1, 0, 4), TestChain::generate(2, 0, 4));
    let directory = written(&first);
    let store = EmbeddedGraphs::new(directory.path());
    let before = graph(&store);
    let read = before.fingerprint().await.unwrap();
    fs::remove_dir_all(directory.path().join("chains")).unwrap();
    assert!(store.graph(CHAIN).unwrap().is_none());
    let error = store.writer(CHAIN, options(0)).unwrap_err();
    let is_told = matches!(error, GraphError::Environment(MappedError::Replaced { .. }));
    assert!(is_told, "the deleted one is still being read: {error}");
    assert_eq!(before.fingerprint().await.unwrap(), read, "to its end");
    drop(before);
    append(&mut writer(&store, 0), &second.blocks, 4);
    let right = reference(&second).fingerprint().await.unwrap();
    assert_eq!(graph(&store).fingerprint().await.unwrap(), right);
    assert_ne!(read, right);
}

#[tokio::test]
async fn a_graph_in_sqlite_is_refused_with_the_command_that_ingests_again() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("chains")).unwrap();
    let old = directory.path().join("chains/btc.sqlite");
    File::create(&old).unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    for error in [store.graph(CHAIN).unwrap_err(), store.writer(CHAIN, options(0)).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("assay ingest chain btc") && text.contains("btc.sqlite"), "{text}");
    }
    fs::remove_file(old).unwrap();
    assert!(store.graph(CHAIN).unwrap().is_none());
}

#[tokio::test]
async fn a_foreign_file_is_refused_and_left_as_it_is() {
    for content in [b"MZ".to_vec(), vec![b'x'; 100_000], vec![0; 8192]] {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("chains/btc.graph")).unwrap();
        fs::write(data_file(directory.path()), &content).unwrap();
        for error in refusals(directory.path()) {
            assert!(matches!(error, MappedError::Foreign { .. }), "{error}");
        }
        assert_eq!(fs::read(data_file(directory.path())).unwrap(), content);
    }
}

#[tokio::test]
async fn a_file_of_another_format_or_version_is_refused() {
    let chain = TestChain::generate(3, 0, 4);
    let directory = written(&chain);
    let original = fs::read(data_file(directory.path())).unwrap();
    let at = find(&original, NAME);
    for (from, bytes) in [(at - 4, &9_999_u32.to_be_bytes()[..]), (at, b"other"), (at - 4, &[0; 4])]
    {
        let mut changed = original.clone();
        let mut searched = from;
        // Older states of the table may be in the file as well.
        while let Some(found) = changed[searched.min(original.len())..]
            .windows(NAME.len())
            .position(|window| window == NAME)
            .map(|found| found + searched)
        {
            let place = found - (at - from);
            changed[place..place + bytes.len()].copy_from_slice(bytes);
            searched = found + NAME.len();
        }
        fs::write(data_file(directory.path()), &changed).unwrap();
        for error in refusals(directory.path()) {
            let is_right = match error {
                MappedError::Newer { found, .. } => bytes == found.to_be_bytes(),
                MappedError::Older { found: 0, .. } => bytes == [0; 4],
                MappedError::Foreign { .. } => bytes == b"other",
                _ => false,
            };
            assert!(is_right, "{error}");
        }
    }
    fs::write(data_file(directory.path()), &original).unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&store).fingerprint().await.unwrap(), right, "whole again");
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

#[tokio::test]
async fn a_truncated_file_is_refused() {
    let chain = TestChain::generate(4, 0, 30);
    let directory = written(&chain);
    let path = data_file(directory.path());
    let mut original = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut original).unwrap();
    // The file ends with a hole ahead of its pages.
    let used = original.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut lengths: Vec<u64> = (1..20).map(|part| used as u64 * part / 20).collect();
    lengths.extend([1, 100, 4096, 8191, 8192, used as u64 - 4096]);
    for length in lengths {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        for error in refusals(directory.path()) {
            let is_told =
                matches!(error, MappedError::Truncated { .. } | MappedError::Foreign { .. });
            assert!(is_told, "{length} of {used} bytes: {error}");
        }
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&original).unwrap();
    }
    let store = EmbeddedGraphs::new(directory.path());
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&store).fingerprint().await.unwrap(), right, "whole again");
}

#[tokio::test]
async fn a_file_of_another_chain_is_refused() {
    let directory = written(&TestChain::generate(5, 0, 4));
    let chains = directory.path().join("chains");
    fs::rename(chains.join("btc.graph"), chains.join("ltc.graph")).unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    let ltc = "ltc".parse().unwrap();
    assert!(store.graph(ltc).is_err());
    assert!(store.writer(ltc, options(0)).is_err());
}

#[tokio::test]
async fn a_snapshot_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    let chain = TestChain::generate(6, 0, 40);
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks[..20], 5);
    let snapshot = store.open(CHAIN).unwrap().unwrap().snapshot().unwrap();
    let read = |snapshot: &assay_graph::utxo::Snapshot| {
        let reader = snapshot.reader();
        let tip = snapshot.tip().unwrap().unwrap();
        let mut all = format!("{tip:?}");
        for tx in 0.. {
            let Some(record) = reader.transaction(tx).unwrap() else { break };
            let first = record.head().first_output;
            record
                .outputs(|entry| {
                    let spender = reader.spender(first + u64::from(entry.index)).unwrap();
                    let cluster = reader.cluster(entry.output.owner).unwrap();
                    let statistics = reader.statistics(entry.output.owner).unwrap();
                    writeln!(all, "{tx} {entry:?} {spender:?} {cluster} {statistics:?}").unwrap();
                })
                .unwrap();
        }
        all
    };
    let before = read(&snapshot);
    append(&mut writer, &chain.blocks[20..], 3);
    writer.roll_back(8).unwrap();
    append(&mut writer, &chain.fork(8, 3, 30).blocks[9..], 4);
    assert_eq!(read(&snapshot), before);
    let after = store.open(CHAIN).unwrap().unwrap().snapshot().unwrap();
    assert_ne!(read(&after), before);
    assert_ne!(after.id(), snapshot.id());
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_during_writes_see_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedGraphs::new(directory.path());
    let chain = TestChain::generate(5, 0, 30);
    let mut states = vec![reference(&chain).fingerprint().await.unwrap()];
    for height in [25, 27] {
        let part = chain.fork(height, 0, 0);
        states.push(reference(&part).fingerprint().await.unwrap());
    }
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 30);
    let reader = graph(&store);
    let blocks = chain.blocks.clone();
    let (enough, mut stop) = tokio::sync::oneshot::channel();
    let writing = tokio::spawn(async move {
        let mut rounds = 0;
        while rounds < 10 || stop.try_recv().is_err() {
            writer.roll_back(25).unwrap();
            append(&mut writer, &blocks[26..], 2);
            rounds += 1;
        }
    });
    for _ in 0..10 {
        let state = reader.fingerprint().await.unwrap();
        assert!(states.contains(&state), "neither before nor after a change");
    }
    enough.send(()).unwrap();
    writing.await.unwrap();
}
