//! Rules for prices that every backend must keep.

use assay_engine::account::{DayPrice, Prices};
use assay_store::intel::{PriceImport, PriceRequest};

use super::*;

fn price(asset: &str, day: &str, usd: &str) -> DayPrice {
    (asset.parse().unwrap(), day.parse().unwrap(), usd.parse().unwrap())
}

fn prices(source: &str, generation: u64, changed: Vec<DayPrice>, minute: i64) -> PriceImport {
    PriceImport {
        planned_at_generation: generation,
        source: source.parse().unwrap(),
        sample: false,
        digest: format!("digest-{minute}"),
        file_digest: "file".into(),
        format: "prices-csv".into(),
        origin: "prices.csv".into(),
        fetched: None,
        entries: u64::try_from(changed.len()).unwrap(),
        newest_day: changed.iter().map(|(_, day, _)| *day).max().unwrap_or(date(2026, 11, 20)),
        changed,
        at: at(minute),
    }
}

async fn all(store: &dyn Store) -> Prices {
    store.intel(None, Some(PriceRequest::default())).await.unwrap().prices.unwrap()
}

pub(crate) async fn prices_are_replaced_by_asset_and_day(store: Arc<dyn Store>) {
    let usdt = "trx/TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    let largest = "340282366920938463463.374607431768211455";
    let first = vec![
        price("btc/native", "2026-11-18", "0.000000000000000001"),
        price("eth/native", "2026-11-18", "3000.5"),
        price("eth/native", "2026-11-19", largest),
        price(usdt, "2026-11-19", "0.9997"),
    ];
    store.record_prices(&prices("one", 0, first.clone(), 0)).await.unwrap();
    assert_eq!(all(&*store).await, Prices::new(first.clone()));
    // When another source states one of them anew and a new one.
    let second =
        vec![price("eth/native", "2026-11-19", "3100"), price("eth/native", "2026-11-20", "3200")];
    store.record_prices(&prices("two", 1, second.clone(), 5)).await.unwrap();
    // Then these count, and the others stay.
    assert_eq!(all(&*store).await, Prices::new(first.into_iter().chain(second)));
    let intel = read(&*store).await;
    assert_eq!((intel.generation, intel.price_generation, intel.sources.len()), (2, 2, 0));
    assert!(intel.data_revision.starts_with("2-"), "{}", intel.data_revision);
    let sources: Vec<_> = intel
        .price_sources
        .iter()
        .map(|source| (source.id.as_str(), source.kind, source.entries, source.publications[0]))
        .collect();
    assert_eq!(
        sources,
        [
            ("one", SourceKind::Prices, 4, date(2026, 11, 19)),
            ("two", SourceKind::Prices, 2, date(2026, 11, 20)),
        ]
    );
    // A source that is imported again has the state of that import.
    store.record_prices(&prices("one", 2, vec![], 9)).await.unwrap();
    let again = read(&*store).await;
    assert_eq!((again.generation, again.price_generation), (3, 2));
    assert_eq!(again.data_revision, intel.data_revision, "no price changed");
    let one = &again.price_sources[0];
    assert_eq!((one.entries, one.fetched_at, &*one.digest), (0, at(9), "digest-9"));
}

pub(crate) async fn many_prices_read_back_as_they_were_recorded(store: Arc<dyn Store>) {
    let rows = (0..12_003_u32).map(|number| {
        let asset = match number % 3 {
            0 => "eth/native".to_owned(),
            1 => "btc/native".to_owned(),
            _ => format!("eth/0x{:040x}", number % 7),
        };
        let day = date(2000, 1, 1).checked_add(jiff::Span::new().days(number)).unwrap();
        (asset.parse().unwrap(), day, format!("{number}.5").parse().unwrap())
    });
    let mut rows: Vec<DayPrice> = rows.collect();
    store.record_prices(&prices("many", 0, rows.clone(), 0)).await.unwrap();
    assert_eq!(all(&*store).await, Prices::new(rows.clone()));
    let recorded = store.recorded_prices(&"many".parse().unwrap()).await.unwrap();
    rows.sort_by_key(|(asset, day, _)| (asset.to_string(), *day));
    assert_eq!(recorded.prices, rows);
    assert_eq!((recorded.generation, recorded.digest.as_deref()), (1, Some("digest-0")));
    let other = store.recorded_prices(&"other".parse().unwrap()).await.unwrap();
    assert_eq!((other.digest, other.prices), (None, rows));
}

