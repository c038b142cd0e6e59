//! Indexes by a hash or an owner: transaction identifiers, scripts, statistics, inputs and outputs of owners, links by
//! parents.
//!
//! Entries of the newest blocks, which can be rolled back, are in an ordered table; entries of all other blocks are in
//! [runs](assay_columns::run). The functions of this module read and write both the table and the runs.

use std::collections::BTreeSet;

use assay_columns::{
    bytes::{ByteReader, number},
    run::{self, Filters, NumberByHash, RunEntry, recent_key},
};
use assay_engine::{
    ledger::Statistics,
    utxo::{ScriptOwner, Txid},
};
use assay_mapped::WriteTransaction;
use sha2::{Digest, Sha256};

use super::{
    entry::{ChildLink, GraphRuns, PartialStatistics, RunEntryKind, StoredOwnerEntry},
    link::pair_key,
    reader::Reader,
    record::StoredBlock,
    tables::Tables,
};
use crate::{GraphError, error::damaged};

/// The first 8 bytes of a script's SHA-256. Different scripts with equal first bytes can be made on purpose; such
/// digests cannot.
pub(super) fn script_hash(key: &[u8]) -> u64 {
    let digest: [u8; 32] = Sha256::digest(key).into();
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

pub(super) fn txid_hash(txid: &Txid) -> u64 {
    txid.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Side of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The inputs, by which owners send.
    Inputs,
    /// The outputs, by which owners receive.
    Outputs,
}

/// An input or an output of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerEntry {
    /// Value in base units.
    pub value: u64,
    /// The number of the transaction.
    pub transaction: u64,
    /// Index among the transaction's inputs or outputs.
    pub index: u32,
}

impl Side {
    const fn kind(self) -> RunEntryKind {
        match self {
            Self::Inputs => RunEntryKind::Sent,
            Self::Outputs => RunEntryKind::Received,
        }
    }
}

/// The number of the newest transaction with an identifier.
pub(super) fn newest_transaction(
    reader: &Reader<'_>,
    filters: Option<&Filters>,
    txid: &Txid,
) -> Result<Option<u64>, GraphError> {
    let mut newest = None;
    reader.index()?.under_hash(filters, RunEntryKind::Txid, txid_hash(txid), |number| {
        if newest < Some(number) && reader.txid(number)? == *txid {
            newest = Some(number);
        }
        Ok::<_, GraphError>(true)
    })?;
    Ok(newest)
}

/// The number of the owner with a script, found by the script's hash.
pub(super) fn find_owner(
    reader: &Reader<'_>,
    filters: Option<&Filters>,
    key: &[u8],
    hash: u64,
) -> Result<Option<u64>, GraphError> {
    let mut found = None;
    reader.index()?.under_hash(filters, RunEntryKind::Script, hash, |number| {
        if reader.script(number)? == Some(key) {
            found = Some(number);
        }
        Ok::<_, GraphError>(found.is_none())
    })?;
    Ok(found)
}

