//! Tests of the shared backend alone: its server, and other programs that use it at the same time.

use std::{pin::pin, sync::Arc, time::Duration};

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_database::DatabaseError;
use assay_engine::{evidence::AddressLabel, facts::Environment, taxonomy::Category};
use assay_store::{
    ControlStore, IntelStore, PostgresStore, Store, StoreError, UsageStore,
    intel::{LabelChange, LabelRequest},
    usage::UsageCount,
};
use assay_tenancy::Name;
use assay_test_servers::PostgresServer;
use futures_util::future::poll_immediate;
use jiff::civil::date;
use sqlx::{Connection, Executor, PgConnection, Row};

use super::{
    at, batch, charged, import, import_first, key, label, labels, labels_of, ofac, plan, read,
    reference,
};

async fn open_or_create(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_or_create(url, Environment::Production).await
}

/// Two programs with a store each, on one new database.
async fn two() -> [Arc<PostgresStore>; 2] {
    let url = PostgresServer::shared_by_process().database();
    [
        Arc::new(open_or_create(&url).await.unwrap()),
        Arc::new(PostgresStore::open(&url).await.unwrap()),
    ]
}

async fn is_empty(url: &str) -> bool {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let query = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let tables: i64 = connection.fetch_one(query).await.unwrap().get(0);
    tables == 0
}

#[tokio::test]
async fn reading_does_not_make_a_store() {
    let url = PostgresServer::shared_by_process().database();
    let error = PostgresStore::open(&url).await.unwrap_err();
    assert!(matches!(error, StoreError::Empty(_)), "{error}");
    assert!(is_empty(&url).await);
}

#[tokio::test]
async fn a_store_keeps_its_kind() {
    let url = PostgresServer::shared_by_process().database();
    let store = PostgresStore::open_or_create(&url, Environment::Sample).await.unwrap();
    store.close().await;
    let store = open_or_create(&url).await.unwrap();
    assert_eq!(store.environment().await.unwrap(), Environment::Sample);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_belongs_to_the_instance_that_claims_it_first() {
    let stores = two().await;
    let names = ["one", "other"].map(|name| name.parse::<Name>().unwrap());
    let claims =
        tokio::join!(stores[0].claim_instance(&names[0]), stores[1].claim_instance(&names[1]));
    let owner = claims.0.unwrap();
    assert_eq!(claims.1.unwrap(), owner, "both programs name the same owner");
    assert!(names.contains(&owner), "{owner}");
    for (store, name) in stores.iter().zip(&names) {
        assert_eq!(store.claim_instance(name).await.unwrap(), owner, "it stays the owner");
        assert_eq!(store.revisions().await.unwrap().control, 0, "no server reads anything anew");
    }
}

#[tokio::test]
async fn a_schema_newer_than_the_program_is_refused() {
    let url = PostgresServer::shared_by_process().database();
    open_or_create(&url).await.unwrap().close().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'from the future', TRUE, '\\x00', 0)",
        )
        .await
        .unwrap();
    for _ in 0..2 {
        // The second time too: the first did not leave its lock behind.
        let opened = tokio::time::timeout(Duration::from_secs(20), open_or_create(&url)).await;
        let error = opened.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Database(DatabaseError::NewerSchema(9999))), "{error}");
    }
    let error = PostgresStore::open(&url).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::NewerSchema(9999))), "{error}");
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_name_is_refused() {
    let options = "ENCODING 'LATIN1' LOCALE 'C'";
    let url = PostgresServer::shared_by_process().database_with(options);
    let error = open_or_create(&url).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::Unsuitable { .. })), "{error}");
    assert!(error.to_string().contains("LATIN1"));
    assert!(is_empty(&url).await);
}

