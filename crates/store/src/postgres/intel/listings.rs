//! Sources, publications and listings in PostgreSQL.

use assay_engine::{
    evidence::{ListingEntry, SourceKind, history::Presence},
    names::SourceId,
};
use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    StoreError,
    intel::{
        FetchConditions, Intel, PublicationImport, PublicationRecord, RecordedHistory, expect_kind,
        kind_text,
    },
    row::{
        self,
        intel::{PublicationRows, StoredPublication},
    },
    value,
};

/// Listings that are inserted by one statement.
const BATCH: usize = 2_000;

pub(super) async fn load(read: &mut PgConnection) -> Result<Intel, StoreError> {
    let installation = sqlx::query(
        "SELECT environment, intel_generation, label_generation, data_number, data_hash
         FROM installation",
    )
    .fetch_one(&mut *read)
    .await?;
    let publications = publications(read, None).await?;
    let listings = recorded_listings(read, None).await?;
    let sources = sqlx::query("SELECT id, kind, sample, fetched_at FROM sources ORDER BY id")
        .fetch_all(read)
        .await?;
    row::intel::intel(&installation, &publications, &listings, &sources)
}

pub(super) async fn publications(
    read: &mut PgConnection,
    of: Option<&SourceId>,
) -> Result<Vec<StoredPublication>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, source, ordinal, published_on, digest, entries FROM publications
         WHERE $1::text IS NULL OR source = $1 ORDER BY id",
    )
    .bind(of.map(SourceId::as_str))
    .fetch_all(read)
    .await?;
    rows.iter().map(row::intel::publication).collect()
}

async fn recorded_listings(
    read: &mut PgConnection,
    of: Option<&SourceId>,
) -> Result<Vec<PgRow>, StoreError> {
    Ok(sqlx::query(
        "SELECT id, source, list, list_name, entity, asset_code, address_as_published,
                address_remarks, expires_on, present_from, absent_from
         FROM listings WHERE recorded_to IS NULL AND ($1::text IS NULL OR source = $1)
         ORDER BY source, list, entity_id, asset_code, address_as_published, id",
    )
    .bind(of.map(SourceId::as_str))
    .fetch_all(read)
    .await?)
}

pub(super) async fn history(
    read: &mut PgConnection,
    source: &SourceId,
) -> Result<RecordedHistory, StoreError> {
    let held = sqlx::query("SELECT kind FROM sources WHERE id = $1")
        .bind(source.as_str())
        .fetch_optional(&mut *read)
        .await?;
    if let Some(row) = held {
        expect_kind(source, row.try_get(0)?, SourceKind::Sanctions)?;
    }
    let generation = generation(read).await?;
    let publications = publications(read, Some(source)).await?;
    let listings = recorded_listings(read, Some(source)).await?;
    row::intel::history(generation, publications, &listings)
}

async fn generation(read: &mut PgConnection) -> Result<u64, StoreError> {
    let row = sqlx::query("SELECT intel_generation FROM installation").fetch_one(read).await?;
    row::intel::generation(&row)
}

pub(super) async fn record_publication(
    write: &mut PgConnection,
    import: &PublicationImport,
) -> Result<(), StoreError> {
    if generation(write).await? != import.planned_at_generation {
        return Err(StoreError::Conflict);
    }
    upsert_source(write, &import.source, SourceKind::Sanctions, import.sample, import.at).await?;
    if import.newest {
        note_fetched(write, &import.source, import.at, import.fetched.as_ref()).await?;
    }
    let record = &import.publication;
    insert_publication(write, &import.source, record, import.at).await?;
    sqlx::query("UPDATE listings SET recorded_to = $1 WHERE id = ANY($2) AND recorded_to IS NULL")
        .bind(value::milliseconds(import.at))
        .bind(&import.ended)
        .execute(&mut *write)
        .await?;
    let rows = PublicationRows::of(&publications(write, Some(&import.source)).await?);
    for batch in import.begun.chunks(BATCH) {
        insert_listings(write, import, batch, &rows).await?;
    }
    change_data(write, &import.source, &record.digest).await
}

