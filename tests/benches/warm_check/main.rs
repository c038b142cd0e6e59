//! Cost of checks near the limit of one processor core: `cargo bench -p assay-tests --bench warm_check`. The benchmark
//! builds and runs the release program, with PostgreSQL and Redis.
//!
//! Servers run on one core; the load, PostgreSQL and Redis on another one. Rounds alternate between a handler of the same
//! HTTP library that reads the request and returns as many bytes (the bare handler), and checks:
//!
//! - whose answer is cached, with a log line for each and with a sample of log lines; over TLS and over HTTP/2, against
//!   the bare handler with the same;
//! - of new addresses by lists and labels;
//! - of the demo chain, with flows, none of which is cached.
//!
//! The benchmark prints the CPU time of the server per request, requests per second, ratios to the bare handler in the
//! same round, and the number of answers that were not kept; delays at half of the rate; the memory of the server after
//! many addresses; times of the parts of a check with flows; instructions and allocations of a warm check. The tenant's
//! plan keeps checks, so that each answer is written to the database.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

mod bare;
mod instructions;
mod load;
mod parts;

use std::{fs, path::Path, sync::Arc, thread, time::Duration};

use assay_tests::{
    Connection, Figures, Server, plan_with_tenant, platform::Platform, release_program,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer};

use self::{
    bare::{BareServer, CERTIFICATE, KEY},
    load::{Protocol, Target, ask, pace, saturate},
    parts::Demo,
};

const ROUNDS: u64 = 3;
/// Number of requests of one round.
const REQUESTS: u64 = 60_000;
/// Number of checks with flows in one round.
const CHECKS_WITH_FLOWS: u64 = 6_000;
/// Number of requests at a fixed rate.
const PACED_REQUESTS: u32 = 20_000;
/// Number of connections with requests at a fixed rate.
const PACED_CONNECTIONS: u32 = 16;
/// Time for a server to write what it recorded in a round.
const WRITING_TIME: Duration = Duration::from_millis(1_500);
const LIMIT: &str = "{name: minute, requests: 100000000, window: 60s, counts: requests}";
/// Core of the servers.
const SERVER_CORE: usize = 0;
/// Core of the load and of the stores.
const LOAD_CORE: usize = 1;

/// A server under measurement.
struct Measured<'a> {
    name: &'static str,
    process: u32,
    target: Target,
    /// The server whose metrics tell the number of answers that were not kept; `None` for the bare handler.
    server: Option<&'a Server>,
    requests: u64,
    /// CPU time of the server per request, in microseconds, in each round.
    cpu: Vec<f64>,
    /// Requests per second in each round.
    rates: Vec<f64>,
    /// Number of answers that were not kept.
    lost: u64,
}

fn main() {
    bare::serve_if_asked().expect("the bare handler serves");
    if instructions::check_if_asked() {
        return;
    }
    let program = release_program();
    pin_to(LOAD_CORE);
    let (platform, key) = installation();
    let folder = tempfile::tempdir().expect("a folder");
    let client = certificate(folder.path());
    pin_to(SERVER_CORE);
    let json = ["--log-format", "json"];
    let logged = platform.server(&json);
    let sampled = platform.server(&[&json[..], &["--log-sample", "0.01"]].concat());
    let [certificate, private_key] =
        [CERTIFICATE, KEY].map(|name| folder.path().join(name).display().to_string());
    let tls = ["--tls-cert", &certificate, "--tls-key", &private_key];
    let encrypted = platform.server(&[&json[..], &tls].concat());
    let demo = Demo::start(&[]);
    let warm = request_for(&key, u64::MAX);
    let plain = |server: &Server| Target { address: server.api, protocol: Protocol::Http1 };
    let answer = ask(&plain(&logged), &warm).expect("an answer");
    let bare = BareServer::start(answer.len(), None).expect("the bare handler starts");
    let tls_bare = BareServer::start(answer.len(), Some(folder.path())).expect("it starts");
    pin_to(LOAD_CORE);

    let over_tls = |address| Target { address, protocol: Protocol::Http1OverTls(client.clone()) };
    let streams = |address| Target { address, protocol: Protocol::Http2 };
    let bare_plain = Target { address: bare.address, protocol: Protocol::Http1 };
    // Each bare handler, and what is compared with it.
    let mut groups = [
        vec![
            Measured::bare("bare handler", &bare, bare_plain),
            Measured::new("warm check, all log lines", &logged, plain(&logged)),
            Measured::new("warm check, 1 % of lines", &sampled, plain(&sampled)),
            Measured::new(NEW_ADDRESS, &logged, plain(&logged)),
            Measured {
                requests: CHECKS_WITH_FLOWS,
                ..Measured::new(FLOWS, &demo.server, plain(&demo.server))
            },
        ],
        vec![
            Measured::bare("bare handler, TLS", &tls_bare, over_tls(tls_bare.address)),
            Measured::new("warm check, TLS", &encrypted, over_tls(encrypted.api)),
        ],
        vec![
            Measured::bare("bare handler, HTTP/2", &bare, streams(bare.address)),
            Measured::new("warm check, HTTP/2", &logged, streams(logged.api)),
        ],
    ];
    println!("{ROUNDS} rounds of {REQUESTS} requests; {} bytes a body", answer.len());
    let mut new_addresses = 0;
    let mut memory = vec![logged.peak_resident_bytes()];
    for _ in 0..ROUNDS {
        for measured in groups.iter_mut().flatten() {
            match measured.name {
                NEW_ADDRESS => {
                    measured.measure(|number| request_for(&key, new_addresses + number));
                    new_addresses += REQUESTS;
                    memory.push(logged.peak_resident_bytes());
                }
                FLOWS => measured
                    .measure(|number| demo.request(usize::try_from(number).unwrap_or_default())),
                _ => measured.measure(|_| Arc::clone(&warm)),
            }
        }
    }
    for group in &groups {
        let [bare, others @ ..] = &group[..] else { continue };
        bare.print(bare);
        for measured in others {
            measured.print(bare);
        }
    }
    let memory: Vec<String> = memory.iter().map(|bytes| (bytes >> 20).to_string()).collect();
    println!(
        "peak memory of the server in MiB, at first and after each {REQUESTS} new addresses: {}",
        memory.join(", ")
    );
    for measured in groups.iter().flatten() {
        if matches!(measured.target.protocol, Protocol::Http1)
            && measured.requests == REQUESTS
            && measured.name != NEW_ADDRESS
        {
            measured.print_delays(&warm);
        }
    }
    pin_to(SERVER_CORE);
    parts::print_times();
    let work = instructions::of_a_warm_check(&program).expect("Valgrind counts");
    println!(
        "a warm check: {:.0} instructions, {:.1} allocations",
        work.instructions, work.allocations
    );
}

