//! Rows that a plan writes, table by table.

use assay_database::value;
use assay_engine::utxo::Statistics;

use super::table::{Column, Table};
use crate::backend::{
    WritePlan,
    cluster::{ConfirmationRow, LinkRow},
    rows::{
        BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, UndoRow, kind_number,
    },
};

/// The rows that are new.
pub(super) fn tables(plan: &WritePlan) -> [Table; 8] {
    [
        blocks(&plan.blocks),
        transactions(&plan.transactions),
        outputs(&plan.outputs),
        inputs(&plan.inputs),
        owners(&plan.new_owners),
        links(&plan.links),
        confirmations(&plan.confirmations),
        undo(&plan.undo),
    ]
}

fn big<T>(rows: &[T], value: impl Fn(&T) -> i64) -> Column {
    Column::Big(rows.iter().map(|row| Some(value(row))).collect())
}

fn integer<T>(rows: &[T], value: impl Fn(&T) -> i32) -> Column {
    Column::Integer(rows.iter().map(|row| Some(value(row))).collect())
}

fn bytes<T>(rows: &[T], value: impl Fn(&T) -> Vec<u8>) -> Column {
    Column::Bytes(rows.iter().map(|row| Some(value(row))).collect())
}

fn blocks(rows: &[BlockRow]) -> Table {
    let columns = vec![
        ("height", big(rows, |row| value::signed(row.block.height))),
        ("time", big(rows, |row| value::milliseconds(row.block.time))),
        ("first_tx", big(rows, |row| row.first_transaction)),
        ("first_holder", big(rows, |row| row.first_owner)),
        ("hash", bytes(rows, |row| row.block.hash.to_vec())),
        ("parent", bytes(rows, |row| row.block.parent.to_vec())),
    ];
    Table { name: "block", rows: rows.len(), columns }
}

fn transactions(rows: &[TransactionRow]) -> Table {
    // A transaction's legs never come near the largest number.
    let count = |entries| i32::try_from(entries).unwrap_or(i32::MAX);
    let columns = vec![
        ("tx_id", big(rows, |row| row.number)),
        ("height", big(rows, |row| value::signed(row.height))),
        ("input_total", big(rows, |row| row.input_total)),
        ("output_total", big(rows, |row| row.output_total)),
        ("unknown", big(rows, |row| row.unknown)),
        ("inputs", integer(rows, |row| count(row.inputs))),
        ("outputs", integer(rows, |row| count(row.outputs))),
        ("kind", Column::Small(rows.iter().map(|row| kind_number(row.kind)).collect())),
        ("txid", bytes(rows, |row| row.txid.as_bytes().to_vec())),
    ];
    Table { name: "tx", rows: rows.len(), columns }
}

fn outputs(rows: &[OutputRow]) -> Table {
    let columns = vec![
        ("tx_id", big(rows, |row| row.transaction)),
        ("holder_id", big(rows, |row| row.output.owner)),
        ("value", big(rows, |row| row.output.value)),
        ("place", integer(rows, |row| row.index.cast_signed())),
    ];
    Table { name: "output", rows: rows.len(), columns }
}

fn inputs(rows: &[InputRow]) -> Table {
    let recorded = |row: &InputRow| match row.source {
        InputSource::Recorded { transaction, .. } => Some(transaction),
        InputSource::Unrecorded(_) | InputSource::Pool => None,
    };
    let index = |row: &InputRow| match row.source {
        InputSource::Recorded { index, .. } => Some(index.cast_signed()),
        InputSource::Unrecorded(output) => Some(output.index.cast_signed()),
        InputSource::Pool => None,
    };
    let elsewhere = |row: &InputRow| match row.source {
        InputSource::Unrecorded(output) => Some(output.txid.as_bytes().to_vec()),
        InputSource::Recorded { .. } | InputSource::Pool => None,
    };
    let spent = || rows.iter().map(|row| row.spent);
    let columns = vec![
        ("tx_id", big(rows, |row| row.transaction)),
        ("holder_id", Column::Big(spent().map(|output| Some(output?.owner)).collect())),
        ("value", Column::Big(spent().map(|output| Some(output?.value)).collect())),
        ("prev_tx_id", Column::Big(rows.iter().map(recorded).collect())),
        ("place", integer(rows, |row| row.index.cast_signed())),
        ("prev_index", Column::Integer(rows.iter().map(index).collect())),
        ("prev_txid", Column::Bytes(rows.iter().map(elsewhere).collect())),
    ];
    Table { name: "input", rows: rows.len(), columns }
}

fn owners(rows: &[OwnerRow]) -> Table {
    let mut columns = vec![
        ("holder_id", big(rows, |row| row.number)),
        ("key", bytes(rows, |row| row.owner.to_bytes())),
        ("first_seen", big(rows, |row| value::milliseconds(row.statistics.first_seen))),
    ];
    columns.extend(statistics(rows, |row| &row.statistics));
    Table { name: "holder", rows: rows.len(), columns }
}

fn links(rows: &[LinkRow]) -> Table {
    let columns = vec![
        ("child_id", big(rows, |row| row.child)),
        ("parent_id", big(rows, |row| row.parent)),
        ("tx_id", big(rows, |row| row.transaction)),
        ("size", big(rows, |row| row.size)),
        ("smallest_id", big(rows, |row| row.smallest)),
        ("child_member_id", big(rows, |row| row.child_member)),
        ("parent_member_id", big(rows, |row| row.parent_member)),
        ("conclusive", Column::Truth(rows.iter().map(|row| row.is_conclusive).collect())),
    ];
    Table { name: "cluster_link", rows: rows.len(), columns }
}

fn confirmations(rows: &[ConfirmationRow]) -> Table {
    let columns = vec![
        ("child_id", big(rows, |row| row.child)),
        ("tx_id", big(rows, |row| row.transaction)),
        ("child_member_id", big(rows, |row| row.child_member)),
        ("parent_member_id", big(rows, |row| row.parent_member)),
    ];
    Table { name: "cluster_confirmation", rows: rows.len(), columns }
}

fn undo(rows: &[UndoRow]) -> Table {
    let mut columns = vec![
        ("height", big(rows, |row| value::signed(row.height))),
        ("holder_id", big(rows, |row| row.owner)),
        ("first_seen", big(rows, |row| value::milliseconds(row.before.first_seen))),
    ];
    columns.extend(statistics(rows, |row| &row.before));
    Table { name: "undo", rows: rows.len(), columns }
}

/// Columns of changed statistics.
fn statistics<T>(rows: &[T], of: impl Fn(&T) -> &Statistics) -> [(&'static str, Column); 5] {
    let sum = |get: fn(&Statistics) -> u128| {
        Column::Numeric(rows.iter().map(|row| get(of(row))).collect())
    };
    [
        ("last_seen", big(rows, |row| value::milliseconds(of(row).last_seen))),
        ("transactions_in", big(rows, |row| value::signed(of(row).transactions_in))),
        ("transactions_out", big(rows, |row| value::signed(of(row).transactions_out))),
        ("received", sum(|statistics| statistics.received)),
        ("sent", sum(|statistics| statistics.sent)),
    ]
}

/// Changes of owners that are already recorded, to be merged into the table.
pub(super) fn changed(rows: &[OwnerRow]) -> Table {
    let mut columns = vec![("holder_id", big(rows, |row| row.number))];
    columns.extend(statistics(rows, |row| &row.statistics));
    Table { name: "holder", rows: rows.len(), columns }
}
