//! Cost of pages of the console: `cargo bench -p assay-tests --bench console_pages`. The benchmark builds and runs the
//! release program.
//!
//! Checks of random wallets alternate between a server that answers as JSON and one that answers as a page, with equal
//! data; no answer comes from a cache. Printed: CPU time of both, and their ratio. Then the page of a check with 2,000
//! flows: time until its last byte, and its size. Then 10,000 pages of all kinds: the memory of the server meanwhile.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_test_random::Random;
use assay_tests::{
    Connection, Figures, ManyFlows, Server, assay,
    big_chain::{ChainShape, Person, record_chain},
    plan_with_tenant, release_program, wait_until,
};
use tempfile::TempDir;
use ureq::{Agent, http::Request};

const TRANSACTIONS: u64 = 20_000;
const ROUNDS: u64 = 10;
/// Number of checks of each kind in a round.
const CHECKS: u64 = 100;
/// Number of pages for the figures of memory, and of those between two figures.
const PAGES: usize = 10_000;
const BETWEEN: usize = 1_000;
/// Number of payers, and of payees, of the check with many flows.
const PARTIES: u32 = 1_000;
const LIMIT: &str = "{name: burst, requests: 1000000, window: 5s, counts: requests}";

fn main() {
    let _built = release_program();
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let shape = ChainShape::with_transactions(TRANSACTIONS);
    let wallets = runtime.block_on(record_chain(shape, folder.path()));
    let [as_json, as_page] = [(); 2].map(|()| {
        Installation::start(|directory| {
            copy(&folder.path().join("chains"), &directory.join("chains"));
            let labels = "blockchain,address,category,entity,confidence,tier,author\n".to_owned();
            let labels = (0..64).map(Person::Service).fold(labels, |mut table, person| {
                if let Some(label) = person.label() {
                    let (address, claim) = (address(person), "100,investigation,The police");
                    let _ = writeln!(
                        table,
                        "btc,{address},{},{},{claim}",
                        label.category, label.entity
                    );
                }
                table
            });
            fs::write(directory.join("labels.csv"), labels).expect("labels");
            let import =
                ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
            let _ = assay(directory, import).ok();
        })
    });
    let browser = Browser::sign_in(&as_page.server);
    compare((&as_json, &as_page), &browser, wallets);
    many_flows();
    memory(&as_page.server, &browser, wallets);
}

/// A server with a tenant without limits, and a key.
struct Installation {
    server: Server,
    key: String,
}

impl Installation {
    fn start(prepare: impl FnOnce(&Path)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        prepare(directory.path());
        fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", LIMIT))
            .expect("a manifest");
        let _ = assay(directory.path(), ["apply", "-f", "roomy.yaml"]).ok();
        let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
        let directory: Arc<TempDir> = Arc::new(directory);
        Self { server: Server::start(directory, &[]), key: key.trim().to_owned() }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("a file").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, copied).expect("a copy");
        }
    }
}

fn address(person: Person) -> String {
    person.owner().address(ChainId::BTC).expect("an address").as_str().to_owned()
}

/// A browser with a session.
struct Browser {
    agent: Agent,
    base: String,
    cookie: String,
}

impl Browser {
    fn sign_in(server: &Server) -> Self {
        let beginning = format!("Console of acme, good once: http://{}", server.api);
        let link = || {
            let printed = format!("{}\n{}", server.greeting(), server.output());
            printed.lines().rev().find_map(|line| line.strip_prefix(&beginning).map(str::to_owned))
        };
        wait_until("a link is printed", || link().is_some());
        let agent = Agent::config_builder().http_status_as_error(false).max_redirects(0).build();
        let mut browser =
            Self { agent: agent.into(), base: base(server.api), cookie: String::new() };
        let response = browser.send(&link().expect("a link"));
        let cookie = response.headers().get("set-cookie").expect("a cookie");
        let cookie = cookie.to_str().expect("a text").split(';').next().unwrap_or_default();
        cookie.clone_into(&mut browser.cookie);
        browser
    }

    fn send(&self, path: &str) -> ureq::http::Response<ureq::Body> {
        let request = Request::builder().uri(format!("{}{path}", self.base));
        let request = request.header("cookie", &self.cookie).body(()).expect("a request");
        self.agent.run(request).expect("an answer")
    }

