//! Indexes by an account or a hash: their entries of a range of blocks.
//!
//! Entries of the newest blocks, which can be rolled back, are in an ordered table; entries of all other blocks are in
//! [runs](assay_columns::run).

use assay_columns::{
    NamedTable,
    bytes::{ByteReader, put_varint},
    run::{self, Filters, NumberByHash, RunEntry, recent_key},
};
use assay_engine::{
    account::{AccountAddress, MoneyEnds},
    utxo::Txid,
};
use assay_mapped::WriteTransaction;
use sha2::{Digest, Sha256};

use super::{
    block::StoredBlock,
    entry::{
        AccountRuns, Creation, EntryKind, StoredDealing, StoredLedger, StoredPage, StoredPayment,
        StoredState, TransactionOf,
    },
    reader::Reader,
    sums::{WrittenPages, sum_pages},
    tables::Tables,
};
use crate::GraphError;

/// The first 8 bytes of an address's SHA-256. Addresses with equal first bytes can be paid on purpose; such digests are
/// work to find.
pub(super) fn address_hash(account: AccountAddress) -> u64 {
    first_bytes(&Sha256::digest(account.0))
}

/// The first 8 bytes of an identifier, which is a digest itself; of the records of a block outside of transactions, whose
/// identifiers begin with zeros, a digest of it.
pub(super) fn txid_hash(txid: &Txid) -> u64 {
    match first_bytes(txid.as_bytes()) {
        0 => first_bytes(&Sha256::digest(txid.as_bytes())),
        first => first,
    }
}

