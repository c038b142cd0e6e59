//! Tests of PostgreSQL: schemas and connections. And of what all backends have in common beside the contract.

use std::sync::Arc;

use assay_database::DatabaseError;
use assay_graph::{
    Graph, GraphError, GraphStore,
    conformance::{CHAIN, TestChain, append, at, graph, options, reference, writer},
};
use assay_test_servers::PostgresServer;
use sqlx::{Connection, Executor, PgConnection, Row};

use crate::backends::{in_database, in_folder};

#[tokio::test]
async fn a_schema_of_a_newer_program_is_refused() {
    let url = PostgresServer::of_this_process().database();
    let store = in_database(&url).await;
    drop(writer(&store, 0).await);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute(
            "INSERT INTO chain_btc._sqlx_migrations
                 (version, description, success, checksum, execution_time)
             VALUES (9999, 'from the future', TRUE, '\\x00', 0)",
        )
        .await
        .unwrap();
    let error = store.graph(CHAIN).await.unwrap_err();
    assert!(matches!(error, GraphError::Database(DatabaseError::NewerSchema(9999))), "{error}");
    for _ in 0..2 {
        // The second time too: the first did not leave its lock behind.
        let error = store.writer(CHAIN, options(0)).await.unwrap_err();
        assert!(matches!(error, GraphError::Database(DatabaseError::NewerSchema(9999))), "{error}");
    }
}

/// Takes a graph back to what an earlier version recorded.
const WITHOUT_CLUSTERS: &str = "DELETE FROM _sqlx_migrations WHERE version > 1;
    DROP TABLE cluster_link; DROP TABLE cluster_confirmation";

fn is_outdated<T>(result: &Result<T, GraphError>) -> bool {
    matches!(result, Err(GraphError::Outdated(CHAIN)))
}

#[tokio::test]
async fn a_schema_without_clusters_is_refused_unless_it_has_no_blocks() {
    let url = PostgresServer::of_this_process().database();
    let store = in_database(&url).await;
    let chain = TestChain::generate(6, 0, 3);
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for has_blocks in [false, true] {
        let mut writer = writer(&store, 0).await;
        if has_blocks {
            append(&mut *writer, &chain.blocks, 3).await;
        }
        drop(writer);
        connection.execute("SET search_path TO chain_btc").await.unwrap();
        connection.execute(WITHOUT_CLUSTERS).await.unwrap();
        assert_eq!(is_outdated(&store.graph(CHAIN).await), has_blocks);
        assert_eq!(is_outdated(&store.writer(CHAIN, options(0)).await), has_blocks);
    }
}

#[tokio::test]
async fn two_programs_share_the_graphs_of_a_database() {
    let url = PostgresServer::of_this_process().database();
    let (one, other) = (in_database(&url).await, in_database(&url).await);
    let chain = TestChain::generate(3, 0, 5);
    let mut writer = writer(&one, 0).await;
    let busy = other.writer(CHAIN, options(0)).await.unwrap_err();
    assert!(matches!(busy, GraphError::Busy(CHAIN)), "{busy}");
    append(&mut *writer, &chain.blocks, 2).await;
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&other).await.fingerprint().await.unwrap(), right);
    let elsewhere = in_database(&PostgresServer::of_this_process().database()).await;
    assert!(elsewhere.writer(CHAIN, options(0)).await.is_ok(), "another database");
}

#[tokio::test]
async fn a_writer_without_its_connection_writes_no_more() {
    let url = PostgresServer::of_this_process().database();
    let store = in_database(&url).await;
    let chain = TestChain::generate(4, 0, 6);
    let mut lost = writer(&store, 0).await;
    append(&mut *lost, &chain.blocks[..3], 3).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let held = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks
                WHERE locktype = 'advisory' AND granted
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(connection.fetch_one(held).await.unwrap().get::<i64, _>(0), 1);

    let mut next = writer(&store, 0).await;
    let error = lost.append(&chain.blocks[3..4], 0, at(0)).await.unwrap_err();
    assert!(matches!(error, GraphError::Database(_)), "{error}");
    append(&mut *next, &chain.blocks[3..], 2).await;
    assert!(lost.append(&chain.blocks[3..4], 0, at(0)).await.is_err(), "and not later either");
    assert!(lost.verified(at(9)).await.is_err());
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&store).await.fingerprint().await.unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_during_writes_see_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let url = PostgresServer::of_this_process().database();
    let stores: [Arc<dyn GraphStore>; 2] =
        [Arc::new(in_folder(directory.path())), Arc::new(in_database(&url).await)];
    for store in stores {
        let chain = TestChain::generate(5, 0, 30);
        let mut states = vec![reference(&chain).fingerprint().await.unwrap()];
        for height in [25, 27] {
            let part = chain.fork(height, 0, 0);
            states.push(reference(&part).fingerprint().await.unwrap());
        }
        let mut writer = writer(&*store, 0).await;
        append(&mut *writer, &chain.blocks, 30).await;
        let reader = graph(&*store).await;
        let blocks = chain.blocks.clone();
        let (enough, mut stop) = tokio::sync::oneshot::channel();
        let writing = tokio::spawn(async move {
            let mut rounds = 0;
            while rounds < 10 || stop.try_recv().is_err() {
                writer.roll_back(25).await.unwrap();
                append(&mut *writer, &blocks[26..], 2).await;
                rounds += 1;
            }
        });
        for _ in 0..10 {
            let state = reader.fingerprint().await.unwrap();
            assert!(states.contains(&state), "neither before nor after a change");
        }
        enough.send(()).unwrap();
        writing.await.unwrap();
    }
}
