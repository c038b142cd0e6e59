//! Computation of the compositions (origin breakdowns) that changed trace ends affect.
//!
//! An update begins with the transactions in which owners with changed attributions spent. Transactions are computed in
//! the order of the chain; if a composition changes, the transactions that spend its outputs follow, and the coinbase
//! that received its fee. Changed compositions are stored separately until no transaction is left, and then replace the
//! old ones at once. An update covers the transactions that no rollback removes; later transactions are computed after
//! it.

use std::{ops::Bound, sync::Arc};

use assay_columns::bytes::{ByteReader, number, put_varint};
use assay_engine::{composition::Composition, ledger::OwnerNumber, utxo::TransactionKind};
use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::{
    super::{
        index::Side,
        reader::Reader,
        record::{StoredBlock, TransactionRecord},
    },
    CompositionState, Tables, TraceEnds,
    cache::CompositionCache,
    calculation::{CompositionCalculation, ComputedComposition, day_of},
    frontier::{Frontier, NextComputation},
    page::{self, PageBuilder, PageEntry, TRANSACTIONS},
    read::{self, UPDATE},
    stored_ends,
};
use crate::{GraphError, error::damaged};

/// Divisor of the number of transactions: an update computes at most the quotient, because above that number computing
/// all compositions (origin breakdowns) takes less time.
const LARGEST_UPDATE_DIVISOR: u64 = 8;
/// Maximum number of transactions of an update, which is applied in one write transaction.
const MAX_UPDATE: u64 = 4_000_000;
/// Number of entries that are applied together.
const APPLIED_TOGETHER: usize = 1 << 14;

/// The result of a slice of an update.
pub(super) enum UpdateProgress {
    /// The update continues in the next slice. Holds the number of computed compositions (origin breakdowns).
    Unfinished(u64),
    /// The update is applied. Holds the number of computed compositions (origin breakdowns).
    Applied(u64),
    /// The update is too large: all compositions (origin breakdowns) are to be computed again.
    TooLarge,
}

/// An unfinished update, as stored between two slices.
struct StoredUpdate {
    /// Digest of the trace ends of the update, among the owners in finalized blocks.
    revision: [u8; 32],
    /// Number of computed compositions (origin breakdowns).
    computed: u64,
    frontier: Frontier,
}

impl StoredUpdate {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.revision.to_vec();
        put_varint(&mut bytes, self.computed);
        self.frontier.put_bytes(&mut bytes);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let (revision, computed) = (reading.array()?, reading.varint()?);
        Some(Self { revision, computed, frontier: Frontier::read(reading)? })
    }
}

/// Continues the update of the current compositions (origin breakdowns) to `ends`, by about `most` compositions.
pub(super) fn advance<'g>(
    tables: &'g Tables,
    txn: &mut WriteTransaction<'_>,
    graph: &'g Reader<'g>,
    ends: &'g TraceEnds,
    (answering, most): (&CompositionState, u64),
) -> Result<UpdateProgress, GraphError> {
    let finalized = answering.finalized_transactions;
    let limit = (finalized / LARGEST_UPDATE_DIVISOR).min(MAX_UPDATE);
    let revision = ends.up_to(answering.finalized_ends.owners).revision;
    let known = tables.meta.get(txn, UPDATE)?;
    let known = known.and_then(StoredUpdate::read).filter(|known| known.revision == revision);
    let mut progress = if let Some(known) = known {
        known
    } else {
        clear(tables, txn)?;
        let Some(changed) = changed_owners(tables, txn, answering, ends)? else {
            return Ok(UpdateProgress::TooLarge);
        };
        let frontier = first_frontier(graph, &changed, finalized, limit)?;
        StoredUpdate { revision, computed: 0, frontier }
    };
    let before = progress.computed;
    let mut update = CompositionUpdate::new(tables, graph, ends, answering);
    while progress.computed.saturating_add(progress.frontier.len()) <= limit
        && progress.computed - before < most.max(1)
        && let Some(next) = progress.frontier.pop()
    {
        progress.computed += update.compute(txn, next, &mut progress.frontier)?;
    }
    if progress.computed.saturating_add(progress.frontier.len()) > limit {
        clear(tables, txn)?;
        return Ok(UpdateProgress::TooLarge);
    }
    let computed = progress.computed - before;
    if progress.frontier.is_empty() {
        update.apply(txn)?;
        clear(tables, txn)?;
        return Ok(UpdateProgress::Applied(computed));
    }
    tables.meta.put(txn, UPDATE, &progress.to_bytes())?;
    Ok(UpdateProgress::Unfinished(computed))
}

