//! Rows of sources, publications and listings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_engine::{
    evidence::{
        ListedEntity, Listing, ListingEntry, SourceKind, SourceState,
        history::{KnownListing, KnownPublication, Presence, PublicationRef, SourceHistory},
    },
    names::{ListId, SourceId},
};
use sha2::{Digest, Sha256};

use super::Row;
use crate::{
    StoreError,
    intel::{FetchConditions, Intel, LabelRevision, RecordedHistory, RowId},
    value,
};

/// Hexadecimal digits of a data revision's hash that are shown.
const REVISION_DIGITS: usize = 12;

/// A publication with the id of its row, and its source.
pub(crate) struct StoredPublication {
    pub(crate) id: RowId,
    source: SourceId,
    pub(crate) known: KnownPublication,
    /// Time of the import in milliseconds.
    imported_at: i64,
}

pub(crate) fn publication(row: &Row) -> Result<StoredPublication, StoreError> {
    let ordinal = row.integer("ordinal")?;
    Ok(StoredPublication {
        id: row.integer("id")?,
        source: value::parsed("publications.source", row.text("source")?)?,
        known: KnownPublication {
            reference: PublicationRef {
                published_on: value::day("publications.published_on", row.text("published_on")?)?,
                ordinal: u32::try_from(ordinal)
                    .map_err(|error| StoreError::unreadable("publications.ordinal", error))?,
            },
            digest: row.text("digest")?.to_owned(),
            entries: value::unsigned("publications.entries", row.integer("entries")?)?,
        },
        imported_at: row.integer("imported_at")?,
    })
}

/// The rows of one source's publications, for listings to refer to.
pub(crate) struct PublicationRows(HashMap<PublicationRef, RowId>);

impl PublicationRows {
    pub(crate) fn new(publications: &[StoredPublication]) -> Self {
        let row = |publication: &StoredPublication| (publication.known.reference, publication.id);
        Self(publications.iter().map(row).collect())
    }

    /// The row of a publication. A missing row is a conflict: the plan was made for another state.
    pub(crate) fn row(&self, reference: PublicationRef) -> Result<RowId, StoreError> {
        self.0.get(&reference).copied().ok_or(StoreError::Conflict)
    }
}

pub(crate) fn generation(installation: &Row) -> Result<u64, StoreError> {
    Ok(value::unsigned("installation.intel_generation", installation.integer("intel_generation")?)?)
}

/// Everything that checks need, from its stored rows.
pub(crate) fn intel(
    installation: &Row,
    publications: &[StoredPublication],
    recorded_listings: &[Row],
    sources: &[Row],
) -> Result<Intel, StoreError> {
    let number = installation.integer("data_number")?;
    let hash = installation.text("data_hash")?;
    let listings = listings(recorded_listings, publications)?;
    let label_generation = installation.integer("label_generation")?;
    let label_generation = value::unsigned("installation.label_generation", label_generation)?;
    Ok(Intel {
        environment: value::environment(installation.text("environment")?)?,
        generation: generation(installation)?,
        data_revision: format!("{number}-{}", hash.get(..REVISION_DIGITS).unwrap_or("empty")),
        sources: sources
            .iter()
            .map(|row| source(row, publications, &listings))
            .collect::<Result<_, _>>()?,
        suppressions: Vec::new(),
        price_sources: Vec::new(),
        price_generation: value::unsigned(
            "installation.price_generation",
            installation.integer("price_generation")?,
        )?,
        prices: None,
        label_generation,
        label_revision: label_revision(label_generation, publications, sources)?,
        listings,
    })
}

/// The state of all labels: it follows from the newest import of each source of labels. The number of changes and the
/// times of imports tell a store from another one of which it is a copy, or that replaced it. Another version of the
/// program may read rows otherwise.
fn label_revision(
    label_generation: u64,
    publications: &[StoredPublication],
    sources: &[Row],
) -> Result<LabelRevision, StoreError> {
    let mut hash = Sha256::new();
    hash.update(format!("{} {label_generation}\n", env!("CARGO_PKG_VERSION")));
    for row in sources {
        let id: SourceId = value::parsed("sources.id", row.text("id")?)?;
        let newest = publications.iter().rfind(|publication| publication.source == id);
        if let Some(newest) = newest.filter(|_| row.text("kind").is_ok_and(|kind| kind == "labels"))
        {
            let (ordinal, digest) = (newest.known.reference.ordinal, &newest.known.digest);
            hash.update(format!("{id} {ordinal} {digest} {}\n", newest.imported_at));
        }
    }
    Ok(hash.finalize().into())
}

