//! Rows of labels and their withdrawals.

use std::collections::HashMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, Label, history::PublicationRef},
    score::Confidence,
};

use super::{Row, intel::StoredPublication};
use crate::{
    StoreError,
    intel::{
        Fingerprint, LabelChange, LabelCounts, LabelImport, LabelImportCount, PublicationRecord,
        RecordedLabel, RowId, Suppression, fingerprint,
    },
    value,
};

/// The columns of a label's content.
pub(crate) const COLUMNS: &str =
    "source, chain, address, category, entity, tier, confidence, upstream, author,
    term, cites_list, reason, reference, valid_from, valid_until";

pub(crate) fn address_label(row: &Row) -> Result<AddressLabel, StoreError> {
    let chain: ChainId = value::parsed("labels.chain", row.text("chain")?)?;
    let optional = |column| row.optional_text(column).map(|text| text.map(Into::into));
    let day =
        |what, column| Ok::<_, StoreError>(value::optional_day(what, row.optional_text(column)?)?);
    let confidence = u8::try_from(row.integer("confidence")?)
        .map_err(|error| StoreError::unreadable("labels.confidence", error))?;
    Ok(AddressLabel {
        address: CanonicalAddress::parse(chain, row.text("address")?)
            .map_err(|error| StoreError::unreadable("labels.address", error))?,
        label: Label {
            category: value::parsed("labels.category", row.text("category")?)?,
            entity: optional("entity")?,
            tier: value::tier(row.text("tier")?)?,
            confidence: Confidence::from_percent(confidence),
            source: value::parsed("labels.source", row.text("source")?)?,
            upstream: row.text("upstream")?.into(),
            author: optional("author")?,
            term: optional("term")?,
            cites_list: row
                .optional_text("cites_list")?
                .map(|list| value::parsed("labels.cites_list", list))
                .transpose()?,
            reason: optional("reason")?,
            reference: optional("reference")?,
            valid_from: day("labels.valid_from", "valid_from")?,
            valid_until: day("labels.valid_until", "valid_until")?,
        },
    })
}

pub(crate) fn recorded(row: &Row) -> Result<RecordedLabel, StoreError> {
    Ok(RecordedLabel {
        label: address_label(row)?,
        recorded_from: value::time("labels.recorded_from", row.integer("recorded_from")?)?,
        recorded_to: value::optional_time(
            "labels.recorded_to",
            row.optional_integer("recorded_to")?,
        )?,
    })
}

pub(crate) fn suppression(row: &Row) -> Result<Suppression, StoreError> {
    let chain = value::parsed("label_suppressions.chain", row.text("chain")?)?;
    let parsed = |category| value::parsed("label_suppressions.category", category);
    Ok(Suppression {
        source: value::parsed("label_suppressions.source", row.text("source")?)?,
        address: CanonicalAddress::parse(chain, row.text("address")?)
            .map_err(|error| StoreError::unreadable("label_suppressions.address", error))?,
        category: row.optional_text("category")?.map(parsed).transpose()?,
        author: row.text("author")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        at: value::time("label_suppressions.suppressed_at", row.integer("suppressed_at")?)?,
        lifted_at: value::optional_time(
            "label_suppressions.lifted_at",
            row.optional_integer("lifted_at")?,
        )?,
    })
}

/// The numbers of a source's labels, from the rows of its imports and the counts of its chains.
pub(crate) fn counts(imports: &[Row], by_chain: &[Row]) -> Result<LabelCounts, StoreError> {
    let import = |row: &Row| -> Result<LabelImportCount, StoreError> {
        Ok(LabelImportCount {
            at: value::time("publications.imported_at", row.integer("imported_at")?)?,
            labels: value::unsigned("publications.entries", row.integer("entries")?)?,
            digest: row.text("digest")?.to_owned(),
        })
    };
    let chain = |row: &Row| -> Result<(ChainId, u64), StoreError> {
        let chain = value::parsed("labels.chain", row.text("chain")?)?;
        Ok((chain, value::unsigned("labels", row.integer("labels")?)?))
    };
    Ok(LabelCounts {
        imports: imports.iter().map(import).collect::<Result<_, _>>()?,
        by_chain: by_chain.iter().map(chain).collect::<Result<_, _>>()?,
    })
}

/// The publication record of a label import; `None` if the newest known publication has the same digest.
pub(crate) fn publication(
    import: &LabelImport,
    known: &[StoredPublication],
) -> Option<PublicationRecord> {
    let newest = known.iter().max_by_key(|publication| publication.known.reference.ordinal);
    if newest.is_some_and(|newest| newest.known.digest == import.digest) {
        return None;
    }
    Some(PublicationRecord {
        reference: PublicationRef {
            published_on: import.published_on,
            ordinal: newest.map_or(0, |newest| newest.known.reference.ordinal + 1),
        },
        digest: import.digest.clone(),
        file_digest: import.digest.clone(),
        format: import.format.clone(),
        origin: import.origin.clone(),
        entries: u64::try_from(import.labels.len()).unwrap_or(u64::MAX),
        report: import.report.clone(),
    })
}

/// The rows of a source's labels by fingerprint.
#[derive(Default)]
pub(crate) struct RecordedLabelRows(HashMap<Option<Fingerprint>, Vec<RowId>>);

impl RecordedLabelRows {
    /// Adds a row with its id and fingerprint.
    pub(crate) fn add(&mut self, row: &Row) -> Result<(), StoreError> {
        let print = row.optional_bytes("fingerprint")?;
        let print = print.and_then(|print| Fingerprint::try_from(print).ok());
        self.0.entry(print).or_default().push(row.integer("id")?);
        Ok(())
    }

    /// Returns the changes that are necessary to replace these rows by `labels`.
    pub(crate) fn replace_by(mut self, labels: &[AddressLabel]) -> LabelReplacement<'_> {
        let before = self.0.values().map(Vec::len).sum::<usize>();
        let mut begun = Vec::new();
        for label in labels {
            let print = fingerprint(label);
            if self.0.remove(&Some(print)).is_none() {
                begun.push((label, print));
            }
        }
        let ended: Vec<RowId> = self.0.into_values().flatten().collect();
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let change = LabelChange {
            added: count(begun.len()),
            removed: count(ended.len()),
            unchanged: count(before - ended.len()),
        };
        LabelReplacement { begun, ended, change }
    }
}

/// Changes that turn one set of labels into another.
pub(crate) struct LabelReplacement<'a> {
    /// Labels that the old set lacks.
    pub(crate) begun: Vec<(&'a AddressLabel, Fingerprint)>,
    /// Rows of labels that the new set lacks.
    pub(crate) ended: Vec<RowId>,
    /// Numbers of added, removed and unchanged labels.
    pub(crate) change: LabelChange,
}
