//! Labels: real sets on both databases, withdrawal by hand, and invalid files.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use assay_tests::{Finished, TestData, assay, migrated_database, production};
use serde_json::{Value, json};

use crate::support::wait_until;

const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

fn import(directory: &Path, location: &str, format: &str, source: &str) -> Finished {
    let arguments =
        ["ingest", "labels", location, "--format", format, "--source", source, "--json"];
    assay(directory, arguments)
}

/// A real set of labels.
struct RealLabelSet {
    folder: &'static str,
    format: &'static str,
    files: usize,
    labels: usize,
    rejected: usize,
}

const TAG_PACKS: RealLabelSet = RealLabelSet {
    folder: "labels/graphsense-tagpacks",
    format: "tagpack",
    files: 62,
    labels: 235_122,
    rejected: 28,
};
const EXPLORERS: RealLabelSet = RealLabelSet {
    folder: "labels/etherscan",
    format: "explorer",
    files: 5,
    labels: 42_655,
    rejected: 8,
};

/// Asserts that all labels of a set are imported, with a reason for each refused row.
fn import_real_set(directory: &Path, data: &TestData, set: &RealLabelSet) {
    let location = data.path(set.folder).display().to_string();
    let report = import(directory, &location, set.format, set.format).ok().json();
    assert_eq!(
        (&report["outcome"], &report["files"], &report["labels"], &report["added"]),
        (&json!("imported"), &json!(set.files), &json!(set.labels), &json!(set.labels))
    );
    let reasons = report["rejected"].as_array().unwrap();
    assert_eq!(reasons.len(), set.rejected);
    for row in reasons {
        let has = |field: &str| row[field].as_str().is_some_and(|text| !text.is_empty());
        assert!(has("position") && has("reason"), "{row}");
    }
    let again = import(directory, &location, set.format, set.format).ok().json();
    assert_eq!(again["outcome"], "unchanged");
}

