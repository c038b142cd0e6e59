//! Quotas of long windows.

use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc, time::Instant};

use assay_database::DatabaseError;
use assay_engine::facts::Environment;
use assay_store::{
    PostgresStore, QuotaStore, StoreError,
    coordination::quotas::{QuotaCounter, QuotaRequest, QuotaReturn},
};
use assay_test_random::Random;
use assay_test_servers::PostgresServer;
use sqlx::{Connection, Executor, PgConnection, Row};

use super::PATIENCE;

/// A window that does not end while a test runs, unless it began before 2033.
const LONG: u32 = 2_000_000_000;

fn counter(subject: &str, window_seconds: u32) -> QuotaCounter {
    QuotaCounter {
        subject: subject.to_owned(),
        limit: "quota".to_owned(),
        window_seconds: NonZeroU32::new(window_seconds).unwrap(),
    }
}

fn request(subject: &str, allowed: u64, wanted: u64) -> QuotaRequest {
    QuotaRequest { counter: counter(subject, LONG), allowed, wanted }
}

/// The result of an operation, which is repeated while a busy machine gives it no connection: then nothing
/// was sent.
async fn connected<T, F>(operation: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let until = Instant::now() + 4 * PATIENCE;
    loop {
        match operation().await {
            Err(StoreError::Database(DatabaseError::Connect { source, .. }))
                if matches!(source, sqlx::Error::PoolTimedOut) && Instant::now() < until => {}
            result => return result.unwrap(),
        }
    }
}

async fn stores(number: usize) -> (String, Vec<Arc<PostgresStore>>) {
    let url = PostgresServer::shared_by_process().database();
    let mut stores = Vec::new();
    for _ in 0..number {
        let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
        stores.push(Arc::new(store));
    }
    (url, stores)
}

/// Tokens granted to each request, and the tokens that remained.
async fn ask(store: &PostgresStore, requests: &[QuotaRequest]) -> Vec<(u64, u64)> {
    let grants = store.reserve(requests).await.unwrap();
    grants.iter().map(|grant| (grant.granted, grant.remaining)).collect()
}

