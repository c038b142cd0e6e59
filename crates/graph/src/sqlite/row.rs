//! Decoding of rows of a graph in `SQLite`. Columns are read by their index, because there are
//! billions of rows.

use assay_database::value;
use assay_engine::utxo::{BlockRef, OutPoint, Statistics};
use jiff::Timestamp;
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    GraphError,
    backend::{
        cluster::{ConfirmationRow, LinkRow, RecordedLink},
        rows::{
            self, BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, TxOutRow,
        },
    },
};

/// Columns of [`block`].
pub(super) const BLOCK: &str = "height, hash, parent, time, first_tx, first_holder";
/// Columns of [`transaction`].
pub(super) const TRANSACTION: &str = "t.tx_id, t.height, t.txid, t.kind, t.inputs, t.outputs, t.input_total, t.output_total, t.unknown";
/// Columns of [`input`].
pub(super) const INPUT: &str = "tx_id, place, holder_id, value, prev_tx_id, prev_index, prev_txid";
/// Columns of [`output`].
pub(super) const OUTPUT: &str = "tx_id, place, holder_id, value";
/// Columns of [`link`].
pub(super) const LINK: &str =
    "l.child_id, l.parent_id, l.tx_id, l.size, l.smallest_id, l.conclusive,
    l.child_member_id, l.parent_member_id, c.tx_id, c.child_member_id, c.parent_member_id";
/// The confirmation of a link.
pub(super) const CONFIRMATION: &str =
    "LEFT JOIN cluster_confirmation AS c ON c.child_id = l.child_id";
/// Columns of [`owner`].
pub(super) const OWNER: &str = "h.holder_id, h.key, h.first_seen, h.last_seen, h.transactions_in,
                                 h.transactions_out, h.received, h.sent";

pub(super) fn height(row: &SqliteRow, column: usize) -> Result<u64, GraphError> {
    Ok(value::unsigned("block.height", row.try_get(column)?)?)
}

pub(super) fn time(row: &SqliteRow, column: usize) -> Result<Timestamp, GraphError> {
    Ok(value::time("block.time", row.try_get(column)?)?)
}

pub(super) fn index(row: &SqliteRow, column: usize) -> Result<u32, GraphError> {
    let place: i64 = row.try_get(column)?;
    u32::try_from(place).map_err(|error| GraphError::unreadable("output.place", error))
}

pub(super) fn amount(row: &SqliteRow, column: usize) -> Result<u64, GraphError> {
    Ok(value::unsigned("output.value", row.try_get(column)?)?)
}

pub(super) fn block_ref(row: &SqliteRow) -> Result<BlockRef, GraphError> {
    Ok(BlockRef {
        height: height(row, 0)?,
        hash: rows::hash_from_bytes("block.hash", row.try_get(1)?)?,
        parent: rows::hash_from_bytes("block.parent", row.try_get(2)?)?,
        time: time(row, 3)?,
    })
}

pub(super) fn block(row: &SqliteRow) -> Result<BlockRow, GraphError> {
    Ok(BlockRow {
        block: block_ref(row)?,
        first_transaction: row.try_get(4)?,
        first_owner: row.try_get(5)?,
    })
}

pub(super) fn transaction(row: &SqliteRow) -> Result<TransactionRow, GraphError> {
    Ok(TransactionRow {
        number: row.try_get(0)?,
        height: height(row, 1)?,
        txid: rows::txid_from_bytes(row.try_get(2)?)?,
        kind: rows::kind_from_number(row.try_get(3)?)?,
        inputs: row.try_get(4)?,
        outputs: row.try_get(5)?,
        input_total: row.try_get(6)?,
        output_total: row.try_get(7)?,
        unknown: row.try_get(8)?,
    })
}

pub(super) fn input(row: &SqliteRow) -> Result<InputRow, GraphError> {
    let spent = match (row.try_get(2)?, row.try_get(3)?) {
        (Some(owner), Some(value)) => Some(TxOutRow { owner, value }),
        _ => None,
    };
    let source = match (row.try_get(4)?, row.try_get::<Option<&[u8]>, _>(6)?) {
        (Some(transaction), _) => InputSource::Recorded { transaction, index: index(row, 5)? },
        (None, Some(txid)) => InputSource::Unrecorded(OutPoint {
            txid: rows::txid_from_bytes(txid)?,
            index: index(row, 5)?,
        }),
        (None, None) => InputSource::Pool,
    };
    Ok(InputRow { transaction: row.try_get(0)?, index: index(row, 1)?, source, spent })
}

pub(super) fn output(row: &SqliteRow) -> Result<OutputRow, GraphError> {
    Ok(OutputRow {
        transaction: row.try_get(0)?,
        index: index(row, 1)?,
        output: TxOutRow { owner: row.try_get(2)?, value: row.try_get(3)? },
    })
}

pub(super) fn owner(row: &SqliteRow) -> Result<OwnerRow, GraphError> {
    let sum = |column: usize| {
        let bytes: &[u8] = row.try_get(column)?;
        let bytes = bytes.try_into();
        let bytes = bytes.map_err(|error| GraphError::unreadable("holder.received", error))?;
        Ok::<_, GraphError>(u128::from_be_bytes(bytes))
    };
    let count = |column: usize| value::unsigned("holder.transactions", row.try_get(column)?);
    Ok(OwnerRow {
        number: row.try_get(0)?,
        owner: rows::owner_from_key(row.try_get(1)?)?,
        statistics: Statistics {
            first_seen: time(row, 2)?,
            last_seen: time(row, 3)?,
            transactions_in: count(4)?,
            transactions_out: count(5)?,
            received: sum(6)?,
            sent: sum(7)?,
        },
    })
}

pub(super) fn link(row: &SqliteRow) -> Result<RecordedLink, GraphError> {
    let link = LinkRow {
        child: row.try_get(0)?,
        parent: row.try_get(1)?,
        transaction: row.try_get(2)?,
        size: row.try_get(3)?,
        smallest: row.try_get(4)?,
        is_conclusive: row.try_get(5)?,
        child_member: row.try_get(6)?,
        parent_member: row.try_get(7)?,
    };
    let confirmation = match row.try_get(8)? {
        Some(transaction) => Some(ConfirmationRow {
            child: link.child,
            transaction,
            child_member: row.try_get(9)?,
            parent_member: row.try_get(10)?,
        }),
        None => None,
    };
    Ok(RecordedLink { link, confirmation })
}
