//! Computing compositions, block by block, in slices.

use std::sync::Arc;

use assay_engine::{
    composition::{Composition, Mixture, Origin},
    reading::{FeePayer, OwnerNumber},
    utxo::TransactionKind,
};
use assay_mapped::{Table, WriteTransaction};
use jiff::{civil::Date, tz::TimeZone};

use super::{
    super::{
        Snapshot,
        error::{damaged, table_error},
        reader::Reader,
        record::{InputOrigin, StoredBlock},
    },
    CompositionState, CompositionWriter, Ends, EndsUpTo,
    page::{self, PageBuilder, TRANSACTIONS},
    read::{self, CURRENT, NEXT},
};
use crate::GraphError;

/// Compositions that are kept of the newest transactions: most outputs are spent soon.
const KEPT: usize = 1 << 16;
/// A transaction, its composition, and the transaction that has it.
type Kept = Option<(u64, Arc<Composition>, u64)>;

/// How far a slice got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advanced {
    /// Transactions whose compositions were computed.
    pub computed: u64,
    /// True if the compositions of these ends are complete up to the graph's newest block, and answer.
    pub is_complete: bool,
}

impl CompositionWriter {
    /// Computes compositions of about `most` transactions, whole blocks, and keeps them. `ends` are those of all owners
    /// of the graph in this state. If they are not the ends that the present compositions rest on, all are computed
    /// anew, and replace these once they are complete.
    ///
    /// # Errors
    ///
    /// Returns an error if a store fails; nothing of the slice is kept then.
    pub fn advance(
        &self,
        graph: &Snapshot,
        ends: &Ends,
        most: u64,
    ) -> Result<Advanced, GraphError> {
        let reader = graph.reader();
        let settled = settled(&reader)?;
        let owners = reader.state()?.state.next_owner.unsigned_abs();
        self.tables.environment.write(&self.lock, |txn| {
            let current = read::state(txn, self.tables.meta, CURRENT)?;
            let next = read::state(txn, self.tables.meta, NEXT)?;
            let holds = |known: EndsUpTo| ends.up_to(known.owners) == known;
            let goes_on = |state: &CompositionState| holds(state.settled_ends);
            let (mut state, is_current) = match (current, next) {
                (Some(current), _) if goes_on(&current) => (current, true),
                (_, Some(next)) if goes_on(&next) => (next, false),
                (current, _) => {
                    let half = current.map_or(0, |current| 1 - current.half);
                    self.clear(txn, half)?;
                    (CompositionState::begin(half, ends.up_to(settled.owners)), false)
                }
            };
            let is_on_chain = |(height, hash): (u64, [u8; 32])| {
                Ok::<_, GraphError>(reader.block(height)?.is_some_and(|it| it.block.hash == hash))
            };
            if !holds(state.ends) || !state.newest.map_or(Ok(true), is_on_chain)? {
                state.transactions = state.settled_transactions;
                state.newest = None;
            }
            let mut slice = Slice::begin(&reader, ends, self.tables.page, txn, state)?;
            let before = slice.state.transactions;
            let reached_end = slice.blocks(txn, most)?;
            slice.flush(txn)?;
            let state = CompositionState {
                ends: ends.up_to(owners),
                settled_transactions: settled.transactions.min(slice.state.transactions),
                settled_ends: ends.up_to(settled.owners),
                ..slice.state
            };
            self.keep(txn, &state, is_current || reached_end)?;
            let computed = state.transactions.saturating_sub(before);
            Ok(Advanced { computed, is_complete: reached_end })
        })
    }

    /// Writes a state: that which answers, or the one that is computed to replace it.
    fn keep(
        &self,
        txn: &mut WriteTransaction<'_>,
        state: &CompositionState,
        answers: bool,
    ) -> Result<(), GraphError> {
        let meta = self.tables.meta;
        let failed = |error| table_error("meta", error);
        if !answers {
            return meta.put(txn, NEXT, &state.to_bytes()).map_err(failed);
        }
        meta.put(txn, CURRENT, &state.to_bytes()).map_err(failed)?;
        if meta.delete(txn, NEXT).map_err(failed)? {
            self.clear(txn, 1 - state.half)?;
        }
        Ok(())
    }

    /// Removes the compositions of a half.
    fn clear(&self, txn: &mut WriteTransaction<'_>, half: u8) -> Result<(), GraphError> {
        let (from, to) = ([half], [half + 1]);
        let range = (std::ops::Bound::Included(&from[..]), std::ops::Bound::Excluded(&to[..]));
        self.tables.page.delete_range(txn, &range).map_err(|error| table_error("page", error))?;
        Ok(())
    }
}

/// What no rollback reaches any more.
struct Settled {
    transactions: u64,
    owners: u64,
}