/// Deletes an unfinished update.
pub(super) fn clear(tables: &Tables, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
    tables.meta.delete(txn, UPDATE)?;
    Ok(tables.changed.clear(txn)?)
}

/// The owners in finalized blocks whose attributions differ from the stored ones; `None` if all compositions (origin
/// breakdowns) are to be computed again.
fn changed_owners(
    tables: &Tables,
    txn: &RoTxn<'_>,
    answering: &CompositionState,
    ends: &TraceEnds,
) -> Result<Option<Vec<OwnerNumber>>, GraphError> {
    let owners = answering.finalized_ends.owners;
    let Some(stored) = stored_ends::load(txn, tables.ends, owners)? else { return Ok(None) };
    if stored.up_to(owners) != answering.finalized_ends {
        // This version has other codes of categories.
        return Ok(None);
    }
    let of_both = stored.iter().chain(ends.iter()).map(|(owner, _)| owner);
    let mut changed: Vec<OwnerNumber> = of_both
        .filter(|it| it.0 < owners && stored.attribution_of(*it) != ends.attribution_of(*it))
        .collect();
    changed.sort_unstable();
    changed.dedup();
    Ok(Some(changed))
}

/// The transactions in which changed owners spent; the search stops above `most`.
fn first_frontier(
    graph: &Reader<'_>,
    changed: &[OwnerNumber],
    finalized: u64,
    most: u64,
) -> Result<Frontier, GraphError> {
    let mut frontier = Frontier::default();
    for owner in changed {
        graph.each_owner_entry(owner.0, Side::Inputs, |moved| {
            if moved.transaction < finalized {
                frontier.add(NextComputation::Payment(moved.transaction));
            }
            frontier.len() <= most
        })?;
        if frontier.len() > most {
            break;
        }
    }
    Ok(frontier)
}

/// A slice of an update.
struct CompositionUpdate<'g> {
    tables: &'g Tables,
    graph: &'g Reader<'g>,
    ends: &'g TraceEnds,
    calculation: CompositionCalculation<'g>,
    half: u8,
    finalized: u64,
    kept: CompositionCache,
}

impl<'g> CompositionUpdate<'g> {
    fn new(
        tables: &'g Tables,
        graph: &'g Reader<'g>,
        ends: &'g TraceEnds,
        answering: &CompositionState,
    ) -> Self {
        Self {
            tables,
            graph,
            ends,
            calculation: CompositionCalculation::new(graph, ends),
            half: answering.half,
            finalized: answering.finalized_transactions,
            kept: CompositionCache::new(),
        }
    }

