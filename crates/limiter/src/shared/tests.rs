//! Given replicas with one real Redis, then they behave as one.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use assay_tenancy::{
    Period,
    manifest::{Counts, OnTokenStoreLoss, Per},
};

use assay_test_servers::redis::Redis;

use super::*;
use crate::{
    Ledger, LimitSubject, ReplicaSlot, ServerClock,
    redis::{
        BoxError, RedisTokenStore, Script, ScriptRunner,
        tests::{Connection, NeverSeen},
    },
    token_store::LeaseRequest,
};

const ACME: Account<'_> = Account { plan: "business", tenant: "acme", key: "a" };
const FLOOR: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Fallback, fallback_share: 10 };
const CLOSED: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 10 };
/// Requests that are on their way at once.
const AT_ONCE: u64 = 16;

/// The bank of long windows, in memory.
#[derive(Debug)]
struct LongTokenStore(Mutex<Ledger>);

impl LongTokenStore {
    fn new() -> Arc<Self> {
        let mut ledger = Ledger::new(0);
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

/// A length below an hour whose window goes on for at least a minute.
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

/// A busy machine must not look like a lost bank.
fn patient() -> LimiterSettings {
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
    store.open(&NeverSeen::default()).await.unwrap();
    (server, connection)
}

/// Asks `count` times, some at once, and says how many were admitted.
async fn offer(
    replica: SharedLimiter,
    count: u64,
    limits: Arc<Vec<Limit>>,
    policy: StoreLossPolicy,
) -> u64 {
    let mut asking = JoinSet::new();
    for part in 0..AT_ONCE {
        let (replica, limits) = (replica.clone(), Arc::clone(&limits));
        asking.spawn(async move {
            let mut admitted = 0;
            for _ in (part..count).step_by(usize::try_from(AT_ONCE).unwrap()) {
                let decision = replica.admit(ACME, RequestKind::Check, &limits, policy, 0).await;
                admitted += u64::from(matches!(decision, Decision::Admitted { .. }));
            }
            admitted
        });
    }
    asking.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_replicas_at_ten_times_the_limit_admit_the_limit_and_no_more() {
    let (_server, connection) = server().await;
    for replicas in [1_u64, 3, 10] {
        let limits = Arc::new(vec![limit(1000 + replicas, roomy_window(), Counts::Requests)]);
        connection.command(&["FLUSHALL"]).await;
        RedisTokenStore::new(Arc::new(connection.clone()), 0, 0)
            .open(&NeverSeen::default())
            .await
            .unwrap();
        let mut offering = JoinSet::new();
        for number in 0..replicas {
            let replica = replica(number + 1, &connection, patient());
            let share = 10 * (1000 + replicas) / replicas;
            offering.spawn(offer(replica, share, Arc::clone(&limits), CLOSED));
        }
        let admitted: u64 = offering.join_all().await.into_iter().sum();
        assert_eq!(admitted, 1000 + replicas, "{replicas} replicas");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_replica_does_not_need_another_one_may_use() {
    let (_server, connection) = server().await;
    let limits = Arc::new(vec![limit(500, roomy_window(), Counts::Requests)]);
    let (one, other) = (replica(1, &connection, patient()), replica(2, &connection, patient()));
    // Given a replica that holds tokens in stock,
    let first = offer(one.clone(), 200, Arc::clone(&limits), CLOSED).await;
    assert_eq!(first, 200);
    // when it stops, then all that is left is there for the other.
    one.shutdown().await;
    let second = offer(other, 1000, Arc::clone(&limits), CLOSED).await;
    assert_eq!(first + second, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_that_were_not_answered_are_taken_back_and_rows_are_taken_as_far_as_there_is_room() {
    let (_server, connection) = server().await;
    let limits = [limit(10, roomy_window(), Counts::Checks)];
    let replica = replica(1, &connection, patient());
    let taken = replica.take_checks(ACME, 7, &limits, CLOSED).await;
    assert_eq!((taken.charge.count(), taken.violated.len()), (7, 0));
    replica.refund(ACME, &taken.charge.part(2));
    let left = |replica: &SharedLimiter| replica.statuses(ACME, &limits, CLOSED, 0)[0].remaining;
    assert_eq!(left(&replica), 5);
    let taken = replica.take_checks(ACME, 9, &limits, CLOSED).await;
    assert_eq!((taken.charge.count(), taken.violated.len()), (5, 1));
    assert!(taken.retry_after > 0 && !taken.unavailable);
    assert_eq!(left(&replica), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_leases_are_spent_then_floors_and_then_it_is_said() {
    let (server, connection) = server().await;
    let limits = [limit(1600, roomy_window(), Counts::Requests)];
    let replica = replica(1, &connection, LimiterSettings::default());
    let claimed_at = replica.local_now();
    // Given a slot that has settled, as far as the replica knows,
    let own = Some(ReplicaSlot { claimed_at: claimed_at.saturating_sub(1), until: u64::MAX });
    replica.set_slots(SlotView { total: 16, held: 1, own, ..SlotView::default() });
    drop(server);
    // when Redis is gone from the beginning, then nothing passes: windows may have begun before.
    let decision = replica.admit(ACME, RequestKind::Request, &limits, FLOOR, 0).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_comes_back_gives_nothing_out_before_the_next_window() {
    let (mut server, connection) = server().await;
    let limits = [limit(5, 2, Counts::Requests)];
    let replica = replica(1, &connection, LimiterSettings::default());
    let ask = async |replica: &SharedLimiter| {
        replica.admit(ACME, RequestKind::Request, &limits, CLOSED, 0).await
    };
    let until = Instant::now() + Duration::from_mins(1);
    while !matches!(ask(&replica).await, Decision::Admitted { .. }) {
        assert!(Instant::now() < until);
    }
    server.kill();
    server.again();
    let returned = Connection::to(&server).await;
    drop(replica);
    let replica = self::replica(2, &returned, patient());
    // Whatever time it is now, the window in which it came returned is over within two seconds.
    let mut unavailable = 0;
    loop {
        match ask(&replica).await {
            Decision::Admitted { .. } => break,
            Decision::Unavailable { closed: true, .. } => unavailable += 1,
            other => panic!("{other:?}"),
        }
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(unavailable > 0, "it learns first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_of_an_hour_and_more_are_of_the_other_bank() {
    let (server, connection) = server().await;
    let replica = replica(1, &connection, patient());
    drop(server);
    let limits = [limit(3, 86_400, Counts::Checks)];
    for _ in 0..3 {
        let decision = replica.admit(ACME, RequestKind::Check, &limits, FLOOR, 0).await;
        assert!(matches!(decision, Decision::Admitted { .. }), "{decision:?}");
    }
    let decision = replica.admit(ACME, RequestKind::Check, &limits, FLOOR, 0).await;
    let Decision::Refused { retry_after, .. } = decision else { panic!("{decision:?}") };
    assert!(retry_after <= 86_400);
    assert_eq!(replica.lease_requests(TokenStoreKind::Short), 0);
}

/// Dials again where the connection was lost.
#[derive(Debug)]
struct Redialled(String, tokio::sync::Mutex<Option<Connection>>);

#[async_trait::async_trait]
impl ScriptRunner for Redialled {
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

/// What was admitted in each window that a lease was of.
type Seen = Arc<Mutex<BTreeMap<u64, u64>>>;

/// Asks until it is told to stop. A lease is spent in its window, by the clock that the server has too.
async fn hammer(
    replica: SharedLimiter,
    limits: Arc<Vec<Limit>>,
    seen: Seen,
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
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_pauses_forgets_and_dies_and_replicas_are_killed_no_window_is_exceeded() {
    let (mut server, connection) = server().await;
    let limits = Arc::new(vec![limit(60, 1, Counts::Checks)]);
    let (seen, stop) = (Seen::default(), Arc::new(AtomicBool::new(false)));
    let start = |number: u64| {
        let scripts = Redialled(server.url(), tokio::sync::Mutex::default());
        let short = RedisTokenStore::new(Arc::new(scripts), number, 0);
        let replica =
            SharedLimiter::new(Arc::new(short), LongTokenStore::new(), LimiterSettings::default());
        let stop = Arc::clone(&stop);
        tokio::spawn(hammer(replica, Arc::clone(&limits), Arc::clone(&seen), stop))
    };
    let mut replicas: Vec<_> = (1..=3).map(start).collect();
    let admitted = || seen.lock().unwrap().values().sum::<u64>();
    let more = async |than: u64| {
        let until = Instant::now() + Duration::from_mins(1);
        while admitted() <= than {
            assert!(Instant::now() < until, "nothing more than {than} admitted");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    more(80).await;
    // A replica is killed, and another one takes its place.
    replicas.remove(0).abort();
    replicas.push(start(4));
    more(admitted() + 60).await;
    // Redis forgets everything.
    connection.command(&["FLUSHALL"]).await;
    more(admitted() + 60).await;
    // It pauses for two seconds: what was sent meanwhile is done afterwards.
    server.pause();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.go_on();
    more(admitted() + 60).await;
    // It dies and comes returned with nothing.
    server.kill();
    server.again();
    more(admitted() + 60).await;

    stop.store(true, Ordering::Relaxed);
    for replica in replicas {
        replica.await.unwrap();
    }
    let most = seen.lock().unwrap().values().copied().max().unwrap();
    assert!(most <= 60, "{:?}", seen.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payers_that_ask_no_more_are_forgotten_and_what_they_held_is_given_back() {
    let (_server, connection) = server().await;
    let replica = replica(1, &connection, patient());
    let limits = [limit(100, 1, Counts::Requests)];
    for number in 0..200 {
        let tenant = format!("tenant-{number}");
        let account = Account { tenant: &tenant, ..ACME };
        let _ = replica.admit(account, RequestKind::Request, &limits, CLOSED, 0).await;
    }
    assert!(replica.subjects() > 0);
    let until = Instant::now() + Duration::from_mins(1);
    while replica.subjects() > 0 {
        assert!(Instant::now() < until, "{} subjects are left", replica.subjects());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
