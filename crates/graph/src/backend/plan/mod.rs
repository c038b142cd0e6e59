//! The write plan: the rows that recording blocks writes, a pure function of the blocks, the graph's
//! state, and the recorded outputs and owners that the blocks name.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use assay_address::ChainId;
use assay_engine::{
    cluster::{CoSpend, co_spend},
    utxo::{OutPoint, ResolvedBlock, ScriptOwner, Statistics, Transaction, TxInput, TxOut, Txid},
};
use jiff::Timestamp;

use super::{
    cluster::{ConfirmationRow, Forest, LinkRow},
    rows::{
        BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, TxOutRow, UndoRow,
    },
    state::GraphState,
};
use crate::GraphError;

/// The rows that must be looked up before blocks can be planned.
#[derive(Debug, Default)]
pub(crate) struct LookupRequest<'a> {
    /// Outputs of earlier blocks that are spent.
    pub(crate) outputs: HashSet<OutPoint>,
    /// All owners that appear.
    pub(crate) owners: HashSet<&'a ScriptOwner>,
}

/// The recorded rows of a [`LookupRequest`]. A missing entry is not recorded.
#[derive(Debug, Default)]
pub(crate) struct LookupResponse {
    /// The newest transactions of these identifiers.
    pub(crate) transactions: HashMap<Txid, i64>,
    /// Owners with their numbers.
    pub(crate) owners: HashMap<ScriptOwner, (i64, Statistics)>,
    /// The clusters of owners that are spent together.
    pub(crate) clusters: Forest,
}

/// All rows that an [`append`](crate::GraphWriter::append) writes, in one transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// Blocks to be inserted.
    pub blocks: Vec<BlockRow>,
    /// Transactions to be inserted.
    pub transactions: Vec<TransactionRow>,
    /// Inputs to be inserted.
    pub inputs: Vec<InputRow>,
    /// Outputs to be inserted.
    pub outputs: Vec<OutputRow>,
    /// Owners to be inserted, by number.
    pub new_owners: Vec<OwnerRow>,
    /// Owners whose statistics are to be replaced, by number.
    pub changed_owners: Vec<OwnerRow>,
    /// Links of clusters to be inserted.
    pub links: Vec<LinkRow>,
    /// Confirmations of links to be inserted; some are of links of this plan.
    pub confirmations: Vec<ConfirmationRow>,
    /// Entries of the undo log to be inserted. Entries below [`GraphState::reorganisable_from`] of `after`
    /// are to be deleted.
    pub undo: Vec<UndoRow>,
    /// The graph's state afterwards.
    pub after: GraphState,
}

/// The rows that must be looked up before `blocks` can be planned.
pub(crate) fn lookup_request(blocks: &[ResolvedBlock]) -> LookupRequest<'_> {
    let mut lookup_request = LookupRequest::default();
    let mut made = HashSet::new();
    for transaction in blocks.iter().flat_map(|block| &block.transactions) {
        for input in transaction.inputs.iter().filter(|input| input.spent.is_some()) {
            if !input.is_from_pool(transaction.txid) && !made.contains(&input.outpoint.txid) {
                lookup_request.outputs.insert(input.outpoint);
            }
        }
        lookup_request.owners.extend(transaction.all_outputs().map(|output| &output.owner));
        made.insert(transaction.txid);
    }
    lookup_request
}

/// The co-spend that each transaction is, in the order of the blocks.
pub(crate) fn co_spends(chain: ChainId, blocks: &[ResolvedBlock]) -> Vec<Option<CoSpend<'_>>> {
    let transactions = blocks.iter().flat_map(|block| {
        let time = block.reference.time;
        block.transactions.iter().map(move |transaction| (transaction, time))
    });
    transactions.map(|(transaction, time)| co_spend(transaction, chain, time)).collect()
}

