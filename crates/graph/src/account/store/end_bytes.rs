//! Storage of the parties at which money ends, for which the ledgers were computed.

use assay_engine::account::{AccountAddress, MoneyEnd};
use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::tables::Tables;
use crate::{GraphError, account::AccountEnds};

/// Separator between the category and the day of listing.
const SEPARATOR: char = '@';

/// Loads the stored ends.
pub(super) fn load(tables: &Tables, txn: &RoTxn<'_>) -> Result<AccountEnds, GraphError> {
    let mut ends = Vec::new();
    for row in tables.end.all(txn)? {
        let (key, value) = row?;
        let account = key.try_into().ok().map(AccountAddress);
        let found = account.zip(parse(value));
        ends.push(found.ok_or_else(|| tables.end.damaged(hex::encode(key)))?);
    }
    Ok(ends.into_iter().collect())
}

/// Replaces the stored ends.
pub(super) fn store(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    ends: &AccountEnds,
) -> Result<(), GraphError> {
    tables.end.clear(txn)?;
    for (account, end) in ends.iter() {
        tables.end.append(txn, &account.0, to_text(end).as_bytes())?;
    }
    Ok(())
}

fn to_text(end: MoneyEnd) -> String {
    let day = end.listed_on.map(|day| day.to_string()).unwrap_or_default();
    format!("{}{SEPARATOR}{day}", end.category.as_str())
}

fn parse(bytes: &[u8]) -> Option<MoneyEnd> {
    let (category, day) = std::str::from_utf8(bytes).ok()?.split_once(SEPARATOR)?;
    let listed_on = if day.is_empty() { None } else { Some(day.parse().ok()?) };
    Some(MoneyEnd { category: category.parse().ok()?, listed_on })
}
