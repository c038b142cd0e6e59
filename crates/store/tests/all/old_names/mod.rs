//! Databases that the program made before public names changed: their rows are read in the new words.

use std::sync::Arc;

use assay_engine::{evidence::Tier, facts::Environment};
use assay_store::{PostgresStore, SqliteStore, Store, control::ManifestRecord, intel::LabelFilter};
use assay_test_servers::PostgresServer;
use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

#[tokio::test]
async fn an_older_embedded_database_is_read_under_the_new_names() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("assay.sqlite");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    connection.execute(include_str!("sqlite.sql")).await.unwrap();
    connection.close().await.unwrap();
    let store = SqliteStore::open_or_create(directory.path(), Environment::Production).await;
    expect_new_words(&store.unwrap(), "01a205c3-0570-7a98-951a-8ee8950cd7a1").await;
}

#[tokio::test]
async fn an_older_shared_database_is_read_under_the_new_names() {
    let url = PostgresServer::of_this_process().database();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection.execute(include_str!("postgres.sql")).await.unwrap();
    connection.close().await.unwrap();
    let store = PostgresStore::open_or_create(&url, Environment::Production).await;
    expect_new_words(&store.unwrap(), "01a205c2-e93a-756d-a572-236f8ef49fd0").await;
}

async fn expect_new_words(store: &dyn Store, kept: &str) {
    let manifests = store.control().await.unwrap().manifests;
    let spec = |name: &str| {
        let found = manifests.iter().find(|manifest| manifest.name.as_str() == name);
        found.unwrap().spec.clone()
    };
    assert_eq!(
        spec("gold"),
        json!({
            "displayName": "Gold \"floorShare\": x", "apiAccess": true, "maxScreenRows": 500,
            "onTokenStoreLoss": "refuse", "fallbackShare": 20,
            "trace": {"hops": 4},
            "limits": [{"name": "burst", "requests": 10, "window": "1s", "counts": "requests"}],
        })
    );
    assert_eq!(
        spec("strict"),
        json!({
            "severities": {"mixer": 80}, "tierCaps": {"behavior": 40},
            "lists": {"own-list": "blocking", "other-list": "advisory"},
            "mandatorySources": [{"name": "own-list", "maximumAgeHours": 80000}],
            "rules": [{
                "id": "severe_category_exposure",
                "description": "Exposure to sanctions or severe-crime categories",
                "severityFrom": 85, "shareFrom": "20%",
            }],
            "amounts": {"BTC": {
                "curve": [{"amount": "0.1", "score": 25}, {"amount": 1, "score": 50}],
                "unsolicitedUpTo": "0.01", "stopTraceBelow": "0.005",
            }},
            "trace": {"hops": 5, "stopBelowShareMillionths": 2000},
        })
    );
    let default = spec("default");
    assert_eq!((default.get("minimumScoreRules"), default.get("rules")), (None, None));
    assert_eq!(spec("node")["fetchTimeout"], "3s");
    assert_eq!(spec("node")["allowTestNetwork"], true);
    assert_eq!(spec("gone")["deletedAt"], "2026-11-01T00:00:00Z");
    let parse = |record: ManifestRecord| {
        let manifest = record.parse();
        (manifest.key(), Arc::new(manifest))
    };
    let manifests = manifests.into_iter().map(parse).collect();
    let directory = assay_manifests::resolve_manifests(&manifests).unwrap();
    assert_eq!(directory.tenants["acme"].plan.fallback_share, 20);

    let intel = store.intel(None).await.unwrap();
    assert_eq!(intel.listings[0].entry.entity.programs, ["CYBER2", "SDNTK"]);
    let mut tiers = Vec::new();
    let mut each = |recorded: assay_store::intel::RecordedLabel| {
        tiers.push(recorded.label.label.tier);
    };
    store.labels(&LabelFilter::default(), &mut each).await.unwrap();
    tiers.sort();
    assert_eq!(tiers, [Tier::OnChainProof, Tier::Investigation, Tier::Behavior]);

    let answer = store.kept_check(&"acme".parse().unwrap(), kept).await.unwrap().unwrap().answer;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["final"], true, "an answer is shown as it was given");
}
