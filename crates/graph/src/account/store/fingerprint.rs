//! Fingerprints: a digest of all that a graph says, whatever runs hold it.

use assay_columns::run::RunEntry;
use sha2::{Digest, Sha256};

use super::{
    entry::{Creation, EntryKind, OtherToken, StoredDealing, StoredLedger, StoredPayment},
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
            hash_entries::<StoredLedger>(reader, EntryKind::Ledger, &mut all)?;
            hash_entries::<StoredPayment>(reader, EntryKind::Payment, &mut all)?;
            hash_entries::<StoredDealing>(reader, EntryKind::Dealing, &mut all)?;
            hash_entries::<OtherToken>(reader, EntryKind::OtherToken, &mut all)?;
            hash_entries::<Creation>(reader, EntryKind::Creation, &mut all)?;
            Ok(all.finalize().into())
        })
    }
}

fn hash_entries<E: RunEntry>(
    reader: &Reader<'_>,
    kind: EntryKind,
    into: &mut Sha256,
) -> Result<(), GraphError> {
    into.update([kind as u8]);
    let mut bytes = Vec::new();
    reader.index()?.all_from::<E>(
        kind,
        (&[], &[]),
        |_| true,
        |entry| {
            bytes.clear();
            entry.put_key(&mut bytes);
            entry.put_value(&mut bytes);
            into.update(&bytes);
            true
        },
    )?;
    Ok(())
}