    /// Computes an item, and adds the transactions that its change affects. Returns the number of computed compositions
    /// (origin breakdowns).
    fn compute(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        next: NextComputation,
        frontier: &mut Frontier,
    ) -> Result<u64, GraphError> {
        match next {
            NextComputation::Payment(transaction) => {
                let record = self.graph.known_transaction(transaction)?;
                let block = self.block_of(&record)?;
                let sources = UpdateSources { tables: self.tables, half: self.half, txn };
                let kept = &mut self.kept;
                let made = self
                    .calculation
                    .payment(&record, day_of(&block), |of| sources.composition_of(kept, of))?;
                if self.replace(txn, transaction, made)? {
                    self.add_spenders(&record, frontier)?;
                    self.add_coinbases(&record, &block, frontier)?;
                }
                Ok(1)
            }
            NextComputation::Coinbases(last) => {
                let block = self.block_of(&self.graph.known_transaction(last)?)?;
                let mut computed = 0;
                for transaction in block.first_transaction..=last {
                    let record = self.graph.known_transaction(transaction)?;
                    let head = record.head();
                    if head.kind != TransactionKind::Coinbase {
                        continue;
                    }
                    let sources = UpdateSources { tables: self.tables, half: self.half, txn };
                    let (kept, outputs) = (&mut self.kept, u128::from(head.output_total));
                    let of = |of| sources.composition_of(kept, of);
                    let made = self.calculation.coinbase(transaction, &block, outputs, of)?;
                    if self.replace(txn, transaction, made)? {
                        self.add_spenders(&record, frontier)?;
                    }
                    computed += 1;
                }
                Ok(computed)
            }
        }
    }

    fn block_of(&self, record: &TransactionRecord<'_>) -> Result<StoredBlock, GraphError> {
        self.graph.known_block(record.head().height)
    }

    /// Stores the new composition (origin breakdown) of a transaction. Returns false if the composition did not change.
    fn replace(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        transaction: u64,
        mut made: ComputedComposition,
    ) -> Result<bool, GraphError> {
        let sources = UpdateSources { tables: self.tables, half: self.half, txn };
        let entry = sources.entry(transaction)?;
        let may_be_named = match &entry {
            Some(PageEntry::Composition(composition)) => !composition.is_unknown(),
            Some(PageEntry::Replaced { .. }) => true,
            Some(PageEntry::SameAs(_)) | None => false,
        };
        let before = read::resolve(transaction, |of| {
            if of == transaction { Ok(entry.clone()) } else { sources.entry(of) }
        })?;
        if before.composition == made.composition {
            self.kept.put(transaction, before);
            return Ok(false);
        }
        if may_be_named {
            made.holder = None;
        }
        self.tables.changed.put(txn, &number(transaction), &to_bytes(transaction, &made))?;
        self.kept.put(transaction, made);
        Ok(true)
    }

    /// Adds the transactions that spend outputs of a changed transaction, except outputs of owners at whom traces end.
    fn add_spenders(
        &self,
        record: &TransactionRecord<'_>,
        frontier: &mut Frontier,
    ) -> Result<(), GraphError> {
        let mut outputs = Vec::new();
        record.outputs(|entry| {
            if self.ends.get(OwnerNumber(entry.output.owner)).is_none() {
                outputs.push(record.head().first_output + u64::from(entry.index));
            }
        })?;
        for output in outputs {
            if let Some(spender) = self.graph.spender(output)?
                && spender < self.finalized
            {
                frontier.add(NextComputation::Payment(spender));
            }
        }
        Ok(())
    }

    /// Adds the coinbases of a block if a changed transaction paid a fee.
    fn add_coinbases(
        &mut self,
        record: &TransactionRecord<'_>,
        block: &StoredBlock,
        frontier: &mut Frontier,
    ) -> Result<(), GraphError> {
        if record.head().fee() > 0 {
            let end = self.graph.end_of(block)?;
            frontier.add(NextComputation::Coinbases(end.saturating_sub(1)));
        }
        Ok(())
    }

    /// Replaces the compositions (origin breakdowns) that changed.
    fn apply(&self, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        let mut from = 0;
        loop {
            let changed = self.changed_from(txn, from)?;
            let Some((last, _)) = changed.last() else { return Ok(()) };
            from = last + 1;
            let is_same_page =
                |(one, _): &(u64, ComputedComposition), (other, _): &(u64, ComputedComposition)| {
                    one / TRANSACTIONS == other / TRANSACTIONS
                };
            for of_page in changed.chunk_by(is_same_page) {
                self.apply_to_page(txn, of_page)?;
            }
        }
    }

