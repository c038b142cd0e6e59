//! Slots of replicas in PostgreSQL.

use std::{sync::Arc, time::Duration};

use assay_engine::facts::Environment;
use assay_store::{PostgresStore, SlotStore};
use assay_test_servers::{PostgresServer, eventually};
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::backends;

const LONG: Duration = Duration::from_hours(1);
/// A lease that has expired when the answer arrives.
const SHORT: Duration = Duration::from_millis(1);

/// A store, and a connection for queries of its tables.
struct SlotTable {
    store: Arc<PostgresStore>,
    connection: PgConnection,
}

impl SlotTable {
    async fn new() -> Self {
        let url = PostgresServer::shared_by_process().database();
        let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
        let connection = PgConnection::connect(&url).await.unwrap();
        Self { store: Arc::new(store), connection }
    }

    async fn number(&mut self, query: String) -> Option<i64> {
        let row = self.connection.fetch_optional(AssertSqlSafe(query)).await.unwrap();
        row.and_then(|row| row.get(0))
    }

    /// The number of the slot that a holder held last.
    async fn slot_of(&mut self, holder: &str) -> Option<i64> {
        self.number(format!("SELECT number FROM seats WHERE holder = '{holder}'")).await
    }

    /// Waits until the server's own clock says that the slot of a holder expired.
    async fn expire(&mut self, holder: &str) {
        let expired = format!(
            "SELECT 1::bigint FROM seats WHERE holder = '{holder}'
             AND expires_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        );
        eventually("it expires", async || self.number(expired.clone()).await.is_some()).await;
    }
}

async fn claim(store: &PostgresStore, holder: &str, lease: Duration) -> bool {
    store.claim_slot(holder, lease).await.unwrap().is_held
}

fn microseconds(from: Timestamp, to: Timestamp) -> i64 {
    to.as_microsecond() - from.as_microsecond()
}

#[tokio::test]
async fn only_the_shared_backend_coordinates() {
    assert!(backends::sqlite().await.store.coordination().is_none());
    assert!(backends::postgres().await.store.coordination().is_some());
}

#[tokio::test]
async fn the_lowest_free_slot_is_claimed() {
    let mut table = SlotTable::new().await;
    let first = table.store.claim_slot("one", LONG).await.unwrap();
    assert!(first.is_held);
    let registry = first.registry;
    assert_eq!((registry.total, registry.expiries.len()), (16, 1), "the new slot is included");
    assert_eq!(microseconds(registry.now, registry.expiries[0]), 3_600_000_000);
    assert!(claim(&table.store, "two", LONG).await);
    assert_eq!((table.slot_of("one").await, table.slot_of("two").await), (Some(0), Some(1)));
}

#[tokio::test]
async fn a_repeated_claim_returns_the_same_slot() {
    let table = SlotTable::new().await;
    let first = table.store.claim_slot("one", LONG).await.unwrap();
    let again = table.store.claim_slot("one", LONG).await.unwrap();
    assert!(first.is_held && again.is_held);
    assert_eq!(again.registry.expiries.len(), 1, "no second slot");
    assert!(again.registry.expiries[0] >= first.registry.expiries[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_slot_is_claimed_twice() {
    let mut table = SlotTable::new().await;
    let tasks: Vec<_> = (0..24)
        .map(|number| {
            let store = Arc::clone(&table.store);
            tokio::spawn(async move { claim(&store, &format!("holder-{number}"), LONG).await })
        })
        .collect();
    let mut given = 0;
    for task in tasks {
        given += usize::from(task.await.unwrap());
    }
    assert_eq!(given, 16);
    let holders = table.number("SELECT count(DISTINCT holder) FROM seats".to_owned()).await;
    assert_eq!(holders, Some(16));
}

#[tokio::test]
async fn a_slot_stays_with_its_holder_until_it_expires() {
    let mut table = SlotTable::new().await;
    table.connection.execute("DELETE FROM seats WHERE number > 0").await.unwrap();
    assert!(claim(&table.store, "one", SHORT).await);
    table.expire("one").await;
    assert!(claim(&table.store, "two", LONG).await);
    assert!(!claim(&table.store, "one", LONG).await);
    assert!(!table.store.renew_slot("one", LONG).await.unwrap().is_held);
}

#[tokio::test]
async fn a_renewal_extends_a_lease_and_fails_after_its_expiry() {
    let mut table = SlotTable::new().await;
    assert!(claim(&table.store, "one", LONG).await);
    let renewed = table.store.renew_slot("one", 2 * LONG).await.unwrap();
    assert!(renewed.is_held);
    let expires_at = renewed.registry.expiries[0];
    assert_eq!(microseconds(renewed.registry.now, expires_at), 7_200_000_000);
    let shorter = table.store.renew_slot("one", SHORT).await.unwrap();
    assert_eq!(shorter.registry.expiries, [expires_at], "a renewal never shortens a lease");

    assert!(claim(&table.store, "two", SHORT).await);
    table.expire("two").await;
    let answer = table.store.renew_slot("two", LONG).await.unwrap();
    assert!(!answer.is_held, "an expired slot must be claimed again");
    assert_eq!(answer.registry.expiries.len(), 2, "the expiry of an expired slot stays known");
}

#[tokio::test]
async fn a_released_slot_is_free_and_its_expiry_stays_known() {
    let mut table = SlotTable::new().await;
    let claimed = table.store.claim_slot("one", LONG).await.unwrap().registry;
    assert!(claim(&table.store, "two", LONG).await);
    table.store.release_slot("one").await.unwrap();
    let registry = table.store.renew_slot("two", LONG).await.unwrap().registry;
    assert!(registry.expiries[0] <= registry.now && registry.expiries[0] < claimed.expiries[0]);
    assert!(claim(&table.store, "three", LONG).await);
    assert_eq!(table.slot_of("three").await, Some(0));
}
