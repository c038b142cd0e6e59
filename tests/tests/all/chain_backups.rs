//! Backups of a chain's graph: made during use, restored completely, and wrong files change nothing.

use std::{fs, path::Path, sync::Arc};

use assay_tests::{Server, assay};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    chain_tools::{address_of, ingested, line, printed},
    clusters::spend,
};

/// Blocks in which a thief pays a shop.
fn blocks() -> Vec<String> {
    vec![
        line(0, 1, &json!([]), &[("thief", 50), ("ann", 7)]),
        line(1, 2, &json!([spend(1, 0)]), &[("shop", 20), ("thief", 30)]),
        line(2, 3, &json!([spend(1, 1), spend(2, 1)]), &[("till", 37)]),
    ]
}

fn restore(backup: &Path) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = backup.to_str().unwrap();
    let done = assay(directory.path(), ["chain", "restore", "btc", file]).ok();
    assert!(done.stdout.starts_with("btc: blocks up to 2 ("), "{}", done.stdout);
    directory
}

#[test]
fn a_copy_of_a_used_graph_is_the_graph() {
    // Given a graph that a server reads,
    let directory = Arc::new(ingested(&blocks()));
    let backup = directory.path().join("btc.copy");
    let server = Server::start(Arc::clone(&directory), &[]);
    // when it is backed up and restored elsewhere,
    let done = server.assay(&["chain", "backup", "btc", "btc.copy"]).ok();
    assert!(done.stdout.starts_with("btc: blocks up to 2 ("), "{}", done.stdout);
    let copy = restore(&backup);
    // then both are equal,
    let fingerprint = |directory: &Path| printed(directory, &["chain", "verify", "btc"]);
    assert_eq!(fingerprint(copy.path()), fingerprint(directory.path()));
    // and both go on from their newest block.
    let next = line(3, 4, &json!([spend(3, 0)]), &[("till", 36)]);
    let export = ["export", "transfers", "btc", "--format", "jsonl"];
    let [of_copy, of_graph] = [copy.path(), directory.path()].map(|directory| {
        fs::write(directory.join("more.jsonl"), &next).unwrap();
        let more = assay(directory, ["ingest", "chain", "btc", "--jsonl", "more.jsonl"]).ok();
        assert!(more.stdout.contains("up to block 3"), "{}", more.stdout);
        (fingerprint(directory), printed(directory, &export))
    });
    assert_eq!(of_copy, of_graph);
    assert!(
        printed(copy.path(), &["cluster", "btc", &address_of("thief")])
            .contains(&address_of("ann"))
    );
}

#[test]
fn nothing_is_overwritten_and_no_wrong_file_becomes_a_graph() {
    let directory = ingested(&blocks());
    let directory = directory.path();
    let run = |arguments: &[&str]| assay(directory, arguments);
    let _ = run(&["chain", "backup", "btc", "btc.copy"]).ok();
    let again = run(&["chain", "backup", "btc", "btc.copy"]);
    assert_eq!((again.code, again.stderr.contains("exists already")), (2, true), "{again:?}");
    let none = run(&["chain", "backup", "ltc", "ltc.copy"]);
    assert_eq!((none.code, none.stderr.contains("assay ingest chain ltc")), (1, true), "{none:?}");
    let there = run(&["chain", "restore", "btc", "btc.copy"]);
    assert_eq!((there.code, there.stderr.contains("delete that")), (1, true), "{there:?}");

    // Files that are no graph of the chain: of another chain, cut, of something else, none at all.
    let copy = fs::read(directory.join("btc.copy")).unwrap();
    fs::write(directory.join("cut.copy"), &copy[..copy.len() / 2]).unwrap();
    fs::write(directory.join("text.copy"), "blocks\n".repeat(10_000)).unwrap();
    let wrong = [
        ("ltc", "btc.copy", "of the btc chain, not of ltc"),
        ("ltc", "cut.copy", "is damaged"),
        ("ltc", "text.copy", "is not a file of assay-chain-graph"),
        ("ltc", "nothing.copy", "there is no file"),
    ];
    for (chain, file, words) in wrong {
        let refused = run(&["chain", "restore", chain, file]);
        assert_ne!(refused.code, 0, "{file}");
        let told = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{file}: {told}");
        assert!(run(&["chain", "verify", chain]).stderr.contains("is not ingested"), "{file}");
    }
    let left = fs::read_dir(directory.join("chains")).unwrap().map(|it| it.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("ltc")));
    assert!(run(&["chain", "verify", "btc"]).ok().stdout.contains("fingerprint "));
}
