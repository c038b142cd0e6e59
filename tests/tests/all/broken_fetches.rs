//! Imports over connections that end, stall, redirect or lie, at every tenth byte: none of them changes anything.

use std::{
    fmt::Write as _,
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use assay_engine::facts::Environment;
use assay_intel::{
    formats::{self, IntelKind},
    import::{ImportError, ImportOutcome, ImportRequest, import},
};
use assay_store::{
    IntelStore, SqliteStore,
    intel::{LabelFilter, PriceRequest},
};
use assay_tests::{Authority, Listener};
use flate2::{Compression, write::GzEncoder};
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Runtime;

use crate::egress::{assay, tls_answers_ending};

/// Distance of the bytes at which a response goes wrong.
const STEP: usize = 10;
const PATIENT: Duration = Duration::from_secs(30);
/// Time for a response that never ends.
const IMPATIENT: Duration = Duration::from_millis(25);

/// A response that is wrong at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The connection ends.
    Ends,
    /// The connection ends within a response in chunks.
    EndsChunked,
    /// The connection ends within a packed response.
    EndsPacked,
    /// The connection ends a response without a stated length.
    EndsUnstated,
    /// The connection stays open, and nothing follows.
    Stalls,
    /// A redirect leads to a response whose connection ends.
    RedirectsToEnd,
    /// The connection ends within a redirect.
    EndsRedirecting,
    /// The stated length is too small.
    StatesLess,
    /// The stated length is too large.
    StatesMore,
    /// Two lengths are stated.
    StatesTwo,
    /// A chunk is longer than stated.
    LongChunk,
    /// The beginning is sent as a part.
    Part,
    /// The beginning is sent as a part, with the status of a whole.
    PartAsWhole,
    /// The beginning is sent with another status.
    Status(u16),
    /// A confirmation that nobody asked for.
    Confirmation,
    /// The beginning follows a web page.
    WebPage,
}

const FAULTS: [Fault; 22] = [
    Fault::Ends,
    Fault::EndsChunked,
    Fault::EndsPacked,
    Fault::EndsUnstated,
    Fault::Stalls,
    Fault::RedirectsToEnd,
    Fault::EndsRedirecting,
    Fault::StatesLess,
    Fault::StatesMore,
    Fault::StatesTwo,
    Fault::LongChunk,
    Fault::Part,
    Fault::PartAsWhole,
    Fault::Status(201),
    Fault::Status(203),
    Fault::Status(204),
    Fault::Status(226),
    Fault::Status(300),
    Fault::Status(404),
    Fault::Status(503),
    Fault::Confirmation,
    Fault::WebPage,
];

/// A way in which a server sends a whole file.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Length,
    Chunks,
    Packed,
}

/// A response of the server.
#[derive(Clone, Debug)]
struct Answer {
    bytes: Vec<u8>,
    /// The connection stays open after the bytes.
    stalls: bool,
}

fn head(status: &str, fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{fields}\r\n").into_bytes()
}

fn with_length(status: &str, fields: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let fields = format!("content-length: {length}\r\n{fields}");
    [head(status, &fields), body.to_vec()].concat()
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut bytes = head("200 OK", "transfer-encoding: chunked\r\n");
    for chunk in body.chunks(100) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    let packed = encoder.finish().unwrap();
    with_length("200 OK", "content-encoding: gzip\r\n", packed.len(), &packed)
}

fn whole(framing: Framing, body: &[u8]) -> Vec<u8> {
    match framing {
        Framing::Length => with_length("200 OK", "", body.len(), body),
        Framing::Chunks => chunks(body),
        Framing::Packed => packed(body),
    }
}

/// The bytes before a position; `None` if these are all.
fn before(bytes: &[u8], at: usize) -> Option<Vec<u8>> {
    (at < bytes.len()).then(|| bytes[..at].to_vec())
}