fn source(
    row: &Row,
    publications: &[StoredPublication],
    listings: &[Listing],
) -> Result<SourceState, StoreError> {
    let id: SourceId = value::parsed("sources.id", row.text("id")?)?;
    let mut own: Vec<&KnownPublication> = publications
        .iter()
        .filter(|publication| publication.source == id)
        .map(|publication| &publication.known)
        .collect();
    own.sort_by_key(|publication| publication.reference);
    let newest = own.last();
    let mut lists: BTreeSet<ListId> = listings
        .iter()
        .filter(|listing| listing.source == id && listing.delisted_on.is_none())
        .map(|listing| listing.entry.list.clone())
        .collect();
    let kind = match row.text("kind")? {
        "sanctions" => SourceKind::Sanctions,
        "labels" => SourceKind::Labels,
        other => return Err(StoreError::unreadable("sources.kind", other)),
    };
    // A list that names no address at present, such as that of the UN, was searched, too. It has the name of
    // its source.
    if kind == SourceKind::Sanctions
        && lists.is_empty()
        && newest.is_some_and(|newest| newest.entries == 0)
    {
        lists.insert(ListId::from(&id));
    }
    Ok(SourceState {
        id,
        kind,
        lists: lists.into_iter().collect(),
        publications: own.iter().map(|own| own.reference.published_on).collect(),
        fetched_at: value::time("sources.fetched_at", row.integer("fetched_at")?)?,
        digest: newest.map(|newest| newest.digest.clone()).unwrap_or_default(),
        entries: newest.map_or(0, |newest| newest.entries),
        sample: row.flag("sample")?,
        // Known once the addresses are read.
        unmatched: BTreeMap::new(),
    })
}

/// The columns of a listing's row that do not depend on publications.
fn entry(row: &Row) -> Result<ListingEntry, StoreError> {
    let entity: ListedEntity = value::json("listings.entity", row.text("entity")?)?;
    Ok(ListingEntry {
        list: value::parsed("listings.list", row.text("list")?)?,
        list_name: row.text("list_name")?.to_owned(),
        entity: entity.into(),
        asset_code: row.text("asset_code")?.to_owned(),
        address_as_published: row.text("address_as_published")?.to_owned(),
        address_remarks: row.optional_text("address_remarks")?.map(ToOwned::to_owned),
        expires_on: value::optional_day("listings.expires_on", row.optional_text("expires_on")?)?,
    })
}

fn listings(rows: &[Row], publications: &[StoredPublication]) -> Result<Vec<Listing>, StoreError> {
    let by_id = by_id(publications);
    let mut first: HashMap<&SourceId, PublicationRef> = HashMap::new();
    for publication in publications {
        let reference = publication.known.reference;
        let earliest = first.entry(&publication.source).or_insert(reference);
        *earliest = reference.min(*earliest);
    }
    rows.iter()
        .map(|row| {
            let presence = presence(row, &by_id)?;
            let source: SourceId = value::parsed("listings.source", row.text("source")?)?;
            // An address in the first known publication may have been listed long before.
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

fn by_id(publications: &[StoredPublication]) -> HashMap<RowId, PublicationRef> {
    publications.iter().map(|publication| (publication.id, publication.known.reference)).collect()
}

fn presence(
    row: &Row,
    publications: &HashMap<RowId, PublicationRef>,
) -> Result<Presence, StoreError> {
    let reference = |id: RowId| {
        publications
            .get(&id)
            .copied()
            .ok_or_else(|| StoreError::unreadable("listings.present_from", id))
    };
    Ok(Presence {
        from: reference(row.integer("present_from")?)?,
        until: row.optional_integer("absent_from")?.map(reference).transpose()?,
    })
}

/// The history of one source, from its stored rows.
pub(crate) fn history(
    generation: u64,
    publications: Vec<StoredPublication>,
    recorded_listings: &[Row],
) -> Result<RecordedHistory, StoreError> {
    let by_id = by_id(&publications);
    let listings = recorded_listings
        .iter()
        .map(|row| {
            Ok(KnownListing {
                id: row.integer("id")?,
                entry: entry(row)?,
                presence: presence(row, &by_id)?,
            })
        })
        .collect::<Result<Vec<KnownListing<RowId>>, StoreError>>()?;
    Ok(RecordedHistory {
        generation,
        history: SourceHistory {
            publications: publications.into_iter().map(|publication| publication.known).collect(),
            listings,
        },
    })
}

pub(crate) fn fetch_conditions(row: &Row) -> Result<FetchConditions, StoreError> {
    Ok(FetchConditions {
        etag: row.optional_text("etag")?.map(ToOwned::to_owned),
        last_modified: row.optional_text("last_modified")?.map(ToOwned::to_owned),
    })
}

/// The stored text of a listed entity.
pub(crate) fn entity(entity: &ListedEntity) -> Result<String, StoreError> {
    serde_json::to_string(entity).map_err(|error| StoreError::unreadable("listings.entity", error))
}

/// The hash that chains a change to all changes before it.
pub(crate) fn chained_hash(before: &str, source: &SourceId, digest: &str) -> String {
    hex::encode(Sha256::digest(format!("{before}\n{source}\n{digest}")))
}
