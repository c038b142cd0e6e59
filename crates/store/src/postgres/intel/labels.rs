//! Labels and their withdrawals in PostgreSQL.

use assay_address::{CanonicalAddress, ChainId};
use assay_database::postgres::Connections;
use assay_engine::{
    evidence::{AddressLabel, Label, SourceKind},
    names::{ListId, SourceId},
    taxonomy::Category,
};
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::listings::{
    change_data, confirm_fetch, insert_publication, note_fetched, publications, upsert_source,
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

/// Labels that are inserted by one statement: enough that a million of them is not a question of how
/// far away the server is.
const BATCH: usize = 5_000;

/// Hands out every label that stands.
pub(super) async fn standing(
    read: &mut PgConnection,
    connections: &Connections,
    each: &mut LabelSink<'_>,
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS} FROM labels WHERE recorded_to IS NULL AND NOT {WITHDRAWN}
         ORDER BY chain, address, source, id"
    );
    let mut rows = sqlx::query(AssertSqlSafe(query)).fetch(read);
    while let Some(row) = connections.next_part(rows.try_next()).await? {
        each(row::labels::address_label(&row)?);
    }
    Ok(())
}

pub(super) async fn all(
    read: &mut PgConnection,
    filter: &LabelFilter,
    each: &mut (dyn FnMut(RecordedLabel) + Send),
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS}, recorded_from, recorded_to FROM labels
         WHERE ($1::text IS NULL OR source = $1) AND ($2::text IS NULL OR chain = $2)
           AND ($3 OR recorded_to IS NULL)
         ORDER BY chain, address, source, id"
    );
    let mut rows = sqlx::query(AssertSqlSafe(query))
        .bind(filter.source.as_ref().map(SourceId::as_str))
        .bind(filter.chain.map(ChainId::as_str))
        .bind(filter.history)
        .fetch(read);
    while let Some(row) = rows.try_next().await? {
        each(row::labels::recorded(&row)?);
    }
    Ok(())
}

pub(super) async fn record(
    write: &mut PgConnection,
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
async fn replace(
    write: &mut PgConnection,
    import: &LabelImport,
) -> Result<LabelChange, StoreError> {
    let recorded = recorded(write, &import.source).await?;
    let Replacement { begun, ended, change } = recorded.replace_by(&import.labels);
    sqlx::query("UPDATE labels SET recorded_to = $1 WHERE id = ANY($2)")
        .bind(value::milliseconds(import.at))
        .bind(&ended)
        .execute(&mut *write)
        .await?;
    for batch in begun.chunks(BATCH) {
        insert(write, batch, import.at).await?;
    }
    Ok(change)
}

async fn recorded(read: &mut PgConnection, source: &SourceId) -> Result<Recorded, StoreError> {
    let mut found = Recorded::default();
    let mut rows =
        sqlx::query("SELECT id, fingerprint FROM labels WHERE source = $1 AND recorded_to IS NULL")
            .bind(source.as_str())
            .fetch(read);
    while let Some(row) = rows.try_next().await? {
        found.add(&row)?;
    }
    Ok(found)
}

/// Inserts labels in their order, so that their ids are in it too.
async fn insert(
    write: &mut PgConnection,
    batch: &[(&AddressLabel, Fingerprint)],
    at: Timestamp,
) -> Result<(), StoreError> {
    let addresses = || batch.iter().map(|(label, _)| &label.address);
    let labels = || batch.iter().map(|(label, _)| &label.label);
    let text = |text: fn(&Label) -> &str| labels().map(text).collect::<Vec<&str>>();
    let optional =
        |text: fn(&Label) -> Option<&str>| labels().map(text).collect::<Vec<Option<&str>>>();
    let days = |day: fn(&Label) -> Option<jiff::civil::Date>| {
        labels().map(|label| day(label).map(|day| day.to_string())).collect::<Vec<_>>()
    };
    let query = format!(
        "INSERT INTO labels (recorded_from, {COLUMNS}, fingerprint)
         SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
             $7::text[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[],
             $13::text[], $14::text[], $15::text[], $16::text[], $17::bytea[])"
    );
    sqlx::query(AssertSqlSafe(query))
        .bind(value::milliseconds(at))
        .bind(text(|label| label.source.as_str()))
        .bind(addresses().map(|address| address.chain().as_str()).collect::<Vec<_>>())
        .bind(addresses().map(CanonicalAddress::as_str).collect::<Vec<_>>())
        .bind(text(|label| label.category.as_str()))
        .bind(optional(|label| label.entity.as_deref()))
        .bind(text(|label| label.tier.as_str()))
        .bind(labels().map(|label| i64::from(label.confidence.percent())).collect::<Vec<_>>())
        .bind(text(|label| &label.upstream))
        .bind(optional(|label| label.author.as_deref()))
        .bind(optional(|label| label.term.as_deref()))
        .bind(optional(|label| label.cites_list.as_ref().map(ListId::as_str)))
        .bind(optional(|label| label.reason.as_deref()))
        .bind(optional(|label| label.reference.as_deref()))
        .bind(days(|label| label.valid_from))
        .bind(days(|label| label.valid_until))
        .bind(batch.iter().map(|(_, print)| &print[..]).collect::<Vec<_>>())
        .execute(write)
        .await?;
    Ok(())
}

pub(super) async fn suppress(
    write: &mut PgConnection,
    suppression: &Suppression,
) -> Result<u64, StoreError> {
    let Suppression { source, address, category, author, reason, at, lifted_at: _ } = suppression;
    let category = category.map(Category::as_str);
    let withdrawn: i64 = sqlx::query(
        "SELECT count(*) FROM labels WHERE recorded_to IS NULL AND source = $1 AND chain = $2
             AND address = $3 AND ($4::text IS NULL OR category = $4)",
    )
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .bind(category)
    .fetch_one(&mut *write)
    .await?
    .try_get(0)?;
    sqlx::query(
        "INSERT INTO label_suppressions
             (source, chain, address, category, author, reason, suppressed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .bind(category)
    .bind(author)
    .bind(reason)
    .bind(value::milliseconds(*at))
    .execute(&mut *write)
    .await?;
    let what = format!("suppressed {address} {}", category.unwrap_or("*"));
    changed(write, source, &what).await?;
    Ok(value::unsigned("labels", withdrawn)?)
}

pub(super) async fn lift(
    write: &mut PgConnection,
    source: &SourceId,
    address: &CanonicalAddress,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let lifted = sqlx::query(
        "UPDATE label_suppressions SET lifted_at = $1
         WHERE lifted_at IS NULL AND source = $2 AND chain = $3 AND address = $4",
    )
    .bind(value::milliseconds(at))
    .bind(source.as_str())
    .bind(address.chain().as_str())
    .bind(address.as_str())
    .execute(&mut *write)
    .await?
    .rows_affected();
    if lifted > 0 {
        changed(write, source, &format!("lifted {address}")).await?;
    }
    Ok(lifted)
}

pub(super) async fn suppressions(read: &mut PgConnection) -> Result<Vec<Suppression>, StoreError> {
    let rows = sqlx::query(
        "SELECT source, chain, address, category, author, reason, suppressed_at, lifted_at
         FROM label_suppressions ORDER BY id",
    )
    .fetch_all(read)
    .await?;
    rows.iter().map(row::labels::suppression).collect()
}

/// Counts a change of labels.
async fn changed(
    write: &mut PgConnection,
    source: &SourceId,
    what: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE installation SET label_generation = label_generation + 1")
        .execute(&mut *write)
        .await?;
    change_data(write, source, what).await
}