fn settled(graph: &Reader<'_>) -> Result<Settled, GraphError> {
    let state = graph.state()?.state;
    Ok(match graph.block(state.reorganisable_from.max(state.start))? {
        Some(block) => Settled { transactions: block.first_transaction, owners: block.first_owner },
        None => Settled {
            transactions: state.next_transaction.unsigned_abs(),
            owners: state.next_owner.unsigned_abs(),
        },
    })
}

/// A slice of a computation.
struct Slice<'g> {
    graph: &'g Reader<'g>,
    ends: &'g Ends,
    table: Table,
    state: CompositionState,
    page: PageBuilder,
    /// Those of the block that is computed, from its first transaction on, each with the earlier transaction that has
    /// the same.
    made: Vec<(Arc<Composition>, Option<u64>)>,
    first_made: u64,
    kept: Vec<Kept>,
    mixture: Mixture,
    unknown: Arc<Composition>,
}

impl<'g> Slice<'g> {
    fn begin(
        graph: &'g Reader<'g>,
        ends: &'g Ends,
        table: Table,
        txn: &WriteTransaction<'_>,
        state: CompositionState,
    ) -> Result<Self, GraphError> {
        let within = usize::try_from(state.transactions % TRANSACTIONS).unwrap_or(0);
        let page = match within {
            0 => PageBuilder::default(),
            within => {
                let number = state.transactions / TRANSACTIONS;
                let bytes = table.get(txn, &page::key(state.half, number));
                let bytes = bytes.map_err(|error| table_error("page", error))?;
                let page = bytes.and_then(|bytes| PageBuilder::of(bytes, within));
                page.ok_or_else(|| damaged("page", number))?
            }
        };
        let kept = vec![None; KEPT];
        let (mixture, unknown) = (Mixture::default(), Arc::default());
        let made = Vec::new();
        let first_made = u64::MAX;
        Ok(Self { graph, ends, table, state, page, made, first_made, kept, mixture, unknown })
    }

    /// Computes the blocks that follow. Returns true if the newest one was reached.
    fn blocks(&mut self, txn: &mut WriteTransaction<'_>, most: u64) -> Result<bool, GraphError> {
        let graph = self.graph.state()?.state;
        let Some((tip, _)) = graph.tip else { return Ok(true) };
        let until = self.state.transactions.saturating_add(most.max(1));
        let mut height = match self.state.newest {
            Some((height, _)) => height + 1,
            None => self.height_of_next(graph.start, tip.height)?,
        };
        while height <= tip.height {
            let block = self.graph.block(height)?.ok_or_else(|| damaged("block", height))?;
            self.block(txn, &block)?;
            self.state.newest = Some((height, block.block.hash));
            height += 1;
            if self.state.transactions >= until {
                break;
            }
        }
        Ok(height > tip.height)
    }

    /// The height of the first block whose transactions are not computed.
    fn height_of_next(&self, start: u64, tip: u64) -> Result<u64, GraphError> {
        let next = self.state.transactions;
        match self.graph.transaction(next)? {
            Some(record) if next > 0 => Ok(record.head().height),
            None if next > 0 => Ok(tip + 1),
            _ => Ok(start),
        }
    }

    /// Computes a block: its coinbase last, which is made of the fees of all others.
    fn block(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        block: &StoredBlock,
    ) -> Result<(), GraphError> {
        let moved_on = block.block.time.to_zoned(TimeZone::UTC).date();
        let numbers = block.first_transaction..self.graph.end_of(block)?;
        self.first_made = block.first_transaction;
        let mut coinbases = Vec::new();
        for transaction in numbers {
            let head = *self.graph.known_transaction(transaction)?.head();
            // Nothing is known of a coinbase in its own block, where nothing can spend it.
            let made = if head.kind == TransactionKind::Coinbase {
                coinbases.push((self.made.len(), u128::from(head.output_total)));
                (Arc::clone(&self.unknown), None)
            } else {
                self.payment(txn, transaction, moved_on)?
            };
            self.made.push(made);
        }
        for (at, outputs) in coinbases {
            let composition = self.coinbase(txn, block, outputs)?;
            if let Some(made) = self.made.get_mut(at) {
                *made = (composition, None);
            }
        }
        self.first_made = u64::MAX;
        for ((composition, same_as), transaction) in
            std::mem::take(&mut self.made).into_iter().zip(block.first_transaction..)
        {
            self.push(txn, transaction, &composition, same_as)?;
            self.remember(transaction, &composition, same_as.unwrap_or(transaction));
        }
        Ok(())
    }

