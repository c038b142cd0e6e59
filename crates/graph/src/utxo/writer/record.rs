//! Writing of a batch.

use std::ops::Bound;

use assay_columns::{
    bytes::{NUMBER_BYTES, number},
    run,
};
use assay_engine::utxo::ResolvedBlock;
use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::{
    caches::Caches,
    plan::{Plan, Spend},
    put_runs, put_state,
};
use crate::{
    GraphError,
    error::damaged,
    utxo::{
        entry::GraphRuns,
        index::IndexEntries,
        link::{ForestNode, pair_key},
        reader::Reader,
        state::GraphState,
        tables::Tables,
    },
};

/// Number of blocks whose entries move together from the table of recent entries into runs, after they cannot be rolled
/// back: a run of one block would be small.
const MOVED_TOGETHER: u64 = 16;

/// A batch to be written.
pub(super) struct Batch<'b> {
    pub(super) blocks: &'b [ResolvedBlock],
    pub(super) plan: Plan,
    pub(super) before: &'b GraphState,
}

impl Batch<'_> {
    /// Writes the batch. `committed` is the state before the batch.
    pub(super) fn write(
        mut self,
        tables: &Tables,
        (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
        after: &mut GraphState,
        runs: &mut GraphRuns,
        caches: &mut Caches,
    ) -> Result<(), GraphError> {
        self.records(tables, txn)?;
        self.spends(tables, (committed, runs, txn), after)?;
        Self::clusters(tables, txn, after, caches)?;
        let below = number(after.reorganizable_from);
        tables.undo.delete_range(txn, Bound::Unbounded, Bound::Excluded(&below))?;
        let mut pages = self.move_recent(tables, (committed, txn), after, runs, caches)?;
        let Plan { finalized, recent, .. } = self.plan;
        pages += finalized.write_runs(tables, txn, runs, &mut caches.filters)?;
        recent.write_recent(tables, txn)?;
        let memory = (&mut caches.filters, &mut caches.unfinished);
        run::continue_merges(tables.run, (committed, txn), runs, memory, pages)?;
        put_runs(tables, txn, runs)?;
        put_state(tables, txn, after)
    }

    /// Appends blocks, transactions, identifiers and scripts.
    fn records(&self, tables: &Tables, txn: &mut WriteTransaction<'_>) -> Result<(), GraphError> {
        let (transactions, owners) = (self.before.next_transaction, self.before.next_owner);
        for (record, tx) in self.plan.transactions.iter().zip(transactions..) {
            tables.transaction.append(txn, &number(tx), record)?;
        }
        tables.txid.append(txn, transactions, &self.plan.txids)?;
        let mut slots = Vec::new();
        for (script, owner) in self.plan.scripts.iter().zip(owners..) {
            tables.script.append(txn, &number(owner), script)?;
            slots.extend_from_slice(&ForestNode::single(owner).to_bytes());
        }
        tables.parent.append(txn, owners, &slots)?;
        for (stored, payers) in self.plan.blocks.iter().zip(self.plan.payers.iter()) {
            let height = number(stored.block.height);
            tables.block.append(txn, &height, &stored.to_bytes())?;
            if !payers.is_empty() {
                tables.payers.append(txn, &height, payers)?;
            }
        }
        Ok(())
    }

    /// Writes the spender of each output, and appends the column of spenders for the batch's outputs.
    fn spends(
        &mut self,
        tables: &Tables,
        (committed, runs, txn): (&RoTxn<'_>, &GraphRuns, &mut WriteTransaction<'_>),
        after: &GraphState,
    ) -> Result<(), GraphError> {
        let before = self.before.next_output;
        let spends = &mut self.plan.spends;
        spends.sort_unstable();
        let own = spends.partition_point(|spend| spend.output < before);
        let (old, new) = spends.split_at_checked(own).unwrap_or_default();
        let reader = Reader::new(tables, runs, committed);
        // The error names the first double spend in the order of the chain.
        let mut again: Option<Spend> = None;
        let mut note = |spend: &Spend| {
            let place = |spend: &Spend| (spend.spender, spend.input);
            if again.is_none_or(|first| place(spend) < place(&first)) {
                again = Some(*spend);
            }
        };
        for same in spends.chunk_by(|one, next| one.output == next.output) {
            same.get(1..).unwrap_or_default().iter().for_each(&mut note);
        }
        for spend in old {
            if reader.spender(spend.output)?.is_some() {
                note(spend);
            }
        }
        if let Some(again) = again {
            return Err(self.spent_before(again));
        }
        let old: Vec<(u64, [u8; NUMBER_BYTES])> =
            old.iter().map(|spend| (spend.output, number(spend.spender + 1))).collect();
        let count = usize::try_from(after.next_output.saturating_sub(before)).unwrap_or(0);
        let mut slots = vec![0; count.saturating_mul(NUMBER_BYTES)];
        for spend in new {
            let at = usize::try_from(spend.output - before).unwrap_or(usize::MAX);
            let slot = slots.get_mut(at.saturating_mul(NUMBER_BYTES)..);
            if let Some(slot) = slot.and_then(<[u8]>::first_chunk_mut::<NUMBER_BYTES>) {
                *slot = number(spend.spender + 1);
            }
        }
        tables.spent.append(txn, before, &slots)?;
        Ok(tables.spent.update(txn, &old)?)
    }

    /// The error of an input that spends an output for the second time.
    fn spent_before(&self, again: Spend) -> GraphError {
        let first = self.before.next_transaction;
        let at = usize::try_from(again.spender.saturating_sub(first)).unwrap_or(usize::MAX);
        let mut transactions = self.blocks.iter().flat_map(|block| {
            block.transactions.iter().map(move |transaction| (block.reference.height, transaction))
        });
        let input = transactions.nth(at).and_then(|(height, transaction)| {
            let input = transaction.inputs.get(usize::try_from(again.input).ok()?)?;
            Some((height, transaction.txid, input.outpoint))
        });
        let chain = self.before.chain;
        match input {
            Some((height, txid, output)) => GraphError::SpentBefore { chain, txid, height, output },
            None => GraphError::SpentTwice(chain),
        }
    }

    /// Writes links, confirmations and changed nodes.
    fn clusters(
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
        after: &GraphState,
        caches: &mut Caches,
    ) -> Result<(), GraphError> {
        let clusters = &caches.clusters;
        let changes = &clusters.changes;
        for link in &changes.links {
            let link = clusters.known_link(link.child).unwrap_or(link);
            tables.link.put(txn, &link.key(), &link.to_bytes())?;
        }
        for (child, transaction) in &changes.confirmations {
            let link = clusters.known_link(*child).ok_or_else(|| damaged("link", child))?;
            tables.link.put(txn, &link.key(), &link.to_bytes())?;
            tables.confirmed.put(txn, &pair_key(*transaction, *child), &[])?;
        }
        for (height, owner, slot) in &changes.undo {
            if *height >= after.reorganizable_from {
                let key = pair_key(*height, *owner);
                tables.undo.put(txn, &key, &slot.to_bytes())?;
            }
        }
        Ok(tables.parent.update(txn, &clusters.changed_slots())?)
    }

    /// Moves recent entries that cannot be rolled back any more into runs, and returns the number of written pages.
    fn move_recent(
        &mut self,
        tables: &Tables,
        (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
        after: &mut GraphState,
        runs: &mut GraphRuns,
        caches: &mut Caches,
    ) -> Result<u64, GraphError> {
        let (from, until) = (self.before.recent_from, after.reorganizable_from);
        let is_settled = self.plan.blocks.first().is_some_and(|first| first.block.height < until);
        if until <= from || (!is_settled && until - from < MOVED_TOGETHER) {
            return Ok(0);
        }
        after.recent_from = until;
        let reader = Reader::new(tables, runs, committed);
        let Some(first) = reader.block(from)? else { return Ok(0) };
        let moved = IndexEntries::of_recent(&reader, &first, until)?;
        moved.delete_recent(tables, txn)?;
        moved.write_runs(tables, txn, runs, &mut caches.filters)
    }
}
