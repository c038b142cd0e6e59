//! Sources, publications and listings.

use assay_engine::{
    evidence::{SourceKind, history::Presence},
    names::SourceId,
};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use crate::{
    StoreError,
    intel::{
        FetchConditions, Intel, PublicationImport, PublicationRecord, RecordedHistory, expect_kind,
        kind_text,
    },
    row::{
        self, Row,
        intel::{PublicationRows, StoredPublication},
    },
    sql::Session,
};

pub(super) async fn load(session: &mut Session) -> Result<Intel, StoreError> {
    let installation =
        "SELECT environment, intel_generation, label_generation, price_generation, data_number,
                                data_hash
                        FROM installation";
    let installation = session.row(installation, &[]).await?;
    let publications = publications(session, None).await?;
    let listings = recorded_listings(session, None).await?;
    let sources = "SELECT id, kind, sample, fetched_at FROM sources ORDER BY id";
    let sources = session.rows(sources, &[]).await?;
    row::intel::intel(&installation, &publications, &listings, &sources)
}

pub(super) async fn publications(
    session: &mut Session,
    of: Option<&SourceId>,
) -> Result<Vec<StoredPublication>, StoreError> {
    let publications = "SELECT id, source, ordinal, published_on, digest, entries, imported_at
                        FROM publications
                        WHERE CAST($1 AS text) IS NULL OR source = $1 ORDER BY id";
    let rows = session.rows(publications, &[of.map(SourceId::as_str).into()]).await?;
    rows.iter().map(row::intel::publication).collect()
}

async fn recorded_listings(
    session: &mut Session,
    of: Option<&SourceId>,
) -> Result<Vec<Row>, StoreError> {
    let listings = "SELECT id, source, list, list_name, entity, asset_code, address_as_published,
                           address_remarks, expires_on, present_from, absent_from
                    FROM listings
                    WHERE recorded_to IS NULL AND (CAST($1 AS text) IS NULL OR source = $1)
                    ORDER BY source, list, entity_id, asset_code, address_as_published, id";
    session.rows(listings, &[of.map(SourceId::as_str).into()]).await
}

pub(super) async fn history(
    session: &mut Session,
    source: &SourceId,
) -> Result<RecordedHistory, StoreError> {
    if let Some(held) = kind(session, source).await? {
        expect_kind(source, held, SourceKind::Sanctions)?;
    }
    let generation = generation(session).await?;
    let publications = publications(session, Some(source)).await?;
    let listings = recorded_listings(session, Some(source)).await?;
    row::intel::history(generation, publications, &listings)
}

/// The kind of data that a source holds; `None` if there is no such source.
pub(super) async fn kind(
    session: &mut Session,
    source: &SourceId,
) -> Result<Option<String>, StoreError> {
    let kind = "SELECT kind FROM sources WHERE id = $1";
    let row = session.optional_row(kind, &[source.as_str().into()]).await?;
    row.map(|row| row.text("kind").map(ToOwned::to_owned)).transpose()
}

async fn generation(session: &mut Session) -> Result<u64, StoreError> {
    let row = session.row("SELECT intel_generation FROM installation", &[]).await?;
    row::intel::generation(&row)
}

pub(super) async fn record_publication(
    session: &mut Session,
    import: &PublicationImport,
) -> Result<(), StoreError> {
    if generation(session).await? != import.planned_at_generation {
        return Err(StoreError::Conflict);
    }
    upsert_source(session, &import.source, SourceKind::Sanctions, import.sample, import.at).await?;
    if import.newest {
        note_fetched(session, &import.source, import.at, import.fetched.as_ref()).await?;
    }
    let record = &import.publication;
    insert_publication(session, &import.source, record, import.at).await?;
    let end = format!(
        "UPDATE listings SET recorded_to = $1 WHERE id {} AND recorded_to IS NULL",
        session.any("$2")
    );
    let values = [import.at.into(), import.ended.clone().into()];
    session.execute(AssertSqlSafe(end), &values).await?;
    let rows = PublicationRows::new(&publications(session, Some(&import.source)).await?);
    insert_listings(session, import, &rows).await?;
    change_data(session, &import.source, &record.digest).await
}

/// Inserts listings in order, so that their ids have the same order.
async fn insert_listings(
    session: &mut Session,
    import: &PublicationImport,
    publications: &PublicationRows,
) -> Result<(), StoreError> {
    let columns = "source, list, list_name, entity_id, entity, asset_code, address_as_published,
        address_remarks, expires_on, present_from, absent_from, recorded_from";
    let mut rows = Vec::with_capacity(import.begun.len());
    for (entry, Presence { from, until }) in &import.begun {
        rows.push([
            import.source.as_str().into(),
            entry.list.as_str().into(),
            entry.list_name.as_str().into(),
            entry.entity.id.as_str().into(),
            row::intel::entity(&entry.entity)?.into(),
            entry.asset_code.as_str().into(),
            entry.address_as_published.as_str().into(),
            entry.address_remarks.as_deref().into(),
            entry.expires_on.into(),
            publications.row(*from)?.into(),
            until.map(|until| publications.row(until)).transpose()?.into(),
            import.at.into(),
        ]);
    }
    session.insert("listings", columns, &rows, "").await
}