    /// The composition of a payment, and the transaction whose composition it is, if it is another one's.
    fn payment(
        &mut self,
        txn: &WriteTransaction<'_>,
        transaction: u64,
        moved_on: Date,
    ) -> Result<(Arc<Composition>, Option<u64>), GraphError> {
        let record = self.graph.known_transaction(transaction)?;
        let mut inputs: Vec<(u64, OwnerNumber, Option<u64>)> = Vec::new();
        record.inputs(|input| {
            if let Some(spent) = input.spent {
                let made_by = match input.origin {
                    InputOrigin::Recorded { transaction, .. } => Some(transaction),
                    InputOrigin::Unrecorded(_) | InputOrigin::Pool => None,
                };
                inputs.push((spent.value, OwnerNumber(spent.owner), made_by));
            }
        })?;
        let mut mixture = std::mem::take(&mut self.mixture);
        let mut sources: Vec<(Arc<Composition>, u64)> = Vec::new();
        for (value, owner, made_by) in inputs {
            if let Some(end) = self.ends.get(owner) {
                mixture.add_from(end.origin(moved_on), value);
            } else if let Some(made_by) = made_by {
                let (composition, holder) = self.of(txn, made_by)?;
                mixture.add_made_of(&composition, value);
                sources.push((composition, holder));
            }
        }
        let head = record.head();
        let is_joint = matches!(head.kind, TransactionKind::Coinjoin(_));
        let composition = mixture.finish(head.input_total.into(), is_joint);
        self.mixture = mixture;
        if composition.is_unknown() {
            return Ok((Arc::clone(&self.unknown), None));
        }
        let same = sources.into_iter().find(|(source, _)| **source == composition);
        Ok(match same {
            Some((composition, holder)) => (composition, Some(holder)),
            None => (Arc::new(composition), None),
        })
    }

    /// The composition of a coinbase: the fees of its block, and new coins.
    fn coinbase(
        &mut self,
        txn: &WriteTransaction<'_>,
        block: &StoredBlock,
        outputs: u128,
    ) -> Result<Arc<Composition>, GraphError> {
        let mut payers: Vec<FeePayer> = Vec::new();
        self.graph.fee_payers(block, &mut payers)?;
        let fees: u128 = payers.iter().map(|payer| u128::from(payer.fee)).sum();
        let mined = match outputs.saturating_sub(fees) {
            0 if fees == 0 => 1,
            mined => mined,
        };
        let mut mixture = std::mem::take(&mut self.mixture);
        mixture.add_from(Origin::Mining, u64::try_from(mined).unwrap_or(u64::MAX));
        for payer in payers {
            let (composition, _) = self.of(txn, payer.transaction.0)?;
            mixture.add_made_of(&composition, payer.fee);
        }
        let composition = mixture.finish(fees + mined, false);
        self.mixture = mixture;
        Ok(Arc::new(composition))
    }

    /// What an earlier transaction is made of, and the transaction that has it.
    fn of(
        &mut self,
        txn: &WriteTransaction<'_>,
        transaction: u64,
    ) -> Result<(Arc<Composition>, u64), GraphError> {
        if let Some(at) = transaction.checked_sub(self.first_made) {
            let made = usize::try_from(at).ok().and_then(|at| self.made.get(at));
            let (composition, same_as) = made.ok_or_else(|| damaged("tx", transaction))?;
            return Ok((Arc::clone(composition), same_as.unwrap_or(transaction)));
        }
        if let Some(Some((number, composition, holder))) = self.kept.get(slot(transaction))
            && *number == transaction
        {
            return Ok((Arc::clone(composition), *holder));
        }
        let written = self.state.transactions - self.state.transactions % TRANSACTIONS;
        let (composition, holder) = read::resolve(transaction, |number| {
            if number >= written {
                Ok(self.page.get(number))
            } else {
                read::stored(txn, self.table, self.state.half, number)
            }
        })?;
        let composition = Arc::new(composition);
        self.remember(transaction, &composition, holder);
        Ok((composition, holder))
    }

    fn remember(&mut self, transaction: u64, composition: &Arc<Composition>, holder: u64) {
        if let Some(slot) = self.kept.get_mut(slot(transaction)) {
            *slot = Some((transaction, Arc::clone(composition), holder));
        }
    }

    fn push(
        &mut self,
        txn: &mut WriteTransaction<'_>,
        transaction: u64,
        composition: &Composition,
        same_as: Option<u64>,
    ) -> Result<(), GraphError> {
        if !self.page.push(transaction, composition, same_as) {
            return Err(damaged("page", transaction));
        }
        self.state.transactions = transaction + 1;
        if self.page.len() as u64 == TRANSACTIONS {
            self.write(txn, transaction / TRANSACTIONS)?;
            self.page = PageBuilder::default();
        }
        Ok(())
    }

    /// Writes the page that is not full.
    fn flush(&self, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        if self.page.len() == 0 {
            return Ok(());
        }
        self.write(txn, self.state.transactions / TRANSACTIONS)
    }

    fn write(&self, txn: &mut WriteTransaction<'_>, number: u64) -> Result<(), GraphError> {
        let key = page::key(self.state.half, number);
        let written = self.table.put(txn, &key, &self.page.to_bytes());
        written.map_err(|error| table_error("page", error))
    }
}

/// The place of a transaction among those that are kept.
fn slot(transaction: u64) -> usize {
    usize::try_from(transaction).unwrap_or(0) % KEPT
}