    /// The bytes of a page.
    fn get(&self, path: &str) -> Vec<u8> {
        let mut response = self.send(path);
        assert!(response.status() == 200, "{path}: {}", response.status());
        response.body_mut().read_to_vec().expect("a page")
    }
}

fn base(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// Compares checks as JSON with checks as pages.
fn compare((as_json, as_page): (&Installation, &Installation), browser: &Browser, wallets: u64) {
    let mut connection = Connection::open(as_json.server.api);
    let mut dice = Random::new(5);
    let (mut json, mut pages, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    for round in 0..=ROUNDS {
        let subjects: Vec<String> =
            (0..CHECKS).map(|_| address(Person::Wallet(dice.below(wallets)))).collect();
        let spent = |server: &Server, work: &mut dyn FnMut()| {
            let before = server.cpu_time();
            work();
            // The records of the checks are written twice a second.
            std::thread::sleep(Duration::from_millis(700));
            server.cpu_time().saturating_sub(before).as_secs_f64() * 1e6 / 100.0
        };
        let of_json = spent(&as_json.server, &mut || {
            for subject in &subjects {
                let request = Connection::check(&as_json.key, "btc", subject);
                let _ = connection.ask(&request);
            }
        });
        let of_pages = spent(&as_page.server, &mut || {
            for subject in &subjects {
                let page = browser.get(&format!("/console/check/btc/{subject}"));
                bytes.push(f64::from(u32::try_from(page.len()).unwrap_or(u32::MAX)));
            }
        });
        // The first round loads the graph into memory.
        if round > 0 {
            json.push(of_json);
            pages.push(of_pages);
            ratios.push(of_pages / of_json);
        }
    }
    let median = |numbers: &[f64]| Figures::from_numbers(numbers.iter().copied()).percentile(50);
    println!(
        "CPU time in us of a check as JSON {:.0}, as a page {:.0}: {:.2} times (medians of {ROUNDS} rounds of {CHECKS}); \
         {:.0} bytes a page",
        median(&json),
        median(&pages),
        median(&ratios),
        median(&bytes)
    );
}

/// Prints the time and the size of the page of a check with very many flows.
fn many_flows() {
    let mut subject = String::new();
    let installation = Installation::start(|directory| {
        let name = |number| format!("Party {number:04}");
        subject = ManyFlows { parties: PARTIES, name: &name }.record(directory);
    });
    let browser = Browser::sign_in(&installation.server);
    let path = format!("/console/check/btc/{subject}");
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..20 {
        let begun = Instant::now();
        bytes = browser.get(&path).len();
        times.push(begun.elapsed());
    }
    let first = times.first().copied().unwrap_or_default();
    let first = first.as_secs_f64() * 1e3;
    let times = Figures::from_times(times.into_iter().skip(1));
    println!("a check with 2,000 flows: {bytes} bytes; in ms: the first {first:.1}, later {times}");
}

/// Prints the memory of a server while it answers with pages of all kinds.
fn memory(server: &Server, browser: &Browser, wallets: u64) {
    let mut dice = Random::new(7);
    let others = [
        "",
        "/checks",
        "/sources",
        "/chains",
        "/policy",
        "/usage",
        "/keys",
        "/transfer",
        "/search?q=north",
    ];
    let mut figures = Vec::new();
    for number in 0..=PAGES {
        if number % BETWEEN == 0 {
            figures.push((resident_bytes(server) >> 20).to_string());
        }
        let path = match number % 10 {
            // A hundred wallets: their answers are in the cache after the first pages.
            0 => format!("/check/btc/{}", address(Person::Wallet(dice.below(wallets.min(100))))),
            other => (*others.get(other - 1).expect("nine other pages")).to_owned(),
        };
        let _ = browser.get(&format!("/console{path}"));
    }
    println!(
        "memory of the server in MiB, after each {BETWEEN} of {PAGES} pages: {}",
        figures.join(", ")
    );
}

/// Memory of a server without the pages of mapped files.
fn resident_bytes(server: &Server) -> u64 {
    let status =
        fs::read_to_string(format!("/proc/{}/status", server.process())).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
    let kibibytes = line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number");
    kibibytes << 10
}
