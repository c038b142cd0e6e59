//! Everything whose key is a hash or an owner: identifiers, scripts, statistics, what owners moved.
//!
//! Other modules reach these tables through the functions of this one alone.

use std::collections::HashSet;

use assay_engine::utxo::{ScriptOwner, Statistics, Txid};
use assay_mapped::{Table, WriteTransaction};
use sha2::{Digest, Sha256};

use super::{
    bytes::{NUMBER, Reading, number},
    error::{damaged, table_error},
    reader::{Moved, Reader, Side, read_statistics, statistics_bytes},
    tables::Tables,
};
use crate::{
    GraphError,
    backend::{
        WritePlan,
        rows::{OwnerRow, UndoRow},
    },
};

/// Bytes of a hash that a key has. Owners and transactions whose hashes share them are told apart by what is
/// stored under their numbers.
const HASH: usize = 8;
/// Bytes of an index on a transaction's side.
const INDEX: usize = 4;
/// Bytes of a key of what an owner moved.
const MOVED: usize = NUMBER + 8 + NUMBER + INDEX;

/// The hash of a script. Anybody can choose scripts that begin alike, but none whose SHA-256 do.
fn script_hash(key: &[u8]) -> [u8; HASH] {
    let digest: [u8; 32] = Sha256::digest(key).into();
    digest.first_chunk().copied().unwrap_or_default()
}