/// Plans blocks that follow the tip. Those from the height `reorganisable_from` on can be rolled back.
///
/// # Errors
///
/// Returns [`GraphError::Gap`] if they do not follow; [`GraphError::Amount`] if a sum is beyond
/// what any chain allows.
pub(crate) fn plan(
    state: &GraphState,
    blocks: &[ResolvedBlock],
    co_spends: &[Option<CoSpend<'_>>],
    known: &LookupResponse,
    reorganisable_from: u64,
    at: Timestamp,
) -> Result<WritePlan, GraphError> {
    state.expect_next(blocks)?;
    let mut planner = Planner::new(state, blocks, co_spends, known, reorganisable_from);
    for block in blocks {
        planner.block(block)?;
    }
    Ok(planner.finish(blocks, at))
}

/// An owner while blocks are planned.
struct Entry<'a> {
    owner: &'a ScriptOwner,
    number: i64,
    statistics: Statistics,
    /// The newest block for which its earlier statistics were noted.
    noted: Option<u64>,
}

/// The totals of an owner's inputs and outputs in a transaction.
#[derive(Clone, Copy, Default)]
struct Flow {
    sent: u128,
    received: u128,
}

struct Planner<'a> {
    known: &'a LookupResponse,
    /// The co-spends of the transactions that are left.
    co_spends: std::slice::Iter<'a, Option<CoSpend<'a>>>,
    clusters: Forest,
    plan: WritePlan,
    /// Numbers of the transactions planned so far.
    made: HashMap<Txid, i64>,
    entries: Vec<Entry<'a>>,
    /// The index in `entries` of each owner.
    indexes: HashMap<&'a ScriptOwner, usize>,
    /// Amounts that the current transaction moves, by the owner's index.
    flows: Vec<(usize, Flow)>,
    first_begun: i64,
}