const NEW_ADDRESS: &str = "check of a new address";
const FLOWS: &str = "check with flows of the demo chain";

/// Starts PostgreSQL and Redis, and creates a tenant with a key.
pub(crate) fn installation() -> (Platform, String) {
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("roomy", LIMIT));
    let key = platform.key();
    (platform, key)
}

/// Returns the request for a check of the address with a number, without labels, listings or history.
pub(crate) fn request_for(key: &str, number: u64) -> Arc<[u8]> {
    Connection::check(key, "eth", &format!("0x{number:040x}")).into()
}

/// Writes a certificate for `localhost` and its key into a folder, and returns the settings of a client that trusts it.
fn certificate(folder: &Path) -> Arc<ClientConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(folder.join(CERTIFICATE), made.cert.pem()).expect("a file");
    fs::write(folder.join(KEY), made.signing_key.serialize_pem()).expect("a file");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(made.cert)).expect("a certificate");
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

impl<'a> Measured<'a> {
    fn new(name: &'static str, server: &'a Server, target: Target) -> Self {
        Self { server: Some(server), ..Self::of_process(name, server.process(), target) }
    }

    fn bare(name: &'static str, server: &BareServer, target: Target) -> Self {
        Self::of_process(name, server.process(), target)
    }

    fn of_process(name: &'static str, process: u32, target: Target) -> Self {
        let (cpu, rates) = (Vec::new(), Vec::new());
        Self { name, process, target, server: None, requests: REQUESTS, cpu, rates, lost: 0 }
    }

    /// Measures one round, with the time that the server needs to write its records.
    fn measure(&mut self, request: impl FnMut(u64) -> Arc<[u8]>) {
        let requests = f64::from(u32::try_from(self.requests).unwrap_or(u32::MAX));
        let lost = |server: Option<&Server>| {
            server.map_or(0, |server| server.metric::<u64>("assay_records_dropped_total"))
        };
        let (before, lost_before) = (cpu_seconds(self.process), lost(self.server));
        let took = saturate(&self.target, self.requests, request).expect("answers");
        thread::sleep(WRITING_TIME);
        self.cpu.push((cpu_seconds(self.process) - before) * 1e6 / requests);
        self.rates.push(requests / took.as_secs_f64());
        self.lost += lost(self.server) - lost_before;
    }

    /// Prints medians of the rounds, and of the ratios to the bare handler in each round.
    fn print(&self, bare: &Self) {
        let median =
            |numbers: &[f64]| Figures::from_numbers(numbers.iter().copied()).percentile(50);
        let ratio = |own: &[f64], bare: &[f64]| {
            let ratios: Vec<f64> = own.iter().zip(bare).map(|(own, bare)| own / bare).collect();
            median(&ratios)
        };
        println!(
            "{}: {:.1} us of CPU time, {:.2} times the bare handler's; {:.0} a second, {:.2} times; {} answers not kept",
            self.name,
            median(&self.cpu),
            ratio(&self.cpu, &bare.cpu),
            median(&self.rates),
            ratio(&self.rates, &bare.rates),
            self.lost
        );
    }

    /// Prints the delays of requests at half of the rate.
    fn print_delays(&self, request: &[u8]) {
        let rate = Figures::from_numbers(self.rates.iter().copied()).percentile(50) / 2.0;
        let times = pace(&self.target, rate, PACED_REQUESTS, PACED_CONNECTIONS, request);
        let times = Figures::from_times(times.expect("answers"));
        println!("{} at {rate:.0} a second, in ms: {times}", self.name);
    }
}

/// Runs this thread, and the processes that it starts from now on, on one core.
fn pin_to(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    // A machine with one core has no other one.
    let _ = sched_setaffinity(None, &cores);
}

/// Returns the CPU time that a process has used, in seconds, to the hundredth.
fn cpu_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("its times");
    let (_, fields) = stat.rsplit_once(')').expect("its name");
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}