pub(crate) async fn prices_are_read_anew_only_where_they_changed(store: Arc<dyn Store>) {
    let eth = "eth/native".parse().unwrap();
    let day = date(2026, 11, 20);
    store
        .record_prices(&prices("one", 0, vec![price("eth/native", "2026-11-20", "1")], 0))
        .await
        .unwrap();
    let before = IntelSnapshot::load(&*store, None).await.unwrap();
    assert_eq!(before.prices().on(eth, day).unwrap().price.to_string(), "1");
    import_first(&*store).await;
    let request = PriceRequest { known: Some(1) };
    assert_eq!(store.intel(None, Some(request)).await.unwrap().prices, None);
    assert_eq!(read(&*store).await.prices, None, "not requested");
    let after = IntelSnapshot::load(&*store, Some(&before)).await.unwrap();
    assert!(Arc::ptr_eq(before.prices(), after.prices()));
    store
        .record_prices(&prices("one", 1, vec![price("eth/native", "2026-11-20", "2")], 3))
        .await
        .unwrap();
    let last = IntelSnapshot::load(&*store, Some(&after)).await.unwrap();
    assert_eq!(last.prices().on(eth, day).unwrap().price.to_string(), "2");
    let then = IntelSnapshot::load_as_of(&*store, at(1)).await.unwrap();
    assert_eq!(then.prices(), last.prices());
}

pub(crate) async fn prices_planned_against_old_prices_change_nothing(store: Arc<dyn Store>) {
    let rows = || vec![price("eth/native", "2026-11-20", "1")];
    store.record_prices(&prices("one", 0, rows(), 0)).await.unwrap();
    let before = read(&*store).await;
    let error = store.record_prices(&prices("two", 0, rows(), 3)).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict), "{error}");
    assert_eq!(format!("{before:?}"), format!("{:?}", read(&*store).await));
}

pub(crate) async fn a_source_holds_one_kind_of_data(store: Arc<dyn Store>) {
    import_first(&*store).await;
    store.record_labels(&labels("one", vec![], 0)).await.unwrap();
    let row = || vec![price("eth/native", "2026-11-20", "1")];
    store.record_prices(&prices("own-prices", 0, row(), 0)).await.unwrap();
    for (source, held) in [("ofac-sdn", "sanctions"), ("labels", "labels")] {
        let expected =
            format!("the source `{source}` holds {held}: import prices under another name");
        let error = store.record_prices(&prices(source, 1, row(), 3)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        let error = store.recorded_prices(&source.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let mut import = labels("two", vec![], 5);
    import.source = "own-prices".parse().unwrap();
    let error = store.record_labels(&import).await.unwrap_err().to_string();
    assert_eq!(error, "the source `own-prices` holds prices: import labels under another name");
}

pub(crate) async fn a_confirmed_fetch_of_prices_moves_time_and_not_data(store: Arc<dyn Store>) {
    let source: SourceId = "one".parse().unwrap();
    let conditions =
        FetchConditions { etag: Some("\"a\"".into()), last_modified: Some("yesterday".into()) };
    let import = PriceImport {
        fetched: Some(("https://example.org/p.csv".into(), conditions.clone())),
        ..prices("one", 0, vec![price("eth/native", "2026-11-20", "1")], 0)
    };
    store.record_prices(&import).await.unwrap();
    let known = store.fetch_conditions(&source, "https://example.org/p.csv").await.unwrap();
    assert_eq!(known, conditions);
    let other = store.fetch_conditions(&source, "https://example.org/q.csv").await.unwrap();
    assert_eq!(other, FetchConditions::default());
    let before = read(&*store).await;
    store.confirm_fetch(&source, at(7), None).await.unwrap();
    let after = read(&*store).await;
    assert_eq!(after.price_sources[0].fetched_at, at(7));
    assert_eq!(
        (after.data_revision, after.generation),
        (before.data_revision, before.generation + 1)
    );
    let known = store.fetch_conditions(&source, "https://example.org/p.csv").await.unwrap();
    assert_eq!(known, conditions, "the validators stay");
}
