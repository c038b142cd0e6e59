//! Sources, publications, listings and labels in `SQLite`.

use std::collections::{BTreeSet, HashMap};

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::{
        Label, ListedEntity, Listing, ListingEntry, SourceKind, SourceState,
        history::{KnownListing, KnownPublication, Presence, PublicationRef, SourceHistory},
    },
    names::{ListId, SourceId},
    score::Confidence,
};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use sqlx::{Row, Sqlite, SqlitePool, Transaction, sqlite::SqliteRow};

use super::value;
use crate::{
    StoreError,
    intel::{
        AddressLabel, FetchConditions, Intel, LabelImport, PublicationImport, PublicationRecord,
        RecordedHistory, RowId, kind_text,
    },
};

type Write<'a> = Transaction<'a, Sqlite>;

/// Hexadecimal digits of a data revision's hash that are shown.
const REVISION_DIGITS: usize = 12;

pub(super) async fn load(read: &mut Write<'_>) -> Result<Intel, StoreError> {
    let row = sqlx::query(
        "SELECT environment, intel_generation, data_number, data_hash FROM installation",
    )
    .fetch_one(&mut **read)
    .await?;
    let number: i64 = row.try_get("data_number")?;
    let hash: String = row.try_get("data_hash")?;
    let publications = publications(read, None).await?;
    let listings = listings(read, &publications).await?;
    Ok(Intel {
        environment: value::environment(row.try_get("environment")?)?,
        generation: value::unsigned(
            "installation.intel_generation",
            row.try_get("intel_generation")?,
        )?,
        data_revision: format!("{number}-{}", hash.get(..REVISION_DIGITS).unwrap_or("empty")),
        sources: sources(read, &publications, &listings).await?,
        labels: labels(read).await?,
        listings,
    })
}

/// A publication with its row and source.
struct StoredPublication {
    id: i64,
    source: SourceId,
    known: KnownPublication,
}

async fn publications(
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
    rows.iter()
        .map(|row| {
            let ordinal: i64 = row.try_get("ordinal")?;
            Ok(StoredPublication {
                id: row.try_get("id")?,
                source: value::parsed("publications.source", row.try_get("source")?)?,
                known: KnownPublication {
                    reference: PublicationRef {
                        published_on: value::day(
                            "publications.published_on",
                            row.try_get("published_on")?,
                        )?,
                        ordinal: u32::try_from(ordinal).map_err(|error| {
                            StoreError::unreadable("publications.ordinal", error)
                        })?,
                    },
                    digest: row.try_get("digest")?,
                    entries: value::unsigned("publications.entries", row.try_get("entries")?)?,
                },
            })
        })
        .collect()
}

async fn sources(
    read: &mut Write<'_>,
    publications: &[StoredPublication],
    listings: &[Listing],
) -> Result<Vec<SourceState>, StoreError> {
    let rows = sqlx::query("SELECT id, kind, sample, fetched_at FROM sources ORDER BY id")
        .fetch_all(&mut **read)
        .await?;
    rows.iter()
        .map(|row| {
            let id: SourceId = value::parsed("sources.id", row.try_get("id")?)?;
            let mut own: Vec<&KnownPublication> = publications
                .iter()
                .filter(|publication| publication.source == id)
                .map(|publication| &publication.known)
                .collect();
            own.sort_by_key(|publication| publication.reference);
            let newest = own.last();
            let lists: BTreeSet<ListId> = listings
                .iter()
                .filter(|listing| listing.source == id && listing.delisted_on.is_none())
                .map(|listing| listing.entry.list.clone())
                .collect();
            let kind = match row.try_get("kind")? {
                "sanctions" => SourceKind::Sanctions,
                "labels" => SourceKind::Labels,
                other => return Err(StoreError::unreadable("sources.kind", other)),
            };
            Ok(SourceState {
                id,
                kind,
                lists: lists.into_iter().collect(),
                publications: own.iter().map(|own| own.reference.published_on).collect(),
                fetched_at: value::time("sources.fetched_at", row.try_get("fetched_at")?)?,
                digest: newest.map(|newest| newest.digest.clone()).unwrap_or_default(),
                entries: newest.map_or(0, |newest| newest.entries),
                sample: row.try_get("sample")?,
            })
        })
        .collect()
}