impl Reader<'_> {
    /// The number of the newest transaction with an identifier.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn find_transaction(&self, txid: &Txid) -> Result<Option<u64>, GraphError> {
        newest_transaction(self, None, txid)
    }

    /// The number of an owner; `None` if the owner never appeared.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn find_owner(&self, owner: &ScriptOwner) -> Result<Option<u64>, GraphError> {
        let key = owner.to_bytes();
        find_owner(self, None, &key, script_hash(&key))
    }

    /// The statistics of an owner.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has the number, or if the store fails.
    pub fn statistics(&self, owner: u64) -> Result<Statistics, GraphError> {
        let key = number(owner);
        let mut sum: Option<PartialStatistics> = None;
        let mut add = |more: PartialStatistics| match &mut sum {
            Some(sum) => sum.add(&more),
            none => *none = Some(more),
        };
        let index = self.index()?;
        index.recent(RunEntryKind::Statistics, &key, |_: PartialStatistics, value| {
            add(read_sums(owner, value)?);
            Ok::<_, GraphError>(true)
        })?;
        let mut runs = index.runs::<PartialStatistics>(RunEntryKind::Statistics, &key)?;
        if let Some(found) = runs.next()?.filter(|found| found.owner == owner) {
            add(found);
        }
        let sum = sum.ok_or_else(|| damaged("statistics", owner))?;
        Ok(Statistics {
            first_seen: self.known_block(sum.first)?.block.time,
            last_seen: self.known_block(sum.last)?.block.time,
            transactions_in: sum.transactions_in,
            transactions_out: sum.transactions_out,
            received: sum.received,
            sent: sum.sent,
        })
    }

    /// Passes the inputs or outputs of an owner to `each`, largest first, then in the order of the chain, until `each`
    /// returns false.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn each_owner_entry(
        &self,
        owner: u64,
        side: Side,
        mut each: impl FnMut(OwnerEntry) -> bool,
    ) -> Result<(), GraphError> {
        let is_own = |entry: &StoredOwnerEntry| entry.owner == owner;
        let key = number(owner);
        Ok(self.index()?.all_from(side.kind(), (&key, &key), is_own, |entry| {
            let StoredOwnerEntry { inverse, transaction, index, .. } = entry;
            each(OwnerEntry { value: !inverse, transaction, index })
        })?)
    }

    /// Passes the children of a parent to `each`, by rising size of the clusters that their links joined, until `each`
    /// returns false.
    pub(super) fn children(
        &self,
        parent: u64,
        mut each: impl FnMut(u64) -> bool,
    ) -> Result<(), GraphError> {
        let is_own = |entry: &ChildLink| entry.parent == parent;
        let key = number(parent);
        let kind = RunEntryKind::ChildLink;
        Ok(self.index()?.all_from(kind, (&key, &key), is_own, |entry| each(entry.child))?)
    }
}

fn read_sums(owner: u64, value: &[u8]) -> Result<PartialStatistics, GraphError> {
    PartialStatistics::take_sums(owner, &mut ByteReader(value))
        .ok_or_else(|| damaged("recent", format!("owner {owner}")))
}

/// The index entries of a range of blocks.
#[derive(Debug, Default)]
pub(super) struct IndexEntries {
    pub(super) txids: Vec<NumberByHash>,
    pub(super) scripts: Vec<NumberByHash>,
    pub(super) received: Vec<StoredOwnerEntry>,
    pub(super) sent: Vec<StoredOwnerEntry>,
    /// Statistics of single blocks, one or more entries per owner and block.
    pub(super) statistics: Vec<PartialStatistics>,
    pub(super) links: Vec<ChildLink>,
}

/// Encodes the keys of recent entries.
fn keys<'e, E: RunEntry + 'e>(
    kind: RunEntryKind,
    entries: impl IntoIterator<Item = &'e E>,
) -> impl Iterator<Item = Vec<u8>> {
    entries.into_iter().map(move |entry| {
        let mut key = recent_key(kind, &[]);
        entry.put_key(&mut key);
        key
    })
}

impl IndexEntries {
    /// Computes the recent entries of the blocks from `first` to the last below the height `end`, from the blocks'
    /// records.
    pub(super) fn of_recent(
        reader: &Reader<'_>,
        first: &StoredBlock,
        end: u64,
    ) -> Result<Self, GraphError> {
        let (after_transaction, after_owner) = if let Some(next) = reader.block(end)? {
            (next.first_transaction, next.first_owner)
        } else {
            let state = reader.state()?;
            (state.next_transaction, state.next_owner)
        };
        let mut entries = Self::default();
        let mut appearances: BTreeSet<(u64, u64)> = BTreeSet::new();
        for tx in first.first_transaction..after_transaction {
            let record = reader.known_transaction(tx)?;
            let height = record.head().height;
            entries.txids.push(NumberByHash { hash: txid_hash(&reader.txid(tx)?), number: tx });
            let moved = |owner, value: u64, index| StoredOwnerEntry {
                owner,
                inverse: !value,
                transaction: tx,
                index,
            };
            record.inputs(|entry| {
                if let Some(spent) = entry.spent {
                    entries.sent.push(moved(spent.owner, spent.value, entry.index));
                    appearances.insert((spent.owner, height));
                }
            })?;
            record.outputs(|entry| {
                let output = entry.output;
                entries.received.push(moved(output.owner, output.value, entry.index));
                appearances.insert((output.owner, height));
            })?;
        }
        for owner in first.first_owner..after_owner {
            let script = reader.script(owner)?.ok_or_else(|| damaged("script", owner))?;
            entries.scripts.push(NumberByHash { hash: script_hash(script), number: owner });
        }
        for (owner, height) in appearances {
            let key = recent_key(RunEntryKind::Statistics, &pair_key(owner, height));
            let value = reader.tables.recent.get(reader.txn, &key)?;
            let value = value.ok_or_else(|| damaged("recent", format!("owner {owner}")))?;
            entries.statistics.push(read_sums(owner, value)?);
        }
        reader.links_between(first.first_transaction, after_transaction, |link| {
            entries.links.push(ChildLink::of(&link));
            true
        })?;
        Ok(entries)
    }