fn real_sets(directory: &Path, data: &TestData) {
    for set in [TAG_PACKS, EXPLORERS] {
        import_real_set(directory, data, &set);
    }
    let check = |chain: &str, address: &str| {
        assay(directory, ["check", chain, address, "--json"]).ok().json()
    };
    // A proxy of Tornado Cash: a mixer by both, and once sanctioned, which the list itself decides.
    let tornado = check("eth", "0x722122dF12D4e14e13Ac3b6895a86e84145b6967");
    let said: BTreeMap<&str, &str> = tornado["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|label| (label["category"].as_str().unwrap(), label["status"].as_str().unwrap()))
        .collect();
    assert!(said.contains_key("mixer") && said.contains_key("sanctions"), "{said:?}");
    // Frozen balances of nobody, and of a token's contract, block nobody.
    for nobody in
        ["0x0000000000000000000000000000000000000000", "0x0000000000000000000000000000000000000001"]
    {
        let answer = check("eth", nobody);
        let labels = answer["labels"].as_array().unwrap();
        assert!(!labels.is_empty() && labels.iter().all(|label| label["status"] == "unowned"));
    }
    assert_eq!(check("eth", "0xD533a949740bb3306d119CC777fa900bA034cd52")["verdict"], "review");
    let exchange = check("btc", "34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo");
    assert_eq!(exchange["entity"]["name"], "binance");
    assert_eq!(exchange["entity"]["category"], "exchange");
    assert_eq!(exchange["labels"][0]["author"], "GraphSense Core Team");
}

#[test]
#[ignore = "needs test data"]
fn real_labels_of_explorers_are_imported_and_found() {
    let data = TestData::find();
    let directory = tempfile::tempdir().unwrap();
    import_real_set(directory.path(), &data, &EXPLORERS);
    let address = "0x722122dF12D4e14e13Ac3b6895a86e84145b6967";
    let tornado = assay(directory.path(), ["check", "eth", address, "--json"]).ok().json();
    let labels = tornado["labels"].as_array().unwrap();
    assert!(labels.iter().any(|label| label["category"] == "mixer"), "{labels:?}");
}

/// A test of `assay-intel` reads the same files without a database.
#[test]
#[ignore = "needs test data, more time"]
fn real_label_sets_on_the_embedded_database() {
    let data = TestData::find();
    let directory = tempfile::tempdir().unwrap();
    real_sets(directory.path(), &data);
}

/// This test takes as long as all other tests of labels together. The stores' contract tests also cover labels on
/// PostgreSQL.
#[test]
#[ignore = "needs test data, more time"]
fn real_label_sets_on_postgresql() {
    let data = TestData::find();
    let directory = tempfile::tempdir().unwrap();
    let database = migrated_database();
    database.connect_directory(directory.path());
    real_sets(directory.path(), &data);
    assert_eq!(database.query("SELECT count(*) FROM labels"), "277777");
}

#[test]
#[ignore = "needs test data"]
fn a_label_that_cites_a_list_follows_it() {
    let data = TestData::find();
    let directory = tempfile::tempdir().unwrap();
    let packs = data.path("labels/graphsense-tagpacks/ofac.yaml").display().to_string();
    assert_eq!(import(directory.path(), &packs, "tagpack", "tagpacks").code, 0);
    let list = data.ofac_unpacked("2025-05-29").display().to_string();
    let _ =
        assay(directory.path(), ["ingest", "sanctions", &list, "--format", "ofac-advanced"]).ok();
    // Delisted on 2025-03-21, and called sanctioned by a pack of 2022.
    let delisted = "0x8589427373D6D84E98730D7795D8f6f8731FDA16";
    let answer = assay(directory.path(), ["check", "eth", delisted, "--json"]).ok().json();
    let cited = answer["labels"].as_array().unwrap().iter();
    let cited: Vec<_> = cited.filter(|label| label["category"] == "sanctions").collect();
    assert!(!cited.is_empty());
    assert!(cited.iter().all(|label| label["status"] == "contradicted_by_list"), "{cited:?}");
    assert_ne!(answer["verdict"], "block");
}

#[test]
fn a_label_can_be_withdrawn_and_restored_while_the_server_runs() {
    let (server, caller) = production();
    let directory = server.directory();
    let csv = format!(
        "blockchain,address,category,entity,tier,confidence,author,reason\nbtc,{ADDRESS},ransomware,Gang,investigation,95,Jane,seen in a note\n"
    );
    fs::write(directory.path().join("own.csv"), csv).unwrap();
    let report = import(directory.path(), "own.csv", "csv", "own").ok().json();
    assert_eq!(report["added"], 1);
    let verdict = || caller.check("btc", ADDRESS).json();
    wait_until("the label shows", || verdict()["verdict"] == "block");
    let label = verdict()["labels"][0].clone();
    assert_eq!(
        (&label["author"], &label["reason"], &label["entity"]),
        (&json!("Jane"), &json!("seen in a note"), &json!("Gang"))
    );

    let suppress = ["labels", "suppress", "btc", ADDRESS, "--source", "own", "--author", "Joe"];
    assert_eq!(server.assay(&suppress).code, 2, "a reason is needed");
    let run = server.assay(&[&suppress[..], &["--reason", "a mix-up"]].concat()).ok();
    assert_eq!(run.stdout, "1 label withdrawn\n");
    wait_until("it is gone", || verdict()["labels"] == json!([]));
    let withdrawn = server.assay(&["labels", "suppressed", "--json"]).ok().json();
    assert_eq!(
        (&withdrawn[0]["author"], &withdrawn[0]["reason"]),
        (&json!("Joe"), &json!("a mix-up"))
    );
    // The source's labels are still exported, and stay suppressed after another import.
    let exported = server.assay(&["export", "labels", "--format", "csv"]).ok().stdout;
    fs::write(directory.path().join("again.csv"), &exported).unwrap();
    let again = import(directory.path(), "again.csv", "csv", "own").ok().json();
    assert_eq!((&again["added"], &again["unchanged"]), (&json!(0), &json!(1)), "{exported}");
    assert_eq!(verdict()["labels"], json!([]));

    let restore = ["labels", "restore", "btc", ADDRESS, "--source", "own"];
    let _ = server.assay(&restore).ok();
    wait_until("it is back", || verdict()["verdict"] == "block");
    assert_eq!(server.assay(&restore).code, 3);
}

#[test]
fn labels_never_stand_in_for_a_sanctions_list() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("own.csv"),
        format!("blockchain,address,category\nbtc,{ADDRESS},exchange\n"),
    )
    .unwrap();
    // Given labels under the list's own name, where there is no list, then nothing is allowed.
    let _ = import(directory.path(), "own.csv", "csv", "ofac-sdn").ok();
    let check = ["check", "btc", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "--json"];
    assert_eq!(assay(directory.path(), check).ok().json()["verdict"], "indeterminate");
    // And the list does not go into a source of labels, nor labels into the list's.
    fs::write(directory.path().join("small.xml"), crate::imports::SMALL).unwrap();
    let list = |source: &str| {
        let arguments = ["ingest", "sanctions", "small.xml", "--format", "ofac-advanced"];
        assay(directory.path(), arguments.iter().chain(&["--source", source]))
    };
    let refused = list("ofac-sdn");
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("the source `ofac-sdn` holds labels"), "{}", refused.stderr);
    let _ = list("the-list").ok();
    let refused = import(directory.path(), "own.csv", "csv", "the-list");
    assert!(refused.stderr.contains("holds sanctions"), "{}", refused.stderr);
    assert_eq!(assay(directory.path(), check).ok().json()["verdict"], "allow");
}

