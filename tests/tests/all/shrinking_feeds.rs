//! Lists and labels that lose more than half of their rows: refused until a person accepts the file, and shown.

use std::{fmt::Write as _, fs, path::Path, sync::Arc};

use assay_engine::facts::Environment;
use assay_intel::{
    formats::{self, IntelKind},
    import::{ImportRequest, import},
};
use assay_store::SqliteStore;
use assay_tests::{Finished, Server, assay};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{imports::web_server, support::wait_until};

fn labels(chain: &str, count: u32) -> String {
    let mut text = "blockchain,address,category,entity\n".to_owned();
    for row in 0..count {
        writeln!(text, "{chain},0x{row:040x},scam,Entity {row}").unwrap();
    }
    text
}

fn listings(count: u32) -> String {
    let mut text = "list,entity_id,entity,asset_code,address\n".to_owned();
    for row in 0..count {
        writeln!(text, "own,{row},Entity {row},ETH,0x{row:040x}").unwrap();
    }
    text
}

fn ingest(directory: &Path, kind: &str, location: &str, more: &[&str]) -> Finished {
    let fixed = ["ingest", kind, location, "--format", "csv", "--source", "own", "--json"];
    assay(directory, [&fixed[..], more].concat())
}

fn refused(finished: &Finished, texts: &[&str]) -> String {
    assert_eq!(finished.code, 4, "{}{}", finished.stdout, finished.stderr);
    for text in texts {
        assert!(finished.stderr.contains(text), "{text}: {}", finished.stderr);
    }
    finished.stderr.trim().rsplit(' ').next().unwrap().to_owned()
}

fn entries(directory: &Path) -> u64 {
    let sources: Value = assay(directory, ["sources", "--json"]).ok().json();
    sources[0]["entries"].as_u64().unwrap()
}

#[test]
fn a_feed_that_loses_more_than_half_is_refused_until_that_file_is_accepted() {
    let files = [
        ("labels", labels("eth", 3000), labels("eth", 1), "1 of the 3000 labels"),
        ("sanctions", listings(20), listings(1), "drops 19 of the 20"),
    ];
    for (kind, whole, cut, said) in files {
        // Given a source.
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("whole.csv", &whole);
        write("cut one.csv", &cut);
        let _ = ingest(directory.path(), kind, "whole.csv", &[]).ok();
        let before = entries(directory.path());
        // When nearly all is gone, the file is refused with the command that accepts it.
        let file = ingest(directory.path(), kind, "cut one.csv", &[]);
        let command = format!("assay ingest {kind} 'cut one.csv' --format ");
        let digest = refused(&file, &[said, "implausible", "acceptDigest", &command]);
        assert_eq!(entries(directory.path()), before);
        let other = format!("--accept-digest={}", "0".repeat(64));
        let _ = refused(&ingest(directory.path(), kind, "cut one.csv", &[&other]), &[said]);
        // Then it is imported by its digest, in either form, and the next one is compared with it.
        let accept = format!("--accept-digest=sha256:{digest}");
        let _ = ingest(directory.path(), kind, "cut one.csv", &[&accept]).ok();
        assert_eq!(entries(directory.path()), 1);
        write(
            "next.csv",
            if kind == "labels" {
                "blockchain,address,category,entity\neth,0x00000000000000000000000000000000000000ff,scam,x\n"
            } else {
                &whole
            },
        );
        let _ = ingest(directory.path(), kind, "next.csv", &[]).ok();
    }
}

#[test]
fn one_file_of_a_folder_of_labels_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join("set").join(name);
    fs::create_dir(directory.path().join("set")).unwrap();
    fs::write(at("eth.csv"), labels("eth", 100)).unwrap();
    fs::write(at("bsc.csv"), labels("bsc", 20)).unwrap();
    let _ = ingest(directory.path(), "labels", "set", &[]).ok();
    fs::remove_file(at("bsc.csv")).unwrap();
    let run = ingest(directory.path(), "labels", "set", &[]);
    let _ = refused(&run, &["it holds 0 of the 20 labels of bsc that there were"]);
}

