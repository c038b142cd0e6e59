//! Labels and their withdrawals.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, SourceKind},
    names::{ListId, SourceId},
    taxonomy::Category,
};
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::listings::{
    change_data, confirm_fetch, insert_publication, note_fetched, publications, upsert_source,
};
use crate::{
    StoreError,
    intel::{
        Fingerprint, LabelChange, LabelCounts, LabelFilter, LabelImport, LabelSink, RecordedLabel,
        Suppression,
    },
    row::{
        self,
        labels::{COLUMNS, LabelReplacement, RecordedLabelRows},
    },
    sql::{Backend, Session},
    value,
};

/// Number of labels whose rows are in memory at once.
const BATCH: usize = 5_000;

/// Passes every label of the newest imports to `each`.
pub(super) async fn newest_labels(
    backend: &impl Backend,
    session: &mut Session,
    each: &mut LabelSink<'_>,
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS} FROM labels WHERE recorded_to IS NULL
         ORDER BY chain, address, source, id"
    );
    let mut rows = session.stream(AssertSqlSafe(query), &[]);
    while let Some(row) = backend.next_part(rows.try_next()).await? {
        each(row::labels::address_label(&row)?);
    }
    Ok(())
}

pub(super) async fn recorded_labels(
    session: &mut Session,
    filter: &LabelFilter,
    each: &mut (dyn FnMut(RecordedLabel) + Send),
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT {COLUMNS}, recorded_from, recorded_to FROM labels
         WHERE (CAST($1 AS text) IS NULL OR source = $1)
           AND (CAST($2 AS text) IS NULL OR chain = $2)
           AND ($3 OR recorded_to IS NULL)
         ORDER BY chain, address, source, id"
    );
    let values = [
        filter.source.as_ref().map(SourceId::as_str).into(),
        filter.chain.map(ChainId::as_str).into(),
        filter.history.into(),
    ];
    let mut rows = session.stream(AssertSqlSafe(query), &values);
    while let Some(row) = rows.try_next().await? {
        each(row::labels::recorded(&row)?);
    }
    Ok(())
}

pub(super) async fn record(
    session: &mut Session,
    import: &LabelImport,
) -> Result<Option<LabelChange>, StoreError> {
    upsert_source(session, &import.source, SourceKind::Labels, import.sample, import.at).await?;
    let known = publications(session, Some(&import.source)).await?;
    if import.planned_after.is_some_and(|planned| planned != known.len()) {
        return Err(StoreError::Conflict);
    }
    let Some(record) = row::labels::publication(import, &known) else {
        confirm_fetch(session, &import.source, import.at, import.fetched.as_ref()).await?;
        return Ok(None);
    };
    insert_publication(session, &import.source, &record, import.at).await?;
    let change = replace(session, import).await?;
    note_fetched(session, &import.source, import.at, import.fetched.as_ref()).await?;
    count_label_change(session, &import.source, &import.digest).await?;
    Ok(Some(change))
}

/// The imports of a source, and the numbers of its recorded labels.
pub(super) async fn counts(
    session: &mut Session,
    source: &SourceId,
) -> Result<LabelCounts, StoreError> {
    let imports =
        "SELECT digest, entries, imported_at FROM publications WHERE source = $1 ORDER BY id";
    let imports = session.rows(imports, &[source.as_str().into()]).await?;
    let by_chain = "SELECT chain, COUNT(*) AS labels FROM labels
                    WHERE source = $1 AND recorded_to IS NULL GROUP BY chain";
    let by_chain = session.rows(by_chain, &[source.as_str().into()]).await?;
    row::labels::counts(&imports, &by_chain)
}

/// Ends the recorded labels that the import lacks, and records new labels.
async fn replace(session: &mut Session, import: &LabelImport) -> Result<LabelChange, StoreError> {
    let recorded = label_rows(session, &import.source).await?;
    let LabelReplacement { begun, ended, change } = recorded.replace_by(&import.labels);
    let end = format!("UPDATE labels SET recorded_to = $1 WHERE id {}", session.any("$2"));
    session.execute(AssertSqlSafe(end), &[import.at.into(), ended.into()]).await?;
    for batch in begun.chunks(BATCH) {
        insert(session, batch, import.at).await?;
    }
    Ok(change)
}