impl<'a> Planner<'a> {
    fn new(
        state: &GraphState,
        blocks: &[ResolvedBlock],
        co_spends: &'a [Option<CoSpend<'a>>],
        known: &'a LookupResponse,
        reorganisable_from: u64,
    ) -> Self {
        let mut after = state.clone();
        if let Some(last) = blocks.last() {
            after.reorganisable_from =
                state.reorganisable_after(last.reference.height, reorganisable_from);
        }
        Self {
            known,
            co_spends: co_spends.iter(),
            clusters: known.clusters.clone(),
            first_begun: state.next_owner,
            plan: WritePlan {
                blocks: Vec::with_capacity(blocks.len()),
                transactions: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                new_owners: Vec::new(),
                changed_owners: Vec::new(),
                links: Vec::new(),
                confirmations: Vec::new(),
                undo: Vec::new(),
                after,
            },
            made: HashMap::new(),
            entries: Vec::new(),
            indexes: HashMap::new(),
            flows: Vec::new(),
        }
    }

    fn block(&mut self, block: &'a ResolvedBlock) -> Result<(), GraphError> {
        let row = BlockRow {
            block: block.reference,
            work: block.work,
            first_transaction: self.plan.after.next_transaction,
            first_owner: self.plan.after.next_owner,
        };
        for transaction in &block.transactions {
            self.transaction(&row, transaction)?;
        }
        self.plan.blocks.push(row);
        Ok(())
    }

    fn transaction(
        &mut self,
        block: &BlockRow,
        transaction: &'a Transaction,
    ) -> Result<(), GraphError> {
        let number = self.plan.after.next_transaction;
        self.plan.after.next_transaction += 1;
        let amount = |value: u128| {
            let (chain, txid) = (self.plan.after.chain, transaction.txid);
            i64::try_from(value).map_err(|_| GraphError::Amount { chain, txid })
        };
        let input_total = transaction.input_total();
        let row = TransactionRow {
            number,
            height: block.block.height,
            txid: transaction.txid,
            kind: transaction.kind,
            inputs: count(transaction.inputs.len()),
            outputs: count(transaction.outputs.len()),
            input_total: amount(input_total)?,
            output_total: amount(transaction.output_total())?,
            unknown: amount(transaction.unknown_value())?,
        };
        // No single amount exceeds its side's total, so that none needs a check of its own. A coinbase's
        // total says nothing of its inputs, though.
        amount(transaction.spent_outputs().map(|output| u128::from(output.value)).sum())?;

        self.flows.clear();
        let time = block.block.time;
        for (input, index) in transaction.inputs.iter().zip(0..) {
            let spent = input.spent.as_ref().map(|output| {
                let flow = Flow { sent: output.value.into(), received: 0 };
                self.output(output, flow, time)
            });
            let source = self.source(transaction.txid, input);
            self.plan.inputs.push(InputRow { transaction: number, index, source, spent });
        }
        for (output, index) in transaction.outputs.iter().zip(0..) {
            let flow = Flow { sent: 0, received: output.value.into() };
            let output = self.output(output, flow, time);
            self.plan.outputs.push(OutputRow { transaction: number, index, output });
        }
        self.join(number);
        self.count(block, input_total);
        self.made.insert(transaction.txid, number);
        self.plan.transactions.push(row);
        Ok(())
    }

    /// Joins the clusters of owners that the current transaction spends together.
    fn join(&mut self, transaction: i64) {
        let Some(Some(CoSpend { owners, is_conclusive })) = self.co_spends.next() else { return };
        let numbers = owners
            .iter()
            .filter_map(|owner| Some(self.entries.get(*self.indexes.get(owner)?)?.number));
        let (links, confirmations) =
            self.clusters.join(numbers.collect(), transaction, *is_conclusive);
        self.plan.links.extend(links);
        self.plan.confirmations.extend(confirmations);
    }

    fn source(&self, spending: Txid, input: &TxInput) -> InputSource {
        if input.is_from_pool(spending) {
            return InputSource::Pool;
        }
        let OutPoint { txid, index } = input.outpoint;
        let recorded = self.made.get(&txid).or_else(|| self.known.transactions.get(&txid));
        match recorded {
            Some(&transaction) if input.spent.is_some() => {
                InputSource::Recorded { transaction, index }
            }
            _ => InputSource::Unrecorded(input.outpoint),
        }
    }

    /// Notes what an output moves for its owner.
    fn output(&mut self, output: &'a TxOut, flow: Flow, time: Timestamp) -> TxOutRow {
        let (entries, known, after) = (&mut self.entries, self.known, &mut self.plan.after);
        let index = *self.indexes.entry(&output.owner).or_insert_with(|| {
            let (number, statistics) =
                known.owners.get(&output.owner).copied().unwrap_or_else(|| {
                    after.next_owner += 1;
                    (after.next_owner - 1, Statistics::new(time))
                });
            entries.push(Entry { owner: &output.owner, number, statistics, noted: None });
            entries.len() - 1
        });
        self.flows.push((index, flow));
        let owner = self.entries.get(index).map_or(0, |entry| entry.number);
        // Checked with the totals.
        TxOutRow { owner, value: i64::try_from(output.value).unwrap_or(i64::MAX) }
    }

    /// Counts the current transaction in the statistics of each owner in it.
    fn count(&mut self, block: &BlockRow, inputs: u128) {
        let BlockRow { block, first_owner, .. } = block;
        self.flows.sort_unstable_by_key(|(index, _)| *index);
        for own in self.flows.chunk_by(|one, next| one.0 == next.0) {
            let Some(entry) = own.first().and_then(|(index, _)| self.entries.get_mut(*index))
            else {
                continue;
            };
            let reversible = block.height >= self.plan.after.reorganisable_from;
            if reversible && entry.number < *first_owner && entry.noted != Some(block.height) {
                entry.noted = Some(block.height);
                let (height, owner) = (block.height, entry.number);
                self.plan.undo.push(UndoRow { height, owner, before: entry.statistics });
            }
            let flow = own.iter().fold(Flow::default(), |sum, (_, flow)| Flow {
                sent: sum.sent + flow.sent,
                received: sum.received + flow.received,
            });
            entry.statistics.count(block.time, flow.sent, flow.received, inputs);
        }
    }

    fn finish(self, blocks: &[ResolvedBlock], at: Timestamp) -> WritePlan {
        let mut plan = self.plan;
        for Entry { owner, number, statistics, .. } in self.entries {
            let row = OwnerRow { number, owner: owner.clone(), statistics };
            let rows = if number < self.first_begun {
                &mut plan.changed_owners
            } else {
                &mut plan.new_owners
            };
            rows.push(row);
        }
        plan.changed_owners.sort_unstable_by_key(|row| row.number);
        if let Some(last) = blocks.last() {
            let before = plan.after.tip.map(|(_, verified_at)| verified_at);
            plan.after.highest = plan.after.highest.max(last.reference.height);
            plan.after.tip = Some((last.reference, before.map_or(at, |before| before.max(at))));
        }
        plan
    }
}

/// The inputs or outputs of a transaction never come near the largest signed number.
fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
