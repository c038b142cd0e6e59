//! Given files of transfers of an account chain, then the program records them completely or not at all, and its report
//! says what it recorded.

use std::{collections::BTreeSet, fs, path::Path, thread, time::Instant};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, account::RecordedState};
use assay_test_random::Random;
use assay_tests::{Finished, assay, start_assay};

const HEADER: &str = "block,time,txid,index,asset,from,to,amount";
const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

/// A file of transfers of blocks, `each` a block.
fn csv(blocks: std::ops::Range<u64>, each: u64) -> String {
    let mut lines = vec![HEADER.to_owned()];
    for number in blocks.start * each..blocks.end * each {
        let (block, asset) = (number / each, if number % 3 == 0 { USDT } else { "native" });
        let time = 1_600_000_000 + 12 * block;
        let (from, to) = (number % 97, number % 89 + 100);
        lines.push(format!(
            "{block},{time},0x{number:064x},0,{asset},0x{from:040x},0x{to:040x},{number}"
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn ingest(directory: &Path, files: &[&str], more: &[&str]) -> Finished {
    let begin = ["ingest", "chain", "eth", "--transfers"];
    assay(directory, begin.iter().chain(files).chain(more))
}

fn recorded(directory: &Path) -> Option<RecordedState> {
    let snapshot = EmbeddedGraphs::new(directory).account_snapshot(ChainId::ETH).unwrap()?;
    // All blocks can be read.
    let transactions = snapshot.blocks().flat_map(|block| block.unwrap().1);
    let transfers: usize = transactions.map(|it| it.transfers.len()).sum();
    assert_eq!(transfers as u64, snapshot.recorded().transfers);
    Some(*snapshot.recorded())
}

#[test]
fn a_report_says_what_was_recorded() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.csv"), csv(5..8, 6)).unwrap();
    let told = ingest(directory.path(), &["a.csv"], &[]).ok().stdout;
    for line in [
        "eth: 18 transfers in 18 transactions of 3 blocks recorded",
        "a.csv: 18 rows of transfers",
        "0.000225 USDT in 6 transfers (0xdAC17F958D2ee523a2206206994597C13D831ec7)",
        "18 transactions without an initiator: what it asked for is not assessed",
        "the sums equal those of the rows",
        "now recorded: 18 transfers, blocks 5 to 7",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let report = ingest(directory.path(), &["a.csv"], &["--json"]).ok().json();
    assert_eq!((&report["transfers"], &report["recorded_before"]), (&0.into(), &18.into()));
    assert_eq!(report["sums_match"], true);
    assert_eq!(report["assets"][0]["asset"], "native");
    assert_eq!(report["recorded"]["latest_block"]["height"], 7);
}

#[test]
fn what_cannot_be_recorded_is_refused_with_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let bad = csv(5..8, 2).replace(",10\n", ",0x10\n");
    fs::write(directory.path().join("bad.csv"), bad).unwrap();
    let refused = ingest(directory.path(), &["bad.csv"], &[]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let message = "bad.csv, line 2: amount: `0x10` is hexadecimal: write base units as a whole decimal number; nothing \
                   was recorded";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    assert_eq!(recorded(directory.path()), None);

    let missing = ingest(directory.path(), &["missing.csv"], &[]);
    assert!(missing.code == 1 && missing.stderr.contains("missing.csv"), "{}", missing.stderr);
    let other = assay(directory.path(), ["ingest", "chain", "btc", "--transfers", "bad.csv"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("transfers of btc are not supported"), "{}", other.stderr);

    // A file of transfers of an earlier version is told, and never written over.
    let chains = directory.path().join("chains");
    fs::create_dir_all(&chains).unwrap();
    fs::write(chains.join("eth.transfers"), "something else").unwrap();
    fs::write(directory.path().join("good.csv"), csv(5..8, 2)).unwrap();
    let refused = ingest(directory.path(), &["good.csv"], &[]);
    assert!(refused.code == 1 && refused.stderr.contains("eth.transfers"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(chains.join("eth.transfers")).unwrap(), "something else");
}

#[test]
fn a_killed_ingest_leaves_complete_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("first.csv"), csv(1..20, 100)).unwrap();
    fs::write(path.join("second.csv"), csv(20..4_020, 100)).unwrap();
    let chains = path.join("chains");
    let begun = Instant::now();
    let _ = ingest(path, &["first.csv", "second.csv"], &[]).ok();
    let whole = begun.elapsed();
    let after = recorded(path).unwrap();

    let mut random = Random::new(9);
    let mut states = BTreeSet::new();
    for _ in 0..5 {
        fs::remove_dir_all(&chains).unwrap();
        let _ = ingest(path, &["first.csv"], &[]).ok();
        let before = recorded(path).unwrap();
        let arguments = ["ingest", "chain", "eth", "--transfers", "second.csv"];
        let mut killed = start_assay(path, arguments);
        thread::sleep(
            whole.mul_f64(0.3) + whole * u32::try_from(random.below(800)).unwrap() / 1000,
        );
        killed.kill().unwrap();
        killed.wait().unwrap();
        let state = recorded(path).unwrap();
        assert!((before.tip.height..=after.tip.height).contains(&state.tip.height), "{state:?}");
        assert_eq!(state.transfers, 100 * (state.tip.height), "whole blocks");
        states.insert(state.transfers);
        // The next run completes the work.
        let _ = ingest(path, &["second.csv"], &[]).ok();
        assert_eq!(recorded(path).unwrap(), after);
    }
    eprintln!("killed ingests left {states:?} transfers");
}