#[test]
fn the_same_file_read_otherwise_is_read_anew() {
    let directory = tempfile::tempdir().unwrap();
    let tags =
        r#"{"0x931546D9e66836AbF687d2bc64B30407bAc8C568": {"name": "X", "labels": ["exchange"]}}"#;
    fs::write(directory.path().join("mine.json"), tags).unwrap();
    let import = |chain: &str| {
        let arguments = [
            "ingest",
            "labels",
            "mine.json",
            "--format",
            "explorer",
            "--source",
            "mine",
            "--blockchain",
            chain,
            "--json",
        ];
        assay(directory.path(), arguments).ok().json()["outcome"].clone()
    };
    assert_eq!(import("bsc"), "imported");
    assert_eq!(import("bsc"), "unchanged");
    assert_eq!(import("eth"), "imported");
}

#[test]
fn exported_labels_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let csv = format!(
        "blockchain,address,category,entity,tier,confidence,reference,valid_from,cites_list\n\
         btc,{ADDRESS},scam,\"A, \"\"quoted\"\" name\",community,40,https://example.org/1,2020-01-01,\n\
         eth,0x931546D9e66836AbF687d2bc64B30407bAc8C568,tumbling,,heuristic,30,,,\n\
         trx,TXrjBHsbQP61u9EexEPA98mqfdFX9U828W,sanctions,X,community,60,,,ofac-sdn\n"
    );
    fs::write(directory.path().join("own.csv"), csv).unwrap();
    let first = import(directory.path(), "own.csv", "csv", "own").ok().json();
    assert_eq!(first["unknown_terms"], json!({"tumbling": 1}));
    for format in ["csv", "jsonl"] {
        let name = format!("out.{format}");
        let export = ["export", "labels", "--format", format, "-o", &name];
        let _ = assay(directory.path(), export).ok();
        let report = import(directory.path(), &name, format, "own").ok().json();
        assert_eq!(
            (&report["unchanged"], &report["added"], &report["removed"]),
            (&json!(3), &json!(0), &json!(0)),
            "{format}"
        );
    }
}

#[test]
fn hostile_label_files_import_nothing_and_name_the_line() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let header = "blockchain,address,category,entity\n";
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain(header.bytes().flat_map(|byte| [byte, 0])).collect();
    let long = format!("{header}btc,{ADDRESS},scam,{}\n", "x".repeat(100 << 20));
    let anchors = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\ntags: []\n";
    let cases: [(&str, &str, Vec<u8>, &str); 9] = [
        ("none.csv", "csv", header.into(), "no label that can be imported"),
        ("long.csv", "csv", long.into(), "line 2 is longer than"),
        ("utf16.csv", "csv", utf16, "no label that can be imported"),
        ("latin.csv", "csv", [header.as_bytes(), b"btc,x,scam,\xE4\n"].concat(), "line 2"),
        ("formula.csv", "csv", format!("{header}btc,{ADDRESS},scam,=cmd()\n").into(), "line 2"),
        ("columns.csv", "csv", b"blockchain,adress,category\n".to_vec(), "adress"),
        ("broken.yaml", "tagpack", b"title: x\ntags:\n- address: [\n".to_vec(), "line"),
        ("bomb.yaml", "tagpack", anchors.into(), "bomb.yaml"),
        ("lines.jsonl", "jsonl", b"{\"blockchain\":\"btc\"\n".to_vec(), "line 1"),
    ];
    for (name, format, content, message) in cases {
        fs::write(directory.path().join(name), content).unwrap();
        let run = import(directory.path(), name, format, "own");
        assert_eq!(run.code, 3, "{name}: {} {}", run.stdout, run.stderr);
        assert!(run.stderr.contains(message) && run.stderr.contains(name), "{}", run.stderr);
    }
    let sources: Value = assay(directory.path(), ["sources", "--json"]).ok().json();
    let fetched = sources.as_array().unwrap().iter().filter(|it| it["never_fetched"] != true);
    assert_eq!(fetched.count(), 0, "{sources}");
}
