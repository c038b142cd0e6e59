//! Expiry, renewal, removal and re-listing of an order over time: each day has the status that the
//! publications of that day gave it, in whatever order they are imported.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::{fs, time::Duration};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{evidence::ListingStatus, facts::Environment};
use assay_intel::{
    IntelSnapshot,
    formats::{IntelKind, by_name},
    import::{ImportOutcome, ImportRequest, ImportedContent, import},
};
use assay_store::SqliteStore;
use jiff::{Timestamp, civil::Date};

const ADDRESS: &str = "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq";
const HEADER: &str = "list,entity_id,entity,asset_code,address,entity_listed_on,expires_on\n";
const OTHER: &str = "il-nbctf,ASO 9/23,OTHER,USDT,TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF,2023-01-01,\n";

/// Publications of the list: the day of issue, and the validity of the order while it is there.
const PUBLICATIONS: [(&str, Option<&str>); 5] = [
    ("2023-02-01", Some("2025-01-01")),
    // The order expired on 2025-01-01 and was renewed in June.
    ("2025-06-01", Some("2027-01-01")),
    // It was lifted, and issued again.
    ("2026-01-10", None),
    ("2026-03-01", Some("2028-01-01")),
    // It was renewed before it expired.
    ("2026-05-01", Some("2030-01-01")),
];

/// Status on a day: the strongest of all rows of the address.
const STATUS: [(&str, ListingStatus); 14] = [
    ("2022-12-31", ListingStatus::NotYetListed),
    ("2023-02-01", ListingStatus::Active),
    ("2024-12-31", ListingStatus::Active),
    ("2025-01-01", ListingStatus::RecentlyExpired),
    ("2025-03-31", ListingStatus::RecentlyExpired),
    ("2025-04-01", ListingStatus::Expired),
    ("2025-05-31", ListingStatus::Expired),
    ("2025-06-01", ListingStatus::Active),
    ("2026-01-09", ListingStatus::Active),
    ("2026-01-10", ListingStatus::Expired),
    ("2026-03-01", ListingStatus::Active),
    ("2026-05-01", ListingStatus::Active),
    ("2029-12-31", ListingStatus::Active),
    ("2030-01-01", ListingStatus::RecentlyExpired),
];

async fn imported(order: &[usize]) -> IntelSnapshot {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    for index in order {
        let (published_on, expires_on) = PUBLICATIONS[*index];
        let row = expires_on
            .map(|day| format!("il-nbctf,ASO 1/23,HOLDER,USDT,{ADDRESS},2023-01-01,{day}\n"));
        let file = folder.path().join("list.csv");
        fs::write(&file, format!("{HEADER}{OTHER}{}", row.unwrap_or_default())).unwrap();
        let mut request = ImportRequest::new(
            file.display().to_string(),
            by_name(IntelKind::Listings, "csv").unwrap(),
            "il-nbctf".parse().unwrap(),
            Duration::from_secs(1),
        );
        request.published_on = Some(published_on.parse().unwrap());
        request.options.history = true;
        let outcome = import(&store, &request, now, || {}).await.unwrap();
        let ImportOutcome::Imported(ImportedContent::Listings(imported)) = outcome else {
            panic!("{outcome:?}")
        };
        if order[0] == 0 && matches!(index, 1 | 4) {
            let report = imported.report;
            assert_eq!(
                (report.added.len(), report.removed.len(), report.updated, report.unchanged),
                (0, 0, 1, 1),
                "a renewal is an update"
            );
        }
    }
    IntelSnapshot::load(&store, None).await.unwrap()
}

#[tokio::test]
async fn every_day_has_the_status_that_its_publications_gave_it() {
    let address = CanonicalAddress::parse(ChainId::TRX, ADDRESS).unwrap();
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
        let snapshot = imported(&order).await;
        let listings = snapshot.listings_of(&address);
        for (day, expected) in STATUS {
            let day: Date = day.parse().unwrap();
            let status = listings.iter().map(|listing| listing.status(day)).min().unwrap();
            assert_eq!(status, expected, "{day} after imports in the order {order:?}");
        }
        assert_eq!(snapshot.facts(&address).listings.len(), 4);
    }
}
