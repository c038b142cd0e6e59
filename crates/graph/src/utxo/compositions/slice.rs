//! Computation of compositions (origin breakdowns) block by block.

use std::ops::Bound;

use assay_columns::{
    NamedTable,
    bytes::{ByteReader, number},
};
use assay_engine::utxo::TransactionKind;
use assay_mapped::WriteTransaction;

use super::{
    super::{
        reader::Reader,
        record::{StoredBlock, TransactionRecord},
    },
    CompositionState, TraceEnds,
    cache::CompositionCache,
    calculation::{CompositionCalculation, ComputedComposition, day_of},
    page::{self, PageBuilder, PageEntry, TRANSACTIONS},
    read,
};
use crate::{GraphError, error::damaged};

/// A slice of the computation of compositions (origin breakdowns).
pub(super) struct CompositionSlice<'g> {
    graph: &'g Reader<'g>,
    calculation: CompositionCalculation<'g>,
    pages: PageWriter,
    /// The state up to which the slice has computed.
    pub(super) state: CompositionState,
}

impl<'g> CompositionSlice<'g> {
    /// Continues from a state whose pages are in `table`.
    pub(super) fn begin(
        graph: &'g Reader<'g>,
        ends: &'g TraceEnds,
        table: NamedTable,
        txn: &WriteTransaction<'_>,
        state: CompositionState,
    ) -> Result<Self, GraphError> {
        let pages = PageWriter::open(table, txn, state.transactions)?;
        Ok(Self { graph, calculation: CompositionCalculation::new(graph, ends), pages, state })
    }

    /// Computes whole blocks of about `most` transactions. Returns true if the newest block was reached.
    pub(super) fn blocks(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        most: u64,
    ) -> Result<bool, GraphError> {
        let graph = self.graph.state()?;
        let Some((tip, _)) = graph.tip else { return Ok(true) };
        let until = self.state.transactions.saturating_add(most.max(1));
        let mut height = match self.state.newest {
            Some((height, _)) => height + 1,
            None => self.height_of_next(graph.start, tip.height)?,
        };
        while height <= tip.height {
            let block = self.graph.known_block(height)?;
            self.block(txn, &block)?;
            self.state.newest = Some((height, block.block.hash));
            height += 1;
            if self.state.transactions >= until {
                break;
            }
        }
        self.pages.flush(txn)?;
        Ok(height > tip.height)
    }

    /// The height of the first block without computed compositions (origin breakdowns).
    fn height_of_next(&self, start: u64, tip: u64) -> Result<u64, GraphError> {
        let next = self.state.transactions;
        match self.graph.transaction(next)? {
            Some(record) if next > 0 => Ok(record.head().height),
            None if next > 0 => Ok(tip + 1),
            _ => Ok(start),
        }
    }

    /// Computes the compositions (origin breakdowns) of a block, the coinbase last, because the coinbase receives the
    /// fees of the other transactions.
    fn block(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        block: &StoredBlock,
    ) -> Result<(), GraphError> {
        let (graph, moved_on, first) = (self.graph, day_of(block), block.first_transaction);
        let end = self.graph.end_of(block)?;
        let mut coinbases = Vec::new();
        self.pages.begin_block(first);
        let records = graph.tables.transaction.range(
            graph.txn,
            Bound::Included(&number(first)),
            Bound::Excluded(&number(end)),
        )?;
        for (found, transaction) in records.zip(first..) {
            let (key, bytes) = found?;
            if ByteReader(key).number() != Some(transaction) {
                return Err(damaged("tx", transaction));
            }
            let record = TransactionRecord::read(transaction, bytes)?;
            let head = record.head();
            // A coinbase is unknown until the end of its block, in which no transaction can spend it.
            let made = if head.kind == TransactionKind::Coinbase {
                coinbases.push((transaction, u128::from(head.output_total)));
                self.calculation.unknown()
            } else {
                let pages = &mut self.pages;
                self.calculation
                    .payment(&record, moved_on, |number| pages.composition_of(txn, number))?
            };
            self.pages.block.push(made);
        }
        if self.pages.next() != end {
            return Err(damaged("tx", self.pages.next()));
        }
        for (coinbase, outputs) in coinbases {
            let pages = &mut self.pages;
            let of = |number| pages.composition_of(txn, number);
            let made = self.calculation.coinbase(coinbase, block, outputs, of)?;
            self.pages.set_in_block(coinbase, made);
        }
        self.pages.end_block(txn)?;
        self.state.transactions = end;
        Ok(())
    }
}

