//! Seats of the limits.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use assay_engine::facts::Environment;
use assay_store::{
    PostgresStore, StoreError,
    seats::{Seat, Seats},
};

use crate::{backends, backends::server::Server};

const LONG: Duration = Duration::from_hours(1);
/// Over before anything else can be done, nearly.
const SHORT: Duration = Duration::from_millis(1);

async fn store() -> Arc<PostgresStore> {
    let url = Server::of_this_process().database().await;
    Arc::new(PostgresStore::open_or_create(&url, Environment::Production).await.unwrap())
}

async fn claim(store: &PostgresStore, holder: &str, lease: Duration) -> Option<Seat> {
    store.claim_seat(holder, lease).await.unwrap().seat
}

/// Waits until the server's own clock says that a seat expired.
async fn expire(store: &PostgresStore, seat: Seat) {
    while store.seating().await.unwrap().now < seat.expires_at {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn an_embedded_store_shares_nothing() {
    assert!(backends::sqlite().await.store.shared().is_none());
    assert!(backends::postgres().await.store.shared().is_some());
}

#[tokio::test]
async fn the_lowest_free_seat_is_given() {
    let store = store().await;
    let first = store.claim_seat("one", LONG).await.unwrap();
    let seat = first.seat.unwrap();
    assert_eq!((seat.number, seat.previous_expiry), (0, None));
    assert_eq!(seat.claimed_at, first.seating.now);
    assert_eq!(seat.expires_at.as_microsecond() - seat.claimed_at.as_microsecond(), 3_600_000_000);
    assert_eq!((first.seating.total, first.seating.live(LONG)), (16, 1), "its own is counted");
    assert_eq!(claim(&store, "two", LONG).await.unwrap().number, 1);
    assert_eq!(store.seating().await.unwrap().live(LONG), 2);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_answered_again() {
    let store = store().await;
    let first = claim(&store, "one", LONG).await.unwrap();
    let again = claim(&store, "one", LONG).await.unwrap();
    assert_eq!((again.number, again.claimed_at), (first.number, first.claimed_at));
    assert!(again.expires_at >= first.expires_at);
    assert_eq!(store.seating().await.unwrap().expiries.len(), 1, "no second seat");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_seat_is_given_twice() {
    let url = Server::of_this_process().database().await;
    let mut stores = Vec::new();
    for _ in 0..2 {
        let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
        stores.push(Arc::new(store));
    }
    let tasks: Vec<_> = (0..24)
        .map(|number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            tokio::spawn(async move { claim(&store, &format!("holder-{number}"), LONG).await })
        })
        .collect();
    let mut numbers = Vec::new();
    let mut without = 0;
    for task in tasks {
        match task.await.unwrap() {
            Some(seat) => numbers.push(seat.number),
            None => without += 1,
        }
    }
    let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), numbers.len());
    assert_eq!((distinct, without), ((0..16).collect(), 8));
}

#[tokio::test]
async fn a_seat_is_its_holders_until_it_expires() {
    let store = store().await;
    store.set_seats(1, LONG).await.unwrap();
    let seat = claim(&store, "one", SHORT).await.unwrap();
    expire(&store, seat).await;
    let next = claim(&store, "two", LONG).await.unwrap();
    assert_eq!(next.number, 0);
    assert_eq!(next.previous_expiry, Some(seat.expires_at), "until then the first one could spend");
    assert!(next.claimed_at >= seat.expires_at);
    assert_eq!(claim(&store, "one", LONG).await, None);
    assert_eq!(store.renew_seat("one", LONG).await.unwrap().seat, None);
}

#[tokio::test]
async fn a_renewal_lasts_longer_and_comes_in_time_or_not_at_all() {
    let store = store().await;
    let seat = claim(&store, "one", LONG).await.unwrap();
    let renewed = store.renew_seat("one", 2 * LONG).await.unwrap();
    let own = renewed.seat.unwrap();
    assert_eq!((own.number, own.claimed_at), (seat.number, seat.claimed_at));
    assert_eq!(
        own.expires_at.as_microsecond() - renewed.seating.now.as_microsecond(),
        7_200_000_000
    );
    let shorter = store.renew_seat("one", SHORT).await.unwrap().seat.unwrap();
    assert_eq!(shorter.expires_at, own.expires_at, "what was promised stays");

    let late = claim(&store, "two", SHORT).await.unwrap();
    expire(&store, late).await;
    let answer = store.renew_seat("two", LONG).await.unwrap();
    assert_eq!(answer.seat, None, "whoever is late claims anew");
    assert_eq!(answer.seating.live_since(late.expires_at), 1);
}

#[tokio::test]
async fn a_seat_that_is_given_up_is_free_and_counts_as_spent() {
    let store = store().await;
    let seat = claim(&store, "one", LONG).await.unwrap();
    store.release_seat("one").await.unwrap();
    let seating = store.seating().await.unwrap();
    assert!(seating.expiries[0] < seat.expires_at);
    assert_eq!(seating.live(LONG), 1, "in windows that run it may be spent");
    assert_eq!(seating.live_since(seating.now), 0, "in those that begin it is not");
    let next = claim(&store, "two", LONG).await.unwrap();
    assert_eq!((next.number, next.previous_expiry), (0, Some(seating.expiries[0])));
}

#[tokio::test]
async fn the_number_of_seats_changes_only_when_none_can_be_spent() {
    let store = store().await;
    store.set_seats(4, LONG).await.unwrap();
    assert_eq!(store.seating().await.unwrap().total, 4);
    let seat = claim(&store, "one", SHORT).await.unwrap();
    expire(&store, seat).await;
    let error = store.set_seats(8, LONG).await.unwrap_err();
    assert!(matches!(error, StoreError::SeatsInUse(1)), "{error}");
    store.set_seats(4, LONG).await.unwrap();
    store.set_seats(8, SHORT).await.unwrap();
    let seating = store.seating().await.unwrap();
    assert_eq!((seating.total, seating.expiries.len()), (8, 0));
}
