//! Seats of the limits.

use std::{sync::Arc, time::Duration};

use assay_engine::facts::Environment;
use assay_store::{PostgresStore, seats::Seats};
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use crate::backends::{self, server::Server};

const LONG: Duration = Duration::from_hours(1);
/// Over before anything else can be done, nearly.
const SHORT: Duration = Duration::from_millis(1);

/// A store, and a way to look at its tables.
struct Seated {
    store: Arc<PostgresStore>,
    connection: PgConnection,
}

impl Seated {
    async fn new() -> Self {
        let url = Server::of_this_process().database().await;
        let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
        let connection = PgConnection::connect(&url).await.unwrap();
        Self { store: Arc::new(store), connection }
    }

    async fn number(&mut self, query: String) -> Option<i64> {
        let row = self.connection.fetch_optional(AssertSqlSafe(query)).await.unwrap();
        row.and_then(|row| row.get(0))
    }

    /// The seat that somebody held last.
    async fn seat_of(&mut self, holder: &str) -> Option<i64> {
        self.number(format!("SELECT number FROM seats WHERE holder = '{holder}'")).await
    }

    /// Waits until the server's own clock says that somebody's seat expired.
    async fn expire(&mut self, holder: &str) {
        let expired = format!(
            "SELECT 1::bigint FROM seats WHERE holder = '{holder}'
             AND expires_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        );
        while self.number(expired.clone()).await.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn claim(store: &PostgresStore, holder: &str, lease: Duration) -> bool {
    store.claim_seat(holder, lease).await.unwrap().has_seat
}

fn microseconds(from: Timestamp, to: Timestamp) -> i64 {
    to.as_microsecond() - from.as_microsecond()
}

#[tokio::test]
async fn an_embedded_store_shares_nothing() {
    assert!(backends::sqlite().await.store.shared().is_none());
    assert!(backends::postgres().await.store.shared().is_some());
}

#[tokio::test]
async fn the_lowest_free_seat_is_given() {
    let mut seated = Seated::new().await;
    let first = seated.store.claim_seat("one", LONG).await.unwrap();
    assert!(first.has_seat);
    let seating = first.seating;
    assert_eq!((seating.total, seating.expiries.len()), (16, 1), "its own is counted");
    assert_eq!(microseconds(seating.now, seating.expiries[0]), 3_600_000_000);
    assert!(claim(&seated.store, "two", LONG).await);
    assert_eq!((seated.seat_of("one").await, seated.seat_of("two").await), (Some(0), Some(1)));
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_answered_again() {
    let seated = Seated::new().await;
    let first = seated.store.claim_seat("one", LONG).await.unwrap();
    let again = seated.store.claim_seat("one", LONG).await.unwrap();
    assert!(first.has_seat && again.has_seat);
    assert_eq!(again.seating.expiries.len(), 1, "no second seat");
    assert!(again.seating.expiries[0] >= first.seating.expiries[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_seat_is_given_twice() {
    let mut seated = Seated::new().await;
    let tasks: Vec<_> = (0..24)
        .map(|number| {
            let store = Arc::clone(&seated.store);
            tokio::spawn(async move { claim(&store, &format!("holder-{number}"), LONG).await })
        })
        .collect();
    let mut given = 0;
    for task in tasks {
        given += usize::from(task.await.unwrap());
    }
    assert_eq!(given, 16);
    let holders = seated.number("SELECT count(DISTINCT holder) FROM seats".to_owned()).await;
    assert_eq!(holders, Some(16));
}

#[tokio::test]
async fn a_seat_is_its_holders_until_it_expires() {
    let mut seated = Seated::new().await;
    seated.connection.execute("DELETE FROM seats WHERE number > 0").await.unwrap();
    assert!(claim(&seated.store, "one", SHORT).await);
    seated.expire("one").await;
    assert!(claim(&seated.store, "two", LONG).await);
    assert!(!claim(&seated.store, "one", LONG).await);
    assert!(!seated.store.renew_seat("one", LONG).await.unwrap().has_seat);
}

#[tokio::test]
async fn a_renewal_lasts_longer_and_comes_in_time_or_not_at_all() {
    let mut seated = Seated::new().await;
    assert!(claim(&seated.store, "one", LONG).await);
    let renewed = seated.store.renew_seat("one", 2 * LONG).await.unwrap();
    assert!(renewed.has_seat);
    let expires_at = renewed.seating.expiries[0];
    assert_eq!(microseconds(renewed.seating.now, expires_at), 7_200_000_000);
    let shorter = seated.store.renew_seat("one", SHORT).await.unwrap();
    assert_eq!(shorter.seating.expiries, [expires_at], "what was promised stays");

    assert!(claim(&seated.store, "two", SHORT).await);
    seated.expire("two").await;
    let answer = seated.store.renew_seat("two", LONG).await.unwrap();
    assert!(!answer.has_seat, "whoever is late claims anew");
    assert_eq!(answer.seating.expiries.len(), 2, "how long it was held is still told");
}

#[tokio::test]
async fn a_seat_that_is_given_up_is_free_and_its_end_is_told() {
    let mut seated = Seated::new().await;
    let claimed = seated.store.claim_seat("one", LONG).await.unwrap().seating;
    assert!(claim(&seated.store, "two", LONG).await);
    seated.store.release_seat("one").await.unwrap();
    let seating = seated.store.renew_seat("two", LONG).await.unwrap().seating;
    assert!(seating.expiries[0] <= seating.now && seating.expiries[0] < claimed.expiries[0]);
    assert!(claim(&seated.store, "three", LONG).await);
    assert_eq!(seated.seat_of("three").await, Some(0));
}