/// The bytes of the answer at the first location, and at that to which it may redirect; `None` past the last byte.
fn wrong(fault: Fault, body: &[u8], at: usize) -> Option<[Vec<u8>; 2]> {
    let length = whole(Framing::Length, body);
    let part = before(body, at);
    let alone = |bytes: Vec<u8>| Some([bytes, Vec::new()]);
    match fault {
        Fault::Ends | Fault::Stalls => alone(before(&length, at)?),
        Fault::EndsChunked => {
            let chunked = chunks(body);
            // Without the last empty line, every chunk has arrived.
            let without_end = &chunked[..chunked.len() - b"0\r\n\r\n".len()];
            alone(before(without_end, at)?)
        }
        Fault::EndsPacked => alone(before(&packed(body), at)?),
        Fault::EndsUnstated => alone([head("200 OK", ""), part?].concat()),
        Fault::RedirectsToEnd => {
            let redirect = with_length("302 Found", "location: /moved\r\n", 0, b"");
            Some([redirect, before(&length, at)?])
        }
        Fault::EndsRedirecting => {
            let redirect = with_length("302 Found", "location: /moved\r\n", 0, b"");
            Some([before(&redirect, at)?, Vec::new()])
        }
        Fault::StatesLess => part.and(alone(with_length("200 OK", "", at, body))),
        Fault::StatesMore => part.and(alone(with_length("200 OK", "", body.len() + at + 1, body))),
        Fault::StatesTwo => {
            let second = format!("content-length: {at}\r\n");
            part.and(alone(with_length("200 OK", &second, body.len(), body)))
        }
        Fault::LongChunk => {
            let start = head("200 OK", "transfer-encoding: chunked\r\n");
            let size = format!("{:x}\r\n", part?.len()).into_bytes();
            let size = if at == 0 { b"0\r\n\r\n".to_vec() } else { size };
            alone([start, size, body.to_vec(), b"\r\n0\r\n\r\n".to_vec()].concat())
        }
        Fault::Part => {
            let range = format!("content-range: bytes 0-{at}/{}\r\n", body.len());
            alone(with_length("206 Partial Content", &range, at, &part?))
        }
        Fault::PartAsWhole => {
            let range = format!("content-range: bytes 0-{at}/{}\r\n", body.len());
            alone(with_length("200 OK", &range, at, &part?))
        }
        Fault::Status(status) => alone(with_length(&format!("{status} x"), "", at, &part?)),
        Fault::Confirmation => part.and(alone(head("304 Not Modified", "etag: \"v1\"\r\n"))),
        Fault::WebPage => {
            let page = [b"<!doctype html><title>Sign in</title>\n", &*part?].concat();
            alone(with_length("200 OK", "content-type: text/csv\r\n", page.len(), &page))
        }
    }
}

/// A server that answers as it is told, at a location and at that to which it may redirect.
struct Web {
    listener: Listener,
    answers: Arc<Mutex<[Answer; 2]>>,
}

impl Web {
    fn start() -> Self {
        let nothing = Answer { bytes: Vec::new(), stalls: false };
        let answers = Arc::new(Mutex::new([nothing.clone(), nothing]));
        let told = Arc::clone(&answers);
        let listener = Listener::start(move |stream| {
            let answer = told.lock().unwrap()[usize::from(asks_for_moved(stream)?)].clone();
            let mut stream = stream;
            stream.write_all(&answer.bytes)?;
            if answer.stalls {
                thread::sleep(IMPATIENT * 4);
            }
            Ok(false)
        });
        Self { listener, answers }
    }

    fn answer(&self, [first, moved]: [Vec<u8>; 2], stalls: bool) {
        let answer = |bytes| Answer { bytes, stalls };
        *self.answers.lock().unwrap() = [answer(first), answer(moved)];
    }
}

fn asks_for_moved(stream: &TcpStream) -> io::Result<bool> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let _: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    Ok(first.starts_with("GET /moved "))
}

/// An installation with one source, which was imported from a file a day ago.
struct Installation {
    runtime: Runtime,
    store: SqliteStore,
    kind: IntelKind,
    day: Timestamp,
    web: Web,
    _directory: tempfile::TempDir,
}

impl Installation {
    fn new(kind: IntelKind, file: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let opening = SqliteStore::open_or_create(directory.path(), Environment::Production);
        let store = runtime.block_on(opening).unwrap();
        let day = "2026-11-20T12:00:00Z".parse().unwrap();
        let path = directory.path().join("list.csv");
        std::fs::write(&path, file).unwrap();
        let installation =
            Self { runtime, store, kind, day, web: Web::start(), _directory: directory };
        let _ = installation.import(&path.display().to_string(), PATIENT, day).unwrap();
        installation
    }

