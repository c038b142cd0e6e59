//! The index of labels in a data directory: every program answers as if it had read all labels from the store, whatever
//! became of the file.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, Label, Tier},
    facts::Environment,
    score::Confidence,
    taxonomy::Category,
};
use assay_intel::IntelSnapshot;
use assay_store::{IntelStore, SqliteStore, intel::LabelImport};
use jiff::{Timestamp, civil::date};

/// Number of labels: enough for a file.
const LABELS: u64 = 600;

fn address(number: u64) -> CanonicalAddress {
    CanonicalAddress::parse(ChainId::ETH, &format!("0x{number:040x}")).unwrap()
}

/// Labels of as many addresses that an entity is said to control.
fn labels(entity: &str) -> Vec<AddressLabel> {
    let label = |number: u64| Label {
        category: Category::Exchange,
        tier: Tier::Community,
        confidence: Confidence::CERTAIN,
        source: "labels".parse().unwrap(),
        upstream: "labels".into(),
        entity: Some(entity.into()),
        author: None,
        term: None,
        cites_list: None,
        reason: None,
        reference: Some(format!("https://example.com/{number}").into()),
        valid_from: Some(date(2024, 1, 1)),
        valid_until: None,
    };
    (1..=LABELS)
        .map(|number| AddressLabel { address: address(number), label: label(number) })
        .collect()
}

async fn import(store: &SqliteStore, entity: &str) {
    import_labels(store, entity, labels(entity)).await;
}

async fn import_labels(store: &SqliteStore, entity: &str, labels: Vec<AddressLabel>) {
    let import = LabelImport {
        source: "labels".parse().unwrap(),
        sample: false,
        published_on: date(2026, 11, 20),
        digest: entity.to_owned(),
        format: "csv".into(),
        origin: "file".into(),
        fetched: None,
        labels,
        report: serde_json::Value::Null,
        planned_after: None,
        at: Timestamp::UNIX_EPOCH,
    };
    store.record_labels(&import).await.unwrap();
}

async fn store(folder: &Path) -> SqliteStore {
    let store = SqliteStore::open_or_create(folder, Environment::Production).await.unwrap();
    import(&store, "First Exchange").await;
    store
}

fn index_file(folder: &Path) -> PathBuf {
    folder.join("labels.index")
}

/// Number of the file: another one each time that it is written.
fn written(folder: &Path) -> u64 {
    fs::metadata(index_file(folder)).unwrap().ino()
}

/// Loads as a program does that starts, and fails if anything but the labels of `entity` is answered.
async fn expect_labels_of(store: &SqliteStore, entity: &str) -> IntelSnapshot {
    let snapshot = IntelSnapshot::load(store, None).await.unwrap();
    expect_answers(&snapshot, entity);
    snapshot
}

fn expect_answers(snapshot: &IntelSnapshot, entity: &str) {
    assert_eq!(u64::try_from(snapshot.labels().len()).unwrap(), LABELS);
    for AddressLabel { address, label } in labels(entity) {
        assert_eq!(*snapshot.facts(&address).labels, [label]);
    }
    assert!(!snapshot.labels().has_labels(&address(LABELS + 1)));
}

#[tokio::test]
async fn the_first_program_writes_the_index_and_the_next_one_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    expect_labels_of(&store, "First Exchange").await;
    let first = written(folder.path());
    expect_labels_of(&store, "First Exchange").await;
    assert_eq!(written(folder.path()), first, "it was written once");
}

#[tokio::test]
async fn an_import_makes_another_index_under_those_who_read_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let before = expect_labels_of(&store, "First Exchange").await;
    import(&store, "Second Exchange").await;
    let after = expect_labels_of(&store, "Second Exchange").await;
    assert_ne!(before.labels().revision(), after.labels().revision());
    expect_answers(&before, "First Exchange");
}

#[tokio::test]
async fn a_file_that_is_damaged_or_foreign_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    expect_labels_of(&store, "First Exchange").await;
    let file = index_file(folder.path());
    let whole = fs::read(&file).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let cut = |length: usize| whole[..length].to_vec();
    let damaged = [
        cut(0),
        cut(7),
        cut(100),
        cut(whole.len() / 2),
        cut(whole.len() - 1),
        [&whole[..], &[0]].concat(),
        flipped(0),
        flipped(9),
        flipped(60),
        flipped(whole.len() / 2),
        flipped(whole.len() - 1),
        vec![0; whole.len()],
        b"another file".to_vec(),
    ];
    for bytes in damaged {
        // Given a file with other bytes
        fs::remove_file(&file).unwrap();
        fs::write(&file, &bytes).unwrap();
        // When a program starts, then its answers are those of the store, and the file is whole again
        expect_labels_of(&store, "First Exchange").await;
        assert!(fs::read(&file).unwrap() == whole, "after {} bytes", bytes.len());
    }
}

#[tokio::test]
async fn an_index_of_another_store_is_not_used() {
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = store(folder.path()).await;
    let other =
        SqliteStore::open_or_create(other_folder.path(), Environment::Production).await.unwrap();
    import(&other, "Other Exchange").await;
    expect_labels_of(&store, "First Exchange").await;
    expect_labels_of(&other, "Other Exchange").await;
    fs::copy(index_file(other_folder.path()), index_file(folder.path())).unwrap();
    expect_labels_of(&store, "First Exchange").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_start_together_answer_alike() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let mut starts = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        starts.spawn(async move { expect_labels_of(&store, "First Exchange").await });
    }
    assert_eq!(starts.join_all().await.len(), 8);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_costs_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    fs::create_dir(index_file(folder.path())).unwrap();
    expect_labels_of(&store, "First Exchange").await;
}

#[tokio::test]
async fn labels_that_became_few_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    expect_labels_of(&store, "First Exchange").await;
    let few = labels("Second Exchange").into_iter().take(1).collect();
    import_labels(&store, "Second Exchange", few).await;
    let snapshot = IntelSnapshot::load(&store, None).await.unwrap();
    assert_eq!((snapshot.labels().len(), index_file(folder.path()).exists()), (1, false));
}

#[tokio::test]
async fn a_file_that_others_can_write_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    expect_labels_of(&store, "First Exchange").await;
    // Given a file that others can write
    let file = index_file(folder.path());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let first = written(folder.path());
    // When a program starts, then it reads the store, and writes a file of its own
    expect_labels_of(&store, "First Exchange").await;
    assert_ne!(written(folder.path()), first);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn few_labels_make_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let snapshot = IntelSnapshot::load(&store, None).await.unwrap();
    assert!(snapshot.labels().is_empty() && !index_file(folder.path()).exists());
}
