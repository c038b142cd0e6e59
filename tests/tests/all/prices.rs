//! Prices from a file or a URL to the values in US dollars of answers.

use std::{
    fs,
    io::Write as _,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use assay_tests::{Finished, Server, assay, sample};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use crate::{imports::web_server, support::wait_until};

const HEADER: &str = "asset,day,usd\n";

fn ingest(directory: &Path, file: &str, more: &[&str]) -> Finished {
    assay(directory, [&["ingest", "prices", file, "--json"], more].concat())
}

/// The numbers of added, changed and unchanged prices.
fn change(outcome: &Value) -> [u64; 3] {
    ["added", "changed", "unchanged"].map(|field| outcome[field].as_u64().unwrap())
}

/// The sources of prices.
fn sources(directory: &Path) -> Vec<Value> {
    let all: Value = assay(directory, ["sources", "--json"]).ok().json();
    all.as_array().unwrap().iter().filter(|source| source["kind"] == "prices").cloned().collect()
}

#[test]
fn a_later_import_replaces_prices_and_the_same_file_changes_nothing() {
    // Given prices of three days.
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "p.csv",
        "usd;asset;day\n3000.5;eth/native;2026-01-30\n3010;eth/native;2026-01-31\n90000;btc/native;2026-01-31\n",
    );
    let first = ingest(directory.path(), "p.csv", &[]).ok().json();
    assert_eq!((first["outcome"].as_str(), change(&first)), (Some("imported"), [3, 0, 0]));
    assert_eq!((&first["assets"], &first["newest_day"]), (&json!(2), &json!("2026-01-31")));
    // When they are imported again, nothing changes.
    let again = ingest(directory.path(), "p.csv", &[]).ok().json();
    assert_eq!((&again["outcome"], &again["verified"]), (&json!("unchanged"), &json!(true)));
    // When another file states one anew, as JSON lines, packed.
    let lines = concat!(
        "{\"asset\":\"eth/native\",\"day\":\"2026-01-31\",\"usd\":3011.25}\n",
        "{\"asset\":\"eth/native\",\"day\":\"2026-02-01\",\"usd\":\"3020\"}\n",
        "{\"asset\":\"btc/native\",\"day\":\"2026-01-31\",\"usd\":90000.0}\n",
    );
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(lines.as_bytes()).unwrap();
    fs::write(directory.path().join("p.jsonl.gz"), packed.finish().unwrap()).unwrap();
    let next = ingest(directory.path(), "p.jsonl.gz", &["--source", "more"]).ok().json();
    // Then one is changed and one is new.
    assert_eq!(change(&next), [1, 1, 1]);
    let text = assay(directory.path(), ["ingest", "prices", "p.csv", "--source", "back"]).ok();
    assert!(text.stdout.contains("0 added, 1 changed, 2 unchanged"), "{}", text.stdout);
    // All prices are exported as they were imported.
    let exported = assay(directory.path(), ["export", "prices", "--format", "csv"]).ok().stdout;
    let mut lines: Vec<_> = exported.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "btc/native,2026-01-31,90000",
            "eth/native,2026-01-30,3000.5",
            "eth/native,2026-01-31,3010",
            "eth/native,2026-02-01,3020",
        ]
    );
    fs::write(directory.path().join("exported.csv"), exported).unwrap();
    let same = ingest(directory.path(), "exported.csv", &["--source", "copy"]).ok().json();
    assert_eq!(change(&same), [0, 0, 4]);
    let rows: Vec<_> = sources(directory.path())
        .iter()
        .map(|source| {
            (source["id"].clone(), source["entries"].clone(), source["published_at"].clone())
        })
        .collect();
    let row = |id: &str, entries: u64, day: &str| (json!(id), json!(entries), json!(day));
    let (old, new) = ("2026-01-31", "2026-02-01");
    let expected =
        [row("back", 3, old), row("copy", 4, new), row("more", 3, new), row("prices", 3, old)];
    assert_eq!(rows, expected);
    let table = assay(directory.path(), ["sources"]).ok().stdout;
    assert!(table.contains("more") && table.contains("2026-02-01"), "{table}");
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_file_and_line_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("p.csv"), format!("{HEADER}eth/native,2026-01-30,1\n"))
        .unwrap();
    let _ = ingest(directory.path(), "p.csv", &[]).ok();
    let before = sources(directory.path());
    let good = "eth/native,2026-01-31,1.1\n";
    for (bad, said) in [
        ("ETH,2026-01-31,1\n", "`ETH` is no asset"),
        ("eth/native,2026-01-31,1e5\n", "write all digits instead of an exponent"),
        ("eth/native,2026-01-31,\"1,5\"\n", "write a decimal point"),
        ("eth/native,2026-01-31,0\n", "a price is above zero"),
        ("eth/native,2026-01-31,-1\n", "a price is above zero"),
        ("eth/native,9999-01-31,1\n", "is in the future"),
        ("eth/native,31.01.2026,1\n", "such as 2026-01-31"),
        ("eth/native,2026-01-31,2\n", "1.1 in line 2"),
        ("eth/native,2026-01-31\n", "line 3"),
        ("eth/native,2026-01-31,1\u{0}\n", "NUL"),
    ] {
        fs::write(directory.path().join("bad.csv"), format!("{HEADER}{good}{bad}")).unwrap();
        let run = ingest(directory.path(), "bad.csv", &[]);
        assert_eq!(run.code, 3, "{bad}: {}", run.stderr);
        let place = "bad.csv: line 3";
        assert!(run.stderr.contains(said) && run.stderr.contains(place), "{bad}: {}", run.stderr);
    }
    for (text, said) in [("", "is empty"), (HEADER, "holds no price")] {
        fs::write(directory.path().join("bad.csv"), text).unwrap();
        let run = ingest(directory.path(), "bad.csv", &[]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(sources(directory.path()), before);
}

#[test]
fn a_price_a_hundred_times_that_of_the_day_before_is_refused_until_the_file_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, row: &str| {
        fs::write(directory.path().join(name), format!("{HEADER}{row}\n")).unwrap();
    };
    write("p.csv", "eth/native,2026-01-30,3000");
    write("cents.csv", "eth/native,2026-01-31,301000");
    let _ = ingest(directory.path(), "p.csv", &[]).ok();
    let run = ingest(directory.path(), "cents.csv", &[]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let command =
        "assay ingest prices cents.csv --format prices-csv --source prices --accept-digest ";
    for said in ["301000", "the price of 2026-01-30 is 3000", "acceptDigest", command] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    let digest = run.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    let other = "0".repeat(64);
    assert_eq!(ingest(directory.path(), "cents.csv", &["--accept-digest", &other]).code, 4);
    let accepted = ingest(directory.path(), "cents.csv", &["--accept-digest", &digest]).ok();
    assert_eq!(change(&accepted.json()), [1, 0, 0]);
}

/// The verdict, the score and what it is made of.
fn decision(answer: &Value) -> Value {
    let mut components = answer["scoring_components"].clone();
    for component in components.as_array_mut().unwrap() {
        component["amount"] = Value::Null;
    }
    json!([answer["verdict"], answer["risk_score"], answer["reasons"], components])
}

#[test]
fn a_server_shows_values_once_prices_are_imported_and_decides_as_before() {
    // Given answers without prices, which the server keeps.
    let (server, _, enterprise) = sample();
    let examples = assay_sample::examples();
    let check = |address: &str| {
        let answer = enterprise.check("btc", address);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let addresses: Vec<String> = examples
        .iter()
        .filter(|example| example.address.chain().as_str() == "btc")
        .map(|example| example.address.to_string())
        .collect();
    let before: Vec<Value> = addresses.iter().map(|address| check(address)).collect();
    let known = before.iter().position(|answer| answer["activity"]["status"] == "seen").unwrap();
    assert_eq!(before[known]["activity"]["in"][0]["usd"], Value::Null);
    // When a price of the day before is imported.
    let today = before[known]["assessed_at"].as_str().unwrap()[..10].to_owned();
    let yesterday = today.parse::<jiff::civil::Date>().unwrap().yesterday().unwrap();
    let text = format!("{HEADER}btc/native,{yesterday},90000\n");
    fs::write(server.directory().path().join("p.csv"), text).unwrap();
    let _ = server.assay(&["ingest", "prices", "p.csv"]).ok();
    // Then kept answers end, amounts have values, and every decision is the same.
    let shows = || check(&addresses[known])["activity"]["in"][0]["usd"].is_string();
    wait_until("values are shown", shows);
    for (address, before) in addresses.iter().zip(&before) {
        let after = check(address);
        assert_eq!(decision(&after), decision(before), "{address}");
        assert_ne!(after["data_revision"], before["data_revision"]);
        for amount in after["activity"]["in"].as_array().unwrap() {
            let units: u128 = amount["value"].as_str().unwrap().parse().unwrap();
            let cents = units * 90_000 * 100 / 100_000_000;
            let expected = format!("{}.{:02}", cents / 100, cents % 100);
            assert_eq!(amount["usd"], json!(expected), "{amount}");
            assert_eq!(amount["price_day"], json!(yesterday.to_string()));
        }
    }
    // The program answers as the server does, and both list the source.
    let answer: Value = server.assay(&["check", "btc", &addresses[known], "--json"]).ok().json();
    assert_eq!(answer["activity"], check(&addresses[known])["activity"]);
    let listed = enterprise.get("/api/v1/sources").json();
    let listed = listed["sources"].as_array().unwrap();
    assert!(listed.iter().any(|source| source["kind"] == "prices" && source["id"] == "prices"));
    assert!(answer["sources"].as_array().unwrap().iter().all(|source| source["kind"] != "prices"));
}

#[test]
fn prices_are_fetched_on_a_schedule() {
    let (web, sent) = web_server(format!("{HEADER}btc/native,2026-01-31,90000\n").into(), "200 OK");
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let manifest = |more: &str| {
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: own-prices}}\nspec:\n  \
             location: http://{}/prices.csv\n  format: prices-csv\n  schedule: '0 0 1 1 *'\n{more}",
            web.address()
        )
    };
    let write = |name: &str, text: String| fs::write(directory.path().join(name), text).unwrap();
    write("wrong.yaml", manifest("  mandatory: true\n"));
    let refused = assay(directory.path(), ["apply", "-f", "wrong.yaml"]);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("prices cannot be mandatory"), "{}", refused.stderr);
    write("prices.yaml", manifest(""));
    let _ = assay(directory.path(), ["apply", "-f", "prices.yaml"]).ok();
    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    wait_until("the prices are fetched", || !sources(directory.path()).is_empty());
    assert_eq!(sources(directory.path())[0]["id"], "own-prices");
    // Its job is due again by the schedule only.
    let job = || -> Value {
        let jobs: Value = server.assay(&["jobs", "--json"]).ok().json();
        let of_source = |job: &&Value| job["key"] == "own-prices";
        jobs.as_array().unwrap().iter().find(of_source).cloned().unwrap_or_default()
    };
    wait_until("the job has ended", || job()["status"] == "pending");
    assert!(job()["due_at"].as_str().unwrap().contains("-01-01T00:00:00"), "{}", job());
    assert_eq!(sent.load(Ordering::Relaxed), 1, "{}", server.log());
}
