//! Prices and their sources.

use assay_engine::{
    account::{DayPrice, Prices},
    evidence::{SourceKind, SourceState},
    names::SourceId,
};
use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::listings::{change_data, kind, note_conditions};
use crate::{
    StoreError,
    intel::{PriceImport, RecordedPrices, expect_kind},
    row::{self, prices::PriceRows},
    sql::{Backend, Session},
    value,
};

/// All prices in the order of assets and days.
const PRICES: &str = "SELECT asset, day, usd FROM prices ORDER BY asset, day";

/// The sources of prices, by name.
pub(super) async fn sources(session: &mut Session) -> Result<Vec<SourceState>, StoreError> {
    let sources = "SELECT id, sample, fetched_at, digest, entries, newest_day FROM price_sources
                   ORDER BY id";
    session.rows(sources, &[]).await?.iter().map(row::prices::source).collect()
}

/// All prices.
pub(super) async fn all(
    backend: &impl Backend,
    session: &mut Session,
) -> Result<Prices, StoreError> {
    let mut read = PriceRows::default();
    let mut prices: Vec<DayPrice> = Vec::new();
    let mut rows = session.stream(PRICES, &[]);
    while let Some(row) = backend.next_part(rows.try_next()).await? {
        prices.push(read.price(&row)?);
    }
    Ok(Prices::new(prices))
}

/// All prices, and the newest import of a source.
pub(super) async fn recorded(
    session: &mut Session,
    source: &SourceId,
) -> Result<RecordedPrices, StoreError> {
    expect_no_other_kind(session, source).await?;
    let generation = generation(session).await?;
    let digest = "SELECT digest FROM price_sources WHERE id = $1";
    let digest = session.optional_row(digest, &[source.as_str().into()]).await?;
    let digest = digest.map(|row| row.text("digest").map(ToOwned::to_owned)).transpose()?;
    let mut read = PriceRows::default();
    let mut prices = Vec::new();
    let mut rows = session.stream(PRICES, &[]);
    while let Some(row) = rows.try_next().await? {
        prices.push(read.price(&row)?);
    }
    Ok(RecordedPrices { generation, digest, prices })
}

/// Refuses prices for a source of lists or labels.
async fn expect_no_other_kind(session: &mut Session, source: &SourceId) -> Result<(), StoreError> {
    match kind(session, source).await? {
        Some(held) => expect_kind(source, held, SourceKind::Prices),
        None => Ok(()),
    }
}

async fn generation(session: &mut Session) -> Result<u64, StoreError> {
    let row = session.row("SELECT price_generation FROM installation", &[]).await?;
    let generation = row.integer("price_generation")?;
    Ok(value::unsigned("installation.price_generation", generation)?)
}

pub(super) async fn record(session: &mut Session, import: &PriceImport) -> Result<(), StoreError> {
    if generation(session).await? != import.planned_at_generation {
        return Err(StoreError::Conflict);
    }
    expect_no_other_kind(session, &import.source).await?;
    upsert_source(session, import).await?;
    upsert_prices(session, import).await?;
    if import.changed.is_empty() {
        let count = "UPDATE installation SET intel_generation = intel_generation + 1";
        session.execute(count, &[]).await?;
        return Ok(());
    }
    let count = "UPDATE installation SET price_generation = price_generation + 1";
    session.execute(count, &[]).await?;
    change_data(session, &import.source, &import.digest).await
}

async fn upsert_source(session: &mut Session, import: &PriceImport) -> Result<(), StoreError> {
    let upsert = "INSERT INTO price_sources
                      (id, sample, fetched_at, digest, file_digest, format, origin, entries,
                       newest_day, imported_at)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                  ON CONFLICT (id) DO UPDATE SET
                      fetched_at = excluded.fetched_at, digest = excluded.digest,
                      file_digest = excluded.file_digest, format = excluded.format,
                      origin = excluded.origin, entries = excluded.entries,
                      newest_day = excluded.newest_day, imported_at = excluded.imported_at";
    let values = [
        import.source.as_str().into(),
        import.sample.into(),
        import.at.into(),
        import.digest.as_str().into(),
        import.file_digest.as_str().into(),
        import.format.as_str().into(),
        import.origin.as_str().into(),
        import.entries.into(),
        import.newest_day.into(),
        import.at.into(),
    ];
    session.execute(upsert, &values).await?;
    note_conditions(session, "price_sources", &import.source, import.fetched.as_ref()).await
}

async fn upsert_prices(session: &mut Session, import: &PriceImport) -> Result<(), StoreError> {
    let at: Timestamp = import.at;
    let rows: Vec<_> = import
        .changed
        .iter()
        .map(|(asset, day, price)| {
            [
                asset.to_string().into(),
                (*day).into(),
                price.to_string().into(),
                import.source.as_str().into(),
                at.into(),
            ]
        })
        .collect();
    let replace = "ON CONFLICT (asset, day) DO UPDATE SET
                       usd = excluded.usd, source = excluded.source,
                       recorded_at = excluded.recorded_at";
    session.insert("prices", "asset, day, usd, source, recorded_at", &rows, replace).await
}
