//! Tests of the embedded backend alone: its file.

use assay_database::DatabaseError;
use assay_engine::facts::Environment;
use assay_store::{SqliteStore, Store, StoreError};
use sqlx::{Connection, SqliteConnection};

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

#[tokio::test]
async fn a_schema_newer_than_the_program_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let create = || SqliteStore::open_or_create(directory.path(), Environment::Production);
    create().await.unwrap().close().await;
    let url = format!("sqlite://{}", directory.path().join("assay.sqlite").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'from the future', TRUE, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let error = create().await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::NewerSchema(9999))), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("assay.sqlite"), "not a database at all, but long enough")
        .unwrap();
    assert!(SqliteStore::open(directory.path()).await.is_err());
}