pub(super) async fn insert_publication(
    session: &mut Session,
    source: &SourceId,
    record: &PublicationRecord,
    at: Timestamp,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO publications
                      (source, ordinal, published_on, digest, file_digest, format, origin, entries,
                       imported_at, report)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let values = [
        source.as_str().into(),
        record.reference.ordinal.into(),
        record.reference.published_on.into(),
        record.digest.as_str().into(),
        record.file_digest.as_str().into(),
        record.format.as_str().into(),
        record.origin.as_str().into(),
        record.entries.into(),
        at.into(),
        record.report.to_string().into(),
    ];
    session.execute(insert, &values).await?;
    Ok(())
}

pub(super) async fn fetch_conditions(
    session: &mut Session,
    source: &SourceId,
    url: &str,
) -> Result<FetchConditions, StoreError> {
    let conditions = "SELECT etag, last_modified FROM sources WHERE id = $1 AND url = $2
                      UNION ALL
                      SELECT etag, last_modified FROM price_sources WHERE id = $1 AND url = $2";
    let row = session.optional_row(conditions, &[source.as_str().into(), url.into()]).await?;
    row.map_or_else(|| Ok(FetchConditions::default()), |row| row::intel::fetch_conditions(&row))
}

pub(super) async fn confirm_fetch(
    session: &mut Session,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    for table in ["sources", "price_sources"] {
        let confirm = format!(
            "UPDATE {table} SET fetched_at = CASE WHEN fetched_at < $1 THEN $1 ELSE fetched_at END
             WHERE id = $2"
        );
        let values = [at.into(), source.as_str().into()];
        session.execute(AssertSqlSafe(confirm), &values).await?;
        if fetched.is_some() {
            note_conditions(session, table, source, fetched).await?;
        }
    }
    let count = "UPDATE installation SET intel_generation = intel_generation + 1";
    session.execute(count, &[]).await?;
    Ok(())
}

/// Records the URL and time of the fetch of a source's newest file. `None` deletes the validators
/// of an earlier response, because they do not describe this file.
pub(super) async fn note_fetched(
    session: &mut Session,
    source: &SourceId,
    at: Timestamp,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    let note = "UPDATE sources SET fetched_at = $1 WHERE id = $2";
    session.execute(note, &[at.into(), source.as_str().into()]).await?;
    note_conditions(session, "sources", source, fetched).await
}

/// Records the URL of a fetch and the validators of the answer in a table of sources.
pub(super) async fn note_conditions(
    session: &mut Session,
    table: &'static str,
    source: &SourceId,
    fetched: Option<&(String, FetchConditions)>,
) -> Result<(), StoreError> {
    let (url, conditions) = fetched.cloned().unzip();
    let FetchConditions { etag, last_modified } = conditions.unwrap_or_default();
    let note = format!("UPDATE {table} SET url = $1, etag = $2, last_modified = $3 WHERE id = $4");
    let values = [url.into(), etag.into(), last_modified.into(), source.as_str().into()];
    session.execute(AssertSqlSafe(note), &values).await?;
    Ok(())
}

pub(super) async fn upsert_source(
    session: &mut Session,
    source: &SourceId,
    kind: SourceKind,
    sample: bool,
    at: Timestamp,
) -> Result<(), StoreError> {
    let prices = "SELECT id FROM price_sources WHERE id = $1";
    if session.optional_row(prices, &[source.as_str().into()]).await?.is_some() {
        return expect_kind(source, kind_text(SourceKind::Prices).to_owned(), kind);
    }
    let insert = "INSERT INTO sources (id, kind, sample, fetched_at) VALUES ($1, $2, $3, $4)
                  ON CONFLICT (id) DO NOTHING";
    let values = [source.as_str().into(), kind_text(kind).into(), sample.into(), at.into()];
    session.execute(insert, &values).await?;
    let held = self::kind(session, source).await?.ok_or(sqlx::Error::RowNotFound)?;
    expect_kind(source, held, kind)
}

/// Counts a change of the data, and chains its digest.
pub(super) async fn change_data(
    session: &mut Session,
    source: &SourceId,
    digest: &str,
) -> Result<(), StoreError> {
    let before = session.row("SELECT data_hash FROM installation", &[]).await?;
    let hash = row::intel::chained_hash(before.text("data_hash")?, source, digest);
    let change = "UPDATE installation SET intel_generation = intel_generation + 1,
                      data_number = data_number + 1, data_hash = $1";
    session.execute(change, &[hash.into()]).await?;
    Ok(())
}
