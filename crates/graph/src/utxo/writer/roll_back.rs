//! Rollback of the newest blocks.

use std::{collections::BTreeMap, ops::Bound};

use assay_columns::bytes::{ByteReader, NUMBER_BYTES, number};
use assay_mapped::WriteTransaction;

use super::put_state;
use crate::{
    GraphError,
    utxo::{
        index::IndexEntries,
        link::{ClusterLink, ForestNode},
        reader::Reader,
        record::{InputOrigin, StoredBlock},
        state::GraphState,
    },
};

/// Rolls back all blocks above a height. `reader` reads the state before the rollback.
pub(super) fn roll_back(
    reader: &Reader<'_>,
    txn: &mut WriteTransaction<'_>,
    state: &GraphState,
    height: u64,
) -> Result<(), GraphError> {
    let Some(first) = reader.first_above(height)? else { return Ok(()) };
    let tables = reader.tables;

    IndexEntries::of_recent(reader, &first, u64::MAX)?.delete_recent(tables, txn)?;
    links(reader, txn, &first, state.next_transaction)?;
    slots(reader, txn, &first, state.next_owner)?;
    let mut unspent = Vec::new();
    for tx in first.first_transaction..state.next_transaction {
        for (transaction, index) in sources(reader, tx)? {
            if transaction < first.first_transaction {
                let head = *reader.known_transaction(transaction)?.head();
                unspent.push((head.first_output + u64::from(index), [0; NUMBER_BYTES]));
            }
        }
    }
    unspent.sort_unstable();
    tables.spent.update(txn, &unspent)?;
    tables.spent.truncate(txn, state.next_output, first.first_output)?;
    tables.txid.truncate(txn, state.next_transaction, first.first_transaction)?;
    for (table, from) in [
        (tables.script, first.first_owner),
        (tables.transaction, first.first_transaction),
        (tables.link, first.first_transaction),
        (tables.confirmed, first.first_transaction),
        (tables.undo, first.block.height),
        (tables.payers, first.block.height),
        (tables.block, first.block.height),
    ] {
        table.delete_range(txn, Bound::Included(&number(from)), Bound::Unbounded)?;
    }

    let newest =
        first.block.height.checked_sub(1).map(|height| reader.block(height)).transpose()?;
    let verified_at = state.tip.map(|(_, verified_at)| verified_at);
    let after = GraphState {
        tip: newest.flatten().map(|stored| stored.block).zip(verified_at),
        highest: state.highest_after_rollback(height),
        next_transaction: first.first_transaction,
        next_output: first.first_output,
        next_owner: first.first_owner,
        ..state.clone()
    };
    put_state(tables, txn, &after)
}

/// The recorded outputs that a transaction spends, by transaction number and index.
fn sources(reader: &Reader<'_>, tx: u64) -> Result<Vec<(u64, u32)>, GraphError> {
    let mut sources = Vec::new();
    reader.known_transaction(tx)?.inputs(|entry| {
        if let InputOrigin::Recorded { transaction, index } = entry.origin {
            sources.push((transaction, index));
        }
    })?;
    Ok(sources)
}

/// Removes confirmations by the removed blocks from links of earlier blocks.
fn links(
    reader: &Reader<'_>,
    txn: &mut WriteTransaction<'_>,
    first: &StoredBlock,
    end: u64,
) -> Result<(), GraphError> {
    for link in reader.confirmed_between(first.first_transaction, end, usize::MAX)? {
        if link.transaction < first.first_transaction {
            let unconfirmed = ClusterLink { confirmation: None, ..link };
            reader.tables.link.put(txn, &link.key(), &unconfirmed.to_bytes())?;
        }
    }
    Ok(())
}

/// Restores forest nodes, and removes the nodes of removed owners. `owners` is the number of owners before the
/// rollback.
fn slots(
    reader: &Reader<'_>,
    txn: &mut WriteTransaction<'_>,
    first: &StoredBlock,
    owners: u64,
) -> Result<(), GraphError> {
    let from = number(first.block.height);
    let undo = reader.tables.undo;
    let mut restored: BTreeMap<u64, [u8; ForestNode::BYTES]> = BTreeMap::new();
    for row in undo.range(reader.txn, Bound::Included(&from), Bound::Unbounded)? {
        let (key, slot) = row?;
        let mut reading = ByteReader(key);
        let owner = reading.take(NUMBER_BYTES).and_then(|_| reading.number());
        let invalid = || undo.damaged(hex::encode(key));
        let (owner, slot) = owner.zip(slot.first_chunk().copied()).ok_or_else(invalid)?;
        // The oldest node comes first.
        if owner < first.first_owner {
            restored.entry(owner).or_insert(slot);
        }
    }
    let restored: Vec<_> = restored.into_iter().collect();
    reader.tables.parent.update(txn, &restored)?;
    Ok(reader.tables.parent.truncate(txn, owners, first.first_owner)?)
}