#[tokio::test]
async fn the_remainder_is_granted_and_no_more() {
    let (_, stores) = stores(1).await;
    let store = &stores[0];
    assert_eq!(ask(store, &[request("a", 100, 60)]).await, [(60, 40)]);
    assert_eq!(ask(store, &[request("a", 100, 60)]).await, [(40, 0)]);
    assert_eq!(ask(store, &[request("a", 100, 1)]).await, [(0, 0)]);
    assert_eq!(
        ask(store, &[request("a", 90, 1)]).await,
        [(0, 0)],
        "a limit that fell owes nothing"
    );
    assert_eq!(
        ask(store, &[request("a", 110, 60)]).await,
        [(10, 0)],
        "one that rose gives the rest"
    );
    assert_eq!(
        ask(store, &[request("b", 100, 1_000)]).await,
        [(100, 0)],
        "never more than allowed"
    );
    assert_eq!(ask(store, &[request("c", 0, 5)]).await, [(0, 0)]);
    assert_eq!(ask(store, &[request("d", 5, 0)]).await, [(0, 5)], "looking costs nothing");
    assert_eq!(ask(store, &[request("e", u64::MAX, 1)]).await[0].0, 1);
    assert_eq!(ask(store, &[]).await, []);
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_requests() {
    let (_, stores) = stores(1).await;
    let requests =
        [request("z", 10, 1), request("a", 20, 2), request("m", 30, 3), request("z", 10, 4)];
    assert_eq!(ask(&stores[0], &requests).await, [(1, 9), (2, 18), (3, 27), (0, 9)]);
}

#[tokio::test]
async fn a_window_is_the_databases_time_divided_by_its_length() {
    let (url, stores) = stores(1).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let mut now = async || connection.fetch_one(clock).await.unwrap().get::<i64, _>(0);
    let before = now().await;
    let request = QuotaRequest { counter: counter("a", 86_400), allowed: 10, wanted: 1 };
    let grant = stores[0].reserve(&[request]).await.unwrap()[0];
    let after = now().await;
    let day = 86_400_000_000;
    let begin = i64::try_from(grant.window_number).unwrap() * day;
    assert!(begin <= after && before < begin + day);
    let told_at = begin + day - i64::try_from(grant.until_end.as_micros()).unwrap();
    assert!((before..=after).contains(&told_at), "until_end is told as of the answer");
}

#[tokio::test]
async fn returned_tokens_can_be_granted_again_in_their_window() {
    let (_, stores) = stores(1).await;
    let store = &stores[0];
    let window_number = store.reserve(&[request("a", 10, 10)]).await.unwrap()[0].window_number;
    let back =
        |window_number, count| QuotaReturn { counter: counter("a", LONG), window_number, count };
    store.give_back(&[back(window_number, 2), back(window_number, 1)]).await.unwrap();
    store.give_back(&[back(window_number + 1, 5)]).await.unwrap();
    store.give_back(&[]).await.unwrap();
    assert_eq!(ask(store, &[request("a", 10, 10)]).await, [(3, 0)]);
    store.give_back(&[back(window_number, 1_000)]).await.unwrap();
    assert_eq!(ask(store, &[request("a", 10, 100)]).await, [(10, 0)], "never below nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_concurrent_requests_get_all_and_no_more() {
    // Ten cells that overlap, each short and long, asked for in every order by sixteen connections.
    const ALLOWED: u64 = 500;
    let (url, stores) = stores(4).await;
    let tasks: Vec<_> = (0..16_u64)
        .map(|number| {
            let store = Arc::clone(&stores[usize::try_from(number % 4).unwrap()]);
            tokio::spawn(async move {
                let mut dice = Random::new(number);
                let mut held: BTreeMap<(QuotaCounter, u64), u64> = BTreeMap::new();
                for _ in 0..60 {
                    let requests: Vec<QuotaRequest> = (0..=dice.below(6))
                        .map(|_| QuotaRequest {
                            counter: counter(
                                &format!("payer-{}", dice.below(10)),
                                *dice.pick(&[1, LONG]),
                            ),
                            allowed: ALLOWED,
                            wanted: dice.below(40),
                        })
                        .collect();
                    let grants = connected(|| store.reserve(&requests)).await;
                    for (request, grant) in requests.iter().zip(grants) {
                        assert!(grant.granted <= request.wanted && grant.remaining <= ALLOWED);
                        let own = (request.counter.clone(), grant.window_number);
                        *held.entry(own).or_default() += grant.granted;
                    }
                    let returns: Vec<QuotaReturn> = held
                        .iter_mut()
                        .rev()
                        .filter(|(_, count)| **count > 0 && dice.one_in(8))
                        .map(|((counter, window_number), count)| {
                            *count -= 1;
                            let (counter, window_number) = (counter.clone(), *window_number);
                            QuotaReturn { counter, window_number, count: 1 }
                        })
                        .collect();
                    connected(|| store.give_back(&returns)).await;
                }
                held
            })
        })
        .collect();
    let mut held: BTreeMap<(QuotaCounter, u64), u64> = BTreeMap::new();
    for task in tasks {
        let own = tokio::time::timeout(4 * PATIENCE, task).await.expect("no circle").unwrap();
        for (window, count) in own {
            *held.entry(window).or_default() += count;
        }
    }
    let mut full = 0;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let rows = connection.fetch_all("SELECT * FROM quota_windows").await.unwrap();
    assert_eq!(rows.len(), held.len());
    for row in rows {
        let seconds = u32::try_from(row.get::<i64, _>("window_seconds")).unwrap();
        let number = u64::try_from(row.get::<i64, _>("window_number")).unwrap();
        let count = held[&(counter(row.get("payer"), seconds), number)];
        assert_eq!(count, u64::try_from(row.get::<i64, _>("reserved")).unwrap());
        assert!(count <= ALLOWED, "{count} of {ALLOWED} are held");
        full += usize::from(count > ALLOWED - 40);
    }
    assert!(full >= 5, "the limit was never met: {full}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_has_its_first_epoch_once() {
    let (_, stores) = stores(2).await;
    let tasks: Vec<_> = (0..16)
        .map(|number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            tokio::spawn(async move { store.first_epoch("bucket").await.unwrap() })
        })
        .collect();
    let mut first = 0;
    for task in tasks {
        first += usize::from(task.await.unwrap());
    }
    assert_eq!(first, 1);
    assert!(stores[0].first_epoch("other").await.unwrap());
    assert!(!stores[1].first_epoch("other").await.unwrap());
}

#[tokio::test]
async fn windows_that_ended_long_ago_are_purged() {
    let (url, stores) = stores(1).await;
    let store = &stores[0];
    ask(store, &[request("a", 10, 4)]).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // Windows of an hour that ended three days ago and one day ago.
    connection
        .execute(
            "INSERT INTO quota_windows SELECT 'old', 'quota', 3600,
                 extract(epoch FROM now())::bigint / 3600 - hours, 10, 10, 10
             FROM unnest(ARRAY[73, 25]) AS hours",
        )
        .await
        .unwrap();
    assert_eq!(store.purge_quotas().await.unwrap(), 1);
    let query = "SELECT count(*) FILTER (WHERE payer = 'old'), count(*) FROM quota_windows";
    let row = connection.fetch_one(query).await.unwrap();
    assert_eq!((row.get::<i64, _>(0), row.get::<i64, _>(1)), (1, 2));
    assert_eq!(ask(store, &[request("a", 10, 10)]).await, [(6, 0)]);
}
