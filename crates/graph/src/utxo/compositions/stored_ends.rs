//! Storage of the trace ends for which the current compositions (origin breakdowns) were computed, for comparison with
//! changed ends.

use std::ops::Bound;

use assay_columns::{
    NamedTable,
    bytes::{ByteReader, number},
};
use assay_engine::{
    composition::PassedLabel, evidence::Tier, ledger::OwnerNumber, score::Confidence,
    taxonomy::Category,
};
use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::{OwnerAttribution, TraceEnd, TraceEnds};
use crate::GraphError;

/// Separator between the category (empty if traces pass the owner), the day of listing, the mark of a label, and the
/// category, tier and confidence of each severe label.
const SEPARATOR: char = '\0';
const LABELLED: &str = "labelled";

/// Loads the stored trace ends of the first `owners` owners; `None` if a category is not known any more.
pub(super) fn load(
    txn: &RoTxn<'_>,
    table: NamedTable,
    owners: u64,
) -> Result<Option<TraceEnds>, GraphError> {
    let mut ends = TraceEnds::default();
    for (owner, bytes) in entries(txn, table)? {
        if owner >= owners {
            break;
        }
        let Some(attributed) = parse(&bytes) else { return Ok(None) };
        ends.add(OwnerNumber(owner), attributed);
    }
    Ok(Some(ends))
}

/// Replaces the stored trace ends.
pub(super) fn store(
    txn: &mut WriteTransaction<'_>,
    table: NamedTable,
    ends: &TraceEnds,
) -> Result<(), GraphError> {
    let mut missing = ends.clone();
    for (owner, bytes) in entries(txn, table)? {
        let attributed = ends.attribution_of(OwnerNumber(owner));
        if attributed.is_nothing() {
            table.delete(txn, &number(owner))?;
        } else if to_bytes(attributed) == bytes {
            missing.remove(OwnerNumber(owner));
        }
    }
    for (owner, attributed) in missing.iter() {
        table.put(txn, &number(owner.0), &to_bytes(attributed))?;
    }
    Ok(())
}

/// Reads the entries of the table, in the order of owners.
fn entries(txn: &RoTxn<'_>, table: NamedTable) -> Result<Vec<(u64, Vec<u8>)>, GraphError> {
    let mut entries = Vec::new();
    for found in table.range(txn, Bound::Unbounded, Bound::Unbounded)? {
        let (key, value) = found?;
        let owner = ByteReader(key).number().unwrap_or(u64::MAX);
        entries.push((owner, value.to_vec()));
    }
    Ok(entries)
}

fn to_bytes(OwnerAttribution { end, is_labelled, passed }: &OwnerAttribution) -> Vec<u8> {
    let category = end.map(|end| end.category.as_str()).unwrap_or_default();
    let day = end.and_then(|end| end.listed_on).map(|day| day.to_string()).unwrap_or_default();
    let label = if *is_labelled { LABELLED } else { "" };
    let mut text = format!("{category}{SEPARATOR}{day}{SEPARATOR}{label}");
    for PassedLabel { category, tier, confidence } in passed {
        for word in [category.as_str(), tier.as_str(), &confidence.percent().to_string()] {
            text.push(SEPARATOR);
            text.push_str(word);
        }
    }
    text.into_bytes()
}

fn parse(bytes: &[u8]) -> Option<OwnerAttribution> {
    let mut parts = std::str::from_utf8(bytes).ok()?.split(SEPARATOR);
    let (category, day, label) = (parts.next()?, parts.next()?, parts.next()?);
    let end = match category {
        "" => None,
        category => {
            let listed_on = if day.is_empty() { None } else { Some(day.parse().ok()?) };
            Some(TraceEnd { category: category.parse::<Category>().ok()?, listed_on })
        }
    };
    let mut passed = Vec::new();
    while let Some(category) = parts.next() {
        let tier = parts.next()?;
        passed.push(PassedLabel {
            category: category.parse().ok()?,
            tier: Tier::ALL.into_iter().find(|it| it.as_str() == tier)?,
            confidence: Confidence::from_percent(parts.next()?.parse().ok()?),
        });
    }
    Some(OwnerAttribution { end, is_labelled: label == LABELLED, passed })
}
