//! Decoding of rows of a graph in PostgreSQL. Columns are read by their index, because there are
//! billions of rows.

use assay_database::value;
use assay_engine::utxo::{BlockRef, OutPoint, Statistics};
use jiff::Timestamp;
use sqlx::{Row, postgres::PgRow};

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
pub(super) const TRANSACTION: &str = "t.tx_id, t.height, t.txid, t.kind, t.inputs, t.outputs,
                                      t.input_total, t.output_total, t.unknown";
/// Columns of [`input`].
pub(super) const INPUT: &str = "tx_id, place, holder_id, value, prev_tx_id, prev_index, prev_txid";
/// Columns of [`output`].
pub(super) const OUTPUT: &str = "tx_id, place, holder_id, value";
/// Columns of [`link`].
pub(super) const LINK: &str =
    "l.child_id, l.parent_id, l.tx_id, l.size, l.smallest_id, l.conclusive,
    l.child_member_id, l.parent_member_id, c.tx_id, c.child_member_id, c.parent_member_id";
/// The confirmation of a link.
pub(super) const CONFIRMATION: &str = "LEFT JOIN LATERAL
    (SELECT * FROM chain.cluster_confirmation WHERE child_id = l.child_id OFFSET 0) AS c ON true";
/// Columns of [`owner`].
pub(super) const OWNER: &str = "h.holder_id, h.key, h.first_seen, h.last_seen, h.transactions_in,
                                 h.transactions_out, h.received::text, h.sent::text";

pub(super) fn height(row: &PgRow, column: usize) -> Result<u64, GraphError> {
    Ok(value::unsigned("block.height", row.try_get(column)?)?)
}

pub(super) fn time(row: &PgRow, column: usize) -> Result<Timestamp, GraphError> {
    Ok(value::time("block.time", row.try_get(column)?)?)
}

/// A place, which is stored with the same bits.
pub(super) fn index(stored: i32) -> u32 {
    stored.cast_unsigned()
}

pub(super) fn amount(stored: i64) -> Result<u64, GraphError> {
    Ok(value::unsigned("output.value", stored)?)
}

pub(super) fn block_ref(row: &PgRow) -> Result<BlockRef, GraphError> {
    Ok(BlockRef {
        height: height(row, 0)?,
        hash: rows::hash_from_bytes("block.hash", row.try_get(1)?)?,
        parent: rows::hash_from_bytes("block.parent", row.try_get(2)?)?,
        time: time(row, 3)?,
    })
}

pub(super) fn block(row: &PgRow) -> Result<BlockRow, GraphError> {
    Ok(BlockRow {
        block: block_ref(row)?,
        first_transaction: row.try_get(4)?,
        first_owner: row.try_get(5)?,
    })
}

pub(super) fn transaction(row: &PgRow) -> Result<TransactionRow, GraphError> {
    Ok(TransactionRow {
        number: row.try_get(0)?,
        height: height(row, 1)?,
        txid: rows::txid_from_bytes(row.try_get(2)?)?,
        kind: rows::kind_from_number(row.try_get(3)?)?,
        inputs: row.try_get::<i32, _>(4)?.into(),
        outputs: row.try_get::<i32, _>(5)?.into(),
        input_total: row.try_get(6)?,
        output_total: row.try_get(7)?,
        unknown: row.try_get(8)?,
    })
}

pub(super) fn input(row: &PgRow) -> Result<InputRow, GraphError> {
    let spent = match (row.try_get(2)?, row.try_get(3)?) {
        (Some(owner), Some(value)) => Some(TxOutRow { owner, value }),
        _ => None,
    };
    let spent_index = || Ok::<_, GraphError>(index(row.try_get(5)?));
    let source = match (row.try_get(4)?, row.try_get::<Option<&[u8]>, _>(6)?) {
        (Some(transaction), _) => InputSource::Recorded { transaction, index: spent_index()? },
        (None, Some(txid)) => InputSource::Unrecorded(OutPoint {
            txid: rows::txid_from_bytes(txid)?,
            index: spent_index()?,
        }),
        (None, None) => InputSource::Pool,
    };
    Ok(InputRow { transaction: row.try_get(0)?, index: index(row.try_get(1)?), source, spent })
}

pub(super) fn output(row: &PgRow) -> Result<OutputRow, GraphError> {
    Ok(OutputRow {
        transaction: row.try_get(0)?,
        index: index(row.try_get(1)?),
        output: TxOutRow { owner: row.try_get(2)?, value: row.try_get(3)? },
    })
}

pub(super) fn owner(row: &PgRow) -> Result<OwnerRow, GraphError> {
    Ok(OwnerRow {
        number: row.try_get(0)?,
        owner: rows::owner_from_key(row.try_get(1)?)?,
        statistics: statistics(row, 2)?,
    })
}

/// Statistics whose columns begin at `first`.
pub(super) fn statistics(row: &PgRow, first: usize) -> Result<Statistics, GraphError> {
    let count = |column: usize| value::unsigned("holder.transactions", row.try_get(column)?);
    let sum = |column: usize| value::parsed("holder.received", row.try_get(column)?);
    Ok(Statistics {
        first_seen: time(row, first)?,
        last_seen: time(row, first + 1)?,
        transactions_in: count(first + 2)?,
        transactions_out: count(first + 3)?,
        received: sum(first + 4)?,
        sent: sum(first + 5)?,
    })
}

pub(super) fn link(row: &PgRow) -> Result<RecordedLink, GraphError> {
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
