//! Cost of limits that replicas share: `cargo bench -p assay-tests --bench limits`.
//!
//! The benchmark alternates, with the same number of concurrent tasks and the same Redis, between the limiter with
//! leases and a limiter that increments a counter in Redis for each request.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_engine::facts::Environment;
use assay_limiter::{Account, Decision, Limiter, RequestKind, StoreLossPolicy};
use assay_redis::{RedisClient, RedisSettings};
use assay_service::SharedLimits;
use assay_store::PostgresStore;
use assay_tenancy::{
    Period,
    directory::Limit,
    manifest::{Counts, OnTokenStoreLoss, Per},
};
use assay_tests::{Figures, Postgres, redis::Redis};
use tokio::task::JoinSet;

const ROUNDS: usize = 12;
const TASKS: u32 = 32;
/// Number of requests of one task in one round.
const REQUESTS: u32 = 500;
const LIMIT: u64 = 10_000_000;
const SECONDS: u64 = 5;

/// Redis script: counts a request, and returns the number of requests in the window.
const COUNTER: &str = "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count";

#[tokio::main]
async fn main() {
    let (database, redis) = (Postgres::start(), Redis::start());
    let store = Arc::new(
        PostgresStore::open_or_create(&database.url(), Environment::Production)
            .await
            .expect("a store"),
    );
    let connect = || RedisClient::new(RedisSettings::new(redis.url().parse().expect("a place")));
    let (leasing, counting) = (connect(), connect());
    let shared =
        SharedLimits::begin(&*store, leasing.clone(), "bench").await.expect("shared limits");
    let limiter = Arc::new(shared.limiter());
    let counter = Arc::new(redis::Script::new(COUNTER));

    let (mut with, mut without) = (Vec::new(), Vec::new());
    let (mut drew, mut asked) = (0, 0);
    for _ in 0..ROUNDS {
        let before = leasing.commands();
        with.push(round(|| by_lease(Arc::clone(&limiter))).await);
        drew += leasing.commands() - before;
        let before = counting.commands();
        without.push(round(|| by_counter(counting.clone(), Arc::clone(&counter))).await);
        asked += counting.commands() - before;
    }
    shared.end().await;

    let requests = f64::from(TASKS * REQUESTS);
    println!("{ROUNDS} rounds of {TASKS} tasks with {REQUESTS} requests each");
    for (what, rounds, commands) in [("with", &with, drew), ("without", &without, asked)] {
        let a_second =
            Figures::from_numbers(rounds.iter().map(|took| requests / took.as_secs_f64()));
        let commands = f64::from(u32::try_from(commands).unwrap_or(u32::MAX));
        println!(
            "{what} leases: {:.0} requests a second (median), {:.4} commands to Redis a request",
            a_second.percentile(50),
            commands / requests / f64::from(u32::try_from(ROUNDS).unwrap_or(u32::MAX))
        );
    }
    let ratios =
        without.iter().zip(&with).map(|(without, with)| without.as_secs_f64() / with.as_secs_f64());
    println!(
        "ratio of time, without leases to with: {:.1} (median)",
        Figures::from_numbers(ratios).percentile(50)
    );
}

/// Time until all tasks have sent their requests.
async fn round<F: Future<Output = ()> + Send + 'static>(task: impl Fn() -> F) -> Duration {
    let begun = Instant::now();
    let mut tasks: JoinSet<()> = (0..TASKS).map(|_| task()).collect();
    while let Some(ended) = tasks.join_next().await {
        ended.expect("a task");
    }
    begun.elapsed()
}

async fn by_lease(limiter: Arc<Limiter>) {
    let limits = [Limit {
        name: "burst".parse().expect("a name"),
        requests: LIMIT,
        ceiling: LIMIT,
        window: Period::from_seconds(SECONDS),
        counts: Counts::Requests,
        per: Per::Tenant,
    }];
    let store_loss =
        StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 0 };
    let account = Account { plan: "roomy", tenant: "acme", key: "k" };
    for _ in 0..REQUESTS {
        let decision = limiter.admit(account, RequestKind::Request, &limits, store_loss, 0).await;
        assert!(matches!(decision, Decision::Admitted { .. }), "{decision:?}");
    }
}

async fn by_counter(link: RedisClient, script: Arc<redis::Script>) {
    let keys = ["bench:counter".to_owned()];
    let seconds = [SECONDS.to_string().into_bytes()];
    for _ in 0..REQUESTS {
        let count: u64 = link.script(&script, &keys, &seconds).await.expect("a count");
        assert!(count <= LIMIT, "{count}");
    }
}