async fn label_rows(
    session: &mut Session,
    source: &SourceId,
) -> Result<RecordedLabelRows, StoreError> {
    let mut found = RecordedLabelRows::default();
    let values = [source.as_str().into()];
    let labels = "SELECT id, fingerprint FROM labels WHERE source = $1 AND recorded_to IS NULL";
    let mut rows = session.stream(labels, &values);
    while let Some(row) = rows.try_next().await? {
        found.add(&row)?;
    }
    Ok(found)
}

/// Inserts labels in order, so that their ids have the same order.
async fn insert(
    session: &mut Session,
    batch: &[(&AddressLabel, Fingerprint)],
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut rows = Vec::with_capacity(batch.len());
    for (AddressLabel { address, label }, print) in batch {
        rows.push([
            label.source.as_str().into(),
            address.chain().as_str().into(),
            address.as_str().into(),
            label.category.as_str().into(),
            label.entity.as_deref().into(),
            label.tier.as_str().into(),
            u32::from(label.confidence.percent()).into(),
            (&*label.upstream).into(),
            label.author.as_deref().into(),
            label.term.as_deref().into(),
            label.cites_list.as_ref().map(ListId::as_str).into(),
            label.reason.as_deref().into(),
            label.reference.as_deref().into(),
            label.valid_from.into(),
            label.valid_until.into(),
            print.as_slice().into(),
            at.into(),
        ]);
    }
    let columns = format!("{COLUMNS}, fingerprint, recorded_from");
    session.insert("labels", &columns, &rows, "").await
}

pub(super) async fn suppress(
    session: &mut Session,
    suppression: &Suppression,
) -> Result<u64, StoreError> {
    let Suppression { source, address, category, author, reason, at, lifted_at: _ } = suppression;
    let category = category.map(Category::as_str);
    let withdrawn = "SELECT count(*) AS count FROM labels WHERE recorded_to IS NULL AND source = $1
                         AND chain = $2 AND address = $3
                         AND (CAST($4 AS text) IS NULL OR category = $4)";
    let insert = "INSERT INTO label_suppressions
                      (source, chain, address, category, author, reason, suppressed_at)
                  VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values = [
        source.as_str().into(),
        address.chain().as_str().into(),
        address.as_str().into(),
        category.into(),
        author.as_str().into(),
        reason.as_str().into(),
        (*at).into(),
    ];
    let withdrawn = session.row(withdrawn, &values[..4]).await?.integer("count")?;
    session.execute(insert, &values).await?;
    let what = format!("suppressed {address} {}", category.unwrap_or("*"));
    change_data(session, source, &what).await?;
    Ok(value::unsigned("labels", withdrawn)?)
}

pub(super) async fn lift_suppressions(
    session: &mut Session,
    source: &SourceId,
    address: &CanonicalAddress,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let lift = "UPDATE label_suppressions SET lifted_at = $1
                WHERE lifted_at IS NULL AND source = $2 AND chain = $3 AND address = $4";
    let values = [
        at.into(),
        source.as_str().into(),
        address.chain().as_str().into(),
        address.as_str().into(),
    ];
    let lifted = session.execute(lift, &values).await?;
    if lifted > 0 {
        change_data(session, source, &format!("lifted {address}")).await?;
    }
    Ok(lifted)
}

pub(super) async fn suppressions(session: &mut Session) -> Result<Vec<Suppression>, StoreError> {
    let all = "SELECT source, chain, address, category, author, reason, suppressed_at, lifted_at
               FROM label_suppressions ORDER BY id";
    session.rows(all, &[]).await?.iter().map(row::labels::suppression).collect()
}

/// Counts a change of labels by an import in the revision.
async fn count_label_change(
    session: &mut Session,
    source: &SourceId,
    what: &str,
) -> Result<(), StoreError> {
    let count = "UPDATE installation SET label_generation = label_generation + 1";
    session.execute(count, &[]).await?;
    change_data(session, source, what).await
}
