//! Rules that every backend must keep. A backend is added by one line at the end.

pub(crate) mod check_rules;
mod idempotency_rules;
mod job_rules;
mod label_rules;
mod postgres_server;
mod price_rules;
mod receiver_rules;
mod record_rules;
mod session_rules;

use std::sync::Arc;

use assay_address::{CanonicalAddress, ChainId, KeyIdentity, Payload};
use assay_engine::{
    evidence::{
        AddressLabel, Alias, Label, ListedEntity, ListingEntry, SourceKind, Tier,
        history::{Presence, PublicationRef},
    },
    facts::{AccountControl, Environment},
    names::SourceId,
    score::Confidence,
    taxonomy::Category,
};
use assay_intel::IntelSnapshot;
use assay_store::{
    Store, StoreError,
    control::{KeyRecord, ManifestRecord},
    fetched::{FetchedKind, FetchedRecord},
    intel::{
        FetchConditions, Intel, LabelChange, LabelFilter, LabelImport, LabelRequest,
        PublicationImport, PublicationRecord, RecordedLabel, Suppression,
    },
    usage::{ChargeKey, KeptCheck, Operation, Purge, PurgeCounts, UsageBatch, UsageCount},
};
use assay_tenancy::{
    Name,
    key::{ApiKey, KeyEnvironment, KeyId, Scope},
    manifest::Kind,
};
use jiff::{
    Timestamp,
    civil::{Date, date},
};
use serde_json::json;

use check_rules::*;
use idempotency_rules::*;
use job_rules::*;
use label_rules::*;
use price_rules::*;
use receiver_rules::*;
use record_rules::*;
use session_rules::*;

fn at(minute: i64) -> Timestamp {
    "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_mins(minute)
}

fn ofac() -> SourceId {
    "ofac-sdn".parse().unwrap()
}

fn entry(code: &str, address: &str) -> ListingEntry {
    ListingEntry {
        list: "ofac-sdn".parse().unwrap(),
        list_name: "OFAC SDN List".into(),
        entity: ListedEntity {
            id: "25308".into(),
            name: "DOE, Jane".into(),
            aliases: vec![Alias { name: "Ünï".into(), kind: "A.K.A.".into(), weak: true }],
            programs: vec!["SDNTK".into()],
            remarks: Some("a remark".into()),
            listed_on: Some(date(2019, 8, 21)),
            ..ListedEntity::default()
        }
        .into(),
        asset_code: code.into(),
        address_as_published: address.into(),
        address_remarks: None,
        expires_on: Some(date(2030, 1, 1)),
    }
}

fn reference(published_on: Date, ordinal: u32) -> PublicationRef {
    PublicationRef { published_on, ordinal }
}

/// An import planned at `generation`, as the newest publication.
fn import(
    generation: u64,
    publication: PublicationRef,
    ended: Vec<i64>,
    begun: Vec<(ListingEntry, Presence)>,
) -> PublicationImport {
    PublicationImport {
        planned_at_generation: generation,
        source: ofac(),
        sample: false,
        publication: PublicationRecord {
            reference: publication,
            digest: format!("digest-{}", publication.ordinal),
            file_digest: "file".into(),
            format: "ofac-advanced".into(),
            origin: "list.xml".into(),
            entries: u64::try_from(begun.len()).unwrap(),
            report: json!({"added": begun.len()}),
        },
        newest: true,
        ended,
        begun,
        fetched: None,
        at: at(i64::from(publication.ordinal)),
    }
}

