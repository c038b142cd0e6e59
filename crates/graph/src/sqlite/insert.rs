//! The rows that a plan writes into `SQLite`.

use assay_database::value;
use assay_engine::utxo::Statistics;
use sqlx::{QueryBuilder, Sqlite, query_builder::Separated};

use super::write::Write;
use crate::{
    GraphError,
    backend::{
        WritePlan,
        cluster::{ConfirmationRow, LinkRow},
        rows::{
            BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, TxOutRow,
            UndoRow, kind_number,
        },
    },
};

/// Rows of one statement, largest first: every number of rows is made of few of them, so that the same
/// few statements are prepared once.
const BATCHES: [usize; 4] = [512, 64, 8, 1];

/// Columns that are overwritten for an owner that is already recorded.
const CHANGED: &str = " ON CONFLICT (holder_id) DO UPDATE SET last_seen = excluded.last_seen,
    transactions_in = excluded.transactions_in, transactions_out = excluded.transactions_out,
    received = excluded.received, sent = excluded.sent";

type Values<'a> = Separated<'a, Sqlite, &'static str>;

/// Writes all rows of a plan.
pub(super) async fn everything(write: &mut Write<'_>, plan: &WritePlan) -> Result<(), GraphError> {
    insert(write, "block", &plan.blocks, push_block, "").await?;
    insert(write, "tx", &plan.transactions, push_transaction, "").await?;
    insert(write, "output", &plan.outputs, push_output, "").await?;
    insert(write, "input", &plan.inputs, push_input, "").await?;
    insert(write, "cluster_link", &plan.links, push_link, "").await?;
    insert(write, "cluster_confirmation", &plan.confirmations, push_confirmation, "").await?;
    insert(write, "undo", &plan.undo, push_undo, "").await?;
    insert(write, "holder", &plan.new_owners, push_owner, "").await?;
    insert(write, "holder", &plan.changed_owners, push_owner, CHANGED).await
}

fn push_block(mut row: Values<'_>, block: &BlockRow) {
    row.push_bind(value::signed(block.block.height))
        .push_bind(block.block.hash.to_vec())
        .push_bind(block.block.parent.to_vec())
        .push_bind(value::milliseconds(block.block.time))
        .push_bind(block.first_transaction)
        .push_bind(block.first_owner);
}

fn push_transaction(mut row: Values<'_>, transaction: &TransactionRow) {
    row.push_bind(transaction.number)
        .push_bind(value::signed(transaction.height))
        .push_bind(transaction.txid.as_bytes().to_vec())
        .push_bind(kind_number(transaction.kind))
        .push_bind(transaction.inputs)
        .push_bind(transaction.outputs)
        .push_bind(transaction.input_total)
        .push_bind(transaction.output_total)
        .push_bind(transaction.unknown);
}

fn push_output(mut row: Values<'_>, output: &OutputRow) {
    row.push_bind(output.transaction)
        .push_bind(output.index)
        .push_bind(output.output.owner)
        .push_bind(output.output.value);
}

fn push_input(mut row: Values<'_>, input: &InputRow) {
    let InputRow { transaction, index, source, spent } = input;
    let (recorded, spent_index, elsewhere) = match source {
        InputSource::Recorded { transaction, index } => (Some(transaction), Some(index), None),
        InputSource::Unrecorded(output) => {
            (None, Some(&output.index), Some(output.txid.as_bytes().to_vec()))
        }
        InputSource::Pool => (None, None, None),
    };
    row.push_bind(*transaction)
        .push_bind(*index)
        .push_bind(spent.map(|TxOutRow { owner, .. }| owner))
        .push_bind(spent.map(|TxOutRow { value, .. }| value))
        .push_bind(recorded.copied())
        .push_bind(spent_index.copied())
        .push_bind(elsewhere);
}

fn push_owner(mut row: Values<'_>, owner: &OwnerRow) {
    row.push_bind(owner.number).push_bind(owner.owner.to_bytes());
    push_statistics(row, &owner.statistics);
}

fn push_link(mut row: Values<'_>, link: &LinkRow) {
    row.push_bind(link.child)
        .push_bind(link.parent)
        .push_bind(link.transaction)
        .push_bind(link.size)
        .push_bind(link.smallest)
        .push_bind(link.is_conclusive)
        .push_bind(link.child_member)
        .push_bind(link.parent_member);
}

fn push_confirmation(mut row: Values<'_>, confirmation: &ConfirmationRow) {
    row.push_bind(confirmation.child)
        .push_bind(confirmation.transaction)
        .push_bind(confirmation.child_member)
        .push_bind(confirmation.parent_member);
}

fn push_undo(mut row: Values<'_>, undo: &UndoRow) {
    row.push_bind(value::signed(undo.height)).push_bind(undo.owner);
    push_statistics(row, &undo.before);
}

fn push_statistics(mut row: Values<'_>, statistics: &Statistics) {
    row.push_bind(value::milliseconds(statistics.first_seen))
        .push_bind(value::milliseconds(statistics.last_seen))
        .push_bind(value::signed(statistics.transactions_in))
        .push_bind(value::signed(statistics.transactions_out))
        .push_bind(statistics.received.to_be_bytes().to_vec())
        .push_bind(statistics.sent.to_be_bytes().to_vec());
}

/// Inserts rows into all columns of a table, in their order.
async fn insert<T: Sync>(
    write: &mut Write<'_>,
    table: &str,
    rows: &[T],
    push: impl Fn(Values<'_>, &T),
    conflict: &str,
) -> Result<(), GraphError> {
    let mut rest = rows;
    for size in BATCHES {
        while let Some((batch, after)) = rest.split_at_checked(size) {
            let mut insert = QueryBuilder::new("INSERT INTO ");
            insert.push(table).push(" ");
            insert.push_values(batch, &push);
            insert.push(conflict);
            insert.build().execute(&mut **write).await?;
            rest = after;
        }
    }
    Ok(())
}
