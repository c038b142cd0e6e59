//! Notifications of changes in PostgreSQL.

use std::{sync::Arc, time::Duration};

use assay_database::ChangeSubscription;
use assay_engine::facts::Environment;
use assay_store::{ControlStore, IntelStore, PostgresStore, Store};
use assay_test_servers::{PostgresServer, eventually};
use sqlx::{Connection, Executor, PgConnection, Row, postgres::PgListener};

use super::{PATIENCE, at, backends, key};

async fn next(hints: &mut ChangeSubscription) {
    tokio::time::timeout(PATIENCE, hints.changed()).await.expect("a hint");
}

/// Two programs with a store each, and the notifications of the second program.
async fn two() -> (String, Arc<PostgresStore>, ChangeSubscription) {
    let url = PostgresServer::shared_by_process().database();
    let writer = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
    let reader = PostgresStore::open(&url).await.unwrap();
    let mut hints = reader.subscribe().expect("a shared store gives hints");
    // The first hint says that it listens.
    next(&mut hints).await;
    (url, Arc::new(writer), hints)
}

/// Listens for notifications of the database from now on.
async fn told(url: &str) -> PgListener {
    let mut listener = PgListener::connect(url).await.unwrap();
    listener.listen("assay").await.unwrap();
    listener
}

async fn next_told(listener: &mut PgListener) -> String {
    let told = tokio::time::timeout(PATIENCE, listener.recv()).await.expect("a notification");
    told.unwrap().payload().to_owned()
}

/// Ends the connections that listen, as a server that stops does.
async fn end_listening(url: &str) -> usize {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let ended = connection
        .fetch_all(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')",
        )
        .await
        .unwrap();
    ended.iter().filter(|row| row.get::<bool, _>(0)).count()
}

#[tokio::test]
async fn the_embedded_backend_gives_no_hints() {
    assert!(backends::sqlite().await.store.subscribe().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_one_program_notifies_another() {
    let (_, writer, mut hints) = two().await;
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    next(&mut hints).await;
    writer.confirm_fetch(&"ofac-sdn".parse().unwrap(), at(0), None).await.unwrap();
    next(&mut hints).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_notifications_are_merged() {
    let (url, writer, mut hints) = two().await;
    let mut listener = told(&url).await;
    for number in 1..=20 {
        writer.add_key(&key(number, "acme"), None).await.unwrap();
    }
    while next_told(&mut listener).await != "keys 20" {}
    // All were told by now; that some come late is possible, that as many come is not.
    let mut times = 0;
    while tokio::time::timeout(Duration::from_millis(500), hints.changed()).await.is_ok() {
        times += 1;
    }
    assert!((1..20).contains(&times), "{times} hints");
}

#[tokio::test(flavor = "multi_thread")]
async fn rollbacks_and_unchanged_counters_notify_nobody() {
    let (url, writer, _hints) = two().await;
    let mut listener = told(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut change = connection.begin().await.unwrap();
    let count = "UPDATE installation SET control_revision = control_revision + 100";
    change.execute(count).await.unwrap();
    change.rollback().await.unwrap();
    writer.record_key_use(&[(key(1, "acme").id, at(1))]).await.unwrap();
    // Notifications come in the order of the commits: were there one before this, it would come first.
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    assert_eq!(next_told(&mut listener).await, "keys 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_restored_and_reported() {
    let (url, writer, mut hints) = two().await;
    assert_eq!(end_listening(&url).await, 1);
    // Nothing else is said: what changed meanwhile is for the reader to find.
    next(&mut hints).await;
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    next(&mut hints).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_is_listened_to_again() {
    let server = PostgresServer::start();
    let url = server.database();
    let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
    let mut hints = store.subscribe().unwrap();
    next(&mut hints).await;
    server.restart();
    next(&mut hints).await;
    store.add_key(&key(1, "acme"), None).await.unwrap();
    next(&mut hints).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_notifications_end_the_subscription() {
    let (url, _writer, hints) = two().await;
    drop(hints);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                     AND (query LIKE '%LISTEN%' OR query = 'SELECT 1') AND pid <> pg_backend_pid()";
    eventually("the connection is closed", async || {
        connection.fetch_one(listening).await.unwrap().get::<i64, _>(0) == 0
    })
    .await;
}
