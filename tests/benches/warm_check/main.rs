//! Cost of checks near the limit of one processor core: `cargo bench -p assay-tests --bench warm_check`. The benchmark
//! builds and runs the release program, with PostgreSQL and Redis.
//!
//! Servers run on one core and the load on another one. Rounds alternate between a handler of the same HTTP library
//! that reads the request and returns as many bytes (the bare handler); checks whose answer is cached, with a log line
//! for each and with a sample of log lines; and checks of new addresses by lists and labels. The benchmark prints the
//! CPU time of the server per request, requests per second, and ratios to the bare handler in the same round; delays at
//! half of that rate; and the memory of the server after many addresses. The tenant's plan keeps checks, so that each
//! answer is written to the database.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

mod bare;
mod load;

use std::{sync::Arc, thread, time::Duration};

use assay_tests::{
    Connection, Figures, Server, plan_with_tenant, platform::Platform, release_program,
};
use rustix::thread::{CpuSet, sched_setaffinity};

use self::{
    bare::BareServer,
    load::{Target, ask, pace, saturate},
};

const ROUNDS: u64 = 3;
/// Number of requests of one round.
const REQUESTS: u64 = 60_000;
/// Number of requests at a fixed rate.
const PACED_REQUESTS: u32 = 20_000;
/// Number of connections with requests at a fixed rate.
const PACED_CONNECTIONS: u32 = 16;
/// Time for a server to write what it recorded in a round.
const WRITING_TIME: Duration = Duration::from_millis(1_500);
const LIMIT: &str = "{name: minute, requests: 100000000, window: 60s, counts: requests}";
/// Core of the servers.
const SERVER_CORE: usize = 0;
/// Core of the load.
const LOAD_CORE: usize = 1;

/// A server under measurement.
struct Measured {
    name: &'static str,
    process: u32,
    target: Target,
    /// True if each request is for an address of its own.
    has_new_addresses: bool,
    /// CPU time of the server per request, in microseconds, in each round.
    cpu: Vec<f64>,
    /// Requests per second in each round.
    rates: Vec<f64>,
}

fn main() {
    bare::serve_if_asked().expect("the bare handler serves");
    let _built = release_program();
    pin_to(SERVER_CORE);
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("roomy", LIMIT));
    let key = platform.key();
    let request = |number: u64| -> Arc<[u8]> {
        Connection::check(&key, "eth", &format!("0x{number:040x}")).into()
    };
    let logged = platform.server(&["--log-format", "json"]);
    let sampled = platform.server(&["--log-format", "json", "--log-sample", "0.01"]);
    let target = |server: &Server| Target { address: server.api, tls: None };
    let warm = request(u64::MAX);
    let answer = ask(&target(&logged), &warm).expect("an answer");
    let bare = BareServer::start(answer.len()).expect("the bare handler starts");
    pin_to(LOAD_CORE);

    let bare_target = Target { address: bare.address, tls: None };
    let mut all = [
        Measured::new("bare handler", bare.process(), bare_target, false),
        Measured::new("warm check, all log lines", logged.process(), target(&logged), false),
        Measured::new("warm check, 1 % of lines", sampled.process(), target(&sampled), false),
        Measured::new("check of a new address", logged.process(), target(&logged), true),
    ];
    println!("{ROUNDS} rounds of {REQUESTS} requests; {} bytes a body", answer.len());
    let mut new_addresses = 0;
    let mut memory = vec![logged.peak_resident_bytes()];
    for _ in 0..ROUNDS {
        for measured in &mut all {
            if measured.has_new_addresses {
                measured.measure(|number| request(new_addresses + number));
                new_addresses += REQUESTS;
                memory.push(logged.peak_resident_bytes());
            } else {
                measured.measure(|_| Arc::clone(&warm));
            }
        }
    }
    let [bare, others @ ..] = &all;
    bare.print(bare);
    for measured in others {
        measured.print(bare);
    }
    let memory: Vec<String> = memory.iter().map(|bytes| (bytes >> 20).to_string()).collect();
    println!(
        "peak memory of the server in MiB, at first and after each {REQUESTS} new addresses: {}",
        memory.join(", ")
    );
    for measured in all.iter().filter(|measured| !measured.has_new_addresses) {
        let rate = Figures::from_numbers(measured.rates.iter().copied()).percentile(50) / 2.0;
        let times = pace(&measured.target, rate, PACED_REQUESTS, PACED_CONNECTIONS, &warm);
        let times = Figures::from_times(times.expect("answers"));
        println!("{} at {rate:.0} a second, in ms: {times}", measured.name);
    }
}

impl Measured {
    fn new(name: &'static str, process: u32, target: Target, has_new_addresses: bool) -> Self {
        let (cpu, rates) = (Vec::new(), Vec::new());
        Self { name, process, target, has_new_addresses, cpu, rates }
    }

    /// Measures one round, with the time that the server needs to write its records.
    fn measure(&mut self, request: impl FnMut(u64) -> Arc<[u8]>) {
        let requests = f64::from(u32::try_from(REQUESTS).unwrap_or(u32::MAX));
        let before = cpu_seconds(self.process);
        let took = saturate(&self.target, REQUESTS, request).expect("answers");
        thread::sleep(WRITING_TIME);
        self.cpu.push((cpu_seconds(self.process) - before) * 1e6 / requests);
        self.rates.push(requests / took.as_secs_f64());
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
            "{}: {:.1} us of CPU time, {:.2} times the bare handler's; {:.0} a second, {:.2} times",
            self.name,
            median(&self.cpu),
            ratio(&self.cpu, &bare.cpu),
            median(&self.rates),
            ratio(&self.rates, &bare.rates)
        );
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
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("its times");
    let (_, fields) = stat.rsplit_once(')').expect("its name");
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}
