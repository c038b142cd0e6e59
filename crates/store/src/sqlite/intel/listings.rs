//! Sources, publications and listings in `SQLite`.

use assay_engine::{
    evidence::{ListingEntry, SourceKind, history::Presence},
    names::SourceId,
};
use jiff::Timestamp;
use sqlx::{Row, Sqlite, SqlitePool, Transaction, sqlite::SqliteRow};

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

pub(super) type Write<'a> = Transaction<'a, Sqlite>;

pub(super) async fn load(read: &mut Write<'_>) -> Result<Intel, StoreError> {
    let installation = sqlx::query(
        "SELECT environment, intel_generation, label_generation, data_number, data_hash
         FROM installation",
    )
    .fetch_one(&mut **read)
    .await?;
    let publications = publications(read, None).await?;
    let listings = recorded_listings(read, None).await?;
    let sources = sqlx::query("SELECT id, kind, sample, fetched_at FROM sources ORDER BY id")
        .fetch_all(&mut **read)
        .await?;
    row::intel::intel(&installation, &publications, &listings, &sources)
}

pub(super) async fn publications(
    read: &mut Write<'_>,
    of: Option<&SourceId>,
) -> Result<Vec<StoredPublication>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, source, ordinal, published_on, digest, entries FROM publications
         WHERE ?1 IS NULL OR source = ?1 ORDER BY id",
    )
    .bind(of.map(SourceId::as_str))
    .fetch_all(&mut **read)
    .await?;
    rows.iter().map(row::intel::publication).collect()
}

async fn recorded_listings(
    read: &mut Write<'_>,
    of: Option<&SourceId>,
) -> Result<Vec<SqliteRow>, StoreError> {
    Ok(sqlx::query(
        "SELECT id, source, list, list_name, entity, asset_code, address_as_published,
                address_remarks, expires_on, present_from, absent_from
         FROM listings WHERE recorded_to IS NULL AND (?1 IS NULL OR source = ?1)
         ORDER BY source, list, entity_id, asset_code, address_as_published, id",
    )
    .bind(of.map(SourceId::as_str))
    .fetch_all(&mut **read)
    .await?)
}

pub(super) async fn history(
    read: &mut Write<'_>,
    source: &SourceId,
) -> Result<RecordedHistory, StoreError> {
    let held = sqlx::query("SELECT kind FROM sources WHERE id = ?")
        .bind(source.as_str())
        .fetch_optional(&mut **read)
        .await?;
    if let Some(row) = held {
        expect_kind(source, row.try_get(0)?, SourceKind::Sanctions)?;
    }
    let generation = generation(read).await?;
    let publications = publications(read, Some(source)).await?;
    let listings = recorded_listings(read, Some(source)).await?;
    row::intel::history(generation, publications, &listings)
}

async fn generation(read: &mut Write<'_>) -> Result<u64, StoreError> {
    let row =
        sqlx::query("SELECT intel_generation FROM installation").fetch_one(&mut **read).await?;
    row::intel::generation(&row)
}

pub(super) async fn record_publication(
    write: &mut Write<'_>,
    import: &PublicationImport,
) -> Result<(), StoreError> {
    expect_generation(write, import.planned_at_generation).await?;
    upsert_source(write, &import.source, SourceKind::Sanctions, import.sample, import.at).await?;
    if import.newest {
        note_fetched(write, &import.source, import.at, import.fetched.as_ref()).await?;
    }
    let record = &import.publication;
    insert_publication(write, &import.source, record, import.at).await?;
    for row in &import.ended {
        sqlx::query("UPDATE listings SET recorded_to = ? WHERE id = ? AND recorded_to IS NULL")
            .bind(value::milliseconds(import.at))
            .bind(row)
            .execute(&mut **write)
            .await?;
    }
    let rows = PublicationRows::of(&publications(write, Some(&import.source)).await?);
    for (entry, presence) in &import.begun {
        insert_listing(write, import, entry, presence, &rows).await?;
    }
    change_data(write, &import.source, &record.digest).await
}