/// Inserts listings in their order, so that their ids are in it too.
async fn insert_listings(
    write: &mut PgConnection,
    import: &PublicationImport,
    batch: &[(ListingEntry, Presence)],
    rows: &PublicationRows,
) -> Result<(), StoreError> {
    let text = |text: fn(&ListingEntry) -> &str| {
        batch.iter().map(|(entry, _)| text(entry)).collect::<Vec<&str>>()
    };
    let entities = batch.iter().map(|(entry, _)| row::intel::entity(&entry.entity));
    let remarks = batch.iter().map(|(entry, _)| entry.address_remarks.as_deref());
    let expiries = batch.iter().map(|(entry, _)| entry.expires_on.map(|day| day.to_string()));
    let from = batch.iter().map(|(_, presence)| rows.row(presence.from));
    let until =
        batch.iter().map(|(_, presence)| presence.until.map(|until| rows.row(until)).transpose());
    sqlx::query(
        "INSERT INTO listings
             (source, recorded_from, list, list_name, entity_id, entity, asset_code,
              address_as_published, address_remarks, expires_on, present_from, absent_from)
         SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])",
    )
    .bind(import.source.as_str())
    .bind(value::milliseconds(import.at))
    .bind(text(|entry| entry.list.as_str()))
    .bind(text(|entry| &entry.list_name))
    .bind(text(|entry| &entry.entity.id))
    .bind(entities.collect::<Result<Vec<_>, _>>()?)
    .bind(text(|entry| &entry.asset_code))
    .bind(text(|entry| &entry.address_as_published))
    .bind(remarks.collect::<Vec<_>>())
    .bind(expiries.collect::<Vec<_>>())
    .bind(from.collect::<Result<Vec<_>, _>>()?)
    .bind(until.collect::<Result<Vec<_>, _>>()?)
    .execute(write)
    .await?;
    Ok(())
}

pub(super) async fn insert_publication(
    write: &mut PgConnection,
    source: &SourceId,
    record: &PublicationRecord,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO publications
             (source, ordinal, published_on, digest, file_digest, format, origin, entries,
              imported_at, report)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(source.as_str())
    .bind(i64::from(record.reference.ordinal))
    .bind(record.reference.published_on.to_string())
    .bind(&record.digest)
    .bind(&record.file_digest)
    .bind(&record.format)
    .bind(&record.origin)
    .bind(value::signed(record.entries))
    .bind(value::milliseconds(at))
    .bind(record.report.to_string())
    .execute(write)
    .await?;
    Ok(())
}

pub(super) async fn fetch_conditions(
    read: &mut PgConnection,
    source: &SourceId,
    url: &str,
) -> Result<FetchConditions, StoreError> {
    let row = sqlx::query("SELECT etag, last_modified FROM sources WHERE id = $1 AND url = $2")
        .bind(source.as_str())
        .bind(url)
        .fetch_optional(read)
        .await?;
    row.map_or_else(|| Ok(FetchConditions::default()), |row| row::intel::fetch_conditions(&row))
}

pub(super) async fn confirm_fetch(
    write: &mut PgConnection,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET fetched_at = greatest(fetched_at, $1) WHERE id = $2")
        .bind(value::milliseconds(at))
        .bind(source.as_str())
        .execute(&mut *write)
        .await?;
    if fetched.is_some() {
        note_conditions(write, source, fetched).await?;
    }
    sqlx::query("UPDATE installation SET intel_generation = intel_generation + 1")
        .execute(write)
        .await?;
    Ok(())
}

/// Records the URL and time of the fetch of a source's newest file. `None` deletes the validators
/// of an earlier response, because they do not describe this file.
pub(super) async fn note_fetched(
    write: &mut PgConnection,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET fetched_at = $1 WHERE id = $2")
        .bind(value::milliseconds(at))
        .bind(source.as_str())
        .execute(&mut *write)
        .await?;
    note_conditions(write, source, fetched).await
}

async fn note_conditions(
    write: &mut PgConnection,
    source: &SourceId,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    let (url, conditions) = fetched.cloned().unzip();
    let conditions = conditions.unwrap_or_default();
    sqlx::query("UPDATE sources SET url = $1, etag = $2, last_modified = $3 WHERE id = $4")
        .bind(url)
        .bind(conditions.etag)
        .bind(conditions.last_modified)
        .bind(source.as_str())
        .execute(write)
        .await?;
    Ok(())
}

pub(super) async fn upsert_source(
    write: &mut PgConnection,
    source: &SourceId,
    kind: SourceKind,
    sample: bool,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sources (id, kind, sample, fetched_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(source.as_str())
    .bind(kind_text(kind))
    .bind(sample)
    .bind(value::milliseconds(at))
    .execute(&mut *write)
    .await?;
    let held: String = sqlx::query("SELECT kind FROM sources WHERE id = $1")
        .bind(source.as_str())
        .fetch_one(write)
        .await?
        .try_get(0)?;
    expect_kind(source, held, kind)
}

/// Counts a change of the data, and chains its digest.
pub(super) async fn change_data(
    write: &mut PgConnection,
    source: &SourceId,
    digest: &str,
) -> Result<(), StoreError> {
    let before: String = sqlx::query("SELECT data_hash FROM installation")
        .fetch_one(&mut *write)
        .await?
        .try_get(0)?;
    sqlx::query(
        "UPDATE installation SET intel_generation = intel_generation + 1,
                data_number = data_number + 1, data_hash = $1",
    )
    .bind(row::intel::chained(&before, source, digest))
    .execute(write)
    .await?;
    Ok(())
}
