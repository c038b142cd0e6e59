//! Imports of a small list over HTTP, from compressed files, and while a server runs.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use assay_tests::{Listener, assay};
use serde_json::json;

/// A list of two parties in OFAC's format.
pub(crate) const SMALL: &str = include_str!("../../../crates/intel/tests/data/small.xml");

/// A web server that serves one list with an entity tag, and the number of responses that contained
/// the list.
pub(crate) fn web_server(body: Vec<u8>, status: &'static str) -> (Listener, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let listener = Listener::start(move |mut stream| {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let has_it = head.iter().any(|line| line.to_lowercase() == "if-none-match: \"v1\"");
        let (status, body) =
            if has_it { ("304 Not Modified", &[][..]) } else { (status, &body[..]) };
        if !has_it {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\netag: \"v1\"\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        Ok(false)
    });
    (listener, sent)
}

#[test]
fn a_url_is_fetched_once_and_then_only_confirmed() {
    let (server, sent) = web_server(SMALL.into(), "200 OK");
    let directory = tempfile::tempdir().unwrap();
    let url = format!("http://{}/sdn.xml", server.address());
    let import = || {
        assay(
            directory.path(),
            ["ingest", "sanctions", &url, "--format", "ofac-advanced", "--json"],
        )
    };
    assert_eq!(import().ok().json()["outcome"], "imported");
    assert_eq!(import().ok().json()["outcome"], "not_modified");
    assert_eq!(sent.load(Ordering::Relaxed), 1, "the list was sent once");
    let sources = assay(directory.path(), ["sources", "--json"]).ok().json();
    assert_eq!(sources[0]["entries"], 4);
    let again = format!("http://{}/other.xml", server.address());
    let other = assay(
        directory.path(),
        ["ingest", "sanctions", &again, "--format", "ofac-advanced", "--json"],
    );
    assert_eq!(other.ok().json()["outcome"], "unchanged", "conditions belong to their URL");
    let sent_before = sent.load(Ordering::Relaxed);
    let other = assay(
        directory.path(),
        ["ingest", "sanctions", &again, "--format", "ofac-advanced", "--json"],
    );
    assert_eq!(other.ok().json()["outcome"], "not_modified", "and are kept whatever was new");
    assert_eq!(sent.load(Ordering::Relaxed), sent_before);
}

#[test]
fn a_server_that_fails_is_named() {
    let (server, _) = web_server(b"sorry".to_vec(), "500 Internal Server Error");
    let directory = tempfile::tempdir().unwrap();
    let run = |url: &str| {
        assay(directory.path(), ["ingest", "sanctions", url, "--format", "ofac-advanced"])
    };
    let failed = run(&format!("http://{}/", server.address()));
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.contains("the server answered 500"), "{}", failed.stderr);
    assert_eq!(run("http://127.0.0.1:1/").code, 1);
    assert_eq!(run("ftp://example.org/").code, 1);
    assert_eq!(run("nowhere.xml").code, 1);
}

#[test]
fn packed_files_are_read_under_any_name() {
    let pack = |how: &str| -> Vec<u8> {
        match how {
            "gzip" => {
                let mut packed =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(SMALL.as_bytes()).unwrap();
                packed.finish().unwrap()
            }
            "bzip2" => {
                let mut packed =
                    bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                packed.write_all(SMALL.as_bytes()).unwrap();
                packed.finish().unwrap()
            }
            "xz" => {
                let mut packed = liblzma::write::XzEncoder::new(Vec::new(), 1);
                packed.write_all(SMALL.as_bytes()).unwrap();
                packed.finish().unwrap()
            }
            _ => {
                let mut packed = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
                let options = zip::write::SimpleFileOptions::default();
                packed.start_file("readme.txt", options).unwrap();
                packed.start_file("folder/SDN.XML", options).unwrap();
                packed.write_all(SMALL.as_bytes()).unwrap();
                packed.finish().unwrap().into_inner()
            }
        }
    };
    let directory = tempfile::tempdir().unwrap();
    for (index, how) in ["gzip", "bzip2", "xz", "zip"].into_iter().enumerate() {
        fs::write(directory.path().join("list"), pack(how)).unwrap();
        let run = assay(
            directory.path(),
            ["ingest", "sanctions", "list", "--format", "ofac-advanced", "--json"],
        );
        let expected = if index == 0 { "imported" } else { "unchanged" };
        assert_eq!(run.ok().json()["outcome"], expected, "{how}: the same list");
    }
}

#[test]
fn the_answer_shows_the_content_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("small.xml"), SMALL).unwrap();
    let run = assay(
        directory.path(),
        ["ingest", "sanctions", "small.xml", "--format", "ofac-advanced", "--json"],
    );
    let report = run.ok().json();
    assert_eq!((&report["addresses"], &report["parties"]), (&json!(4), &json!(3)));
    assert_eq!(
        report["report"]["unknown_codes"],
        json!({"NEWCOIN": 1}),
        "a code nobody knew is kept"
    );
    assert_eq!(report["report"]["rejected"][0]["reason"], "the address is empty");
    let answer =
        assay(directory.path(), ["check", "btc", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "--json"]);
    let listing = answer.ok().json()["sanctions"][0].clone();
    assert_eq!(
        listing,
        json!({
            "list": "ofac-sdn", "list_name": "OFAC SDN List", "effect": "blocking", "status": "active",
            "entity_id": "9001", "entity": "EXAMPLE, Jane Q.",
            "aliases": [
                {"name": "ПРИМЕР, Джейн", "kind": "Name", "weak": false},
                {"name": "Jay & Co", "kind": "A.K.A.", "weak": true},
            ],
            "programs": ["CYBER2", "SDNTK"],
            "order_number": null, "legal_basis": null,
            "official_link": "https://sanctionssearch.ofac.treas.gov/Details.aspx?id=9001",
            "identifiers": [], "remarks": "made up for tests | only one fork",
            "asset_code": "XBT", "address_as_published": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
            "entity_listed_on": "2019-08-21", "listed_on": null, "delisted_on": null,
            "expires_on": null, "ended_reason": null, "source": "ofac-sdn",
        })
    );
    let elsewhere =
        assay(directory.path(), ["check", "btc", "3EExK1K1TF3v7zsFtQHt14XqexCwgmXM1y", "--json"])
            .ok()
            .json();
    assert_eq!(elsewhere["sanctions"][0]["list"], "ofac-consolidated");
    assert_eq!(
        (&elsewhere["sanctions"][0]["effect"], &elsewhere["verdict"]),
        (&json!("advisory"), &json!("review"))
    );
}