async fn import_first(store: &dyn Store) {
    let first = reference(date(2025, 3, 4), 0);
    let open = Presence { from: first, until: None };
    let begun = vec![
        (entry("XBT", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"), open),
        (entry("ETH", "0x931546D9e66836AbF687d2bc64B30407bAc8C568"), open),
        (entry("KDA", "UQB-ejjqwZvzd8m7fcZbPTofsRbGbuw96bQ190Lgi198e1Gl"), open),
    ];
    let generation = store.source_history(&ofac()).await.unwrap().generation;
    store.record_publication(import(generation, first, vec![], begun)).await.unwrap();
}

/// The second publication drops the ETH address.
async fn import_second(store: &dyn Store) {
    let known = store.source_history(&ofac()).await.unwrap();
    let (first, second) = (reference(date(2025, 3, 4), 0), reference(date(2025, 3, 21), 1));
    let eth = known.history.listings.iter().find(|row| row.entry.asset_code == "ETH").unwrap();
    let ended = Presence { from: first, until: Some(second) };
    let begun = vec![(eth.entry.clone(), ended)];
    let import = import(known.generation, second, vec![eth.id], begun);
    store.record_publication(import).await.unwrap();
}

async fn a_new_store_is_empty(store: Arc<dyn Store>) {
    assert_eq!(store.environment().await.unwrap(), Environment::Production);
    let intel = read(&*store).await;
    assert_eq!((intel.generation, intel.data_revision.as_str()), (0, "0-empty"));
    assert!(
        intel.sources.is_empty()
            && intel.listings.is_empty()
            && labels_of(&*store).await.is_empty()
    );
    let control = store.control().await.unwrap();
    assert!(
        control.manifests_revision == 0 && control.manifests.is_empty() && control.keys.is_empty()
    );
}

async fn a_publication_reads_back_as_it_was_recorded(store: Arc<dyn Store>) {
    import_first(&*store).await;
    let intel = read(&*store).await;
    assert_eq!(intel.listings.len(), 3);
    let listing = intel.listings.iter().find(|l| l.entry.asset_code == "XBT").unwrap();
    assert_eq!(listing.entry, entry("XBT", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"));
    assert_eq!(listing.listed_on, None, "the first publication known says nothing about before");
    let source = &intel.sources[0];
    assert_eq!(
        (source.kind, &source.publications),
        (SourceKind::Sanctions, &vec![date(2025, 3, 4)])
    );
    assert_eq!((source.digest.as_str(), source.entries), ("digest-0", 3));
    assert_eq!(source.fetched_at, at(0));
    assert_eq!(source.lists, ["ofac-sdn".parse().unwrap()]);
}

async fn what_is_dropped_ends_and_stays_in_the_history(store: Arc<dyn Store>) {
    import_first(&*store).await;
    import_second(&*store).await;
    let intel = read(&*store).await;
    assert_eq!(intel.listings.len(), 3);
    let eth = intel.listings.iter().find(|l| l.entry.asset_code == "ETH").unwrap();
    assert_eq!(eth.delisted_on, Some(date(2025, 3, 21)));
    let known = store.source_history(&ofac()).await.unwrap();
    assert_eq!(known.history.publications.len(), 2);
    assert_eq!(known.history.listings.len(), 3, "a replaced row is history, not knowledge");
    assert!(intel.data_revision.starts_with("2-"));
}

async fn an_import_planned_against_old_data_changes_nothing(store: Arc<dyn Store>) {
    import_first(&*store).await;
    let before = store.revisions().await.unwrap();
    let late = import(0, reference(date(2025, 3, 21), 1), vec![1], vec![]);
    let error = store.record_publication(late).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict));
    assert_eq!(store.revisions().await.unwrap(), before);
    assert_eq!(store.source_history(&ofac()).await.unwrap().history.publications.len(), 1);
}

async fn a_failing_import_leaves_no_trace(store: Arc<dyn Store>) {
    // The second entry refers to a publication that does not exist.
    let (first, nowhere) = (reference(date(2025, 3, 4), 0), reference(date(2020, 1, 1), 9));
    let begun = vec![
        (entry("XBT", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"), Presence { from: first, until: None }),
        (entry("ETH", "0x1"), Presence { from: nowhere, until: None }),
    ];
    assert!(store.record_publication(import(0, first, vec![], begun)).await.is_err());
    let intel = read(&*store).await;
    assert!(intel.sources.is_empty() && intel.listings.is_empty());
    assert_eq!(intel.generation, 0);
}

async fn a_history_import_does_not_verify_the_source(store: Arc<dyn Store>) {
    import_first(&*store).await;
    let generation = store.revisions().await.unwrap().intel;
    let past = reference(date(2020, 1, 1), 1);
    let filed = PublicationImport { newest: false, ..import(generation, past, vec![], vec![]) };
    store.record_publication(filed).await.unwrap();
    let intel = read(&*store).await;
    assert_eq!(intel.sources[0].fetched_at, at(0));
    assert_eq!(intel.sources[0].publications, [date(2020, 1, 1), date(2025, 3, 4)]);
    assert_eq!(intel.listings[0].listed_on, Some(date(2025, 3, 4)), "now known to be new then");
}

async fn a_confirmed_fetch_moves_time_and_not_data(store: Arc<dyn Store>) {
    import_first(&*store).await;
    let before = read(&*store).await;
    store.confirm_fetch(&ofac(), at(60), None).await.unwrap();
    let after = read(&*store).await;
    assert_eq!(after.sources[0].fetched_at, at(60));
    assert_eq!(after.data_revision, before.data_revision);
    assert!(after.generation > before.generation, "what serves from memory must notice");
    store.confirm_fetch(&ofac(), at(30), None).await.unwrap();
    assert_eq!(read(&*store).await.sources[0].fetched_at, at(60), "time moves forward");
}

async fn fetch_conditions_belong_to_their_url(store: Arc<dyn Store>) {
    let first = reference(date(2025, 3, 4), 0);
    let conditions =
        FetchConditions { etag: Some("\"x\"".into()), last_modified: Some("yesterday".into()) };
    let url = "https://example.org/sdn.xml";
    let fetched = Some((url.to_owned(), conditions.clone()));
    let import = PublicationImport { fetched, ..import(0, first, vec![], vec![]) };
    store.record_publication(import).await.unwrap();
    assert_eq!(store.fetch_conditions(&ofac(), url).await.unwrap(), conditions);
    let elsewhere = store.fetch_conditions(&ofac(), "https://example.com/").await.unwrap();
    assert_eq!(elsewhere, FetchConditions::default());

    let source = &"labels".parse().unwrap();
    let said = async |store: &dyn Store| store.fetch_conditions(source, url).await.unwrap();
    let fetched = Some((url.to_owned(), conditions.clone()));
    let from_url =
        |digest, minute| LabelImport { fetched: fetched.clone(), ..labels(digest, vec![], minute) };
    store.record_labels(&from_url("first", 0)).await.unwrap();
    assert_eq!(said(&*store).await, conditions);
    store.record_labels(&labels("second", vec![], 1)).await.unwrap();
    assert_eq!(said(&*store).await, FetchConditions::default(), "a file came in between");
    store.record_labels(&from_url("second", 2)).await.unwrap();
    assert_eq!(said(&*store).await, conditions, "known already, and said anew");
}

fn label(address: &CanonicalAddress, category: Category) -> AddressLabel {
    AddressLabel {
        address: address.clone(),
        label: Label {
            category,
            entity: Some("Some Mixer".into()),
            tier: Tier::Investigation,
            confidence: Confidence::from_percent(90),
            source: "labels".parse().unwrap(),
            upstream: "investigators".into(),
            author: Some("an author".into()),
            term: Some("tumbler".into()),
            cites_list: Some("ofac-sdn".parse().unwrap()),
            reason: Some("a reason".into()),
            reference: Some("https://labels.example/1".into()),
            valid_from: Some(date(2020, 1, 1)),
            valid_until: None,
        },
    }
}

fn labels(digest: &str, labels: Vec<AddressLabel>, minute: i64) -> LabelImport {
    LabelImport {
        source: "labels".parse().unwrap(),
        sample: true,
        published_on: date(2026, 1, 1),
        digest: digest.into(),
        format: "test".into(),
        origin: "labels.csv".into(),
        fetched: None,
        labels,
        report: serde_json::Value::Null,
        planned_after: None,
        at: at(minute),
    }
}

/// All intel without labels.
async fn read(store: &dyn Store) -> Intel {
    store.intel(None, None).await.unwrap()
}

/// The labels of the newest imports that are not suppressed.
async fn labels_of(store: &dyn Store) -> Vec<AddressLabel> {
    let mut labels = Vec::new();
    let intel = store
        .intel(
            Some(LabelRequest { is_known: &mut |_| false, each: &mut |label| labels.push(label) }),
            None,
        )
        .await
        .unwrap();
    labels.retain(|label| !intel.suppressions.iter().any(|suppression| suppression.covers(label)));
    labels
}

async fn the_same_imports_in_the_same_order_give_the_same_revision(store: Arc<dyn Store>) {
    let other = crate::backends::sqlite().await;
    for store in [&*store, &*other.store] {
        import_first(store).await;
        import_second(store).await;
    }
    let revision = read(&*store).await.data_revision;
    assert_eq!(revision, read(&*other.store).await.data_revision);
    assert_eq!(revision.len(), "2-".len() + 12);
}

fn plan(name: &str, colour: &str) -> ManifestRecord {
    ManifestRecord {
        kind: Kind::Plan,
        name: name.parse().unwrap(),
        spec: json!({"colour": colour}),
    }
}

async fn manifests_are_replaced_by_kind_and_name(store: Arc<dyn Store>) {
    store.put_manifests(&[plan("a", "red"), plan("b", "green")], &[], 0, at(0)).await.unwrap();
    store.put_manifests(&[plan("a", "blue")], &[], 1, at(1)).await.unwrap();
    let control = store.control().await.unwrap();
    assert_eq!(control.manifests, [plan("a", "blue"), plan("b", "green")]);
    assert_eq!(control.manifests_revision, 2);
    let late = store.put_manifests(&[plan("a", "black")], &[], 1, at(2)).await.unwrap_err();
    assert!(matches!(late, StoreError::Conflict));
    assert_eq!(store.control().await.unwrap().manifests[0], plan("a", "blue"));

    let removed = ["a", "never-there"].map(|name| (Kind::Plan, name.parse().unwrap()));
    store.put_manifests(&[plan("c", "red")], &removed, 2, at(3)).await.unwrap();
    let control = store.control().await.unwrap();
    assert_eq!(control.manifests, [plan("b", "green"), plan("c", "red")]);
    assert_eq!(control.manifests_revision, 3, "one change");
}

fn key(id: u64) -> KeyRecord {
    let key = ApiKey::generate(KeyEnvironment::Live, id, [1, 2]);
    KeyRecord {
        id: key.id().clone(),
        tenant: "acme".parse().unwrap(),
        name: "back end".into(),
        environment: KeyEnvironment::Live,
        hash: key.hash(),
        scopes: vec![Scope::Check, Scope::AdminRead],
        created_at: at(i64::try_from(id).unwrap()),
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    }
}

async fn keys_are_added_used_and_revoked(store: Arc<dyn Store>) {
    store.add_key(&key(1), None).await.unwrap();
    assert_eq!(store.control().await.unwrap().keys, [key(1)]);
    assert!(store.add_key(&key(1), None).await.is_err(), "an id is given once");

    let revision = store.revisions().await.unwrap().control;
    store.record_key_use(&[(key(1).id, at(7)), (key(1).id, at(3))]).await.unwrap();
    assert_eq!(store.control().await.unwrap().keys[0].last_used_at, Some(at(7)));
    assert_eq!(store.revisions().await.unwrap().control, revision, "use is not a change");

    let others = KeyRecord { tenant: "other".parse().unwrap(), ..key(5) };
    store.add_key(&others, None).await.unwrap();
    let used = KeyRecord { last_used_at: Some(at(7)), ..key(1) };
    assert_eq!(store.keys_of(&used.tenant).await.unwrap(), [used], "of one tenant");
    assert_eq!(store.keys_of(&others.tenant).await.unwrap(), std::slice::from_ref(&others));
    assert_eq!(store.keys_of(&"nobody".parse().unwrap()).await.unwrap(), []);

    let before = store.revisions().await.unwrap().control;
    store.update_key(&key(1).id, &[Scope::Usage], Some(at(20))).await.unwrap();
    assert!(store.revisions().await.unwrap().control > before, "servers hear of it");
    let regranted = store.control().await.unwrap().keys[0].clone();
    assert_eq!((regranted.scopes, regranted.expires_at), (vec![Scope::Usage], Some(at(20))));

    store.revoke_key(&key(1).id, at(8)).await.unwrap();
    store.revoke_key(&key(1).id, at(9)).await.unwrap();
    let revoked = store.control().await.unwrap().keys[0].clone();
    assert_eq!(revoked.revoked_at, Some(at(8)), "what was revoked stays so");
    assert!(!revoked.is_active(at(9)));
    assert_eq!(store.keys_named("back end").await.unwrap(), [revoked, others]);
    assert_eq!(store.keys_named("front end").await.unwrap(), []);
    let unknown: KeyId = "00000000000".parse().unwrap();
    for error in [
        store.revoke_key(&unknown, at(9)).await.unwrap_err(),
        store.update_key(&unknown, &[], None).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::UnknownKey(id) if id == unknown));
    }
}

async fn manifests_and_keys_have_revisions_of_their_own(store: Arc<dyn Store>) {
    let before = store.revisions().await.unwrap();
    store.add_key(&key(1), None).await.unwrap();
    let after_key = store.revisions().await.unwrap();
    assert_eq!((after_key.manifests, after_key.keys), (before.manifests, before.keys + 1));
    store.put_manifests(&[plan("a", "red")], &[], after_key.manifests, at(0)).await.unwrap();
    let after_manifest = store.revisions().await.unwrap();
    assert_eq!(
        (after_manifest.manifests, after_manifest.keys),
        (before.manifests + 1, after_key.keys)
    );
    assert_eq!(after_manifest.control, before.control + 2);
    let (control, keys) = (store.control().await.unwrap(), store.keys().await.unwrap());
    let read = (control.manifests_revision, control.keys_revision);
    assert_eq!(read, (after_manifest.manifests, after_manifest.keys));
    assert_eq!((keys.revision, keys.keys), (after_manifest.keys, control.keys));
    let manifests = store.manifests().await.unwrap();
    assert_eq!(
        (manifests.revision, manifests.manifests),
        (after_manifest.manifests, control.manifests)
    );
}

async fn a_change_of_keys_does_not_conflict_with_a_change_of_manifests(store: Arc<dyn Store>) {
    store.put_manifests(&[plan("a", "red")], &[], 0, at(0)).await.unwrap();
    let read = store.control().await.unwrap().manifests_revision;
    store.add_key(&key(1), None).await.unwrap();
    store.revoke_key(&key(1).id, at(1)).await.unwrap();
    store.put_manifests(&[plan("a", "blue")], &[], read, at(2)).await.unwrap();
    let late = store.put_manifests(&[plan("a", "black")], &[], read, at(3)).await.unwrap_err();
    assert!(matches!(late, StoreError::Conflict), "a manifest changed in between");
    assert_eq!(store.control().await.unwrap().manifests, [plan("a", "blue")]);
}

async fn a_former_tenant_is_not_forgotten_while_it_has_an_active_key(store: Arc<dyn Store>) {
    let manifest = |kind| ManifestRecord { kind, name: key(1).tenant, spec: json!({}) };
    let former = [(Kind::FormerTenant, key(1).tenant)];
    store.put_manifests(&[manifest(Kind::FormerTenant)], &[], 0, at(0)).await.unwrap();
    // Given a key that was added after somebody looked for keys to revoke...
    store.add_key(&key(1), None).await.unwrap();
    // ...when the tenant is to be forgotten, then it is not: its next namesake would have the key.
    let refused = store.put_manifests(&[], &former, 1, at(2)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict));
    assert_eq!(store.control().await.unwrap().manifests.len(), 1);
    store.revoke_key(&key(1).id, at(3)).await.unwrap();
    store.put_manifests(&[], &former, 1, at(4)).await.unwrap();
    // A tenant that comes back keeps its keys.
    store.put_manifests(&[manifest(Kind::FormerTenant)], &[], 2, at(5)).await.unwrap();
    store.add_key(&key(2), None).await.unwrap();
    store.put_manifests(&[manifest(Kind::Tenant)], &former, 3, at(6)).await.unwrap();
    assert!(store.keys().await.unwrap().keys.iter().any(|key| key.is_active(at(7))));
}

async fn a_rotated_key_overlaps_its_successor(store: Arc<dyn Store>) {
    store.add_key(&key(1), None).await.unwrap();
    store.add_key(&key(2), Some((&key(1).id, at(60)))).await.unwrap();
    let keys = store.control().await.unwrap().keys;
    assert!(keys[0].is_active(at(59)) && !keys[0].is_active(at(60)));
    assert!(keys[1].is_active(at(60)));
    store.add_key(&key(3), Some((&key(1).id, at(90)))).await.unwrap();
    assert_eq!(store.control().await.unwrap().keys[0].expires_at, Some(at(60)), "never later");
    let unknown: KeyId = "00000000000".parse().unwrap();
    assert!(store.add_key(&key(4), Some((&unknown, at(1)))).await.is_err());
    assert_eq!(store.control().await.unwrap().keys.len(), 3, "no successor without predecessor");
    store.revoke_key(&key(3).id, at(91)).await.unwrap();
    let revoked = store.add_key(&key(5), Some((&key(3).id, at(95)))).await.unwrap_err();
    assert!(matches!(revoked, StoreError::UnknownKey(_)), "a revoked key has no successor");
}

async fn concurrent_writers_do_not_lose_each_others_changes(store: Arc<dyn Store>) {
    let tasks: Vec<_> = (0..20)
        .map(|id| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.add_key(&key(id), None).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let control = store.control().await.unwrap();
    assert_eq!((control.keys.len(), control.keys_revision), (20, 20));
}

async fn a_snapshot_answers_for_every_form_and_key(store: Arc<dyn Store>) {
    import_first(&*store).await;
    let snapshot = IntelSnapshot::load(&*store, None).await.unwrap();
    assert_eq!(snapshot.addresses(), 4, "two texts are found among the other chains");
    let parse =
        |chain: &str, text: &str| CanonicalAddress::parse(chain.parse().unwrap(), text).unwrap();

    let listed = parse("eth", "0x931546d9e66836abf687d2bc64b30407bac8c568");
    let facts = snapshot.facts(&listed);
    assert_eq!((facts.listings.len(), facts.same_key.len()), (1, 0));
    let elsewhere = parse("bsc", "0x931546d9e66836abf687d2bc64b30407bac8c568");
    let facts = snapshot.facts(&elsewhere);
    assert_eq!((facts.listings.len(), facts.same_key.len()), (0, 1));
    assert_eq!(facts.same_key[0].address, listed);
    assert_eq!(facts.same_key[0].control, AccountControl::Unknown);

    let legacy = parse("btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h");
    assert_eq!(snapshot.facts(&legacy).listings.len(), 1);
    let stranger = parse("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    let facts = snapshot.facts(&stranger);
    assert!(facts.listings.is_empty() && facts.labels.is_empty() && facts.same_key.is_empty());
}

async fn rows_come_in_the_order_of_their_bytes(store: Arc<dyn Store>) {
    // In a dictionary `a` comes before `B`.
    let outcomes = ["a", "B", "b", "Z", "\u{fc}", "~"];
    let count = |outcome| UsageCount { charged: charged("a", 1, outcome), count: 1 };
    store.add_usage(&batch(&outcomes.map(count))).await.unwrap();
    let found = store.usage(None, date(2026, 1, 1), date(2026, 1, 1)).await.unwrap();
    let found: Vec<_> = found.iter().map(|count| &*count.charged.verdict).collect();
    assert_eq!(found, ["B", "Z", "a", "b", "~", "\u{fc}"]);

    // Bitcoin's old addresses are of both cases.
    let all: Vec<AddressLabel> = (0..64_u8)
        .map(|number| {
            let payload = Payload::PublicKeyHash([number; 20]);
            let address = CanonicalAddress::from_payload(ChainId::BTC, payload).unwrap();
            label(&address, Category::Exchange)
        })
        .collect();
    store.record_labels(&labels("order", all, 0)).await.unwrap();
    let mut found = Vec::new();
    let sink = &mut |row: RecordedLabel| found.push(row.label.address);
    store.labels(&LabelFilter::default(), sink).await.unwrap();
    assert_eq!(found.len(), 64);
    assert!(found.is_sorted_by_key(|address| address.as_str().to_owned()));
    let standing: Vec<_> =
        labels_of(&*store).await.into_iter().map(|label| label.address).collect();
    assert_eq!(standing, found);

    let codes = ["XBT", "eth", "ETH"];
    let first = reference(date(2025, 3, 4), 0);
    let open = Presence { from: first, until: None };
    let begun = codes.map(|code| (entry(code, "0x1"), open)).to_vec();
    let generation = store.revisions().await.unwrap().intel;
    store.record_publication(import(generation, first, vec![], begun)).await.unwrap();
    let intel = read(&*store).await;
    let found: Vec<_> = intel.listings.iter().map(|l| l.entry.asset_code.as_str()).collect();
    assert_eq!(found, ["ETH", "XBT", "eth"]);
}

macro_rules! contract {
    ($backend:ident: $($test:ident),+ $(,)?) => {
        mod $backend {
            $(
                #[tokio::test]
                async fn $test() {
                    let backend = crate::backends::$backend().await;
                    super::$test(std::sync::Arc::clone(&backend.store)).await;
                }
            )+
        }
    };
    ($($backend:ident),+) => {
        $(contract! { $backend:
            a_new_store_is_empty,
            a_publication_reads_back_as_it_was_recorded,
            what_is_dropped_ends_and_stays_in_the_history,
            an_import_planned_against_old_data_changes_nothing,
            a_failing_import_leaves_no_trace,
            a_history_import_does_not_verify_the_source,
            a_confirmed_fetch_moves_time_and_not_data,
            fetch_conditions_belong_to_their_url,
            labels_are_replaced_by_source,
            many_labels_read_back_as_they_were_recorded,
            labels_are_read_anew_only_where_they_changed,
            a_withdrawn_label_stays_withdrawn,
            a_past_moment_has_the_labels_of_then,
            prices_are_replaced_by_asset_and_day,
            many_prices_read_back_as_they_were_recorded,
            prices_are_read_anew_only_where_they_changed,
            prices_planned_against_old_prices_change_nothing,
            a_source_holds_one_kind_of_data,
            a_confirmed_fetch_of_prices_moves_time_and_not_data,
            usage_adds_up,
            usage_that_is_sent_again_counts_once,
            a_kept_answer_is_its_tenants_only,
            pages_of_any_search_give_each_check_once,
            a_page_ends_early_where_few_of_many_checks_are_found,
            receivers_that_look_alike_are_found_of_one_tenant,
            a_receiver_keeps_its_first_check_until_it_is_purged,
            a_key_has_the_answer_of_its_first_request,
            a_key_without_an_answer_is_free_again,
            of_many_claims_at_once_one_has_the_key,
            a_session_is_its_tenants_only_and_ends_for_all,
            a_session_is_over_by_its_times,
            of_too_many_sessions_the_idlest_ends,
            what_was_fetched_is_kept_by_chain_kind_and_key,
            the_same_imports_in_the_same_order_give_the_same_revision,
            manifests_are_replaced_by_kind_and_name,
            keys_are_added_used_and_revoked,
            a_rotated_key_overlaps_its_successor,
            manifests_and_keys_have_revisions_of_their_own,
            a_change_of_keys_does_not_conflict_with_a_change_of_manifests,
            a_former_tenant_is_not_forgotten_while_it_has_an_active_key,
            concurrent_writers_do_not_lose_each_others_changes,
            a_snapshot_answers_for_every_form_and_key,
            rows_come_in_the_order_of_their_bytes,
            jobs_are_claimed_in_the_order_in_which_they_are_due,
            a_claim_is_one_workers_until_it_expires,
            jobs_that_fail_are_retried_counted_and_purged,
        })+
    };
}

contract!(sqlite, postgres);
