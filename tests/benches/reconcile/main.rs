//! Speed and memory of the operator, compared with clients that only make the same requests: `cargo
//! bench -p assay-tests --bench reconcile`; with `ASSAY_FULL` 10,000 tenants and keys.
//!
//! All runs use one real API server, with all objects created beforehand. First the operator makes every tenant and key
//! ready; its writes are read from the API server's audit log. Then a bare client makes the same writes, with the same
//! concurrency, to the same number of objects of unwatched kinds with the same definitions. Last, a bare reflector
//! holds the objects that the operator holds.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a program for people at a terminal"
)]

mod bare;
mod objects;
mod reflect;

use std::{
    collections::BTreeMap,
    env, fs,
    time::{Duration, Instant},
};

use assay_database::postgres::DatabaseAddress;
use assay_engine::facts::Environment;
use assay_store::{PostgresStore, Store};
use assay_tests::{
    Cluster, Operator, Postgres, holds_within, is_full, release_operator, to_megabytes,
};
use kube::Client;
use tokio::runtime::Runtime;

/// Concurrent writes of the operator's publisher and of the bare client.
const AT_ONCE: usize = 16;
/// Time limit until all objects are ready.
const PATIENCE: Duration = Duration::from_mins(20);

fn main() {
    if let Some(kubeconfig) = env::var_os(reflect::CONFIG) {
        reflect::run(kubeconfig.as_ref());
        return;
    }
    let cluster = Cluster::start();
    let count = if is_full() { 10_000 } else { 500 };
    let program = release_operator();
    objects::define(&cluster);
    let runtime = Runtime::new().expect("a runtime");
    let bare = cluster.config_of_account("default", objects::ACCOUNT);
    let client: Client = runtime.block_on(objects::client(&bare));
    runtime.block_on(objects::create(&client, count));

    let before = cluster.audit().len();
    let postgres = Postgres::start();
    // The operator waits for a schema that others make.
    let address = DatabaseAddress::from_url(&postgres.url());
    let opening = PostgresStore::open_or_create(address, Environment::Production);
    let store = runtime.block_on(opening).expect("a schema");
    runtime.block_on(store.close());
    let operator = Operator::start_program(&program, &cluster, &postgres.url());
    let took = until_ready(&operator, count);
    let operators = anonymous_memory(operator.process());
    drop(operator);
    let writes = bare::writes(&cluster, before);

    let statuses: BTreeMap<_, _> = objects::KINDS
        .map(|kind| (kind, runtime.block_on(objects::statuses(&client, kind))))
        .into();
    let alone = runtime.block_on(bare::write(&client, &writes, count, &statuses));
    let reflectors = reflect::measure(&cluster);

    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{count} tenants and as many keys; the machine's load {}", load.trim());
    println!("the operator wrote {}", bare::summary(&writes));
    let rate = |took: Duration| 2.0 * f64::from(count) / took.as_secs_f64();
    let (operator, client) = (rate(took), rate(alone));
    let ratio = operator / client;
    println!(
        "reconciles a second: operator {operator:.0}, bare client {client:.0}, ratio {ratio:.2}"
    );
    let [operator, reflector] = [operators, reflectors].map(to_megabytes);
    let ratio = operator / reflector;
    println!(
        "memory: operator {operator:.1} MB, bare reflector {reflector:.1} MB, ratio {ratio:.2}"
    );
}

/// Time from the start of the operator's work until its last write.
fn until_ready(operator: &Operator, count: u32) -> Duration {
    operator.wait_until_it_works();
    let working = Instant::now();
    let statuses = || operator.metric("assay_operator_writes_total{what=\"status\"}");
    let made = || operator.metric("assay_operator_keys_issued_total");
    let mut last = (0, Instant::now());
    let is_done = holds_within(Duration::from_millis(100), PATIENCE, || {
        let now = statuses();
        if now != last.0 {
            last = (now, Instant::now());
        }
        // A status for each tenant and key at least; then silence.
        let all = made() >= u64::from(count) && now >= 2 * u64::from(count);
        all && last.1.elapsed() > Duration::from_secs(5)
    });
    assert!(is_done, "{} statuses: {}", last.0, operator.log());
    last.1 - working
}

/// Anonymous memory of a process, in bytes.
fn anonymous_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("its memory");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("a number") * 1024
}
