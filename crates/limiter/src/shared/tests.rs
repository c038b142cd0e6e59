//! Tests of replicas that share one real Redis.

use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicBool},
    time::{SystemTime, UNIX_EPOCH},
};

use assay_tenancy::{
    Period,
    manifest::{Counts, OnTokenStoreLoss, Per},
};

use assay_test_servers::{eventually, redis::Redis};

use super::*;
use crate::{
    LimitSubject, ReplicaSlot, ServerClock, SubjectLimits, TokenLedger,
    redis::{
        BoxError, RedisTokenStore, Script, ScriptRunner,
        tests::{Connection, NewEpochRegistry},
    },
    token_store::LeaseRequest,
};

const ACME: Account<'_> = Account { plan: "business", tenant: "acme", key: "a" };
const FALLBACK: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Fallback, fallback_share: 10 };
const CLOSED: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 10 };
/// Concurrent requests.
const CONCURRENCY: u64 = 16;

/// Token store of long windows, in memory.
#[derive(Debug)]
struct LongTokenStore(Mutex<TokenLedger>);

impl LongTokenStore {
    fn new() -> Arc<Self> {
        let mut ledger = TokenLedger::new(0);
        let (epoch, _) = ledger.open(&ServerClock { run: String::new(), now: wall() });
        ledger.confirm_first_epoch(epoch);
        Arc::new(Self(Mutex::new(ledger)))
    }
}

#[async_trait::async_trait]
impl TokenStore for LongTokenStore {
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError> {
        let server = ServerClock { run: String::new(), now: wall() };
        Ok(self.0.lock().unwrap().lease(&server, 0, subject, request))
    }
}

#[expect(clippy::disallowed_methods, reason = "a stand-in for the clock of a database")]
fn wall() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// Returns a length below an hour whose window goes on for at least a minute.
fn roomy_window() -> u64 {
    let now = wall() / SECOND;
    (3000..3500).find(|length| length - now % length > 1000).unwrap()
}

fn limit(requests: u64, seconds: u64, counts: Counts) -> Limit {
    Limit {
        name: if counts == Counts::Checks { "quota" } else { "burst" }.parse().unwrap(),
        requests,
        ceiling: requests,
        window: Period::from_seconds(seconds),
        counts,
        per: Per::Tenant,
    }
}

/// Settings under which a busy machine does not look like an unreachable store.
fn long_timeout_settings() -> LimiterSettings {
    let mut settings = LimiterSettings::default();
    settings.short.timeout = 20 * SECOND;
    settings
}

fn replica(number: u64, connection: &Connection, settings: LimiterSettings) -> SharedLimiter {
    let short = RedisTokenStore::new(Arc::new(connection.clone()), number, 0);
    let shared = SharedLimiter::new(Arc::new(short), LongTokenStore::new(), settings);
    shared.set_slots(SlotView { total: 16, held: 3, ..SlotView::default() });
    let kept = shared.clone();
    tokio::spawn(async move { kept.run_maintenance().await });
    shared
}

async fn server() -> (Redis, Connection) {
    let server = Redis::start();
    let connection = Connection::to(&server).await;
    let store = RedisTokenStore::new(Arc::new(connection.clone()), 0, 0);
    store.open(&NewEpochRegistry::default()).await.unwrap();
    (server, connection)
}

