//! Hostile input: a clear refusal, no panic, bounded memory.

use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use assay_tests::{Caller, Finished, Server, assay, sample};
use flate2::{Compression, write::GzEncoder};

const PATH: &str = "/api/v1/check/address";

fn refused(caller: &Caller, body: &str) -> (u16, String) {
    caller.post(PATH, body, &[]).problem()
}

/// Sends bytes and returns the status line of the response.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.api).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    // The server may refuse before it read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..count]);
        if answer.windows(4).any(|window| window == b"\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

fn head(caller: &Caller, more: &str) -> String {
    format!(
        "POST {PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n{more}\r\n",
        caller.key
    )
}

fn assert_still_serves(server: &Server, caller: &Caller) {
    let answer = caller.check("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    assert_eq!(answer.status, 200, "{}", answer.text);
    let log = server.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(server.peak_resident_bytes() < 200 << 20, "memory is bounded");
}

#[test]
fn hostile_json_is_refused_by_name() {
    let (server, caller, _) = sample();
    let body = |address: &str| format!(r#"{{"blockchain":"btc","address":"{address}"}}"#);
    let cases = [
        ("[".repeat(8000), 400, "malformed_json"),
        (r#"["btc","a"]"#.into(), 400, "invalid_request"),
        ("[".repeat(100_000), 413, "body_too_large"),
        (body(&"1".repeat(10 << 20)), 413, "body_too_large"),
        (body(&"1".repeat(7000)), 422, "invalid_address"),
        (body("1\\u0000A"), 422, "invalid_address"),
        (body("1\u{0}A"), 400, "malformed_json"),
        (r#"{"blockchain":"btc","address":"a","address":"b"}"#.into(), 400, "invalid_request"),
        (r#"{"blockchain":"btc","address":"a","addres":"b"}"#.into(), 400, "invalid_request"),
        (r#"{"blockchain":"btc","address":["a"]}"#.into(), 400, "invalid_request"),
        (r#"{"blockchain":null,"address":"a"}"#.into(), 400, "invalid_request"),
        (r#"{"blockchain":"nochain","address":"a"}"#.into(), 422, "unsupported_chain"),
        (r#"{"blockchain":"","address":"a"}"#.into(), 422, "unsupported_chain"),
        (body(""), 422, "invalid_address"),
        ("null".into(), 400, "invalid_request"),
        ("{\"blockchain\":\"btc\",\"address\":\"\\ud800\"}".into(), 400, "malformed_json"),
        ("1e999".into(), 400, "invalid_request"),
    ];
    for (body, status, code) in cases {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(refused(&caller, &body), (status, code.into()), "{shown}");
    }
    assert_eq!(
        caller.post(PATH, "{}", &[("content-type", "text/plain")]).problem(),
        (415, "unsupported_media_type".into())
    );
    assert_eq!(
        caller.post(PATH, "{}", &[("content-type", "")]).problem(),
        (415, "unsupported_media_type".into())
    );
    assert_eq!(caller.get(PATH).problem(), (405, "method_not_allowed".into()));
    assert_still_serves(&server, &caller);
}

#[test]
fn an_unknown_blockchain_is_answered_with_what_may_be_meant() {
    let (_server, caller, _) = sample();
    let detail = |blockchain: &str| {
        let answer = caller.check(blockchain, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        assert_eq!(answer.problem(), (422, "unsupported_chain".into()));
        let body = answer.json();
        assert_eq!(body["errors"][0]["field"], "blockchain");
        body["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail("bitcon"), "unsupported blockchain `bitcon`: did you mean `btc`?");
    assert!(detail("usdt").contains("is a token, not a blockchain"));
    assert!(detail("nothing-like-it").len() < 120, "no list of all");
}

#[test]
fn hostile_http_is_refused() {
    let (server, caller, _) = sample();
    let chunk = format!("{:x}\r\n{}\r\n", 16_000, " ".repeat(16_000));
    let chunked = head(&caller, "Transfer-Encoding: chunked\r\n") + &chunk + &chunk;
    let cases = [
        (head(&caller, &format!("X-Large: {}\r\n", "x".repeat(1 << 20))).into_bytes(), "431"),
        (head(&caller, &format!("X-Large: {}\r\n", "x".repeat(20_000))).into_bytes(), "431"),
        (head(&caller, &"X-Many: y\r\n".repeat(5000)).into_bytes(), "431"),
        (chunked.into_bytes(), "413"),
        (head(&caller, "Content-Length: 10485760\r\n").into_bytes(), "413"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "400"),
        (b"GARBAGE\r\n\r\n".to_vec(), "400"),
        (
            format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: \u{1}\r\n\r\n").into_bytes(),
            "400",
        ),
    ];
    for (bytes, status) in cases {
        let line = raw(&server, &bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(line.starts_with(&format!("HTTP/1.1 {status}")), "{shown}: {line}");
    }
    // A proxy may have decided by one of two hosts.
    for more in ["Host: x\r\n", "host: another\r\n"] {
        let get = format!(
            "GET /api/v1/sources HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\n{more}\r\n",
            caller.key
        );
        let line = raw(&server, get.as_bytes());
        assert!(line.starts_with("HTTP/1.1 400"), "{more}: {line}");
    }
    let large = [("x-api-key", caller.key.as_str()), ("x-large", &"x".repeat(20_000))];
    assert_eq!(
        caller.send("GET", "/api/v1/sources", "", large).problem(),
        (431, "headers_too_large".into())
    );
    assert_still_serves(&server, &caller);
}

#[test]
fn a_refused_large_body_still_gets_an_answer() {
    let (_server, caller, _) = sample();
    let body = "x".repeat(1 << 20);
    for _ in 0..20 {
        let stranger = caller.post(PATH, &body, &[("x-api-key", "")]);
        assert_eq!(stranger.problem(), (401, "missing_key".into()));
        let lost = caller.post("/nowhere", &body, &[]);
        assert_eq!(lost.problem(), (404, "not_found".into()));
    }
}

#[test]
fn a_slow_body_is_given_up() {
    let (server, caller, _) = sample();
    let line = raw(&server, head(&caller, "Content-Length: 100\r\n").as_bytes());
    assert!(line.starts_with("HTTP/1.1 408"), "{line}");
    assert_still_serves(&server, &caller);
}

#[test]
fn a_silent_connection_is_closed_for_a_new_one() {
    let mut server = Server::start(
        std::sync::Arc::new(tempfile::tempdir().unwrap()),
        &["--sample", "--max-connections", "2"],
    );
    let connect = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(server.api).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    // One that says nothing, and one whose first letter could be HTTP/2's.
    let silent = [connect(b""), connect(b"P")];
    let mut waiting = connect(b"GET /api/v1/sources HTTP/1.1\r\nHost: x\r\n\r\n");
    waiting.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let mut answer = [0; 12];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    drop(silent);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

fn ingest(directory: &Path, name: &str, content: &[u8]) -> Finished {
    fs::write(directory.join(name), content).unwrap();
    assay(directory, ["ingest", "sanctions", name, "--format", "ofac-advanced"])
}

fn gzip(content: &[u8], times: usize) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..times {
        packed.write_all(content).unwrap();
    }
    packed.finish().unwrap()
}

#[test]
fn hostile_lists_change_nothing_and_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let laughs =
        "<!DOCTYPE s [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]><Sanctions>&b;</Sanctions>";
    let small = b"<x/>".repeat(1 << 18);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("sdn.xml", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(b"<Sanctions>").unwrap();
    for _ in 0..100 {
        zip.write_all(&small).unwrap();
    }
    let zip_bomb = zip.finish().unwrap().into_inner();
    let mut two = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["a.xml", "b.xml"] {
        two.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    }
    let two_lists = two.finish().unwrap().into_inner();
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("entities.xml", laughs.into(), "document type declarations are refused"),
        ("zip-bomb.zip", zip_bomb, "the unpacked content is larger than"),
        ("gzip-bomb.gz", gzip(&small, 100), "found `x`, expected `Sanctions`"),
        (
            "one-text.gz",
            gzip(&b" ".repeat(1 << 20), 300),
            "a single tag, text or comment is larger than",
        ),
        ("two.zip", two_lists, "holds 2 files: a.xml, b.xml: expected exactly one"),
        ("deep.xml", "<Sanctions>".repeat(100_000).into(), "nested deeper than"),
        ("cut.xml", b"<Sanctions><DateOfIssue><Year>2025".to_vec(), "it is truncated"),
        ("latin.xml", b"<Sanctions>\xFF\xFE</Sanctions>".to_vec(), "bytes that are not UTF-8"),
        ("empty.xml", Vec::new(), "found no element"),
    ];
    for (name, content, message) in cases {
        let run = ingest(directory.path(), name, &content);
        assert_eq!(run.code, 3, "{name}: {}", run.stderr);
        assert!(
            run.stderr.contains(message) && run.stderr.contains(name),
            "{name}: {}",
            run.stderr
        );
    }
    let sources: Value = assay(directory.path(), ["sources", "--json"]).ok().json();
    let fetched = sources.as_array().unwrap().iter().filter(|it| it["never_fetched"] != true);
    assert_eq!(fetched.count(), 0, "{sources}");
}

#[test]
fn a_party_of_a_million_addresses_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let start =
        "<Sanctions><DateOfIssue><Year>2026</Year><Month>1</Month><Day>5</Day></DateOfIssue>
        <ReferenceValueSets><FeatureTypeValues>
        <FeatureType ID=\"1\">Digital Currency Address - XBT</FeatureType></FeatureTypeValues>
        </ReferenceValueSets><DistinctParties><DistinctParty FixedRef=\"1\"><Profile ID=\"1\">
        <Feature FeatureTypeID=\"1\"><FeatureVersion>";
    let many = b"<VersionDetail>1</VersionDetail>".repeat(1 << 15);
    let bomb = gzip(start.as_bytes(), 1).into_iter().chain(gzip(&many, 40));
    fs::write(directory.path().join("bomb.gz"), bomb.collect::<Vec<u8>>()).unwrap();
    let run =
        assay(directory.path(), ["ingest", "sanctions", "bomb.gz", "--format", "ofac-advanced"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("larger than any real one"), "{}", run.stderr);
}

#[test]
fn unpacking_a_bomb_takes_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let bomb = gzip(b"<Sanctions>", 1).into_iter().chain(gzip(&b"<x/>".repeat(1 << 18), 400));
    fs::write(directory.path().join("bomb.gz"), bomb.collect::<Vec<u8>>()).unwrap();
    let mut command = std::process::Command::new(assay_tests::binary());
    command
        .current_dir(directory.path())
        .args(["ingest", "sanctions", "bomb.gz", "--format", "ofac-advanced", "--data-dir", "d"])
        .stderr(std::process::Stdio::null());
    let (status, _, peak) = assay_tests::measure(&mut command);
    assert_eq!(status.code(), Some(3));
    assert!(peak < 100 << 20, "{peak} bytes");
}
