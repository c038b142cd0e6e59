//! Blocks assembled from their rows.

use std::iter::Peekable;

use assay_engine::utxo::{Block, ResolvedBlock, Transaction, TxInput, TxOut};

use super::rows::{BlockRow, TransactionRow};

/// Transactions that are assembled at once, in memory with their inputs and outputs.
const TRANSACTIONS_AT_ONCE: i64 = 4096;

/// A block's row with the range of its transactions.
#[derive(Debug)]
pub struct BlockSpan {
    /// The row.
    pub row: BlockRow,
    /// The number after that of its last transaction.
    pub end: i64,
}

/// The inputs and outputs of transactions, each with its transaction's number, in order.
#[derive(Debug)]
pub struct BlockEntries {
    /// Inputs.
    pub inputs: Vec<(i64, TxInput)>,
    /// Outputs.
    pub outputs: Vec<(i64, TxOut)>,
}

/// Splits blocks that follow one another into parts of bounded size, of at least a block each.
pub fn parts(blocks: &[BlockSpan]) -> impl Iterator<Item = &[BlockSpan]> {
    let mut rest = blocks;
    std::iter::from_fn(move || {
        let first = rest.first()?.row.first_transaction;
        let fitting = rest.iter().take_while(|span| span.end - first <= TRANSACTIONS_AT_ONCE);
        let (part, after) = rest.split_at_checked(fitting.count().max(1))?;
        rest = after;
        Some(part)
    })
}

/// Passes blocks to `each` as they were recorded. All rows are in order.
pub fn assemble(
    blocks: &[BlockSpan],
    transactions: Vec<TransactionRow>,
    sides: BlockEntries,
    each: &mut (dyn FnMut(ResolvedBlock) + Send),
) {
    let mut transactions = transactions.into_iter().peekable();
    let mut inputs = sides.inputs.into_iter().peekable();
    let mut outputs = sides.outputs.into_iter().peekable();
    for BlockSpan { row, end } in blocks {
        let mut block = Block { reference: row.block, work: row.work, transactions: Vec::new() };
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

fn of<T>(entries: &mut Peekable<impl Iterator<Item = (i64, T)>>, transaction: i64) -> Vec<T> {
    std::iter::from_fn(|| entries.next_if(|(number, _)| *number == transaction))
        .map(|(_, entry)| entry)
        .collect()
}