/// Sends `count` requests, some at once, and returns how many were admitted.
async fn offer(
    replica: SharedLimiter,
    count: u64,
    limits: Arc<Vec<Limit>>,
    policy: StoreLossPolicy,
) -> u64 {
    let mut asking = JoinSet::new();
    for part in 0..CONCURRENCY {
        let (replica, limits) = (replica.clone(), Arc::clone(&limits));
        asking.spawn(async move {
            let mut admitted = 0;
            for _ in (part..count).step_by(usize::try_from(CONCURRENCY).unwrap()) {
                let decision = replica.admit(ACME, RequestKind::Check, &limits, policy, 0).await;
                admitted += u64::from(matches!(decision, Decision::Admitted { .. }));
            }
            admitted
        });
    }
    asking.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_replicas_at_ten_times_the_limit_admit_exactly_the_limit() {
    let (_server, connection) = server().await;
    for replicas in [1_u64, 3, 10] {
        let limits = Arc::new(vec![limit(1000 + replicas, roomy_window(), Counts::Requests)]);
        connection.command(&["FLUSHALL"]).await;
        RedisTokenStore::new(Arc::new(connection.clone()), 0, 0)
            .open(&NewEpochRegistry::default())
            .await
            .unwrap();
        let mut offering = JoinSet::new();
        for number in 0..replicas {
            let replica = replica(number + 1, &connection, long_timeout_settings());
            let share = 10 * (1000 + replicas) / replicas;
            offering.spawn(offer(replica, share, Arc::clone(&limits), CLOSED));
        }
        let admitted: u64 = offering.join_all().await.into_iter().sum();
        assert_eq!(admitted, 1000 + replicas, "{replicas} replicas");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_that_one_replica_returns_are_available_to_another() {
    let (_server, connection) = server().await;
    let limits = Arc::new(vec![limit(500, roomy_window(), Counts::Requests)]);
    let (one, other) = (
        replica(1, &connection, long_timeout_settings()),
        replica(2, &connection, long_timeout_settings()),
    );
    // Given a replica that holds unspent tokens,
    let first = offer(one.clone(), 200, Arc::clone(&limits), CLOSED).await;
    assert_eq!(first, 200);
    // when it stops, then the other replica gets all that are left.
    one.shutdown().await;
    let second = offer(other, 1000, Arc::clone(&limits), CLOSED).await;
    assert_eq!(first + second, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_are_refunded_and_taken_up_to_the_limit() {
    let (_server, connection) = server().await;
    let limits = [limit(10, roomy_window(), Counts::Checks)];
    let replica = replica(1, &connection, long_timeout_settings());
    let taken = replica.take_checks(ACME, 7, &limits, CLOSED).await;
    assert_eq!((taken.charge.count(), taken.violated.len()), (7, 0));
    replica.refund(ACME, &taken.charge.refund_of_checks(2));
    let left = |replica: &SharedLimiter| replica.statuses(ACME, &limits, CLOSED, 0)[0].remaining;
    assert_eq!(left(&replica), 5);
    let taken = replica.take_checks(ACME, 9, &limits, CLOSED).await;
    assert_eq!((taken.charge.count(), taken.violated.len()), (5, 1));
    assert!(taken.retry_after > 0 && !taken.unavailable);
    assert_eq!(left(&replica), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_nothing_passes_beyond_leases_and_allowances() {
    let (server, connection) = server().await;
    let limits = [limit(1600, roomy_window(), Counts::Requests)];
    let replica = replica(1, &connection, LimiterSettings::default());
    let claimed_at = replica.local_now();
    // Given a slot whose claim delay is over, as far as the replica knows,
    let own = Some(ReplicaSlot { claimed_at: claimed_at.saturating_sub(1), until: u64::MAX });
    replica.set_slots(SlotView { total: 16, held: 1, own, ..SlotView::default() });
    drop(server);
    // when Redis is unreachable from the start, then nothing passes: windows may have begun before.
    let decision = replica.admit(ACME, RequestKind::Request, &limits, FALLBACK, 0).await;
    let Decision::Unavailable { closed, violated, retry_after, statuses } = decision else {
        panic!("{decision:?}")
    };
    assert_eq!((closed, violated.len(), retry_after, statuses[0].remaining), (false, 1, 1, 0));
    assert!(!replica.is_reachable(TokenStoreKind::Short));
    let Decision::Unavailable { closed, .. } =
        replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await
    else {
        panic!("closed plans refuse")
    };
    assert!(closed);
}

/// A token store that responds after 10 ms, and whose first responses never arrive.
#[derive(Debug)]
struct LosesResponses {
    store: Arc<LongTokenStore>,
    lost: usize,
    /// Number of tokens that each request asked for.
    requested: Arc<Mutex<Vec<u64>>>,
}

#[async_trait::async_trait]
impl TokenStore for LosesResponses {
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError> {
        let number = {
            let mut requested = self.requested.lock().unwrap();
            requested.push(request.windows.iter().map(|window| window.requested).sum());
            requested.len()
        };
        let grant = self.store.lease(subject, request).await;
        if number <= self.lost {
            std::future::pending::<()>().await;
        }
        // A store answers after a while, of paused time.
        tokio::time::sleep(Duration::from_millis(10)).await;
        grant
    }
}

/// A replica whose store of short windows loses its first responses, and the tokens that it requests.
fn replica_that_loses(lost: usize) -> (SharedLimiter, Arc<Mutex<Vec<u64>>>) {
    let requested = Arc::<Mutex<Vec<u64>>>::default();
    let short =
        LosesResponses { store: LongTokenStore::new(), lost, requested: Arc::clone(&requested) };
    let replica =
        SharedLimiter::new(Arc::new(short), LongTokenStore::new(), LimiterSettings::default());
    replica.set_slots(SlotView { total: 16, held: 1, ..SlotView::default() });
    (replica, requested)
}

#[tokio::test(start_paused = true)]
async fn lost_responses_delay_requests_and_refuse_them_after_a_second_of_failures() {
    let limits = Arc::new(vec![limit(1000, roomy_window(), Counts::Requests)]);
    // A response is lost after 200 ms, and from the second on retried after 100 ms; the first token that
    // is granted again shows that there are more.
    for (lost, admitted, most) in
        [(0, 20, 30), (1, 20, 230), (2, 20, 630), (3, 20, 930), (6, 0, 1250)]
    {
        let (replica, _) = replica_that_loses(lost);
        let begun = Instant::now();
        // Given requests that wait for the same response,
        let mut asking = JoinSet::new();
        for _ in 0..20 {
            let (replica, limits) = (replica.clone(), Arc::clone(&limits));
            asking.spawn(async move {
                replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await
            });
        }
        let decisions = asking.join_all().await;
        let passed =
            decisions.iter().filter(|decision| matches!(decision, Decision::Admitted { .. }));
        assert_eq!(passed.count(), admitted, "{lost} lost");
        let elapsed = begun.elapsed().as_millis();
        assert!(elapsed <= most, "{lost} lost: {elapsed} ms");
        assert_eq!(replica.is_reachable(TokenStoreKind::Short), admitted > 0, "{lost} lost");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_store_is_asked_for_one_token_at_a_time_and_found_again() {
    let limits = [limit(1000, roomy_window(), Counts::Requests)];
    let (replica, requested) = replica_that_loses(8);
    let mut refused = 0;
    while let Decision::Unavailable { .. } =
        replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await
    {
        refused += 1;
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    let requested = requested.lock().unwrap().clone();
    assert!(refused > 100 && requested.len() == 9, "{refused}, {requested:?}");
    assert!(requested[2..].iter().all(|tokens| *tokens == 1), "{requested:?}");
}

#[test]
fn a_failure_counts_together_with_the_next_one_only_if_it_is_recent() {
    let slots = SlotView { total: 16, held: 1, ..SlotView::default() };
    let settings = LimiterSettings::default();
    let limit = limit(10, 60, Counts::Requests);
    let store = TokenStoreKind::Short;
    for (pause, is_unreachable) in [(0, true), (SECOND / 2, true), (60 * SECOND, false)] {
        let mut state = SubjectLimits::new(ACME.subject(Per::Tenant));
        let mut now = SECOND;
        for _ in 0..2 {
            state.counter(&limit, CLOSED, &settings).wait(1);
            let context = DecisionContext { now, slots: &slots, settings: &settings };
            let request = state.due_request(store, &context).unwrap();
            state.request_failed(store, request.sequence, &context);
            now += pause;
        }
        assert_eq!(state.is_unreachable(store), is_unreachable, "{pause} later");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_long_ago_refuses_no_request() {
    let limits = [limit(1000, roomy_window(), Counts::Requests)];
    let (replica, requested) = replica_that_loses(8);
    let ask = async || replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await;
    let mut refused = 0;
    while requested.lock().unwrap().len() < 8 {
        refused += usize::from(matches!(ask().await, Decision::Unavailable { .. }));
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    assert!(refused > 0);
    // Given a store that has long recovered, without a request in the meantime, then the next request waits
    // for its own attempt. The ten minutes are of paused time.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(matches!(ask().await, Decision::Admitted { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_redis_grants_nothing_before_the_next_window() {
    let (mut server, connection) = server().await;
    let limits = [limit(5, 2, Counts::Requests)];
    let replica = replica(1, &connection, LimiterSettings::default());
    let ask = async |replica: &SharedLimiter| {
        replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await
    };
    eventually("it is admitted", async || matches!(ask(&replica).await, Decision::Admitted { .. }))
        .await;
    server.kill();
    server.start_again();
    let returned = Connection::to(&server).await;
    drop(replica);
    let replica = self::replica(2, &returned, long_timeout_settings());
    // The window of the restart is over within two seconds.
    let mut unavailable = 0;
    eventually("the window of the restart is over", async || match ask(&replica).await {
        Decision::Admitted { .. } => true,
        Decision::Unavailable { closed: true, .. } => {
            unavailable += 1;
            false
        }
        other => panic!("{other:?}"),
    })
    .await;
    assert!(unavailable > 0, "it recovers first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_of_an_hour_or_more_use_the_long_token_store() {
    let (server, connection) = server().await;
    let replica = replica(1, &connection, long_timeout_settings());
    drop(server);
    let limits = [limit(3, 86_400, Counts::Checks)];
    for _ in 0..3 {
        let decision = replica.admit(ACME, RequestKind::Check, &limits, FALLBACK, 0).await;
        assert!(matches!(decision, Decision::Admitted { .. }), "{decision:?}");
    }
    let decision = replica.admit(ACME, RequestKind::Check, &limits, FALLBACK, 0).await;
    let Decision::Refused { retry_after, .. } = decision else { panic!("{decision:?}") };
    assert!(retry_after <= 86_400);
    assert_eq!(replica.lease_requests(TokenStoreKind::Short), 0);
}

/// A script runner that reconnects after a lost connection.
#[derive(Debug)]
struct Reconnecting(String, tokio::sync::Mutex<Option<Connection>>);

#[async_trait::async_trait]
impl ScriptRunner for Reconnecting {
    async fn run(
        &self,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<i64>, BoxError> {
        let connection = {
            let mut connection = self.1.lock().await;
            match &*connection {
                Some(connection) => connection.clone(),
                None => connection.insert(Connection::try_new(&self.0).await?).clone(),
            }
        };
        let answer = connection.run(script, keys, arguments).await;
        if answer.is_err() {
            *self.1.lock().await = None;
        }
        answer
    }
}

/// Admitted tokens by window of their lease.
type AdmittedTokens = Arc<Mutex<BTreeMap<u64, u64>>>;

/// Sends requests until `stop` is set. Asserts that each lease is spent within its window by the
/// server's clock.
async fn send_until_stopped(
    replica: SharedLimiter,
    limits: Arc<Vec<Limit>>,
    seen: AdmittedTokens,
    stop: Arc<AtomicBool>,
) {
    let length = limits[0].window.seconds() * SECOND;
    while !stop.load(Ordering::Relaxed) {
        let before = wall();
        let decision = replica.admit(ACME, RequestKind::Check, &limits, CLOSED, 0).await;
        let after = wall();
        if let Decision::Admitted { charge } = decision {
            let spent = &charge.checks[0];
            assert!((before / length..=after / length).contains(&spent.window));
            *seen.lock().unwrap().entry(spent.window).or_default() += spent.leased;
        }
        // Without pauses it would be another load.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_is_exceeded_while_redis_pauses_flushes_and_restarts_and_replicas_are_killed() {
    let (mut server, connection) = server().await;
    let limits = Arc::new(vec![limit(60, 1, Counts::Checks)]);
    let (seen, stop) = (AdmittedTokens::default(), Arc::new(AtomicBool::new(false)));
    let start = |number: u64| {
        let scripts = Reconnecting(server.url(), tokio::sync::Mutex::default());
        let short = RedisTokenStore::new(Arc::new(scripts), number, 0);
        let replica =
            SharedLimiter::new(Arc::new(short), LongTokenStore::new(), LimiterSettings::default());
        let stop = Arc::clone(&stop);
        tokio::spawn(send_until_stopped(replica, Arc::clone(&limits), Arc::clone(&seen), stop))
    };
    let mut replicas: Vec<_> = (1..=3).map(start).collect();
    let admitted = || seen.lock().unwrap().values().sum::<u64>();
    let more = async |than: u64| {
        eventually("more is admitted", async || admitted() > than).await;
    };
    more(80).await;
    // A replica is killed, and another one replaces it.
    replicas.remove(0).abort();
    replicas.push(start(4));
    more(admitted() + 60).await;
    // Redis is flushed.
    connection.command(&["FLUSHALL"]).await;
    more(admitted() + 60).await;
    // Redis pauses for two seconds: pending commands are processed afterwards.
    tokio::task::block_in_place(|| server.pause_for(Duration::from_secs(2)));
    more(admitted() + 60).await;
    // Redis is killed and restarts empty.
    server.kill();
    server.start_again();
    more(admitted() + 60).await;

    stop.store(true, Ordering::Relaxed);
    for replica in replicas {
        replica.await.unwrap();
    }
    let most = seen.lock().unwrap().values().copied().max().unwrap();
    assert!(most <= 60, "{:?}", seen.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_subjects_are_evicted_and_their_tokens_returned() {
    let (_server, connection) = server().await;
    let replica = replica(1, &connection, long_timeout_settings());
    let limits = [limit(100, 1, Counts::Requests)];
    for number in 0..200 {
        let tenant = format!("tenant-{number}");
        let account = Account { tenant: &tenant, ..ACME };
        let _ = replica.admit(account, RequestKind::Request, &limits, CLOSED, 0).await;
    }
    assert!(replica.subjects() > 0);
    eventually("no subject is left", async || replica.subjects() == 0).await;
}