fn first_bytes(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The index entries of a range of blocks.
#[derive(Debug, Default)]
pub(super) struct IndexEntries {
    pub(super) addresses: Vec<NumberByHash>,
    pub(super) txids: Vec<NumberByHash>,
    pub(super) payments: Vec<StoredPayment>,
    pub(super) ledgers: Vec<StoredLedger>,
    pub(super) other_tokens: Vec<TransactionOf>,
    pub(super) creations: Vec<Creation>,
    pub(super) dealings: Vec<StoredDealing>,
    pub(super) pages: Vec<StoredPage>,
    pub(super) passing: Vec<TransactionOf>,
    /// Groups of pages, all of blocks that cannot be rolled back.
    pub(super) groups: Vec<StoredPage>,
    pub(super) freezes: Vec<TransactionOf>,
    pub(super) states: Vec<StoredState>,
    pub(super) delegations: Vec<TransactionOf>,
    pub(super) messages: Vec<TransactionOf>,
}

impl IndexEntries {
    /// Writes the entries as runs, and returns the number of written pages. `reader` reads the state before the batch, of
    /// which `written` are pages of sums that were written before, and `ends` are the ends of the ledgers.
    pub(super) fn write_runs(
        mut self,
        (reader, ends, written): (&Reader<'_>, &MoneyEnds, &mut WrittenPages),
        txn: &mut WriteTransaction<'_>,
        manifest: &mut AccountRuns,
        filters: &mut Filters,
    ) -> Result<u64, GraphError> {
        self.payments.sort_unstable();
        self.groups = sum_pages((reader, ends), &self.payments, &mut self.pages, written)?;
        self.put_runs(reader.tables.run, txn, (manifest, filters))
    }

    /// Writes entries whose pages have their sums as runs, and returns the number of written pages.
    pub(super) fn put_runs(
        mut self,
        table: NamedTable,
        txn: &mut WriteTransaction<'_>,
        mut to: (&mut AccountRuns, &mut Filters),
    ) -> Result<u64, GraphError> {
        let mut pages = 0;
        pages += write(table, txn, &mut to, EntryKind::Address, &mut self.addresses)?;
        pages += write(table, txn, &mut to, EntryKind::Txid, &mut self.txids)?;
        pages += write(table, txn, &mut to, EntryKind::Payment, &mut self.payments)?;
        pages += write(table, txn, &mut to, EntryKind::Ledger, &mut self.ledgers)?;
        pages += write(table, txn, &mut to, EntryKind::OtherToken, &mut self.other_tokens)?;
        pages += write(table, txn, &mut to, EntryKind::Creation, &mut self.creations)?;
        pages += write(table, txn, &mut to, EntryKind::Dealing, &mut self.dealings)?;
        pages += write(table, txn, &mut to, EntryKind::Page, &mut self.pages)?;
        pages += write(table, txn, &mut to, EntryKind::Passing, &mut self.passing)?;
        pages += write(table, txn, &mut to, EntryKind::PageGroup, &mut self.groups)?;
        pages += write(table, txn, &mut to, EntryKind::Freeze, &mut self.freezes)?;
        pages += write(table, txn, &mut to, EntryKind::State, &mut self.states)?;
        pages += write(table, txn, &mut to, EntryKind::Delegation, &mut self.delegations)?;
        pages += write(table, txn, &mut to, EntryKind::Message, &mut self.messages)?;
        Ok(pages)
    }

    /// Writes the entries of a block to the table of recent entries, and their keys to the undo log.
    pub(super) fn write_recent(
        mut self,
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
        height: u64,
    ) -> Result<(), GraphError> {
        let mut keys = Vec::new();
        let mut put = RecentRows { tables, txn, keys: &mut keys };
        put.rows(EntryKind::Address, &mut self.addresses)?;
        put.rows(EntryKind::Txid, &mut self.txids)?;
        put.rows(EntryKind::Payment, &mut self.payments)?;
        put.rows(EntryKind::Ledger, &mut self.ledgers)?;
        put.rows(EntryKind::OtherToken, &mut self.other_tokens)?;
        put.rows(EntryKind::Creation, &mut self.creations)?;
        put.rows(EntryKind::Dealing, &mut self.dealings)?;
        put.rows(EntryKind::Page, &mut self.pages)?;
        put.rows(EntryKind::Passing, &mut self.passing)?;
        put.rows(EntryKind::Freeze, &mut self.freezes)?;
        put.rows(EntryKind::State, &mut self.states)?;
        put.rows(EntryKind::Delegation, &mut self.delegations)?;
        put.rows(EntryKind::Message, &mut self.messages)?;
        Ok(tables.undo.put(txn, &StoredBlock::key(height), &keys)?)
    }

    /// Reads the recent entries of a block.
    pub(super) fn read_recent(
        &mut self,
        tables: &Tables,
        txn: &heed::RoTxn<'_>,
        height: u64,
    ) -> Result<(), GraphError> {
        for key in recent_keys(tables, txn, height)? {
            let value = tables.recent.get(txn, &key)?;
            let damaged = || tables.recent.damaged(hex::encode(&key));
            let value = value.ok_or_else(damaged)?;
            self.add(&key, value).ok_or_else(damaged)?;
        }
        Ok(())
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        fn entry<E: RunEntry>(key: &[u8], value: &[u8], into: &mut Vec<E>) -> Option<()> {
            let mut entry = E::from_key(&mut ByteReader(key))?;
            entry.take_value(&mut ByteReader(value))?;
            into.push(entry);
            Some(())
        }
        let (kind, key) = key.split_first()?;
        let kind = <EntryKind as run::RunKind>::ALL.get(usize::from(*kind))?;
        match kind {
            EntryKind::Address => entry(key, value, &mut self.addresses),
            EntryKind::Txid => entry(key, value, &mut self.txids),
            EntryKind::Payment => entry(key, value, &mut self.payments),
            EntryKind::Ledger => entry(key, value, &mut self.ledgers),
            EntryKind::OtherToken => entry(key, value, &mut self.other_tokens),
            EntryKind::Creation => entry(key, value, &mut self.creations),
            EntryKind::Dealing => entry(key, value, &mut self.dealings),
            EntryKind::Page => entry(key, value, &mut self.pages),
            EntryKind::Passing => entry(key, value, &mut self.passing),
            EntryKind::PageGroup => entry(key, value, &mut self.groups),
            EntryKind::Freeze => entry(key, value, &mut self.freezes),
            EntryKind::State => entry(key, value, &mut self.states),
            EntryKind::Delegation => entry(key, value, &mut self.delegations),
            EntryKind::Message => entry(key, value, &mut self.messages),
        }
    }
}

fn write<E: RunEntry>(
    table: assay_columns::NamedTable,
    txn: &mut WriteTransaction<'_>,
    (manifest, filters): &mut (&mut AccountRuns, &mut Filters),
    kind: EntryKind,
    entries: &mut [E],
) -> Result<u64, GraphError> {
    Ok(run::write(table, txn, (manifest, filters), kind, entries)?)
}

/// Deletes the recent entries of a block, with its record in the undo log.
pub(super) fn delete_recent(
    tables: &Tables,
    (committed, txn): (&heed::RoTxn<'_>, &mut WriteTransaction<'_>),
    height: u64,
) -> Result<(), GraphError> {
    for key in recent_keys(tables, committed, height)? {
        tables.recent.delete(txn, &key)?;
    }
    Ok(tables.undo.delete(txn, &StoredBlock::key(height))?)
}

/// The keys of the recent entries of a block.
fn recent_keys(
    tables: &Tables,
    txn: &heed::RoTxn<'_>,
    height: u64,
) -> Result<Vec<Vec<u8>>, GraphError> {
    let bytes = tables.undo.get(txn, &StoredBlock::key(height))?.unwrap_or_default();
    let mut reading = ByteReader(bytes);
    let mut keys = Vec::new();
    while !reading.0.is_empty() {
        let length = reading.varint().and_then(|length| usize::try_from(length).ok());
        let key = length.and_then(|length| reading.take(length));
        keys.push(key.ok_or_else(|| tables.undo.damaged(height))?.to_vec());
    }
    Ok(keys)
}

/// Rows that are put to the table of recent entries.
struct RecentRows<'r, 'w> {
    tables: &'r Tables,
    txn: &'r mut WriteTransaction<'w>,
    keys: &'r mut Vec<u8>,
}

impl RecentRows<'_, '_> {
    fn rows<E: RunEntry>(&mut self, kind: EntryKind, entries: &mut [E]) -> Result<(), GraphError> {
        entries.sort_unstable();
        let mut value = Vec::new();
        let mut rest = &*entries;
        while let Some((first, others)) = rest.split_first() {
            let mut merged = first.clone();
            let count = others.iter().take_while(|other| merged.try_merge(other)).count();
            rest = others.get(count..).unwrap_or_default();
            let mut suffix = Vec::with_capacity(32);
            merged.put_key(&mut suffix);
            let key = recent_key(kind, &suffix);
            value.clear();
            merged.put_value(&mut value);
            self.tables.recent.put(self.txn, &key, &value)?;
            put_varint(self.keys, key.len() as u64);
            self.keys.extend_from_slice(&key);
        }
        Ok(())
    }
}