#[tokio::test]
async fn no_error_contains_the_password() {
    let server = PostgresServer::shared_by_process();
    let good = server.database();
    let store = open_or_create(&good).await.unwrap();
    let (credentials, _) = good.rsplit_once('@').unwrap();
    let mut told = vec![format!("{store:?}")];
    for url in [
        server.url("no-such-database"),
        good.replace("assay:", "nobody:"),
        good.replace("s3%2F", "s3%2Fwrong-"),
        format!("{credentials}@127.0.0.1:1/assay"),
        good.replace("127.0.0.1", "no-such-host.invalid"),
    ] {
        let error = open_or_create(&url).await.unwrap_err();
        assert!(matches!(error, StoreError::Database(DatabaseError::Connect { .. })), "{error}");
        told.extend([error.to_string(), format!("{error:?}")]);
    }
    let error = open_or_create(&good.replace("%2F", "/")).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::InvalidUrl(_))), "{error}");
    told.extend([error.to_string(), format!("{error:?}")]);
    for text in told {
        for secret in [PostgresServer::PASSWORD, "s3", "cr@t", "cr%40t"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn an_error_names_the_server_and_the_database() {
    let url = PostgresServer::shared_by_process().url("no-such-database");
    let text = open_or_create(&url).await.unwrap_err().to_string();
    assert!(text.contains("127.0.0.1:") && text.contains("/no-such-database"), "{text}");
    assert!(text.contains("does not exist"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_start_at_once_make_one_store() {
    let url = PostgresServer::shared_by_process().database();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open_or_create(&url).await })
        })
        .collect();
    for task in tasks {
        let store = task.await.unwrap().unwrap();
        assert_eq!(store.revisions().await.unwrap().control, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_imports_planned_on_one_state_one_is_recorded() {
    let stores = two().await;
    import_first(&*stores[0]).await;
    for round in 0..5 {
        let generation = stores[1].source_history(&ofac()).await.unwrap().generation;
        let tasks = [0, 1].map(|program| {
            let store = Arc::clone(&stores[program]);
            let second = reference(date(2025, 4, 1 + round), 1 + u32::try_from(round).unwrap());
            let import = import(generation, second, vec![], vec![]);
            tokio::spawn(async move { store.record_publication(import).await })
        });
        let mut conflicts = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(()) => {}
                Err(StoreError::Conflict) => conflicts += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(conflicts, 1);
        let after = stores[0].source_history(&ofac()).await.unwrap();
        assert_eq!(after.generation, generation + 1);
    }
    assert_eq!(stores[1].source_history(&ofac()).await.unwrap().history.publications.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_resolved_on_one_state_are_stored_once() {
    let stores = two().await;
    for revision in 0..10 {
        let tasks = [0, 1, 2, 3].map(|number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            let manifests = [plan("a", &number.to_string()), plan("b", &number.to_string())];
            tokio::spawn(async move { store.put_manifests(&manifests, &[], revision, at(0)).await })
        });
        let mut successes = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(()) => successes += 1,
                Err(StoreError::Conflict) => {}
                Err(other) => panic!("{other}"),
            }
        }
        let control = stores[0].control().await.unwrap();
        assert_eq!((successes, control.manifests_revision), (1, revision + 1));
        assert_eq!(control.manifests[0].spec, control.manifests[1].spec, "of one writer");
    }
}

#[tokio::test]
async fn a_change_by_an_older_program_moves_both_revisions() {
    let url = PostgresServer::shared_by_process().database();
    let store = open_or_create(&url).await.unwrap();
    store.add_key(&key(1), None).await.unwrap();
    let before = store.revisions().await.unwrap();
    let mut older = PgConnection::connect(&url).await.unwrap();
    older.execute("UPDATE installation SET control_revision = control_revision + 1").await.unwrap();
    let after = store.revisions().await.unwrap();
    assert_eq!((after.manifests, after.keys), (before.manifests + 1, before.keys + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_imported_by_two_programs_end_as_those_of_the_last() {
    let stores = two().await;
    let numbered: Vec<_> = (0..40).map(label_of).collect();
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            let store = Arc::clone(&stores[number % 2]);
            let some = numbered[number * 5..number * 5 + 10].to_vec();
            let import = labels(&format!("digest-{number}"), some, 0);
            tokio::spawn(async move { store.record_labels(&import).await })
        })
        .collect();
    let mut sum = 0_i64;
    for task in tasks {
        let LabelChange { added, removed, .. } = task.await.unwrap().unwrap().unwrap();
        sum += i64::try_from(added).unwrap() - i64::try_from(removed).unwrap();
    }
    let standing = labels_of(&*stores[0]).await;
    assert_eq!((standing.len(), sum), (10, 10), "no label twice, none of an import before");
    let intel = read(&*stores[1]).await;
    assert_eq!((intel.generation, intel.label_generation), (6, 6));
    assert_eq!(intel.sources[0].publications.len(), 6);
}

fn label_of(number: u8) -> AddressLabel {
    let payload = Payload::Account([number; 20]);
    let address = CanonicalAddress::from_payload(ChainId::ETH, payload).unwrap();
    label(&address, Category::Exchange)
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_programs_add_up_in_any_order() {
    let stores = two().await;
    for number in 0..4 {
        stores[0].add_key(&key(number), None).await.unwrap();
    }
    let tasks: Vec<_> = (0..40)
        .map(|number: i64| {
            let store = Arc::clone(&stores[usize::try_from(number % 2).unwrap()]);
            let mut counts: Vec<_> = (1..=9)
                .map(|day| UsageCount { charged: charged("a", day, "allow"), count: 1 })
                .collect();
            let mut used: Vec<_> = (0..4).map(|id| (key(id).id, at(number))).collect();
            // Opposite orders, and something twice, as they come out of each program's memory.
            counts.push(counts[0].clone());
            if number % 2 == 0 {
                counts.reverse();
                used.reverse();
            }
            tokio::spawn(async move {
                store.add_usage(&batch(&counts)).await?;
                store.record_key_use(&used).await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let counts = stores[1].usage(None, date(2026, 1, 1), date(2026, 1, 9)).await.unwrap();
    let counts: Vec<u64> = counts.iter().map(|count| count.count).collect();
    assert_eq!(counts, [80, 40, 40, 40, 40, 40, 40, 40, 40]);
    let keys = stores[1].control().await.unwrap().keys;
    assert!(keys.iter().all(|key| key.last_used_at == Some(at(39))));
}

/// Number of connections to the database of `connection` that wait inside a transaction.
async fn idle_in_transaction(connection: &mut PgConnection) -> i64 {
    let query = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND state LIKE 'idle in transaction%'";
    connection.fetch_one(query).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_dropped_at_any_step_leaves_no_transaction_open() {
    let url = PostgresServer::shared_by_process().database();
    let store = open_or_create(&url).await.unwrap();
    store.add_key(&key(1), None).await.unwrap();
    let mut other = PgConnection::connect(&url).await.unwrap();
    let batch = batch(&[UsageCount { charged: charged("a", 1, "allow"), count: 1 }]);
    for steps in 1..25 {
        // Given a write whose caller stops waiting at any moment
        {
            let mut writing = pin!(store.add_usage(&batch));
            for _ in 0..steps {
                if poll_immediate(&mut writing).await.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        // Then its transaction ends,
        let mut open = idle_in_transaction(&mut other).await;
        for _ in 0..100 {
            if open == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            open = idle_in_transaction(&mut other).await;
        }
        assert_eq!(open, 0, "after {steps} steps");
        // and what is written next is there for everybody.
        store.record_key_use(&[(key(1).id, at(steps))]).await.unwrap();
        let written = other.fetch_one("SELECT max(last_used_at) FROM api_keys").await.unwrap();
        assert_eq!(written.get::<Option<i64>, _>(0), Some(at(steps).as_millisecond()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_does_not_wait_for_an_import() {
    let url = PostgresServer::shared_by_process().database();
    let store = open_or_create(&url).await.unwrap();
    store.add_key(&key(1), None).await.unwrap();
    // Another program in the middle of a change.
    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut change = other.begin().await.unwrap();
    change.execute("SELECT FROM installation FOR UPDATE").await.unwrap();
    let count = UsageCount { charged: charged("a", 1, "allow"), count: 1 };
    let work = async {
        store.add_usage(&batch(&[count])).await?;
        store.record_key_use(&[(key(1).id, at(1))]).await?;
        read(&store).await;
        store.control().await
    };
    let control = tokio::time::timeout(Duration::from_secs(10), work).await.unwrap().unwrap();
    assert_eq!(control.keys[0].last_used_at, Some(at(1)));
    change.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_read_sees_one_state() {
    let [writer, reader] = two().await;
    // The import of each generation holds as many labels.
    let writing = tokio::spawn(async move {
        for number in 1..=40_u8 {
            let some = (0..number).map(label_of).collect();
            writer.record_labels(&labels(&format!("{number}"), some, 0)).await.unwrap();
        }
    });
    let mut states = 0;
    loop {
        let mut count = 0;
        let intel = reader
            .intel(Some(LabelRequest { is_known: &mut |_| false, each: &mut |_| count += 1 }), None)
            .await
            .unwrap();
        assert_eq!(intel.label_generation, count);
        let entries = intel.sources.first().map_or(0, |source| source.publications.len() as u64);
        assert_eq!(entries, count);
        states += 1;
        if count == 40 {
            break;
        }
    }
    writing.await.unwrap();
    assert!(states > 2, "the reader came too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_is_survived() {
    let server = PostgresServer::start();
    let url = server.database();
    let store = open_or_create(&url).await.unwrap();
    import_first(&store).await;
    let before = store.revisions().await.unwrap();
    // Several connections of the pool, all of which the server closes.
    let (one, other) = tokio::join!(store.control(), store.suppressions());
    assert!(one.is_ok() && other.is_ok());
    server.restart();
    assert_eq!(store.revisions().await.unwrap(), before);
    store.add_key(&key(1), None).await.unwrap();
    assert_eq!(read(&store).await.listings.len(), 3);
}