async fn insert_listing(
    write: &mut Write<'_>,
    import: &PublicationImport,
    entry: &ListingEntry,
    presence: &Presence,
    rows: &PublicationRows,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO listings
             (source, list, list_name, entity_id, entity, asset_code, address_as_published,
              address_remarks, expires_on, present_from, absent_from, recorded_from)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(import.source.as_str())
    .bind(entry.list.as_str())
    .bind(&entry.list_name)
    .bind(&entry.entity.id)
    .bind(row::intel::entity(&entry.entity)?)
    .bind(&entry.asset_code)
    .bind(&entry.address_as_published)
    .bind(&entry.address_remarks)
    .bind(entry.expires_on.map(|day| day.to_string()))
    .bind(rows.row(presence.from)?)
    .bind(presence.until.map(|until| rows.row(until)).transpose()?)
    .bind(value::milliseconds(import.at))
    .execute(&mut **write)
    .await?;
    Ok(())
}

pub(super) async fn insert_publication(
    write: &mut Write<'_>,
    source: &SourceId,
    record: &PublicationRecord,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO publications
             (source, ordinal, published_on, digest, file_digest, format, origin, entries,
              imported_at, report)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(source.as_str())
    .bind(record.reference.ordinal)
    .bind(record.reference.published_on.to_string())
    .bind(&record.digest)
    .bind(&record.file_digest)
    .bind(&record.format)
    .bind(&record.origin)
    .bind(value::signed(record.entries))
    .bind(value::milliseconds(at))
    .bind(record.report.to_string())
    .execute(&mut **write)
    .await?;
    Ok(())
}

pub(super) async fn fetch_conditions(
    pool: &SqlitePool,
    source: &SourceId,
    url: &str,
) -> Result<FetchConditions, StoreError> {
    let row = sqlx::query("SELECT etag, last_modified FROM sources WHERE id = ? AND url = ?")
        .bind(source.as_str())
        .bind(url)
        .fetch_optional(pool)
        .await?;
    row.map_or_else(|| Ok(FetchConditions::default()), |row| row::intel::fetch_conditions(&row))
}

pub(super) async fn confirm_fetch(
    write: &mut Write<'_>,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET fetched_at = max(fetched_at, ?) WHERE id = ?")
        .bind(value::milliseconds(at))
        .bind(source.as_str())
        .execute(&mut **write)
        .await?;
    if fetched.is_some() {
        note_conditions(write, source, fetched).await?;
    }
    sqlx::query("UPDATE installation SET intel_generation = intel_generation + 1")
        .execute(&mut **write)
        .await?;
    Ok(())
}

/// Records the URL and time of the fetch of a source's newest file. `None` deletes the validators
/// of an earlier response, because they do not describe this file.
pub(super) async fn note_fetched(
    write: &mut Write<'_>,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET fetched_at = ? WHERE id = ?")
        .bind(value::milliseconds(at))
        .bind(source.as_str())
        .execute(&mut **write)
        .await?;
    note_conditions(write, source, fetched).await
}

async fn note_conditions(
    write: &mut Write<'_>,
    source: &SourceId,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    let (url, conditions) = fetched.cloned().unzip();
    let conditions = conditions.unwrap_or_default();
    sqlx::query("UPDATE sources SET url = ?, etag = ?, last_modified = ? WHERE id = ?")
        .bind(url)
        .bind(conditions.etag)
        .bind(conditions.last_modified)
        .bind(source.as_str())
        .execute(&mut **write)
        .await?;
    Ok(())
}

async fn expect_generation(write: &mut Write<'_>, expected: u64) -> Result<(), StoreError> {
    if generation(write).await? == expected { Ok(()) } else { Err(StoreError::Conflict) }
}

pub(super) async fn upsert_source(
    write: &mut Write<'_>,
    source: &SourceId,
    kind: SourceKind,
    sample: bool,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sources (id, kind, sample, fetched_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(source.as_str())
    .bind(kind_text(kind))
    .bind(sample)
    .bind(value::milliseconds(at))
    .execute(&mut **write)
    .await?;
    let held: String = sqlx::query("SELECT kind FROM sources WHERE id = ?")
        .bind(source.as_str())
        .fetch_one(&mut **write)
        .await?
        .try_get(0)?;
    expect_kind(source, held, kind)
}

/// Counts a change of the data, and chains its digest.
pub(super) async fn change_data(
    write: &mut Write<'_>,
    source: &SourceId,
    digest: &str,
) -> Result<(), StoreError> {
    let before: String = sqlx::query("SELECT data_hash FROM installation")
        .fetch_one(&mut **write)
        .await?
        .try_get(0)?;
    sqlx::query(
        "UPDATE installation SET intel_generation = intel_generation + 1,
                data_number = data_number + 1, data_hash = ?",
    )
    .bind(row::intel::chained(&before, source, digest))
    .execute(&mut **write)
    .await?;
    Ok(())
}