    /// Reads a batch of changed compositions (origin breakdowns), from a transaction on.
    fn changed_from(
        &self,
        txn: &RoTxn<'_>,
        from: u64,
    ) -> Result<Vec<(u64, ComputedComposition)>, GraphError> {
        let from = number(from);
        let found = self.tables.changed.range(txn, Bound::Included(&from), Bound::Unbounded)?;
        let changed = found.take(APPLIED_TOGETHER).map(|found| {
            let (key, value) = found?;
            let transaction =
                ByteReader(key).number().ok_or_else(|| damaged("changed", "a key"))?;
            Ok((transaction, read_changed(transaction, value)?))
        });
        changed.collect()
    }

    fn apply_to_page(
        &self,
        txn: &mut WriteTransaction<'_>,
        changed: &[(u64, ComputedComposition)],
    ) -> Result<(), GraphError> {
        let Some((first, _)) = changed.first() else { return Ok(()) };
        let (table, number) = (self.tables.page(self.half), first / TRANSACTIONS);
        let bytes = table.get(txn, &page::key(number))?;
        let page = bytes.and_then(|bytes| PageBuilder::of(number, bytes, usize::MAX));
        let mut page = page.ok_or_else(|| damaged("page", number))?;
        for (transaction, made) in changed {
            let own = Arc::clone(&made.composition);
            let entry = match page.get(*transaction) {
                Some(PageEntry::Replaced { named, .. }) => PageEntry::Replaced { named, own },
                Some(PageEntry::Composition(named)) if !named.is_unknown() => {
                    PageEntry::Replaced { named, own }
                }
                _ => PageEntry::new(*transaction, &own, made.holder),
            };
            if !page.set(*transaction, entry) {
                return Err(damaged("page", number));
            }
        }
        Ok(table.put(txn, &page::key(number), &page.to_bytes(number))?)
    }
}

/// The tables in which an update finds compositions (origin breakdowns).
struct UpdateSources<'a, 'e> {
    tables: &'a Tables,
    half: u8,
    txn: &'a RoTxn<'e>,
}

impl UpdateSources<'_, '_> {
    /// The entry of a transaction in the pages that readers use.
    fn entry(&self, transaction: u64) -> Result<Option<PageEntry>, GraphError> {
        read::stored(self.txn, self.tables.page(self.half), transaction)
    }

    /// The current composition (origin breakdown) of a transaction.
    fn answering(&self, transaction: u64) -> Result<ComputedComposition, GraphError> {
        read::resolve(transaction, |number| self.entry(number))
    }

    /// The composition (origin breakdown) of a transaction for the ends of the update.
    fn composition_of(
        &self,
        kept: &mut CompositionCache,
        transaction: u64,
    ) -> Result<ComputedComposition, GraphError> {
        if let Some(made) = kept.get(transaction) {
            return Ok(made.clone());
        }
        let made = match self.tables.changed.get(self.txn, &number(transaction))? {
            Some(bytes) => read_changed(transaction, bytes)?,
            None => self.answering(transaction)?,
        };
        kept.put(transaction, made.clone());
        Ok(made)
    }
}

/// Encodes a changed composition (origin breakdown): the distance to its holder plus one, or 0 without a holder; then
/// the composition.
fn to_bytes(transaction: u64, made: &ComputedComposition) -> Vec<u8> {
    let mut bytes = Vec::new();
    let distance = made.holder.map_or(0, |holder| transaction.saturating_sub(holder) + 1);
    put_varint(&mut bytes, distance);
    made.composition.put_bytes(&mut bytes);
    bytes
}

fn read_changed(transaction: u64, bytes: &[u8]) -> Result<ComputedComposition, GraphError> {
    let parse = || {
        let mut reading = ByteReader(bytes);
        let distance = reading.varint()?;
        let holder = match distance.checked_sub(1) {
            None => None,
            Some(distance) => Some(transaction.checked_sub(distance)?),
        };
        let (composition, _) = Composition::read(reading.0)?;
        Some(ComputedComposition { composition: Arc::new(composition), holder })
    };
    parse().ok_or_else(|| damaged("changed", transaction))
}
