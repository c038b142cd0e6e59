//! Cost of a check over HTTP: `cargo bench -p assay-tests --bench served_check`. The benchmark
//! builds and runs the release program, with PostgreSQL and Redis.
//!
//! The benchmark alternates, over the same number of connections, between a handler of the same HTTP library that reads
//! the request and returns as many bytes; checks whose answer is cached; checks of new addresses. The benchmark prints
//! times, and ratios to the bare handler in the same round.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    env,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use assay_tests::{Connection, Figures, plan_with_tenant, platform::Platform, release_program};
use axum::{Router, body::Bytes, http::header, routing::post};

const ROUNDS: u64 = 12;
const CONNECTIONS: u64 = 4;
/// Number of requests of one connection in one round.
const REQUESTS: u64 = 1_500;
/// Environment variable that makes this program the bare handler; its value is the number of bytes of an answer.
const BARE: &str = "ASSAY_BENCH_BARE";

const LIMIT: &str = "{name: burst, requests: 1000000, window: 5s, counts: requests}";

fn main() {
    if let Some(bytes) = env::var(BARE).ok().and_then(|bytes| bytes.parse().ok()) {
        return bare_handler(bytes);
    }
    let _built = release_program();
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("roomy", LIMIT));
    let key = platform.key();
    let server = platform.server(&[]);
    let warm = Connection::check(&key, "eth", &address(u64::MAX));
    let mut first = Connection::open(server.api);
    for _ in 0..2 {
        assert_eq!(first.ask(&warm), 200, "{}", String::from_utf8_lossy(&first.body));
    }
    let bytes = first.body.len();
    let bare = BareServer::start(bytes);

    let (mut bares, mut warms, mut colds) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bares.push(measure_round(bare.address, |_, _| warm.clone()));
        warms.push(measure_round(server.api, |_, _| warm.clone()));
        colds.push(measure_round(server.api, |connection, nth| {
            let number = (round * CONNECTIONS + connection) * REQUESTS + nth;
            Connection::check(&key, "eth", &address(number))
        }));
    }
    println!(
        "{ROUNDS} rounds of {CONNECTIONS} connections with {REQUESTS} requests each; {bytes} bytes a body"
    );
    for (what, rounds) in [("bare handler", &bares), ("warm check", &warms), ("cold check", &colds)]
    {
        let times = rounds.iter().flat_map(|round| round.times.iter().copied());
        let requests_per_second =
            Figures::from_numbers(rounds.iter().map(Round::requests_per_second));
        println!(
            "{what}, in ms: {}; {:.0} a second (median)",
            Figures::from_times(times),
            requests_per_second.percentile(50)
        );
    }
    for (what, rounds) in [("warm", &warms), ("cold", &colds)] {
        let ratios = rounds
            .iter()
            .zip(&bares)
            .map(|(round, bare)| round.took.as_secs_f64() / bare.took.as_secs_f64());
        let ratios = Figures::from_numbers(ratios);
        println!(
            "ratio of time, {what} check to bare handler: {:.2} (median of the rounds; {:.2} to {:.2})",
            ratios.percentile(50),
            ratios.percentile(0),
            ratios.percentile(100)
        );
    }
}

/// An address without labels, listings or history.
fn address(number: u64) -> String {
    format!("0x{number:040x}")
}

/// Times of one round.
struct Round {
    took: Duration,
    times: Vec<Duration>,
}

impl Round {
    fn requests_per_second(&self) -> f64 {
        f64::from(u32::try_from(self.times.len()).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }
}

/// Sends requests over all connections concurrently. `request` builds a request from the numbers of connection and
/// request.
fn measure_round(server: SocketAddr, request: impl Fn(u64, u64) -> Vec<u8> + Sync) -> Round {
    let begun = Instant::now();
    let times = thread::scope(|scope| {
        let request = &request;
        let connections: Vec<_> = (0..CONNECTIONS)
            .map(|connection| {
                scope.spawn(move || {
                    let mut caller = Connection::open(server);
                    let requests: Vec<_> =
                        (0..REQUESTS).map(|nth| request(connection, nth)).collect();
                    let times = requests.iter().map(|request| {
                        let asked = Instant::now();
                        assert_eq!(caller.ask(request), 200);
                        asked.elapsed()
                    });
                    times.collect::<Vec<_>>()
                })
            })
            .collect();
        connections.into_iter().flat_map(|one| one.join().expect("a connection")).collect()
    });
    Round { took: begun.elapsed(), times }
}

/// The bare handler, a second process of this program.
struct BareServer {
    child: Child,
    address: SocketAddr,
}

impl BareServer {
    fn start(bytes: usize) -> Self {
        let mut child = Command::new(env::current_exe().expect("a path"))
            .env(BARE, bytes.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        output.read_line(&mut line).expect("where it listens");
        Self { child, address: line.trim().parse().expect("where it listens") }
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bare_handler(bytes: usize) {
    let answer = Bytes::from(vec![b' '; bytes]);
    let handler = move |_request: Bytes| async move {
        ([(header::CONTENT_TYPE, "application/json")], answer)
    };
    let router = Router::new().route("/api/v1/check/address", post(handler));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("a port"));
        axum::serve(listener, router).await.expect("it serves");
    });
}
