//! Processor time of one page of a search of checks, for every combination of conditions, on `SQLite` and PostgreSQL:
//! `cargo bench -p assay-tests --bench check_search`. `ASSAY_ROWS` sets the number of checks of the tenant.
//!
//! Half of the checks have references, few have verdicts other than `allow`; one address, one reference and one chain
//! are those of many checks. Of PostgreSQL, the time of its server processes counts beside that of this program.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{env, fs, time::Duration, time::Instant};

use assay_engine::facts::Environment;
use assay_store::{
    PostgresStore, SqliteStore, Store,
    checks::{CheckFilter, CheckKey, CheckQuery},
    usage::KeptCheck,
};
use assay_test_random::Random;
use assay_test_servers::Postgres;
use assay_tests::Figures;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const ROWS: usize = 10_000_000;
/// Number of checks of one write.
const BATCH: usize = 5_000;
/// Number of pages of each combination.
const PAGES: usize = 60;
const ADDRESSES: usize = 500_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let rows = env::var("ASSAY_ROWS").map_or(ROWS, |text| text.parse().expect("a number"));
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open_or_create(directory.path(), Environment::Production).await;
    run("SQLite", &store.expect("a store"), rows, &own_time).await;

    let server = Postgres::start();
    let store = PostgresStore::open_or_create(server.url().as_str(), Environment::Production).await;
    let time = || {
        let pids = server.query(
            "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
        );
        own_time()
            + pids
                .split_whitespace()
                .map(|pid| time_of(&format!("/proc/{pid}/schedstat")))
                .sum::<Duration>()
    };
    run("PostgreSQL", &store.expect("a store"), rows, &time).await;
}

/// Processor time that this program has used.
fn own_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("the threads");
    tasks
        .filter_map(Result::ok)
        .map(|task| time_of(&task.path().join("schedstat").display().to_string()))
        .sum()
}

/// Processor time that a thread or process has used, by the kernel's accounts.
fn time_of(path: &str) -> Duration {
    let text = fs::read_to_string(path).unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

async fn run(name: &str, store: &dyn Store, rows: usize, time: &dyn Fn() -> Duration) {
    let dice = &mut Random::new(3);
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let filling = Instant::now();
    for first in (0..rows).step_by(BATCH) {
        let numbers = first..rows.min(first + BATCH);
        let checks: Vec<KeptCheck> = numbers.map(|number| check(number, start, dice)).collect();
        store.keep_checks(&checks).await.expect("a write");
    }
    println!("{name}: {rows} checks kept in {:.0} s", filling.elapsed().as_secs_f64());
    println!("milliseconds of processor time for a page of 100 checks:");
    let mut worst: f64 = 0.0;
    for combination in 0..32_u32 {
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..PAGES {
            let given = |bit: u32, text: String| (combination >> bit & 1 == 1).then_some(text);
            let sample = Sample::of(dice);
            let filter = CheckFilter {
                reference: given(0, sample.reference.unwrap_or_else(|| "batch".into())),
                address: given(1, sample.address),
                rule: given(2, sample.rule.into()),
                verdict: given(3, sample.verdict.into()),
                blockchain: given(4, sample.chain.into()),
                ..CheckFilter::default()
            };
            let after = made_at(dice.index(rows), start).as_millisecond();
            let after = dice.one_in(2).then(|| CheckKey { made_at: after, id: String::new() });
            let query = CheckQuery { filter, after, limit: 100 };
            let before = time();
            let page = store.find_checks(&"acme".parse().expect("a name"), &query).await;
            times.push(time().saturating_sub(before));
            found += page.expect("a page").checks.len();
        }
        let names = ["reference", "address", "rule", "verdict", "chain"];
        let names: Vec<&str> = (0..)
            .zip(names)
            .filter(|(bit, _)| combination >> bit & 1 == 1)
            .map(|(_, name)| name)
            .collect();
        let figures = Figures::from_times(times);
        worst = worst.max(figures.percentile(99));
        println!("  {figures}; {} checks a page; {}", found / PAGES, names.join(" "));
    }
    println!("{name}: the largest p99 is {worst:.2} ms");
}

/// Properties of a check, as they are distributed.
struct Sample {
    chain: &'static str,
    address: String,
    reference: Option<String>,
    verdict: &'static str,
    rule: &'static str,
}

impl Sample {
    fn of(dice: &mut Random) -> Self {
        let (verdict, rule) = match dice.index(1_000) {
            0..10 => ("block", "listed"),
            10..45 => ("review", "severe_category_exposure"),
            45..50 => ("indeterminate", "source_stale"),
            50..100 => ("allow", "minor_findings"),
            _ => ("allow", "no_findings"),
        };
        Self {
            chain: match dice.index(100) {
                0 => "ltc",
                1..10 => "trx",
                10..30 => "eth",
                _ => "btc",
            },
            address: match dice.index(5) {
                0 => "bc1qhotwalletofsomebodywhoischecked0000000".into(),
                _ => format!("bc1qaddressnumber{:025}", dice.index(ADDRESSES)),
            },
            reference: match dice.index(20) {
                0 => Some("batch".into()),
                1..10 => Some(format!("order-{}", dice.index(ADDRESSES))),
                _ => None,
            },
            verdict,
            rule,
        }
    }
}

fn made_at(number: usize, start: Timestamp) -> Timestamp {
    start + SignedDuration::from_millis(i64::try_from(number).unwrap_or(0) * 100)
}

fn check(number: usize, start: Timestamp, dice: &mut Random) -> KeptCheck {
    let Sample { chain, address, reference, verdict, rule } = Sample::of(dice);
    let answer = json!({
        "blockchain": chain,
        "address": address,
        "reference": reference,
        "verdict": verdict,
        "risk_score": 10,
        "reasons": [{ "code": rule }],
    });
    let id = format!("019a1b2c-3d4e-7f50-8a6b-{number:012}");
    let tenant = "acme".parse().expect("a name");
    KeptCheck::new(id, tenant, made_at(number, start), answer.to_string())
}
