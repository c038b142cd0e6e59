//! Many programs, of more than one version, on one database.

use std::sync::Arc;

use assay_database::DatabaseError;
use assay_engine::facts::Environment;
use assay_store::{ControlStore, PostgresStore, Store, StoreError};
use assay_test_servers::PostgresServer;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tokio::sync::Barrier;

use super::{PATIENCE, key};
use crate::contract::check_rules::found_before_and_after;

async fn open_or_create(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_or_create(url, Environment::Production).await
}

/// A migration of a future program, with its compatibility record.
async fn migrate_to_the_future(url: &str, version: i64, says: Option<(&str, i64)>) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let note = says.map_or_else(String::new, |(kind, compatible_from)| {
        format!("INSERT INTO schema_versions VALUES ({version}, '{kind}', {compatible_from})")
    });
    let statements = format!(
        "ALTER TABLE installation ADD future_{version} text;
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({version}, 'from the future', TRUE, '\\x00', 0);
         {note}"
    );
    connection.execute(AssertSqlSafe(statements)).await.unwrap();
}

async fn newest(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.fetch_one("SELECT max(version) FROM _sqlx_migrations").await.unwrap().get(0)
}

async fn oldest(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.fetch_one("SELECT min(version) FROM _sqlx_migrations").await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_replicas_that_start_at_once_make_one_store() {
    for url in [
        PostgresServer::shared_by_process().database(),
        PostgresServer::shared_by_process().owned_database(),
    ] {
        let together = Arc::new(Barrier::new(10));
        let tasks: Vec<_> = (0..10)
            .map(|number| {
                let (url, together) = (url.clone(), Arc::clone(&together));
                tokio::spawn(async move {
                    together.wait().await;
                    let store = open_or_create(&url).await?;
                    store.add_key(&key(number, "acme"), None).await?;
                    store.revisions().await
                })
            })
            .collect();
        for task in tasks {
            tokio::time::timeout(2 * PATIENCE, task).await.unwrap().unwrap().unwrap();
        }
        let store = open_or_create(&url).await.unwrap();
        assert_eq!(store.control().await.unwrap().keys.len(), 10);
    }
}

#[tokio::test]
async fn every_migration_states_its_compatibility() {
    let url = PostgresServer::shared_by_process().database();
    open_or_create(&url).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let silent = "SELECT count(*) FROM _sqlx_migrations FULL JOIN schema_versions USING (version)
                  WHERE compatible_from IS NULL OR description IS NULL";
    assert_eq!(connection.fetch_one(silent).await.unwrap().get::<i64, _>(0), 0);
}

#[tokio::test]
async fn checks_from_before_the_search_are_found() {
    // Given checks that were kept before there were tables for the search.
    let url = PostgresServer::shared_by_process().database();
    let open = async || open_or_create(&url).await.unwrap();
    let undo = async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let undone = "DROP TABLE check_summaries, check_rules;
                      DELETE FROM _sqlx_migrations WHERE version = 17;
                      DELETE FROM schema_versions WHERE version = 17";
        connection.execute(undone).await.unwrap();
    };
    // When the schema is migrated, then they are found as they would have been.
    let [before, after] = found_before_and_after(open().await, undo, open).await;
    assert!(before.iter().all(|found| !found.is_empty()));
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_newer_schema_that_only_expands_is_used() {
    let url = PostgresServer::shared_by_process().database();
    open_or_create(&url).await.unwrap().close().await;
    let known = newest(&url).await;
    migrate_to_the_future(&url, known + 1, Some(("expand", known))).await;
    migrate_to_the_future(&url, known + 2, Some(("expand", 1))).await;
    let store = open_or_create(&url).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    let reader = PostgresStore::open(&url).await.unwrap();
    assert_eq!(reader.revisions().await.unwrap().control, 1);
    assert_eq!(newest(&url).await, known + 2, "what is newer stays");
}

#[tokio::test]
async fn a_newer_schema_that_takes_something_away_is_refused() {
    for says in [Some("contract"), None] {
        let url = PostgresServer::shared_by_process().database();
        open_or_create(&url).await.unwrap().close().await;
        let known = newest(&url).await;
        migrate_to_the_future(&url, known + 1, Some(("expand", known))).await;
        migrate_to_the_future(&url, known + 2, says.map(|kind| (kind, known + 1))).await;
        for opened in [open_or_create(&url).await, PostgresStore::open(&url).await] {
            let error = opened.unwrap_err();
            assert!(
                matches!(error, StoreError::Database(DatabaseError::NewerSchema(v)) if v == known + 2),
                "{error}"
            );
            let text = error.to_string();
            assert!(text.contains("cannot work") && text.contains("newer one"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_program_without_the_right_to_migrate_names_the_command() {
    let server = PostgresServer::shared_by_process();
    let url = server.database();
    let (_, name) = url.rsplit_once('/').unwrap();
    let login = server.login(&url, &format!("nobody_{name}"), "");
    let error = open_or_create(&login).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::MayNotMigrate)), "{error}");
    assert!(error.to_string().contains("assay migrate"), "{error}");
}

#[tokio::test]
async fn a_schema_that_was_built_step_by_step_is_taken_over_at_its_newest_version_alone() {
    let url = PostgresServer::shared_by_process().database();
    open_or_create(&url).await.unwrap().close().await;
    let oldest = oldest(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let steps = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         SELECT version, 'step', TRUE, '\\x00', 0 FROM generate_series(1, {oldest} - 1) AS version;
         UPDATE _sqlx_migrations SET checksum = '\\x00';
         INSERT INTO schema_versions
         SELECT version, 'expand', 1 FROM generate_series(1, {oldest} - 1) AS version"
    );
    connection.execute(AssertSqlSafe(steps)).await.unwrap();
    let store = open_or_create(&url).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    store.close().await;
    let last = format!("DELETE FROM _sqlx_migrations WHERE version >= {oldest}");
    connection.execute(AssertSqlSafe(last)).await.unwrap();
    for opened in [open_or_create(&url).await, PostgresStore::open(&url).await] {
        let error = opened.unwrap_err();
        assert!(
            matches!(error, StoreError::Database(DatabaseError::OlderSchema { found, .. }) if found == oldest - 1),
            "{error}"
        );
    }
}
