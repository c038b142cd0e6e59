//! Blocks put together again from their rows.

use std::iter::Peekable;

use assay_engine::utxo::{Block, ResolvedBlock, Transaction, TxInput, TxOut};

use super::rows::{BlockRow, TransactionRow};

/// Transactions that are put together at once: they and their legs are in memory then.
const TRANSACTIONS_AT_ONCE: i64 = 4096;

/// A block and where its transactions are.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) row: BlockRow,
    /// The number after that of its last transaction.
    pub(crate) end: i64,
}

/// The legs of transactions, with the transactions' numbers, in order.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) inputs: Vec<(i64, TxInput)>,
    pub(crate) outputs: Vec<(i64, TxOut)>,
}

/// Blocks that follow one another, in parts of bounded size: at least a block each.
pub(crate) fn parts(blocks: &[Span]) -> impl Iterator<Item = &[Span]> {
    let mut rest = blocks;
    std::iter::from_fn(move || {
        let first = rest.first()?.row.first_transaction;
        let fitting = rest.iter().take_while(|span| span.end - first <= TRANSACTIONS_AT_ONCE);
        let (part, after) = rest.split_at_checked(fitting.count().max(1))?;
        rest = after;
        Some(part)
    })
}

/// Hands out blocks as they were recorded. Rows are in order.
pub(crate) fn assemble(
    blocks: &[Span],
    transactions: Vec<TransactionRow>,
    sides: Sides,
    each: &mut (dyn FnMut(ResolvedBlock) + Send),
) {
    let mut transactions = transactions.into_iter().peekable();
    let mut inputs = sides.inputs.into_iter().peekable();
    let mut outputs = sides.outputs.into_iter().peekable();
    for Span { row, end } in blocks {
        let mut block = Block { reference: row.block, transactions: Vec::new() };
        while let Some(row) = transactions.next_if(|row| row.number < *end) {
            block.transactions.push(Transaction {
                txid: row.txid,
                kind: row.kind,
                inputs: of(&mut inputs, row.number),
                outputs: of(&mut outputs, row.number),
            });
        }
        each(ResolvedBlock::assume(block));
    }
}

fn of<T>(legs: &mut Peekable<impl Iterator<Item = (i64, T)>>, transaction: i64) -> Vec<T> {
    std::iter::from_fn(|| legs.next_if(|(number, _)| *number == transaction))
        .map(|(_, leg)| leg)
        .collect()
}