    fn import(
        &self,
        location: &str,
        timeout: Duration,
        at: Timestamp,
    ) -> Result<ImportOutcome, ImportError> {
        let format = formats::by_name(self.kind, "csv").unwrap();
        let source = "own".parse().unwrap();
        let mut request = ImportRequest::new(location.to_owned(), format, source, timeout);
        request.access.networks = "127.0.0.1/32".parse().unwrap();
        self.runtime.block_on(import(&self.store, &request, at, || {}))
    }

    fn fetch(&self, timeout: Duration) -> Result<ImportOutcome, ImportError> {
        let url = format!("http://{}/list.csv", self.web.listener.address());
        self.import(&url, timeout, self.day + SignedDuration::from_hours(24))
    }

    /// Everything that is stored: sources with their last verification, listings, labels and prices.
    fn state(&self) -> String {
        let mut labels = Vec::new();
        let filter = LabelFilter { history: true, ..LabelFilter::default() };
        let intel = self.runtime.block_on(async {
            self.store.labels(&filter, &mut |label| labels.push(label)).await.unwrap();
            self.store.intel(None, Some(PriceRequest::default())).await.unwrap()
        });
        format!("{intel:?}{labels:?}")
    }
}

/// A file with a number of rows.
fn file(kind: IntelKind, rows: u32) -> String {
    let mut text = match kind {
        IntelKind::Listings => "list,entity_id,entity,asset_code,address\n".to_owned(),
        IntelKind::Labels => "blockchain,address,category,entity\n".to_owned(),
        IntelKind::Prices => "asset,day,usd\n".to_owned(),
    };
    for row in 0..rows {
        let address = format!("0x{:040x}", u64::from(row) + 0xabcd);
        match kind {
            IntelKind::Listings => writeln!(text, "own,{row},Entity {row},ETH,{address}"),
            IntelKind::Labels => writeln!(text, "eth,{address},scam,Entity {row}"),
            IntelKind::Prices => writeln!(text, "eth/{address},2026-11-{:02},{row}.5", row + 1),
        }
        .unwrap();
    }
    text
}

fn nothing_of_a_broken_fetch_is_kept(kind: IntelKind) {
    // Given a source of twelve rows, and a server that has three more.
    let installation = Installation::new(kind, &file(kind, 12));
    let before = installation.state();
    let more = file(kind, 15).into_bytes();
    for fault in FAULTS {
        let stalls = fault == Fault::Stalls;
        let mut faults = 0;
        for at in (0..).step_by(STEP) {
            // When its response goes wrong at a byte.
            let Some(answers) = wrong(fault, &more, at) else { break };
            installation.web.answer(answers, stalls);
            let fetched = installation.fetch(if stalls { IMPATIENT } else { PATIENT });
            // Then the import fails and changes nothing.
            assert!(fetched.is_err(), "{fault:?} at byte {at}: {fetched:?}");
            faults += 1;
        }
        assert!(faults > 3, "{fault:?}");
        assert_eq!(installation.state(), before, "{fault:?}");
    }
    // A whole response is imported, however it is framed.
    for (framing, rows) in [(Framing::Length, 15), (Framing::Chunks, 14), (Framing::Packed, 13)] {
        let answer = whole(framing, file(kind, rows).as_bytes());
        installation.web.answer([answer, Vec::new()], false);
        let fetched = installation.fetch(PATIENT);
        assert!(matches!(fetched, Ok(ImportOutcome::Imported(_))), "{framing:?}: {fetched:?}");
    }
    let redirect = with_length("302 Found", "location: /moved\r\n", 0, b"");
    installation.web.answer([redirect, whole(Framing::Length, &more)], false);
    assert!(matches!(installation.fetch(PATIENT), Ok(ImportOutcome::Imported(_))));
}

#[test]
fn prices_over_a_connection_that_ends_stalls_redirects_or_lies_change_nothing() {
    nothing_of_a_broken_fetch_is_kept(IntelKind::Prices);
}

#[test]
fn a_list_over_a_connection_that_ends_stalls_redirects_or_lies_changes_nothing() {
    nothing_of_a_broken_fetch_is_kept(IntelKind::Listings);
}

#[test]
fn labels_over_a_connection_that_ends_stalls_redirects_or_lies_change_nothing() {
    nothing_of_a_broken_fetch_is_kept(IntelKind::Labels);
}

