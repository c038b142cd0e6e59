//! Requests of the control plane are answered in time or canceled, regardless of other work.

use std::sync::Arc;

use assay_address::ChainId;
use assay_database::DatabaseError;
use assay_database::postgres::DatabaseAddress;
use assay_engine::facts::Environment;
use assay_store::{
    ControlStore, FetchedStore, PostgresStore, Store, StoreError, fetched::FetchedKind,
};
use assay_test_servers::{PostgresServer, eventually};
use sqlx::{Connection, Executor, PgConnection, Row};

use super::PATIENCE;

/// A store with a second connection that can lock its tables.
async fn lockable(readers: u32) -> (String, Arc<PostgresStore>, PgConnection) {
    let url = PostgresServer::shared_by_process().database();
    let address = DatabaseAddress::from_url(&url).with_readers(readers);
    let store = PostgresStore::open_or_create(address, Environment::Production).await.unwrap();
    let other = PgConnection::connect(&url).await.unwrap();
    (url, Arc::new(store), other)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_past_its_timeout_is_canceled_and_keeps_no_connection() {
    let (_, store, mut other) = lockable(1).await;
    let mut lock = other.begin().await.unwrap();
    lock.execute("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE").await.unwrap();
    // More than there are connections.
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.control().await })
        })
        .collect();
    for asked in asked {
        let answer = tokio::time::timeout(PATIENCE, asked).await.expect("it is broken off");
        let error = answer.unwrap().unwrap_err();
        let in_vain = matches!(
            &error,
            StoreError::Database(DatabaseError::NoAnswer { .. } | DatabaseError::Connect { .. })
        );
        assert!(in_vain, "{error}");
    }
    // The server has not answered them yet, and none of them holds a place any more.
    let revisions = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Ok(revisions) = store.revisions().await {
                return revisions;
            }
        }
    });
    assert_eq!(revisions.await.expect("there is a place").control, 0);
    lock.rollback().await.unwrap();
    assert!(store.control().await.unwrap().keys.is_empty());
    tokio::time::timeout(PATIENCE, store.close()).await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_that_read_chains_do_not_hold_up_limits_and_revocations() {
    let (url, store, mut other) = lockable(2).await;
    let mut lock = other.begin().await.unwrap();
    lock.execute("LOCK TABLE fetched IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let reading: Vec<_> = (0..20)
        .map(|_| {
            let store = Arc::clone(&store);
            let keys = ["x".to_owned()];
            tokio::spawn(
                async move { store.fetched(ChainId::BTC, FetchedKind::History, &keys).await },
            )
        })
        .collect();
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    // A transaction would see the same activity again and again.
    let mut watcher = PgConnection::connect(&url).await.unwrap();
    eventually("every reader is busy", async || {
        watcher.fetch_one(waiting).await.unwrap().get::<i64, _>(0) >= 2
    })
    .await;
    // Nothing of this waits for a reader: the lock is still held.
    store.revisions().await.unwrap();
    store.control().await.unwrap();
    let limits = store.coordination().unwrap();
    assert!(limits.claim_slot("one", PATIENCE).await.unwrap().is_held);
    lock.rollback().await.unwrap();
    for reading in reading {
        // Those that waited too long for a place were told so.
        let _ = reading.await.unwrap();
    }
}