    /// Writes the entries as runs, and returns the number of written pages.
    pub(super) fn write_runs(
        mut self,
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
        manifest: &mut GraphRuns,
        filters: &mut Filters,
    ) -> Result<u64, GraphError> {
        let table = tables.run;
        let mut pages = 0;
        pages += run::write(table, txn, (manifest, filters), RunEntryKind::Txid, &mut self.txids)?;
        pages +=
            run::write(table, txn, (manifest, filters), RunEntryKind::Script, &mut self.scripts)?;
        pages += run::write(
            table,
            txn,
            (manifest, filters),
            RunEntryKind::Received,
            &mut self.received,
        )?;
        pages += run::write(table, txn, (manifest, filters), RunEntryKind::Sent, &mut self.sent)?;
        let statistics = &mut self.statistics;
        pages += run::write(table, txn, (manifest, filters), RunEntryKind::Statistics, statistics)?;
        pages +=
            run::write(table, txn, (manifest, filters), RunEntryKind::ChildLink, &mut self.links)?;
        Ok(pages)
    }

    /// Writes the entries to the table of recent entries.
    pub(super) fn write_recent(
        mut self,
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
    ) -> Result<(), GraphError> {
        self.txids.sort_unstable();
        self.scripts.sort_unstable();
        self.received.sort_unstable();
        self.sent.sort_unstable();
        self.statistics.sort_unstable();
        self.links.sort_unstable();
        for key in self.plain_keys() {
            tables.recent.put(txn, &key, &[])?;
        }
        let mut value = Vec::new();
        let of_block = |one: &PartialStatistics, next: &PartialStatistics| {
            (one.owner, one.first) == (next.owner, next.first)
        };
        for same in self.statistics.chunk_by(of_block) {
            let Some((first, others)) = same.split_first() else { continue };
            let mut sum = *first;
            for other in others {
                sum.add(other);
            }
            value.clear();
            sum.put_sums(&mut value);
            let key = recent_key(RunEntryKind::Statistics, &pair_key(sum.owner, sum.first));
            tables.recent.put(txn, &key, &value)?;
        }
        Ok(())
    }

    /// Deletes the entries from the table of recent entries.
    pub(super) fn delete_recent(
        &self,
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
    ) -> Result<(), GraphError> {
        let of_statistics = self
            .statistics
            .iter()
            .map(|sums| recent_key(RunEntryKind::Statistics, &pair_key(sums.owner, sums.first)));
        for key in self.plain_keys().chain(of_statistics) {
            tables.recent.delete(txn, &key)?;
        }
        Ok(())
    }

    /// The keys of all entries but statistics.
    fn plain_keys(&self) -> impl Iterator<Item = Vec<u8>> {
        keys(RunEntryKind::Txid, &self.txids)
            .chain(keys(RunEntryKind::Script, &self.scripts))
            .chain(keys(RunEntryKind::Received, &self.received))
            .chain(keys(RunEntryKind::Sent, &self.sent))
            .chain(keys(RunEntryKind::ChildLink, &self.links))
    }
}
