//! Imports of label feeds with made-up content in the publishers' structures: a checkout of TagPacks, the export of
//! Ransomwhere, and a set that states its date.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::{fs, path::Path, time::Duration};

use assay_engine::facts::Environment;
use assay_intel::{
    formats::{IntelKind, by_name},
    import::{ImportOutcome, ImportRequest, ImportedContent, ImportedLabels, import},
};
use assay_store::SqliteStore;
use jiff::{
    Timestamp,
    civil::{Date, date},
};

const BTC: &str = "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM";

async fn imported(format: &str, location: &Path, published_on: Option<Date>) -> ImportedLabels {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let mut request = ImportRequest::new(
        location.display().to_string(),
        by_name(IntelKind::Labels, format).unwrap(),
        "feed".parse().unwrap(),
        Duration::from_secs(1),
    );
    request.published_on = published_on;
    let outcome = import(&store, &request, now, || {}).await.unwrap();
    let again = import(&store, &request, now, || {}).await.unwrap();
    assert!(matches!(again, ImportOutcome::Unchanged { verified: true, .. }), "{again:?}");
    let ImportOutcome::Imported(ImportedContent::Labels(imported)) = outcome else {
        panic!("{outcome:?}")
    };
    imported
}

#[tokio::test]
async fn a_checkout_of_tagpacks_is_read_with_its_other_files_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path();
    fs::create_dir_all(checkout.join("packs/sub")).unwrap();
    fs::create_dir_all(checkout.join(".git")).unwrap();
    let pack = format!(
        "title: t\ncreator: c\nlastmod: 2024-02-26\ncurrency: BTC\nlabel: x\nsource: https://example.org\n\
         tags:\n- address: {BTC}\n  category: exchange\n"
    );
    fs::write(checkout.join("packs/sub/one.yaml"), pack).unwrap();
    fs::write(checkout.join("packs/config.yaml"), "baseURI: https://example.org\n").unwrap();
    fs::write(checkout.join(".git/x.yaml"), "{").unwrap();

    let imported = imported("tagpack", checkout, None).await;

    assert_eq!((imported.files, imported.labels), (2, 1));
    assert_eq!(imported.published_on, date(2024, 2, 26));
    assert_eq!(imported.rejected[0].to_string(), "config.yaml: left out: it has no list of `tags`");
}

#[tokio::test]
async fn the_export_of_ransomwhere_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export");
    fs::write(
        &file,
        format!(
            r#"{{"result": [
            {{"address": "{BTC}", "balance": 5, "blockchain": "bitcoin", "createdAt": "2021-07-02T00:00:00Z",
              "updatedAt": "2024-03-04T10:00:00.123Z", "family": "Example", "balanceUSD": 1.5}},
            {{"address": "nonsense", "blockchain": "bitcoin", "family": "Example"}},
            {{"address": "x", "blockchain": "unheard-of", "family": "Example"}}]}}"#
        ),
    )
    .unwrap();

    let imported = imported("ransomware-json", &file, None).await;

    assert_eq!((imported.labels, imported.rejected.len()), (1, 1));
    assert_eq!(imported.unsupported["unheard-of"], 1);
    assert_eq!(imported.published_on, date(2024, 3, 4), "the day of the set, not of the import");
}

#[tokio::test]
async fn a_set_without_a_day_takes_that_of_the_import_or_the_one_that_is_stated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("etherscan.json");
    let text = r#"{"0x189f40034be7a199f1fa9891668ee3ab6049f82d": {"name": "Example", "labels": ["exchange"]}}"#;
    fs::write(&file, text).unwrap();

    let stated = imported("explorer", &file, Some(date(2023, 5, 6))).await;
    let unstated = imported("explorer", &file, None).await;

    assert_eq!(stated.published_on, date(2023, 5, 6));
    assert_eq!(unstated.published_on, date(2026, 11, 20));
}