fn txid_hash(txid: &Txid) -> [u8; HASH] {
    txid.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// Passes the numbers under a hash to `each`, in order, until it answers false.
fn under_hash(
    reader: &Reader<'_>,
    (name, table): (&'static str, Table),
    hash: [u8; HASH],
    mut each: impl FnMut(u64) -> Result<bool, GraphError>,
) -> Result<(), GraphError> {
    let failed = |error| table_error(name, error);
    for found in table.prefix_iter(reader.txn, &hash).map_err(failed)? {
        let (key, _) = found.map_err(failed)?;
        let mut reading = Reading(key);
        let number = reading.take(HASH).and_then(|_| reading.number());
        if !each(number.ok_or_else(|| damaged(name, hex::encode(key)))?)? {
            break;
        }
    }
    Ok(())
}

/// The newest transaction with an identifier.
pub(super) fn newest_transaction(
    reader: &Reader<'_>,
    txid: &Txid,
) -> Result<Option<u64>, GraphError> {
    let mut newest = None;
    let table = ("txid_hash", reader.tables.txid_hash);
    under_hash(reader, table, txid_hash(txid), |number| {
        if reader.txid(number)? == *txid {
            newest = Some(number);
        }
        Ok(true)
    })?;
    Ok(newest)
}

/// The number of an owner.
pub(super) fn find_owner(
    reader: &Reader<'_>,
    owner: &ScriptOwner,
) -> Result<Option<u64>, GraphError> {
    let key = owner.to_bytes();
    let mut found = None;
    let table = ("script_hash", reader.tables.script_hash);
    under_hash(reader, table, script_hash(&key), |number| {
        if reader.script(number)? == Some(&*key) {
            found = Some(number);
        }
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// The statistics of an owner.
pub(super) fn statistics(
    reader: &Reader<'_>,
    owner: u64,
) -> Result<Option<Statistics>, GraphError> {
    let bytes = reader.get("statistics", reader.tables.statistics, &number(owner))?;
    let read = |bytes| read_statistics(bytes).ok_or_else(|| damaged("statistics", owner));
    bytes.map(read).transpose()
}

const fn moved_table(tables: &Tables, side: Side) -> (&'static str, Table) {
    match side {
        Side::Inputs => ("sent", tables.sent),
        Side::Outputs => ("received", tables.received),
    }
}

fn moved_key(owner: u64, moved: Moved) -> [u8; MOVED] {
    let mut key = [0; MOVED];
    let parts = [
        &number(owner)[..],
        &(!moved.value).to_be_bytes(),
        &number(moved.transaction),
        &moved.index.to_be_bytes(),
    ];
    let bytes = parts.into_iter().flatten();
    key.iter_mut().zip(bytes).for_each(|(into, byte)| *into = *byte);
    key
}

/// What an owner moved, largest first.
pub(super) fn moved(
    reader: &Reader<'_>,
    owner: u64,
    side: Side,
    mut each: impl FnMut(Moved) -> bool,
) -> Result<(), GraphError> {
    let (name, table) = moved_table(reader.tables, side);
    let failed = |error| table_error(name, error);
    let parse = |key| {
        let mut reading = Reading(key);
        reading.take(NUMBER)?;
        Some(Moved {
            value: !reading.u64()?,
            transaction: reading.number()?,
            index: reading.u32()?,
        })
    };
    for found in table.prefix_iter(reader.txn, &number(owner)).map_err(failed)? {
        let (key, _) = found.map_err(failed)?;
        if !each(parse(key).ok_or_else(|| damaged(name, hex::encode(key)))?) {
            break;
        }
    }
    Ok(())
}

/// What a transaction moved for an owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedBy {
    pub(super) owner: u64,
    pub(super) side: Side,
    pub(super) moved: Moved,
}

/// Writes the entries of a plan.
pub(super) fn record(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    plan: &WritePlan,
) -> Result<(), GraphError> {
    for row in &plan.transactions {
        let key = [&txid_hash(&row.txid)[..], &number(row.number.unsigned_abs())].concat();
        put("txid_hash", tables.txid_hash, txn, &key, &[])?;
    }
    for OwnerRow { number: owner, owner: script, statistics } in &plan.new_owners {
        let owner = number(owner.unsigned_abs());
        let key = [&script_hash(&script.to_bytes())[..], &owner].concat();
        put("script_hash", tables.script_hash, txn, &key, &[])?;
        put("statistics", tables.statistics, txn, &owner, &statistics_bytes(statistics))?;
    }
    for row in &plan.changed_owners {
        let (owner, bytes) = (number(row.number.unsigned_abs()), statistics_bytes(&row.statistics));
        put("statistics", tables.statistics, txn, &owner, &bytes)?;
    }
    let sent = plan.inputs.iter().filter_map(|row| Some((row.transaction, row.index, row.spent?)));
    let received = plan.outputs.iter().map(|row| (row.transaction, row.index, row.output));
    let sent = sent.map(|entry| (Side::Inputs, entry));
    for (side, (transaction, index, output)) in
        sent.chain(received.map(|entry| (Side::Outputs, entry)))
    {
        let (name, table) = moved_table(tables, side);
        let (value, transaction) = (output.value.unsigned_abs(), transaction.unsigned_abs());
        let key = moved_key(output.owner.unsigned_abs(), Moved { value, transaction, index });
        put(name, table, txn, &key, &[])?;
    }
    for UndoRow { height, owner, before } in &plan.undo {
        let key = [number(*height), number(owner.unsigned_abs())].concat();
        put("undo", tables.undo, txn, &key, &statistics_bytes(before))?;
    }
    forget_undo(tables, txn, plan.after.reorganisable_from)
}

/// Deletes the entries of the undo log below a height.
fn forget_undo(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    below: u64,
) -> Result<(), GraphError> {
    let below = number(below);
    let range: (_, std::ops::Bound<&[u8]>) =
        (std::ops::Bound::Unbounded, std::ops::Bound::Excluded(&below[..]));
    tables.undo.delete_range(txn, &range).map_err(|error| table_error("undo", error))?;
    Ok(())
}

/// Takes the entries of transactions and new owners back, and restores statistics, once their blocks above
/// `height` are to be rolled back. The records are still there.
pub(super) fn roll_back(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    height: u64,
    transactions: &[(u64, Txid)],
    owners: &[(u64, Vec<u8>)],
    moved: &[MovedBy],
) -> Result<(), GraphError> {
    for (transaction, txid) in transactions {
        let key = [&txid_hash(txid)[..], &number(*transaction)].concat();
        delete("txid_hash", tables.txid_hash, txn, &key)?;
    }
    for MovedBy { owner, side, moved } in moved {
        let (name, table) = moved_table(tables, *side);
        delete(name, table, txn, &moved_key(*owner, *moved))?;
    }
    let first = number(height + 1);
    let above: (_, std::ops::Bound<&[u8]>) =
        (std::ops::Bound::Included(&first[..]), std::ops::Bound::Unbounded);
    let failed = |error| table_error("undo", error);
    let mut restored = HashSet::new();
    let mut before = Vec::new();
    for found in tables.undo.range(txn, &above).map_err(failed)? {
        let (key, statistics) = found.map_err(failed)?;
        let owner = key.get(NUMBER..).ok_or_else(|| damaged("undo", hex::encode(key)))?;
        // The oldest entry comes first.
        if restored.insert(owner.to_vec()) {
            before.push((owner.to_vec(), statistics.to_vec()));
        }
    }
    for (owner, statistics) in before {
        put("statistics", tables.statistics, txn, &owner, &statistics)?;
    }
    tables.undo.delete_range(txn, &above).map_err(failed)?;
    for (owner, script) in owners {
        let owner = number(*owner);
        let key = [&script_hash(script)[..], &owner].concat();
        delete("script_hash", tables.script_hash, txn, &key)?;
        delete("statistics", tables.statistics, txn, &owner)?;
    }
    Ok(())
}

pub(super) fn put(
    name: &'static str,
    table: Table,
    txn: &mut WriteTransaction<'_>,
    key: &[u8],
    value: &[u8],
) -> Result<(), GraphError> {
    table.put(txn, key, value).map_err(|error| table_error(name, error))
}

pub(super) fn delete(
    name: &'static str,
    table: Table,
    txn: &mut WriteTransaction<'_>,
    key: &[u8],
) -> Result<bool, GraphError> {
    table.delete(txn, key).map_err(|error| table_error(name, error))
}