/// The writer of pages, with the compositions (origin breakdowns) of the current block.
struct PageWriter {
    table: NamedTable,
    /// The last page, which is not full, and its number.
    page: PageBuilder,
    number: u64,
    /// Pages from this number on are appended to the table.
    appended_from: u64,
    /// Compositions (origin breakdowns) of the current block, from its first transaction on.
    block: Vec<ComputedComposition>,
    first: u64,
    kept: CompositionCache,
}

impl PageWriter {
    /// Continues after the first `transactions` transactions.
    fn open(
        table: NamedTable,
        txn: &WriteTransaction<'_>,
        transactions: u64,
    ) -> Result<Self, GraphError> {
        let within = usize::try_from(transactions % TRANSACTIONS).unwrap_or(0);
        let number = transactions / TRANSACTIONS;
        let page = match within {
            0 => PageBuilder::default(),
            within => {
                let bytes = table.get(txn, &page::key(number))?;
                let page = bytes.and_then(|bytes| PageBuilder::of(number, bytes, within));
                page.filter(|page| page.len() == within).ok_or_else(|| damaged("page", number))?
            }
        };
        let last = table.last(txn)?;
        let last = last.and_then(|(key, _)| ByteReader(key).number());
        let appended_from = last.map_or(0, |last| last + 1);
        let (block, kept) = (Vec::new(), CompositionCache::new());
        Ok(Self { table, page, number, appended_from, block, first: u64::MAX, kept })
    }

    fn begin_block(&mut self, first: u64) {
        self.first = first;
        self.block.clear();
    }

    /// The number of the next transaction of the block.
    fn next(&self) -> u64 {
        self.first + self.block.len() as u64
    }

    fn set_in_block(&mut self, transaction: u64, made: ComputedComposition) {
        let at = transaction.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(slot) = at.and_then(|at| self.block.get_mut(at)) {
            *slot = made;
        }
    }

    /// Appends the compositions (origin breakdowns) of the block to pages.
    fn end_block(&mut self, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        for (made, transaction) in std::mem::take(&mut self.block).into_iter().zip(self.first..) {
            self.page.push(PageEntry::new(transaction, &made.composition, made.holder));
            self.kept.put(transaction, made);
            if self.page.len() as u64 == TRANSACTIONS {
                self.write(txn)?;
                self.page = PageBuilder::default();
                self.number += 1;
            }
        }
        self.first = u64::MAX;
        Ok(())
    }

    /// The composition (origin breakdown) of an earlier transaction.
    fn composition_of(
        &mut self,
        txn: &WriteTransaction<'_>,
        transaction: u64,
    ) -> Result<ComputedComposition, GraphError> {
        if let Some(at) = transaction.checked_sub(self.first) {
            let made = usize::try_from(at).ok().and_then(|at| self.block.get(at));
            return made.cloned().ok_or_else(|| damaged("tx", transaction));
        }
        if let Some(made) = self.kept.get(transaction) {
            return Ok(made.clone());
        }
        let written = self.number * TRANSACTIONS;
        let made = read::resolve(transaction, |number| {
            if number >= written {
                Ok(self.page.get(number))
            } else {
                read::stored(txn, self.table, number)
            }
        })?;
        self.kept.put(transaction, made.clone());
        Ok(made)
    }

    /// Writes the last page, which is not full.
    fn flush(&mut self, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        if self.page.len() == 0 { Ok(()) } else { self.write(txn) }
    }

    fn write(&mut self, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        let (key, bytes) = (page::key(self.number), self.page.to_bytes(self.number));
        if self.number < self.appended_from {
            self.table.put(txn, &key, &bytes)?;
        } else {
            self.table.append(txn, &key, &bytes)?;
        }
        self.appended_from = self.appended_from.max(self.number + 1);
        Ok(())
    }
}
