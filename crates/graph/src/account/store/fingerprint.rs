//! Fingerprints: a digest of all that a graph says, whatever runs hold it.

use assay_columns::run::RunEntry;
use sha2::{Digest, Sha256};

use super::{
    entry::{
        Creation, EntryKind, StoredDealing, StoredLedger, StoredPage, StoredPayment, StoredState,
        TransactionOf,
    },
    reader::Reader,
    view::AccountSnapshot,
};
use crate::{
    GraphError,
    account::{RecordedBlock, codec::write_block},
    error::damaged,
};

impl AccountSnapshot {
    /// The fingerprint: SHA-256 over all blocks with their transactions, read from the log, over the symbols, the ends of the
    /// ledgers, and all ledgers, payments, dealings and other entries in order. Equal states have equal fingerprints, whatever
    /// batches, rollbacks and merges led to them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or if the transactions of a block are not those that were recorded.
    pub fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let mut digest = [0; 32];
        let mut bytes = Vec::new();
        for block in self.full_blocks(0) {
            let block = block?;
            let reference = block.reference;
            bytes.clear();
            let recorded = RecordedBlock { height: reference.height, time: reference.time };
            write_block(&mut bytes, recorded, &block.transactions);
            digest = Sha256::new().chain_update(digest).chain_update(&bytes).finalize().into();
            if self.digest_at(reference.height)? != Some(digest) {
                return Err(damaged("log", format!("block {}", reference.height)));
            }
        }
        self.with_reader(|reader| {
            let mut all = Sha256::new().chain_update(digest);
            for (contract, symbol) in reader.symbols()? {
                all.update(contract.0);
                all.update(symbol);
                all.update([0]);
            }
            all.update(self.ends_revision());
            // Numbers of updates, and entries that updates removed, say nothing.
            hash_entries(reader, EntryKind::Ledger, &mut all, |ledger: StoredLedger| {
                (ledger.sums.payments() > 0).then_some(StoredLedger { update: 0, ..ledger })
            })?;
            hash_entries(reader, EntryKind::Payment, &mut all, |payment: StoredPayment| {
                (!payment.is_removed).then_some(StoredPayment { update: 0, ..payment })
            })?;
            hash_entries(reader, EntryKind::Page, &mut all, |page: StoredPage| {
                // Sums follow from the payments, and are not there as long as blocks can be rolled back.
                let said = StoredPage { update: 0, sums: Vec::new(), ..page };
                (!said.is_removed).then_some(said)
            })?;
            hash_dealings(reader, &mut all)?;
            hash_entries::<TransactionOf>(reader, EntryKind::OtherToken, &mut all, Some)?;
            hash_entries::<TransactionOf>(reader, EntryKind::Freeze, &mut all, Some)?;
            hash_entries::<TransactionOf>(reader, EntryKind::Delegation, &mut all, Some)?;
            hash_entries::<TransactionOf>(reader, EntryKind::Message, &mut all, Some)?;
            hash_entries(reader, EntryKind::State, &mut all, |mut state: StoredState| {
                state.transaction = 0;
                (!state.is_empty()).then_some(state)
            })?;
            hash_entries::<Creation>(reader, EntryKind::Creation, &mut all, Some)?;
            Ok(all.finalize().into())
        })
    }
}

/// Adds the entries of a kind, as `said` makes them, to a digest.
fn hash_entries<E: RunEntry>(
    reader: &Reader<'_>,
    kind: EntryKind,
    into: &mut Sha256,
    said: impl Fn(E) -> Option<E>,
) -> Result<(), GraphError> {
    into.update([kind as u8]);
    let mut bytes = Vec::new();
    reader.index()?.all_from::<E>(
        kind,
        (&[], &[]),
        |_| true,
        |entry| {
            if let Some(entry) = said(entry) {
                bytes.clear();
                entry.put_key(&mut bytes);
                entry.put_value(&mut bytes);
                into.update(&bytes);
            }
            true
        },
    )?;
    Ok(())
}

/// Adds the sums of all dealings to a digest.
fn hash_dealings(reader: &Reader<'_>, into: &mut Sha256) -> Result<(), GraphError> {
    into.update([EntryKind::Dealing as u8]);
    let mut all: Vec<StoredDealing> = Vec::new();
    reader.index()?.all_from(
        EntryKind::Dealing,
        (&[], &[]),
        |_| true,
        |entry| {
            all.push(entry);
            true
        },
    )?;
    for of_account in all.chunk_by(|one, next| one.owner == next.owner) {
        for dealing in StoredDealing::summed(of_account.iter().copied()) {
            let said = StoredDealing { update: 0, replaces: false, transaction: 0, ..dealing };
            let mut bytes = Vec::new();
            said.put_key(&mut bytes);
            said.put_value(&mut bytes);
            into.update(&bytes);
        }
    }
    Ok(())
}
