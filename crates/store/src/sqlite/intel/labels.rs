//! Labels and their withdrawals in `SQLite`.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, SourceKind},
    names::{ListId, SourceId},
    taxonomy::Category,
};
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::{QueryBuilder, Row, Sqlite, SqlitePool};

use super::listings::{
    Write, change_data, confirm_fetch, insert_publication, note_fetched, publications,
    upsert_source,
};
use crate::{
    StoreError,
    intel::{
        Fingerprint, LabelChange, LabelFilter, LabelImport, LabelSink, RecordedLabel, Suppression,
    },
    row::{
        self,
        labels::{COLUMNS, Recorded, Replacement, WITHDRAWN},
    },
    value,
};

/// Rows that are inserted by one statement.
const BATCH: usize = 500;

/// Hands out every label that stands.
pub(super) async fn standing(
    read: &mut Write<'_>,
    each: &mut LabelSink<'_>,
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS} FROM labels WHERE recorded_to IS NULL AND NOT {WITHDRAWN}
         ORDER BY chain, address, source, id"
    );
    let mut rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch(&mut **read);
    while let Some(row) = rows.try_next().await? {
        each(row::labels::address_label(&row)?);
    }
    Ok(())
}

pub(super) async fn all(
    pool: &SqlitePool,
    filter: &LabelFilter,
    each: &mut (dyn FnMut(RecordedLabel) + Send),
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS}, recorded_from, recorded_to FROM labels
         WHERE (?1 IS NULL OR source = ?1) AND (?2 IS NULL OR chain = ?2)
           AND (?3 OR recorded_to IS NULL)
         ORDER BY chain, address, source, id"
    );
    let mut rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(filter.source.as_ref().map(SourceId::as_str))
        .bind(filter.chain.map(ChainId::as_str))
        .bind(filter.history)
        .fetch(pool);
    while let Some(row) = rows.try_next().await? {
        each(row::labels::recorded(&row)?);
    }
    Ok(())
}

pub(super) async fn record(
    write: &mut Write<'_>,
    import: &LabelImport,
) -> Result<Option<LabelChange>, StoreError> {
    upsert_source(write, &import.source, SourceKind::Labels, import.sample, import.at).await?;
    let known = publications(write, Some(&import.source)).await?;
    let Some(record) = row::labels::publication(import, &known) else {
        confirm_fetch(write, &import.source, import.at, import.fetched.as_ref()).await?;
        return Ok(None);
    };
    insert_publication(write, &import.source, &record, import.at).await?;
    let change = replace(write, import).await?;
    note_fetched(write, &import.source, import.at, import.fetched.as_ref()).await?;
    changed(write, &import.source, &import.digest).await?;
    Ok(Some(change))
}

/// Ends the recorded labels that the import lacks, and records those that are new.
async fn replace(write: &mut Write<'_>, import: &LabelImport) -> Result<LabelChange, StoreError> {
    let recorded = recorded(write, &import.source).await?;
    let Replacement { begun, ended, change } = recorded.replace_by(&import.labels);
    for id in &ended {
        sqlx::query("UPDATE labels SET recorded_to = ? WHERE id = ?")
            .bind(value::milliseconds(import.at))
            .bind(id)
            .execute(&mut **write)
            .await?;
    }
    for batch in begun.chunks(BATCH) {
        insert(write, batch, import.at).await?;
    }
    Ok(change)
}

async fn recorded(read: &mut Write<'_>, source: &SourceId) -> Result<Recorded, StoreError> {
    let mut found = Recorded::default();
    let mut rows =
        sqlx::query("SELECT id, fingerprint FROM labels WHERE source = ? AND recorded_to IS NULL")
            .bind(source.as_str())
            .fetch(&mut **read);
    while let Some(row) = rows.try_next().await? {
        found.add(&row)?;
    }
    Ok(found)
}

async fn insert(
    write: &mut Write<'_>,
    batch: &[(&AddressLabel, Fingerprint)],
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut query: QueryBuilder<Sqlite> =
        QueryBuilder::new(format!("INSERT INTO labels ({COLUMNS}, fingerprint, recorded_from) "));
    query.push_values(batch, |mut row, (AddressLabel { address, label }, print)| {
        row.push_bind(label.source.as_str())
            .push_bind(address.chain().as_str())
            .push_bind(address.as_str())
            .push_bind(label.category.as_str())
            .push_bind(label.entity.as_deref())
            .push_bind(label.tier.as_str())
            .push_bind(label.confidence.percent())
            .push_bind(&*label.upstream)
            .push_bind(label.author.as_deref())
            .push_bind(label.term.as_deref())
            .push_bind(label.cites_list.as_ref().map(ListId::as_str))
            .push_bind(label.reason.as_deref())
            .push_bind(label.reference.as_deref())
            .push_bind(label.valid_from.map(|day| day.to_string()))
            .push_bind(label.valid_until.map(|day| day.to_string()))
            .push_bind(&print[..])
            .push_bind(value::milliseconds(at));
    });
    query.build().execute(&mut **write).await?;
    Ok(())
}

pub(super) async fn suppress(
    write: &mut Write<'_>,
    suppression: &Suppression,
) -> Result<u64, StoreError> {
    let Suppression { source, address, category, author, reason, at, lifted_at: _ } = suppression;
    let category = category.map(Category::as_str);
    let withdrawn: i64 = sqlx::query(
        "SELECT count(*) FROM labels WHERE recorded_to IS NULL AND source = ?1 AND chain = ?2
             AND address = ?3 AND (?4 IS NULL OR category = ?4)",
    )
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .bind(category)
    .fetch_one(&mut **write)
    .await?
    .try_get(0)?;
    sqlx::query(
        "INSERT INTO label_suppressions
             (source, chain, address, category, author, reason, suppressed_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .bind(category)
    .bind(author)
    .bind(reason)
    .bind(value::milliseconds(*at))
    .execute(&mut **write)
    .await?;
    let what = format!("suppressed {address} {}", category.unwrap_or("*"));
    changed(write, source, &what).await?;
    Ok(value::unsigned("labels", withdrawn)?)
}

pub(super) async fn lift(
    write: &mut Write<'_>,
    source: &SourceId,
    address: &CanonicalAddress,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let lifted = sqlx::query(
        "UPDATE label_suppressions SET lifted_at = ?
         WHERE lifted_at IS NULL AND source = ? AND chain = ? AND address = ?",
    )
    .bind(value::milliseconds(at))
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .execute(&mut **write)
    .await?
    .rows_affected();
    if lifted > 0 {
        changed(write, source, &format!("lifted {address}")).await?;
    }
    Ok(lifted)
}

pub(super) async fn suppressions(pool: &SqlitePool) -> Result<Vec<Suppression>, StoreError> {
    let rows = sqlx::query(
        "SELECT source, chain, address, category, author, reason, suppressed_at, lifted_at
         FROM label_suppressions ORDER BY id",
    )
    .fetch_all(pool)
    .await?;
    rows.iter().map(row::labels::suppression).collect()
}

/// Counts a change of labels.
async fn changed(write: &mut Write<'_>, source: &SourceId, what: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE installation SET label_generation = label_generation + 1")
        .execute(&mut **write)
        .await?;
    change_data(write, source, what).await
}
