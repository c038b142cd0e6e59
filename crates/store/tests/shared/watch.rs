//! Hints from the shared backend.

use std::{sync::Arc, time::Duration};

use assay_engine::{chain::ChainId, facts::Environment};
use assay_store::{
    PostgresStore, Store,
    graph::{Graphs, WriterOptions},
    watch::{Hint, Hints},
};
use sqlx::{Connection, Executor, PgConnection, Row};

use crate::{PATIENCE, at, backends, backends::server::Server, key, made_chain::Chain};

async fn next(hints: &mut Hints) -> Hint {
    tokio::time::timeout(PATIENCE, hints.next()).await.expect("a hint")
}

fn connected() -> Hint {
    Hint { connected: true, ..Hint::default() }
}

/// Two programs with a store each, and what the second one hears.
async fn two() -> (String, Arc<PostgresStore>, Hints) {
    let url = Server::of_this_process().database().await;
    let writer = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
    let reader = PostgresStore::open(&url).await.unwrap();
    let mut hints = reader.watch().expect("a shared store gives hints");
    assert_eq!(next(&mut hints).await, connected(), "the first hint says that it listens");
    assert!(hints.is_connected());
    (url, Arc::new(writer), hints)
}

/// Ends the connections that listen, as a server that goes does.
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
    assert!(backends::sqlite().await.store.watch().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_program_commits_wakes_another() {
    let (_, writer, mut hints) = two().await;
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    let control = Hint { control: Some(1), ..Hint::default() };
    assert_eq!(next(&mut hints).await, control);

    writer.confirm_fetch(&"ofac-sdn".parse().unwrap(), at(0), None).await.unwrap();
    let intel = writer.revisions().await.unwrap().intel;
    assert_eq!(next(&mut hints).await, Hint { intel: Some(intel), ..Hint::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_that_nobody_took_are_one_hint() {
    let (_, writer, mut hints) = two().await;
    for number in 1..=20 {
        writer.add_key(&key(number, "acme"), None).await.unwrap();
    }
    writer.confirm_fetch(&"ofac-sdn".parse().unwrap(), at(0), None).await.unwrap();
    let mut heard = Hint::default();
    let mut times = 0;
    while heard.control != Some(20) || heard.intel.is_none() {
        let hint = next(&mut hints).await;
        heard.control = heard.control.max(hint.control);
        heard.intel = heard.intel.max(hint.intel);
        times += 1;
    }
    assert!(times <= 21, "never more hints than changes: {times}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rolled_back_and_what_changes_no_counter_is_not_heard() {
    let (url, writer, mut hints) = two().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut change = connection.begin().await.unwrap();
    let count = "UPDATE installation SET control_revision = control_revision + 100";
    change.execute(count).await.unwrap();
    change.rollback().await.unwrap();
    writer.touch_keys(&[(key(1, "acme").id, at(1))]).await.unwrap();
    // Notifications come in the order of the commits: were there one before this, it would come first.
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    assert_eq!(next(&mut hints).await, Hint { control: Some(1), ..Hint::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_wakes_whoever_reads_the_chain() {
    let (_, writer, mut hints) = two().await;
    let chain = Chain::of(1, 0, 3);
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut graph = writer.graph_writer(chain.id, options).await.unwrap();
    graph.append(&chain.blocks, 0, at(0)).await.unwrap();
    let expected: Vec<ChainId> = vec![chain.id];
    assert_eq!(next(&mut hints).await.chains.into_iter().collect::<Vec<_>>(), expected);
    graph.verified(at(1)).await.unwrap();
    graph.roll_back(1).await.unwrap();
    assert_eq!(next(&mut hints).await.chains.into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_made_again_and_says_so_once() {
    let (url, writer, mut hints) = two().await;
    assert_eq!(end_listening(&url).await, 1);
    // Nothing else is said: what changed meanwhile is for the reader to find.
    assert_eq!(next(&mut hints).await, connected());
    assert!(hints.is_connected());
    writer.add_key(&key(1, "acme"), None).await.unwrap();
    assert_eq!(next(&mut hints).await, Hint { control: Some(1), ..Hint::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_is_listened_to_again() {
    let server = Server::start();
    let url = server.database().await;
    let store = PostgresStore::open_or_create(&url, Environment::Production).await.unwrap();
    let mut hints = store.watch().unwrap();
    assert_eq!(next(&mut hints).await, connected());
    server.restart();
    assert_eq!(next(&mut hints).await, connected());
    store.add_key(&key(1, "acme"), None).await.unwrap();
    assert_eq!(next(&mut hints).await, Hint { control: Some(1), ..Hint::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens_once_the_hints_are_dropped() {
    let (url, _writer, hints) = two().await;
    drop(hints);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                     AND (query LIKE '%LISTEN%' OR query = 'SELECT 1') AND pid <> pg_backend_pid()";
    let gone = async {
        while connection.fetch_one(listening).await.unwrap().get::<i64, _>(0) > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the connection is closed");
}
