//! Tests of the embedded backend alone: its file.

use std::path::Path;

use assay_database::DatabaseError;
use assay_engine::facts::Environment;
use assay_store::{SqliteStore, Store, StoreError};
use sqlx::{Connection, SqliteConnection};

use crate::contract::check_rules::found_before_and_after;

#[tokio::test]
async fn reading_does_not_make_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(directory.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing(_)));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_store_keeps_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let nested = directory.path().join("a/b");
    let store = SqliteStore::open_or_create(&nested, Environment::Sample).await.unwrap();
    store.close().await;
    let store = SqliteStore::open_or_create(&nested, Environment::Production).await.unwrap();
    assert_eq!(store.environment().await.unwrap(), Environment::Sample);
}

/// Changes the list of the migrations that a store has had.
async fn change_migrations(directory: &Path, sql: &'static str) {
    let url = format!("sqlite://{}", directory.join("assay.sqlite").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_schema_newer_than_the_program_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let create = || SqliteStore::open_or_create(directory.path(), Environment::Production);
    create().await.unwrap().close().await;
    change_migrations(
        directory.path(),
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'from the future', TRUE, x'00', 0)",
    )
    .await;
    let error = create().await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::NewerSchema(9999))), "{error}");
}

#[tokio::test]
async fn a_schema_that_was_built_step_by_step_is_taken_over_at_its_newest_version_alone() {
    let directory = tempfile::tempdir().unwrap();
    let create = || SqliteStore::open_or_create(directory.path(), Environment::Production);
    create().await.unwrap().close().await;
    change_migrations(
        directory.path(),
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (1, 'step', TRUE, x'00', 0), (8, 'step', TRUE, x'00', 0)
         ON CONFLICT DO NOTHING;
         UPDATE _sqlx_migrations SET checksum = x'00'",
    )
    .await;
    let store = create().await.unwrap();
    assert_eq!(store.revisions().await.unwrap().control, 0);
    store.close().await;
    change_migrations(directory.path(), "DELETE FROM _sqlx_migrations WHERE version > 8").await;
    for opened in [create().await, SqliteStore::open(directory.path()).await] {
        let error = opened.unwrap_err();
        assert!(
            matches!(error, StoreError::Database(DatabaseError::OlderSchema { found: 8, .. })),
            "{error}"
        );
    }
}

#[tokio::test]
async fn checks_from_before_the_search_are_found() {
    // Given checks that were kept before there were tables for the search.
    let directory = tempfile::tempdir().unwrap();
    let open = async || {
        SqliteStore::open_or_create(directory.path(), Environment::Production).await.unwrap()
    };
    let undo = async || {
        change_migrations(
            directory.path(),
            "DROP TABLE check_summaries; DROP TABLE check_rules;
             DELETE FROM _sqlx_migrations WHERE version = 12",
        )
        .await;
    };
    // When the schema is migrated, then they are found as they would have been.
    let [before, after] = found_before_and_after(open().await, undo, open).await;
    assert!(before.iter().all(|found| !found.is_empty()));
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("assay.sqlite"), "not a database at all, but long enough")
        .unwrap();
    assert!(SqliteStore::open(directory.path()).await.is_err());
}
