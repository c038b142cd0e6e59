//! Cost of questions to a chain server: `cargo bench -p assay-tests --bench chain_servers`. `ASSAY_TRANSACTIONS` sets
//! the number of transactions; default 200,000, a million in `./tests/run --full`. The chain is kept in `ASSAY_CACHE`
//! (default: a temporary folder). The benchmark builds and runs the release program.
//!
//! The benchmark alternates checks of random wallets by a server with the graph in its own process, and checks of the
//! same wallets by a server that asks a chain server. Printed: times, the difference of the medians, and the CPU time
//! of a check of all programs that take part. Then an empty chain server is filled from its neighbor, which answers
//! checks meanwhile: seconds, bytes, and whether both fingerprints are equal.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_test_random::Random;
use assay_tests::{
    Caller, Connection, Figures, Server, assay,
    big_chain::{ChainShape, Person, record_chain},
    plan_with_tenant, release_program, repeat, wait_every,
};
use tempfile::TempDir;

const ROUNDS: u64 = 10;
/// Number of checks of each kind in a round.
const CHECKS: u64 = 200;
const LIMIT: &str = "{name: burst, requests: 1000000, window: 5s, counts: requests}";

fn main() {
    let transactions = env::var("ASSAY_TRANSACTIONS").ok().and_then(|text| text.parse().ok());
    let transactions: u64 = transactions.unwrap_or(200_000);
    let temporary = tempfile::tempdir().expect("a folder");
    let cache = env::var_os("ASSAY_CACHE").map_or(temporary.path().to_owned(), PathBuf::from);
    let folder = cache.join(format!("chain-of-{transactions}-transactions"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let wallets =
        runtime.block_on(record_chain(ChainShape::with_transactions(transactions), &folder));
    let _built = release_program();
    let installation = Installation::new(&folder);
    let here = installation.server(true, &[]);
    let chain = Server::start_chain(installation.directory(true), &["btc"]);
    for server in [&here, &chain] {
        wait_for_compositions(server);
    }
    let servers = format!("--chain-servers=btc=http://{}", chain.api);
    let there = installation.server(false, &[&servers]);
    compare(&installation, wallets, [&here, &there], &chain);
    drop((here, there));
    fill(&installation, wallets, &chain);
}

/// A store with a tenant and labels, and a chain.
struct Installation {
    with_graph: Arc<TempDir>,
    key: String,
}

impl Installation {
    fn new(chain: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink(chain.join("chains"), directory.path().join("chains"))
            .expect("a link to the chain");
        let mut labels = "blockchain,address,category,entity,confidence,tier,author\n".to_owned();
        for number in 0..64 {
            let person = Person::Service(number);
            let Some(label) = person.label() else { continue };
            let address = address(person);
            let _ = writeln!(
                labels,
                "btc,{address},{},{},100,investigation,The police",
                label.category, label.entity
            );
        }
        let write = |name: &str, text: String| {
            fs::write(directory.path().join(name), text).expect("a file");
        };
        write("labels.csv", labels);
        write("roomy.yaml", plan_with_tenant("roomy", LIMIT));
        let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
        let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
        let _ = run(&import);
        let _ = run(&["apply", "-f", "roomy.yaml"]);
        let key = run(&["keys", "create", "--tenant", "acme"]).trim().to_owned();
        Self { with_graph: Arc::new(directory), key }
    }

    /// The data directory, or a copy of it without the graph.
    fn directory(&self, with_graph: bool) -> Arc<TempDir> {
        if with_graph {
            return Arc::clone(&self.with_graph);
        }
        let copy = tempfile::tempdir().expect("a directory");
        for entry in fs::read_dir(self.with_graph.path()).expect("a directory") {
            let path = entry.expect("a file").path();
            let name = path.file_name().expect("a name");
            if path.is_file() && name != "serve.lock" {
                fs::copy(&path, copy.path().join(name)).expect("a copy");
            }
        }
        Arc::new(copy)
    }

    fn server(&self, with_graph: bool, arguments: &[&str]) -> Server {
        Server::start(self.directory(with_graph), arguments)
    }
}

fn address(person: Person) -> String {
    person.owner().address(ChainId::BTC).expect("an address").as_str().to_owned()
}

/// Waits until a server has the compositions of all transactions.
fn wait_for_compositions(server: &Server) {
    let name = "assay_composition_transactions_behind{chain=\"btc\"} 0";
    let _ = wait_every(Duration::from_millis(200), Duration::from_hours(1), name, || {
        let metrics = server.metrics();
        metrics.lines().any(|line| line == name)
    });
}

/// The request for a check of a wallet that bypasses cached answers.
fn request(key: &str, wallet: u64) -> Vec<u8> {
    Connection::check(key, "btc", &address(Person::Wallet(wallet)))
}

fn compare(installation: &Installation, wallets: u64, [here, there]: [&Server; 2], chain: &Server) {
    let mut connections = [here, there].map(|server| Connection::open(server.api));
    let mut times = [Vec::new(), Vec::new()];
    let (mut dice, mut cpu) = (Random::new(5), [Duration::ZERO; 2]);
    for round in 0..=ROUNDS {
        let subjects: Vec<u64> = (0..CHECKS).map(|_| dice.below(wallets)).collect();
        for (kind, connection) in connections.iter_mut().enumerate() {
            let parts: &[&Server] = if kind == 0 { &[here] } else { &[there, chain] };
            let spent = || parts.iter().map(|server| server.cpu_time()).sum::<Duration>();
            let before = spent();
            let asked: Vec<Duration> = subjects
                .iter()
                .map(|wallet| {
                    let request = request(&installation.key, *wallet);
                    let begun = Instant::now();
                    assert_eq!(connection.ask(&request), 200);
                    begun.elapsed()
                })
                .collect();
            // The first round reads pages from the disk.
            if round > 0 {
                if let Some(cpu) = cpu.get_mut(kind) {
                    *cpu += spent().saturating_sub(before);
                }
                if let Some(times) = times.get_mut(kind) {
                    times.extend(asked);
                }
            }
        }
    }
    let [own, asked] = times.map(Figures::from_times);
    let checks = f64::from(u32::try_from(ROUNDS * CHECKS).unwrap_or(u32::MAX));
    let [own_cpu, asked_cpu] = cpu.map(|cpu| cpu.as_secs_f64() * 1_000.0 / checks);
    println!("{ROUNDS} rounds of {CHECKS} new checks each, in ms");
    println!("graph in the server's own process: {own}; {own_cpu:.2} of CPU time a check");
    println!("from a chain server: {asked}; {asked_cpu:.2} of CPU time a check, of both programs");
    println!(
        "added at the median: {:.2}; CPU time: {:.2} times as much",
        asked.percentile(50) - own.percentile(50),
        asked_cpu / own_cpu
    );
}

fn fill(installation: &Installation, wallets: u64, neighbor: &Server) {
    let empty = installation.directory(false);
    let servers = format!("--chain-servers=btc=http://{}", neighbor.api);
    let asking = installation.server(false, &[&servers]);
    let url = format!("http://{}", neighbor.api);
    let begun = Instant::now();
    let filled = Server::start_chain(Arc::clone(&empty), &["btc", "--neighbors", &url]);
    let (mut connection, mut dice) = (Connection::open(asking.api), Random::new(6));
    let mut answered = Vec::new();
    let is_filled = || Caller::new(filled.admin, "").get("/readyz").status == 200;
    repeat(Duration::from_millis(20), is_filled, || {
        let request = request(&installation.key, dice.below(wallets));
        let asked = Instant::now();
        assert_eq!(connection.ask(&request), 200);
        answered.push(asked.elapsed());
    });
    let seconds = begun.elapsed().as_secs_f64();
    let bytes =
        fs::metadata(empty.path().join("chains/btc.graph/data.mdb")).expect("a graph").len();
    println!(
        "filled from a neighbor in {seconds:.1} s: {} MB, fingerprints compared; {} checks meanwhile, in ms: {}",
        bytes / 1_000_000,
        answered.len(),
        Figures::from_times(answered)
    );
    let verified = |directory: &Path| assay(directory, ["chain", "verify", "btc"]).ok().stdout;
    let is_equal = verified(empty.path()) == verified(installation.with_graph.path());
    println!(
        "fingerprints of both by `assay chain verify`: {}",
        if is_equal { "equal" } else { "DIFFERENT" }
    );
}
