//! The ends that the compositions rest on which answer, as they are stored: changed ends are compared with them.

use assay_engine::{reading::OwnerNumber, taxonomy::Category};
use assay_mapped::{Table, WriteTransaction};
use heed::RoTxn;

use super::{
    super::{
        bytes::{Reading, number},
        error::table_error,
    },
    End, Ends,
};
use crate::GraphError;

/// Between a category and a day.
const SEPARATOR: u8 = 0;

/// The stored ends of the first `owners`; `None` if one has a category that is not known any more.
pub(super) fn load(txn: &RoTxn<'_>, table: Table, owners: u64) -> Result<Option<Ends>, GraphError> {
    let mut ends = Ends::default();
    for (owner, bytes) in entries(txn, table)? {
        if owner >= owners {
            break;
        }
        let Some(end) = parse(&bytes) else { return Ok(None) };
        ends.add(OwnerNumber(owner), end);
    }
    Ok(Some(ends))
}

/// Makes the stored ends the same as these.
pub(super) fn store(
    txn: &mut WriteTransaction<'_>,
    table: Table,
    ends: &Ends,
) -> Result<(), GraphError> {
    let failed = |error| table_error("ends", error);
    let mut missing = ends.clone();
    for (owner, bytes) in entries(txn, table)? {
        match ends.get(OwnerNumber(owner)) {
            Some(end) if to_bytes(end) == bytes => missing.remove(OwnerNumber(owner)),
            Some(_) => {}
            None => {
                table.delete(txn, &number(owner)).map_err(failed)?;
            }
        }
    }
    for (owner, end) in missing.iter() {
        table.put(txn, &number(owner.0), &to_bytes(end)).map_err(failed)?;
    }
    Ok(())
}

/// The entries of the table, in the order of their owners.
fn entries(txn: &RoTxn<'_>, table: Table) -> Result<Vec<(u64, Vec<u8>)>, GraphError> {
    let failed = |error| table_error("ends", error);
    let mut entries = Vec::new();
    for found in table.iter(txn).map_err(failed)? {
        let (key, value) = found.map_err(failed)?;
        let owner = Reading(key).number().unwrap_or(u64::MAX);
        entries.push((owner, value.to_vec()));
    }
    Ok(entries)
}

fn to_bytes(end: End) -> Vec<u8> {
    let mut bytes = end.category.as_str().as_bytes().to_vec();
    if let Some(day) = end.listed_on {
        bytes.push(SEPARATOR);
        bytes.extend(day.to_string().into_bytes());
    }
    bytes
}

fn parse(bytes: &[u8]) -> Option<End> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (category, day) = match text.split_once(char::from(SEPARATOR)) {
        Some((category, day)) => (category, Some(day)),
        None => (text, None),
    };
    let category: Category = category.parse().ok()?;
    Some(End { category, listed_on: day.map(str::parse).transpose().ok()? })
}