#[test]
fn rows_of_which_none_can_be_read_are_no_empty_set() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("whole.csv", &labels("eth", 12));
    write("wrong.csv", &labels("btc", 12));
    let _ = ingest(directory.path(), "labels", "whole.csv", &[]).ok();
    let run = ingest(directory.path(), "labels", "wrong.csv", &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let said = "holds no label that can be imported (12 rows were rejected, the first because";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert_eq!(entries(directory.path()), 12);
}

/// Imports a list at a time in the past.
fn import_at(directory: &Path, source: &str, text: &str, at: Timestamp) {
    let path = directory.join(format!("{source}.csv"));
    fs::write(&path, text).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open_or_create(directory, Environment::Production).await.unwrap();
        let format = formats::by_name(IntelKind::Listings, "csv").unwrap();
        let timeout = std::time::Duration::from_secs(5);
        let location = path.display().to_string();
        let request = ImportRequest::new(location, format, source.parse().unwrap(), timeout);
        let _ = import(&store, &request, at, || {}).await.unwrap();
    });
}

#[test]
fn a_source_that_is_refused_stays_stale_and_tells_why() {
    // Given two mandatory lists that were last verified three days ago.
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let now = Timestamp::try_from(fs::metadata(directory.path()).unwrap().modified().unwrap());
    let then = now.unwrap() - SignedDuration::from_hours(72);
    let (shrunken, _) = web_server(listings(9).replace("own,", "shrunken,").into(), "200 OK");
    let (partial, _) =
        web_server(listings(19).replace("own,", "partial,").into(), "206 Partial Content");
    let manifest = |name: &str, address| {
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: {name}}}\nspec: {{location: \
             'http://{address}/list.csv', format: listings-csv, schedule: '* * * * *', lists: [{name}], \
             mandatory: true}}\n---\n"
        )
    };
    let manifests =
        [manifest("shrunken", shrunken.address()), manifest("partial", partial.address())];
    fs::write(directory.path().join("lists.yaml"), manifests.concat()).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "lists.yaml"]).ok();
    for name in ["shrunken", "partial"] {
        let list = listings(20).replace("own,", &format!("{name},"));
        import_at(directory.path(), name, &list, then);
    }
    // When a server fetches them.
    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    let sources = || server.assay(&["sources", "--json"]).ok().json();
    let of = |name: &str| -> Value {
        let sources: Value = sources();
        let mut all = sources.as_array().unwrap().iter();
        all.find(|source| source["id"] == name).unwrap().clone()
    };
    wait_until("both fail", || {
        ["shrunken", "partial"].iter().all(|name| of(name)["last_error"].is_string())
    });
    // Then they stay as old as they were, and the cause is told.
    for (name, cause) in [
        ("shrunken", "drops 11 of the 20"),
        ("partial", "the server answered 206 Partial Content, a part of the file"),
    ] {
        let source = of(name);
        assert!(source["last_error"].as_str().unwrap().contains(cause), "{source}");
        assert_eq!((&source["stale"], &source["entries"]), (&true.into(), &20.into()));
        assert!(server.log().contains(cause), "{}", server.log());
        let shown = server.assay(&["sources"]).ok().stdout;
        assert!(shown.contains(&format!("{name}: fetching failed")), "{shown}");
    }
    // When the file is accepted in its manifest.
    let error = of("shrunken")["last_error"].as_str().unwrap().to_owned();
    let digest = error.rsplit(' ').next().unwrap();
    let accepting = manifest("shrunken", shrunken.address())
        .replace("mandatory", &format!("acceptDigest: {digest}, mandatory"));
    fs::write(directory.path().join("lists.yaml"), accepting).unwrap();
    let _ = server.assay(&["apply", "-f", "lists.yaml"]).ok();
    wait_until("it is imported", || of("shrunken")["entries"] == 9);
    assert_eq!(of("shrunken")["last_error"], Value::Null);
}