/// What of a listing's row does not depend on publications.
fn entry(row: &SqliteRow) -> Result<ListingEntry, StoreError> {
    let entity: ListedEntity = value::json("listings.entity", row.try_get("entity")?)?;
    Ok(ListingEntry {
        list: value::parsed("listings.list", row.try_get("list")?)?,
        list_name: row.try_get("list_name")?,
        entity: entity.into(),
        asset_code: row.try_get("asset_code")?,
        address_as_published: row.try_get("address_as_published")?,
        address_remarks: row.try_get("address_remarks")?,
        expires_on: value::optional_day("listings.expires_on", row.try_get("expires_on")?)?,
    })
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

async fn listings(
    read: &mut Write<'_>,
    publications: &[StoredPublication],
) -> Result<Vec<Listing>, StoreError> {
    let by_id: HashMap<i64, &StoredPublication> =
        publications.iter().map(|publication| (publication.id, publication)).collect();
    let mut first: HashMap<&SourceId, PublicationRef> = HashMap::new();
    for publication in publications {
        let reference = publication.known.reference;
        let earliest = first.entry(&publication.source).or_insert(reference);
        *earliest = reference.min(*earliest);
    }
    let rows = recorded_listings(read, None).await?;
    rows.iter()
        .map(|row| {
            let presence = presence(row, &by_id)?;
            let source: SourceId = value::parsed("listings.source", row.try_get("source")?)?;
            // What the first publication known here holds may have been listed long before.
            let since_before = first.get(&source) == Some(&presence.from);
            Ok(Listing {
                source,
                entry: entry(row)?,
                listed_on: (!since_before).then_some(presence.from.published_on),
                delisted_on: presence.until.map(|until| until.published_on),
            })
        })
        .collect()
}

fn presence(
    row: &SqliteRow,
    publications: &HashMap<i64, &StoredPublication>,
) -> Result<Presence, StoreError> {
    let reference = |id: i64| {
        publications
            .get(&id)
            .map(|publication| publication.known.reference)
            .ok_or_else(|| StoreError::unreadable("listings.present_from", id))
    };
    let until: Option<i64> = row.try_get("absent_from")?;
    Ok(Presence {
        from: reference(row.try_get("present_from")?)?,
        until: until.map(reference).transpose()?,
    })
}

async fn labels(read: &mut Write<'_>) -> Result<Vec<AddressLabel>, StoreError> {
    let rows = sqlx::query(
        "SELECT source, chain, address, category, entity, tier, confidence, upstream, cites_list,
                reason, valid_from, valid_until
         FROM labels WHERE recorded_to IS NULL ORDER BY chain, address, source, id",
    )
    .fetch_all(&mut **read)
    .await?;
    rows.iter().map(address_label).collect()
}

fn address_label(row: &SqliteRow) -> Result<AddressLabel, StoreError> {
    let chain: ChainId = value::parsed("labels.chain", row.try_get("chain")?)?;
    let cites: Option<&str> = row.try_get("cites_list")?;
    Ok(AddressLabel {
        address: CanonicalAddress::parse(chain, row.try_get("address")?)
            .map_err(|error| StoreError::unreadable("labels.address", error))?,
        label: Label {
            category: value::parsed("labels.category", row.try_get("category")?)?,
            entity: row.try_get("entity")?,
            tier: value::tier(row.try_get("tier")?)?,
            confidence: Confidence::from_percent(row.try_get("confidence")?),
            source: value::parsed("labels.source", row.try_get("source")?)?,
            upstream: row.try_get("upstream")?,
            cites_list: cites.map(|list| value::parsed("labels.cites_list", list)).transpose()?,
            reason: row.try_get("reason")?,
            valid_from: value::optional_day("labels.valid_from", row.try_get("valid_from")?)?,
            valid_until: value::optional_day("labels.valid_until", row.try_get("valid_until")?)?,
        },
    })
}

pub(super) async fn history(
    read: &mut Write<'_>,
    source: &SourceId,
) -> Result<RecordedHistory, StoreError> {
    let generation: i64 = sqlx::query("SELECT intel_generation FROM installation")
        .fetch_one(&mut **read)
        .await?
        .try_get(0)?;
    let publications = publications(read, Some(source)).await?;
    let by_id: HashMap<i64, &StoredPublication> =
        publications.iter().map(|publication| (publication.id, publication)).collect();
    let rows = recorded_listings(read, Some(source)).await?;
    let listings = rows
        .iter()
        .map(|row| {
            Ok(KnownListing {
                id: row.try_get("id")?,
                entry: entry(row)?,
                presence: presence(row, &by_id)?,
            })
        })
        .collect::<Result<Vec<KnownListing<RowId>>, StoreError>>()?;
    Ok(RecordedHistory {
        generation: value::unsigned("installation.intel_generation", generation)?,
        history: SourceHistory {
            publications: publications.into_iter().map(|publication| publication.known).collect(),
            listings,
        },
    })
}

pub(super) async fn record_publication(
    write: &mut Write<'_>,
    import: &PublicationImport,
) -> Result<(), StoreError> {
    expect_generation(write, import.planned_at_generation).await?;
    upsert_source(write, &import.source, SourceKind::Sanctions, import.sample, import.at).await?;
    if import.newest {
        sqlx::query("UPDATE sources SET fetched_at = ? WHERE id = ?")
            .bind(value::milliseconds(import.at))
            .bind(import.source.as_str())
            .execute(&mut **write)
            .await?;
        let (url, conditions) = import.fetched.clone().unzip();
        let conditions = conditions.unwrap_or_default();
        note_conditions(write, &import.source, url.as_ref(), &conditions).await?;
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
    let publications = publications(write, Some(&import.source)).await?;
    let rows: HashMap<PublicationRef, i64> = publications
        .iter()
        .map(|publication| (publication.known.reference, publication.id))
        .collect();
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
    rows: &HashMap<PublicationRef, i64>,
) -> Result<(), StoreError> {
    let row = |reference: &PublicationRef| rows.get(reference).copied().ok_or(StoreError::Conflict);
    let entity = serde_json::to_string(&entry.entity)
        .map_err(|error| StoreError::unreadable("listings.entity", error))?;
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
    .bind(entity)
    .bind(&entry.asset_code)
    .bind(&entry.address_as_published)
    .bind(&entry.address_remarks)
    .bind(entry.expires_on.map(|day| day.to_string()))
    .bind(row(&presence.from)?)
    .bind(presence.until.as_ref().map(row).transpose()?)
    .bind(value::milliseconds(import.at))
    .execute(&mut **write)
    .await?;
    Ok(())
}

async fn insert_publication(
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

pub(super) async fn record_labels(
    write: &mut Write<'_>,
    import: &LabelImport,
) -> Result<(), StoreError> {
    let known = publications(write, Some(&import.source)).await?;
    let newest = known.iter().max_by_key(|publication| publication.known.reference);
    if newest.is_some_and(|newest| newest.known.digest == import.digest) {
        return confirm_fetch(write, &import.source, import.at, None).await;
    }
    upsert_source(write, &import.source, SourceKind::Labels, import.sample, import.at).await?;
    let ordinal = known.iter().map(|publication| publication.known.reference.ordinal + 1).max();
    let record = PublicationRecord {
        reference: PublicationRef {
            published_on: import.published_on,
            ordinal: ordinal.unwrap_or(0),
        },
        digest: import.digest.clone(),
        file_digest: import.digest.clone(),
        format: import.format.clone(),
        origin: import.origin.clone(),
        entries: u64::try_from(import.labels.len()).unwrap_or(u64::MAX),
        report: serde_json::Value::Null,
    };
    insert_publication(write, &import.source, &record, import.at).await?;
    let at = value::milliseconds(import.at);
    sqlx::query("UPDATE labels SET recorded_to = ? WHERE source = ? AND recorded_to IS NULL")
        .bind(at)
        .bind(import.source.as_str())
        .execute(&mut **write)
        .await?;
    for AddressLabel { address, label } in &import.labels {
        sqlx::query(
            "INSERT INTO labels
                 (source, chain, address, category, entity, tier, confidence, upstream, cites_list,
                  reason, valid_from, valid_until, recorded_from)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(import.source.as_str())
        .bind(address.chain().as_str())
        .bind(address.as_str())
        .bind(label.category.as_str())
        .bind(&label.entity)
        .bind(label.tier.as_str())
        .bind(label.confidence.percent())
        .bind(&label.upstream)
        .bind(label.cites_list.as_ref().map(ListId::as_str))
        .bind(&label.reason)
        .bind(label.valid_from.map(|day| day.to_string()))
        .bind(label.valid_until.map(|day| day.to_string()))
        .bind(at)
        .execute(&mut **write)
        .await?;
    }
    sqlx::query("UPDATE sources SET fetched_at = ? WHERE id = ?")
        .bind(at)
        .bind(import.source.as_str())
        .execute(&mut **write)
        .await?;
    change_data(write, &import.source, &import.digest).await
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
    match row {
        None => Ok(FetchConditions::default()),
        Some(row) => Ok(FetchConditions {
            etag: row.try_get("etag")?,
            last_modified: row.try_get("last_modified")?,
        }),
    }
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
    if let Some((url, conditions)) = fetched {
        note_conditions(write, source, Some(url), conditions).await?;
    }
    sqlx::query("UPDATE installation SET intel_generation = intel_generation + 1")
        .execute(&mut **write)
        .await?;
    Ok(())
}

async fn note_conditions(
    write: &mut Write<'_>,
    source: &SourceId,
    url: Option<&String>,
    conditions: &FetchConditions,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE sources SET url = ?, etag = ?, last_modified = ? WHERE id = ?")
        .bind(url)
        .bind(&conditions.etag)
        .bind(&conditions.last_modified)
        .bind(source.as_str())
        .execute(&mut **write)
        .await?;
    Ok(())
}

async fn expect_generation(write: &mut Write<'_>, expected: u64) -> Result<(), StoreError> {
    let now: i64 = sqlx::query("SELECT intel_generation FROM installation")
        .fetch_one(&mut **write)
        .await?
        .try_get(0)?;
    if now == value::signed(expected) { Ok(()) } else { Err(StoreError::Conflict) }
}

async fn upsert_source(
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
    Ok(())
}

/// Counts a change of what the data says, and chains its digest.
async fn change_data(
    write: &mut Write<'_>,
    source: &SourceId,
    digest: &str,
) -> Result<(), StoreError> {
    let before: String = sqlx::query("SELECT data_hash FROM installation")
        .fetch_one(&mut **write)
        .await?
        .try_get(0)?;
    let hash = hex::encode(Sha256::digest(format!("{before}\n{source}\n{digest}")));
    sqlx::query(
        "UPDATE installation SET intel_generation = intel_generation + 1,
                data_number = data_number + 1, data_hash = ?",
    )
    .bind(hash)
    .execute(&mut **write)
    .await?;
    Ok(())
}