#[test]
fn the_cause_of_a_refused_response_is_named() {
    let installation = Installation::new(IntelKind::Listings, &file(IntelKind::Listings, 12));
    let body = file(IntelKind::Listings, 15).into_bytes();
    let length = body.len();
    let page = b"\n<!-- portal --><HTML lang=en><title>Sign in</title>";
    for (answer, said) in [
        (
            head("304 Not Modified", ""),
            "answered 304 Not Modified to a request without a condition",
        ),
        (
            with_length("203 x", "", length, &body),
            "answered 203 Non Authoritative Information, a file that a proxy",
        ),
        (
            with_length("204 No Content", "", 0, b""),
            "answered 204 No Content, and only 200 carries the file",
        ),
        (
            with_length("206 x", "", length, &body),
            "answered 206 Partial Content, a part of the file",
        ),
        (with_length("300 x", "location: /moved\r\n", 0, b""), "answered 300 Multiple Choices"),
        (
            with_length("511 x", "", page.len(), page),
            "answered 511 Network Authentication Required",
        ),
        (with_length("200 OK", "", page.len(), page), "the response is a web page"),
        (with_length("200 OK", "", 0, b""), "the response is empty"),
        (
            with_length("200 OK", "", length + 7, &body),
            &*format!("ended after {length} of {} bytes", length + 7),
        ),
        (with_length("200 OK", "", 40, &body), "sent more bytes than the 40 that it stated"),
        (
            with_length("200 OK", "content-encoding: br\r\n", length, &body),
            "encoded the response as `br`",
        ),
        ([head("200 OK", ""), body.clone()].concat(), "does not state its length"),
    ] {
        installation.web.answer([answer, Vec::new()], false);
        let error = installation.fetch(PATIENT).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let stalling = Answer { bytes: with_length("200 OK", "", length, &body[..20]), stalls: true };
    *installation.web.answers.lock().unwrap() = [stalling.clone(), stalling];
    let error = installation.fetch(IMPATIENT).unwrap_err().to_string();
    assert!(error.contains("in time") || error.contains("timeout"), "{error}");
}

#[test]
fn a_confirmation_counts_for_the_version_that_was_fetched_and_asked_about() {
    // Given a list that was fetched with an entity tag, through a redirect.
    let installation = Installation::new(IntelKind::Listings, &file(IntelKind::Listings, 12));
    let body = file(IntelKind::Listings, 13).into_bytes();
    let redirect = with_length("307 x", "location: /moved\r\n", 0, b"");
    let fields = "etag: \"v1\"\r\nlast-modified: Fri, 20 Nov 2026 12:00:00 GMT\r\n";
    let whole = with_length("200 OK", fields, body.len(), &body);
    installation.web.answer([redirect.clone(), whole], false);
    assert!(matches!(installation.fetch(PATIENT), Ok(ImportOutcome::Imported(_))));
    let before = installation.state();
    // When the server confirms another version.
    let other = head("304 Not Modified", "etag: \"v2\"\r\n");
    installation.web.answer([redirect.clone(), other], false);
    let error = installation.fetch(PATIENT).unwrap_err().to_string();
    assert!(error.contains("about \"v2\", and was asked about \"v1\""), "{error}");
    assert_eq!(installation.state(), before);
    // Then only that version counts as verified.
    let same = head("304 Not Modified", "etag: W/\"v1\"\r\n");
    installation.web.answer([redirect, same], false);
    assert!(matches!(installation.fetch(PATIENT), Ok(ImportOutcome::NotModified)));
    assert_ne!(installation.state(), before);
}

#[test]
fn tls_tells_where_a_response_without_a_length_ends() {
    let authority = Authority::new();
    let answer = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", crate::imports::SMALL);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bundle.pem"), authority.pem()).unwrap();
    let environment = [("ASSAY_SOURCE_NETWORKS", "127.0.0.1/32"), ("SSL_CERT_FILE", "bundle.pem")];
    let ingest = |is_end_told: bool| {
        let certified = authority.server_at(&["localhost"]);
        let address = tls_answers_ending(&certified, answer.clone(), is_end_told);
        let url = format!("https://localhost:{}/sdn.xml", address.port());
        assay(
            directory.path(),
            &["ingest", "sanctions", &url, "--format", "ofac-advanced"],
            &environment,
        )
    };
    let broken = ingest(false);
    assert_eq!(broken.code, 1, "{}", broken.stderr);
    assert!(broken.stderr.contains("does not state its length"), "{}", broken.stderr);
    let _ = ingest(true).ok();
}
