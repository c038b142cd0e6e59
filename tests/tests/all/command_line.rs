//! Output of the command line.

use std::{fs, path::Path, process::Command};

use assay_tests::{assay, sample, tenant};
use serde_json::{Value, json};

fn text(directory: &Path, arguments: &[&str]) -> String {
    assay(directory, arguments).ok().stdout
}

const RANSOMWARE: &str = "bc1qhvtssjxl5wgt3xex44t6qc0mjum9mp8uue9tc3";
const PAID_BY_RANSOMWARE: &str = "bc1qc2u5ra7sma77sgtsmugvc8ge0n76055vrr5z7x";
/// The transaction by which Wim got his rent from a listed party.
const RENT: &str = "e2913263b08a9bc0cd52a7f815dd7a6598b1bdc64edda2c9bf0ea0e414835517";

/// Output of a command on a terminal of a width.
fn terminal_output(directory: &Path, columns: usize, arguments: &[&str]) -> String {
    let mut command = Command::new(assay_tests::binary());
    command.env_clear().env("COLUMNS", columns.to_string()).env("ASSAY_DATA_DIR", directory);
    let run = command.args(arguments).current_dir(directory).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// The text without the values that differ from run to run.
fn without_fields(text: &str, fields: &[&str]) -> String {
    let lines = text.lines().map(|line| {
        let name = fields.iter().find(|name| line.trim_start().starts_with(**name));
        name.map_or_else(|| line.to_owned(), |name| format!("{name} ..."))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text with `TIME` for each absolute time. Sources of one import may be a second apart.
fn without_times(text: &str) -> String {
    let is_time = |word: &&str| word.len() == 20 && word.contains('T') && word.ends_with('Z');
    let times = text.split([' ', '\n']).filter(is_time);
    let text = times.fold(text.to_owned(), |text, time| text.replace(time, "TIME"));
    text.replace("TIME or later", "TIME")
}

fn assert_fits(text: &str, columns: usize, command: &str) {
    for line in text.lines() {
        // An identifier that is wider stands alone on its line.
        let is_one_word = line.split_whitespace().count() == 1;
        assert!(line.chars().count() <= columns || is_one_word, "{command}: {line}");
    }
}

#[test]
fn texts_for_the_terminal_look_like_this_at_80_columns() {
    let (server, ..) = sample();
    let of_sample = |arguments: &[&str]| terminal_output(server.directory().path(), 80, arguments);
    let check = of_sample(&["check", "--sample", "btc", RANSOMWARE]);
    insta::assert_snapshot!(
        "drawn_check",
        without_times(&without_fields(&check, &["assessed ", "data ", "sha256:"]))
    );
    let trace = of_sample(&["trace", "--sample", "btc", PAID_BY_RANSOMWARE]);
    let txid = trace.split_whitespace().find(|word| word.len() == 64).unwrap().to_owned();
    insta::assert_snapshot!("drawn_trace", trace);
    insta::assert_snapshot!("drawn_tx", of_sample(&["tx", "--sample", "btc", &txid]));
    let keys = of_sample(&["keys", "list", "--sample"]);
    insta::assert_snapshot!("drawn_keys", without_fields(&keys, &["ID", "CREATED", "LAST USED"]));
    let rows = format!("blockchain,address\nbtc,{RANSOMWARE}\nbtc,nonsense\n");
    fs::write(server.directory().path().join("rows.csv"), rows).unwrap();
    insta::assert_snapshot!("drawn_screen", of_sample(&["screen", "--sample", "rows.csv"]));

    let directory = tempfile::tempdir().unwrap();
    let labels: Vec<String> = (0..60)
        .map(|number| format!("btc,{RANSOMWARE},term-{number},Name {number},50,community,J\n"))
        .collect();
    let labels = labels.concat();
    let header = "blockchain,address,category,entity,confidence,tier,author\n";
    fs::write(
        directory.path().join("own.csv"),
        format!("{header}{labels}btc,nonsense,a,b,50,community,J\n"),
    )
    .unwrap();
    let import = ["ingest", "labels", "own.csv", "--format", "csv", "--source", "own"];
    let import = terminal_output(directory.path(), 80, &import);
    insta::assert_snapshot!("drawn_import", import.replace(&import[18..28], "DATE"));
    assert_fits(&import, 80, "import");
}

#[test]
fn no_line_of_a_text_for_the_terminal_is_longer_than_the_terminal_is_wide() {
    let (server, ..) = sample();
    let examples: Vec<Vec<&str>> = server
        .greeting()
        .lines()
        .skip_while(|line| !line.starts_with("Other addresses"))
        .skip(1)
        .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>())
        .filter(|words| words.len() == 2)
        .collect();
    assert!(examples.len() > 10);
    for columns in [80, 100] {
        let of_sample =
            |arguments: &[&str]| terminal_output(server.directory().path(), columns, arguments);
        for example in &examples {
            let check = [&["check", "--sample"], example.as_slice()].concat();
            let summary = of_sample(&check);
            assert_fits(&summary, columns, "check");
            assert!(summary.lines().count() <= 40, "a screen has 40 lines: {summary}");
            assert_fits(&of_sample(&[&check[..], &["--all"]].concat()), columns, "check --all");
            if example[0] == "btc" {
                let trace = of_sample(&[&["trace", "--sample"], example.as_slice()].concat());
                assert_fits(&trace, columns, "trace");
                let txid = trace.split_whitespace().find(|word| word.len() == 64);
                if let Some(txid) = txid {
                    assert_fits(&of_sample(&["tx", "--sample", "btc", txid]), columns, "tx");
                }
            }
        }
        for direction in ["deposit", "withdrawal"] {
            let arguments = ["check-transfer", "--sample", "btc", RENT, "--output", "0"];
            let drawn = of_sample(&[&arguments[..], &["--direction", direction]].concat());
            let has_activity = drawn.contains("Activity");
            assert_eq!(has_activity, direction == "withdrawal", "{direction}: {drawn}");
            assert_fits(&drawn, columns, "check-transfer");
        }
        for arguments in [
            ["sources", "--sample"].as_slice(),
            &["keys", "list", "--sample"],
            &["usage", "--sample"],
            &["labels", "suppressed", "--sample"],
            &["address", "btc", "nonsense", "and more nonsense that is no address of any kind"],
        ] {
            assert_fits(&of_sample(arguments), columns, arguments[0]);
        }
    }
}

#[test]
fn check_informs_programs_by_json_and_exit_code() {
    let (server, ..) = sample();
    let check = |chain: &str, address: &str| {
        let run = server.assay(&["check", "--sample", chain, address, "--json", "--exit-code"]);
        (run.code, run.json()["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(check("btc", "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn"), (11, "block".into()));
    assert_eq!(check("eth", "0x094b38af1c2b20ce653843e787754cdab7846aa7"), (10, "review".into()));
    assert_eq!(check("trx", "TXrjBHsbQP61u9EexEPA98mqfdFX9U828W"), (0, "allow".into()));
    let wrong = server.assay(&["check", "--sample", "btc", "nonsense"]);
    assert_eq!(wrong.code, 3);
    assert!(
        wrong.stderr.starts_with("error: not a valid btc address: wrong length"),
        "{}",
        wrong.stderr
    );
    let as_of = server.assay(&[
        "check",
        "--sample",
        "eth",
        "0x1d5d10c7f9c3a1f72f64f15d90cabd756c18fbcf",
        "--as-of",
        "2026-02-08",
        "--json",
    ]);
    assert_eq!(as_of.ok().json()["verdict"], "block");

    let directory = tempfile::tempdir().unwrap();
    let none = assay(directory.path(), ["check", "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("there is no database in"), "{}", none.stderr);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "reading makes nothing");
    let _ = assay(directory.path(), ["apply", "-f", "/dev/null"]);
    let empty = assay(
        directory.path(),
        ["check", "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "--exit-code", "--json"],
    );
    assert_eq!((empty.code, &empty.json()["risk_score"]), (12, &json!(50)));
}

#[test]
fn address_prints_one_line_each() {
    let directory = tempfile::tempdir().unwrap();
    let lines = text(
        directory.path(),
        &["address", "eth", "--json", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "nonsense"],
    );
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({"input": "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "valid": true, "kind": "account", "canonical": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "reason": null, "message": null})
    );
    assert_eq!((&lines[1]["valid"], &lines[1]["reason"]), (&json!(false), &json!("unknown_form")));

    let many = format!(
        "printf 'TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r\\r\\nbad\\n' | {} address trx - --json --exit-code",
        assay_tests::binary().display()
    );
    let run = Command::new("sh").args(["-c", &many]).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(String::from_utf8(run.stdout).unwrap().lines().count(), 2);
    assert_eq!(assay(directory.path(), ["address", "nochain", "x"]).code, 2);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let (server, ..) = sample();
    let command = format!("{} export listings --sample | head -1", assay_tests::binary().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).env("ASSAY_DATA_DIR", server.directory().path());
    let run = shell.output().unwrap();
    assert!(run.stderr.is_empty(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn export_gives_csv_and_json_lines() {
    let (server, ..) = sample();
    let csv_text = server.assay(&["export", "listings", "--format", "csv"]).ok().stdout;
    let mut csv = csv::Reader::from_reader(csv_text.as_bytes());
    let header: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        header,
        [
            "list",
            "entity_id",
            "entity",
            "programs",
            "asset_code",
            "blockchain",
            "address",
            "address_as_published",
            "valid",
            "listed_on",
            "delisted_on"
        ]
    );
    let rows = csv.records().count();
    let lines = server.assay(&["export", "listings", "--format", "jsonl"]).ok().stdout;
    assert_eq!(lines.lines().count(), rows);
    let one_chain = server
        .assay(&["export", "listings", "--format", "jsonl", "--blockchain", "trx"])
        .ok()
        .stdout;
    let chains: Vec<Value> = one_chain
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["blockchain"].clone())
        .collect();
    assert_eq!(chains, ["trx", "trx"]);
    let dropped =
        lines.lines().filter(|line| line.contains("\"delisted_on\":\"2026-02-09\"")).count();
    assert_eq!(dropped, 2);
}

#[test]
fn all_errors_of_manifests_are_reported_at_once_and_nothing_is_applied() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("manifests/more");
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("1-good.yaml", &tenant("good", "business"));
    let odd = "---\napiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: odd}\n\
               spec: {lists: {ofac-sdn: advisory}, thresholds: {high: 5}}\n";
    write("2-bad.yaml", &[tenant("bad", "gold").as_str(), odd].concat());
    let run = assay(directory.path(), ["apply", "-f", "manifests"]);
    assert_eq!(run.code, 3);
    for part in [
        "nothing was applied",
        "2-bad.yaml, document 1: Tenant bad: spec.plan: there is no Plan `gold`",
        "2-bad.yaml, document 2: RiskPolicy odd: spec.lists.ofac-sdn: this list is blocking and cannot be weakened",
        "2-bad.yaml, document 2: RiskPolicy odd: spec.thresholds.high: 5.0 must be above medium (25.0)",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let key = assay(directory.path(), ["keys", "create", "--tenant", "good"]);
    assert_eq!(key.code, 3, "the good one was not applied either: {}", key.stderr);
    fs::remove_file(folder.join("2-bad.yaml")).unwrap();
    assert_eq!(text(directory.path(), &["apply", "-f", "manifests"]), "Tenant good created\n");
    assert_eq!(text(directory.path(), &["apply", "-f", "manifests"]), "Tenant good unchanged\n");
}

#[test]
fn manifests_on_standard_input_are_read_completely_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = |name: &str| tenant(name, "business");
    let apply = |text: &str| {
        fs::write(directory.path().join("input"), text).unwrap();
        let input = fs::File::open(directory.path().join("input")).unwrap();
        let mut command = Command::new(assay_tests::binary());
        command.args(["apply", "-f", "-", "--data-dir"]).arg(directory.path()).stdin(input);
        command.output().unwrap()
    };
    let long = format!("{}---\n{}---\n{}", manifest("a"), "# \n".repeat(2 << 20), manifest("b"));
    let refused = apply(&long);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(message.contains("standard input") && message.contains("larger than"), "{message}");
    let applied = apply(&format!("{}---\n{}", manifest("a"), manifest("b")));
    assert_eq!(String::from_utf8_lossy(&applied.stdout), "Tenant a created\nTenant b created\n");
}

#[test]
fn settings_are_all_checked_at_once() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("assay.toml"), "listen = \"nowhere\"\ncache = 5\n").unwrap();
    let run = assay(directory.path(), ["serve", "--request-timeout", "soon"]);
    assert_eq!(run.code, 2);
    for part in [
        "assay.toml: cache: there is no such setting",
        "assay.toml: listen: `nowhere` is not",
        "--request-timeout: `soon` is not a time",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn the_sample_does_not_mix_with_real_data() {
    let directory = tempfile::tempdir().unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "/dev/null"]);
    let run = assay(
        directory.path(),
        ["serve", "--sample", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
    );
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("holds real data"), "{}", run.stderr);
}

#[test]
fn help_teaches() {
    let directory = tempfile::tempdir().unwrap();
    let help = text(directory.path(), &["--help"]);
    assert!(
        help.contains("Exit codes:") && help.contains("refused to protect stored data"),
        "{help}"
    );
    for command in [
        vec!["serve"],
        vec!["check"],
        vec!["check-transfer"],
        vec!["address"],
        vec!["apply"],
        vec!["ingest", "sanctions"],
        vec!["export", "listings"],
        vec!["keys", "create"],
    ] {
        let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = text(directory.path(), &arguments);
        assert!(help.contains("Example"), "{command:?}: {help}");
    }
}
