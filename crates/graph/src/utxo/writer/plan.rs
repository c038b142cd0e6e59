//! The plan of a batch: all rows and index entries that recording its blocks writes. The plan is computed from the
//! blocks, the recorded outputs that they spend, and one state of the graph, in which owners are looked up.

use std::collections::HashMap;

use assay_columns::{KeyedState, bytes::LARGEST_NUMBER, run::NumberByHash};
use assay_engine::{
    ledger::{TransactionNumber, change},
    reading::FeePayer,
    utxo::{
        OutPoint, ResolvedBlock, ScriptOwner, Transaction, TxInput, TxOut, Txid, cluster::co_spend,
    },
};

use super::{
    caches::{Caches, KnownOutput},
    clusters::JoinBlock,
    outputs::{OutputLookup, RecordedOutputs},
};
use crate::{
    GraphError,
    error::damaged,
    utxo::{
        entry::{ChildLink, PartialStatistics, StoredOwnerEntry},
        index::{self, IndexEntries, script_hash, txid_hash},
        link::MAX_OWNERS,
        reader::Reader,
        record::{
            InputOrigin, OutputValue, RecordBuilder, StoredBlock, TransactionHead, put_payers,
        },
        state::GraphState,
    },
};

/// Concatenated records of variable length.
#[derive(Debug, Default)]
pub(super) struct PackedRecords {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PackedRecords {
    fn push(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        put(&mut self.bytes)?;
        self.ends.push(self.bytes.len());
        Some(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().filter_map(move |end| {
            let record = self.bytes.get(from..*end);
            from = *end;
            record
        })
    }
}

/// The spending of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spend {
    /// The number of the output.
    pub(super) output: u64,
    pub(super) spender: u64,
    /// The index of the input.
    pub(super) input: u32,
}

/// The rows and entries that a batch writes.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) blocks: Vec<StoredBlock>,
    /// The fee payers of each block.
    pub(super) payers: PackedRecords,
    pub(super) transactions: PackedRecords,
    pub(super) txids: Vec<u8>,
    pub(super) scripts: PackedRecords,
    pub(super) spends: Vec<Spend>,
    /// Entries of blocks that cannot be rolled back, and of blocks that can be rolled back.
    pub(super) finalized: IndexEntries,
    pub(super) recent: IndexEntries,
}

/// A transaction of the batch.
struct PlannedTransaction {
    number: u64,
    first_output: u64,
    outputs: u64,
}

/// The amounts of one input or output for an owner.
#[derive(Clone, Copy)]
struct Flow {
    owner: u64,
    sent: u128,
    received: u128,
}

pub(super) struct Planner<'p, 'b> {
    reader: Reader<'p>,
    caches: &'p mut Caches,
    recorded: &'p RecordedOutputs,
    pub(super) plan: Plan,
    /// The state after the batch.
    pub(super) after: GraphState,
    made: HashMap<Txid, PlannedTransaction, KeyedState>,
    /// The numbers of owners that are new in the batch.
    new_owners: HashMap<&'b ScriptOwner, u64, KeyedState>,
    record: RecordBuilder,
    flows: Vec<Flow>,
    /// Owners that the current transaction spends together.
    together: Vec<u64>,
    /// Buffer for the bytes of a script.
    key: Vec<u8>,
}

impl<'p, 'b> Planner<'p, 'b> {
    /// Plans blocks that follow the state `before`. Blocks from `reorganizable_from` on can be rolled back. `recorded`
    /// has the outputs of earlier blocks that the blocks spend.
    pub(super) fn plan(
        reader: Reader<'p>,
        caches: &'p mut Caches,
        before: &GraphState,
        (blocks, recorded): (&'b [ResolvedBlock], &'p RecordedOutputs),
        reorganizable_from: u64,
    ) -> Result<(Plan, GraphState), GraphError> {
        let mut after = before.clone();
        after.reorganizable_from = reorganizable_from;
        caches.clusters.begin(before.next_owner);
        let mut planner = Self {
            reader,
            caches,
            recorded,
            plan: Plan::default(),
            after,
            made: HashMap::default(),
            new_owners: HashMap::default(),
            record: RecordBuilder::default(),
            flows: Vec::new(),
            together: Vec::new(),
            key: Vec::new(),
        };
        for block in blocks {
            planner.block(block)?;
        }
        planner.expect_room()?;
        Ok((planner.plan, planner.after))
    }

    fn expect_room(&self) -> Result<(), GraphError> {
        let chain = self.after.chain;
        if self.after.next_transaction >= LARGEST_NUMBER || self.after.next_output >= LARGEST_NUMBER
        {
            let what = "transactions or outputs";
            return Err(GraphError::TooMany { chain, what });
        }
        if self.after.next_owner > MAX_OWNERS {
            return Err(GraphError::TooMany { chain, what: "owners" });
        }
        Ok(())
    }

    fn block(&mut self, block: &'b ResolvedBlock) -> Result<(), GraphError> {
        let stored = StoredBlock {
            block: block.reference,
            work: block.work,
            first_transaction: self.after.next_transaction,
            first_output: self.after.next_output,
            first_owner: self.after.next_owner,
        };
        let mut fees = Vec::new();
        for transaction in &block.transactions {
            let number = TransactionNumber(self.after.next_transaction);
            let fee = self.transaction(&stored, transaction)?;
            if fee > 0 {
                fees.push((number, fee.into()));
            }
        }
        let payers = FeePayer::of_block(fees.into_iter());
        let _ = self.plan.payers.push(|into| {
            put_payers(stored.first_transaction, &payers, into);
            Some(())
        });
        self.plan.blocks.push(stored);
        Ok(())
    }

    /// The collection for the index entries of a block at a height.
    fn entries(&mut self, height: u64) -> &mut IndexEntries {
        if height >= self.after.reorganizable_from {
            &mut self.plan.recent
        } else {
            &mut self.plan.finalized
        }
    }

    /// Plans a transaction. Returns its fee.
    fn transaction(
        &mut self,
        block: &StoredBlock,
        transaction: &'b Transaction,
    ) -> Result<u64, GraphError> {
        let (number, height) = (self.after.next_transaction, block.block.height);
        let head = self.head(height, transaction)?;
        let hash = txid_hash(&transaction.txid);
        self.plan.txids.extend_from_slice(transaction.txid.as_bytes());
        self.entries(height).txids.push(NumberByHash { hash, number });
        self.record.clear();
        self.flows.clear();
        for (input, index) in transaction.inputs.iter().zip(0..) {
            self.input(height, number, transaction.txid, input, index)?;
        }
        self.join(block, number, transaction)?;
        for (output, index) in transaction.outputs.iter().zip(0..) {
            self.output(height, number, &head, transaction.txid, output, index)?;
        }
        let record = &self.record;
        let chain = self.after.chain;
        self.plan
            .transactions
            .push(|into| record.finish(&head, into))
            .ok_or(GraphError::TooMany { chain, what: "blocks" })?;
        self.count(height, head.input_total.into());
        let made =
            PlannedTransaction { number, first_output: head.first_output, outputs: head.outputs };
        self.made.insert(transaction.txid, made);
        self.after.next_transaction += 1;
        self.after.next_output += head.outputs;
        Ok(head.fee())
    }

    fn head(&self, height: u64, transaction: &Transaction) -> Result<TransactionHead, GraphError> {
        let amount = |value: u128| {
            let (chain, txid) = (self.after.chain, transaction.txid);
            let error = GraphError::Amount { chain, txid };
            i64::try_from(value).map(i64::unsigned_abs).map_err(|_| error)
        };
        let head = TransactionHead {
            height,
            kind: transaction.kind,
            first_output: self.after.next_output,
            inputs: transaction.inputs.len() as u64,
            outputs: transaction.outputs.len() as u64,
            input_total: amount(transaction.input_total())?,
            output_total: amount(transaction.output_total())?,
            unknown: amount(transaction.unknown_value())?,
        };
        // No amount exceeds the total of its side, so that checking the totals suffices. The input total of a coinbase
        // does not cover its inputs, which are checked here.
        amount(transaction.spent_outputs().map(|output| u128::from(output.value)).sum())?;
        Ok(head)
    }

    fn input(
        &mut self,
        height: u64,
        number: u64,
        txid: Txid,
        input: &'b TxInput,
        index: u32,
    ) -> Result<(), GraphError> {
        let Some(spent) = &input.spent else {
            let is_pool = input.is_from_pool(txid);
            let unknown = InputOrigin::Unrecorded(input.outpoint);
            let origin = if is_pool { InputOrigin::Pool } else { unknown };
            self.record.input(number, origin, None);
            return Ok(());
        };
        let (origin, owner) = if input.is_from_pool(txid) {
            (InputOrigin::Pool, self.owner(height, &spent.owner)?)
        } else {
            self.spend(height, number, input.outpoint, spent, index)?
        };
        self.record.input(number, origin, Some(OutputValue { value: spent.value, owner }));
        let moved = StoredOwnerEntry { owner, inverse: !spent.value, transaction: number, index };
        self.entries(height).sent.push(moved);
        self.flows.push(Flow { owner, sent: spent.value.into(), received: 0 });
        Ok(())
    }

    /// Plans the spending of an output. Returns the input's origin and the number of the owner.
    fn spend(
        &mut self,
        height: u64,
        number: u64,
        outpoint: OutPoint,
        spent: &'b TxOut,
        input: u32,
    ) -> Result<(InputOrigin, u64), GraphError> {
        let index = outpoint.index;
        let (transaction, output, known) = if let Some(made) = self.made.get(&outpoint.txid) {
            self.caches.outputs.remove(&outpoint);
            let has_output = u64::from(index) < made.outputs;
            (made.number, has_output.then(|| made.first_output + u64::from(index)), None)
        } else {
            match self.recorded.recorded(&outpoint) {
                Some(OutputLookup::Output(known)) => {
                    let owner = (known.output == *spent).then_some(known.owner);
                    (known.transaction, Some(known.number), owner)
                }
                Some(OutputLookup::Missing(transaction)) => (*transaction, None, None),
                None => {
                    let owner = self.owner(height, &spent.owner)?;
                    return Ok((InputOrigin::Unrecorded(outpoint), owner));
                }
            }
        };
        let Some(output) = output else {
            return Err(GraphError::NoSuchOutput { chain: self.after.chain, transaction, index });
        };
        self.plan.spends.push(Spend { output, spender: number, input });
        let owner = match known {
            Some(known) => known,
            None => self.owner(height, &spent.owner)?,
        };
        Ok((InputOrigin::Recorded { transaction, index }, owner))
    }

    fn output(
        &mut self,
        height: u64,
        number: u64,
        head: &TransactionHead,
        txid: Txid,
        output: &'b TxOut,
        index: u32,
    ) -> Result<(), GraphError> {
        let (value, owner) = (output.value, self.owner(height, &output.owner)?);
        self.record.output(OutputValue { value, owner });
        let moved = StoredOwnerEntry { owner, inverse: !value, transaction: number, index };
        self.entries(height).received.push(moved);
        self.flows.push(Flow { owner, sent: 0, received: value.into() });
        let known = KnownOutput {
            transaction: number,
            number: head.first_output + u64::from(index),
            owner,
            output: output.clone(),
        };
        self.caches.outputs.insert(OutPoint { txid, index }, known);
        Ok(())
    }

    /// The number of an owner; a new owner gets the next number.
    fn owner(&mut self, height: u64, owner: &'b ScriptOwner) -> Result<u64, GraphError> {
        if let Some(known) = self.caches.owners.get(owner) {
            return Ok(*known);
        }
        if let Some(known) = self.new_owners.get(owner) {
            return Ok(*known);
        }
        self.key.clear();
        owner.put_bytes(&mut self.key);
        let key = &*self.key;
        let hash = script_hash(key);
        let found = index::find_owner(&self.reader, Some(&self.caches.filters), key, hash)?;
        let number = if let Some(number) = found {
            number
        } else {
            let number = self.after.next_owner;
            self.after.next_owner += 1;
            let _put = self.plan.scripts.push(|into| {
                into.extend_from_slice(key);
                Some(())
            });
            self.entries(height).scripts.push(NumberByHash { hash, number });
            self.new_owners.insert(owner, number);
            number
        };
        self.caches.owners.insert(owner.clone(), number);
        Ok(number)
    }

    /// Joins the clusters of owners that the transaction spends together.
    fn join(
        &mut self,
        block: &StoredBlock,
        number: u64,
        transaction: &Transaction,
    ) -> Result<(), GraphError> {
        // The flows are those of the inputs so far; a single owner joins no clusters.
        let first = self.flows.first().map(|flow| flow.owner);
        if self.flows.iter().all(|flow| Some(flow.owner) == first) {
            return Ok(());
        }
        let (height, time) = (block.block.height, block.block.time);
        let Some(joined) = co_spend(transaction, self.after.chain, time) else {
            return Ok(());
        };
        self.together.clear();
        for owner in &joined.owners {
            let known = self.caches.owners.get(*owner).copied();
            let owner = match known.or_else(|| self.new_owners.get(*owner).copied()) {
                Some(known) => known,
                None => self.flow_owner(transaction, owner)?,
            };
            self.together.push(owner);
        }
        self.together.sort_unstable();
        self.together.dedup();
        let joined_in = JoinBlock {
            height,
            transaction: number,
            first_owner: block.first_owner,
            is_reversible: height >= self.after.reorganizable_from,
        };
        let clusters = &mut self.caches.clusters;
        let before = clusters.changes.links.len();
        clusters.join(&self.reader, &self.together, joined_in, joined.is_conclusive)?;
        let made = clusters.changes.links.get(before..).unwrap_or_default();
        let made: Vec<ChildLink> = made.iter().map(ChildLink::of).collect();
        self.entries(height).links.extend(made);
        Ok(())
    }

    /// The number of an owner among the current transaction's inputs.
    fn flow_owner(
        &self,
        transaction: &Transaction,
        owner: &ScriptOwner,
    ) -> Result<u64, GraphError> {
        let spent = transaction.spent_outputs().zip(&self.flows);
        let mut own = spent.filter(|(spent, _)| spent.owner == *owner);
        let (_, flow) = own.next().ok_or_else(|| damaged("script", "an input"))?;
        Ok(flow.owner)
    }

    /// Counts the current transaction in the statistics of each owner in it.
    fn count(&mut self, height: u64, inputs: u128) {
        let mut flows = std::mem::take(&mut self.flows);
        flows.sort_unstable_by_key(|flow| flow.owner);
        for own in flows.chunk_by(|one, next| one.owner == next.owner) {
            let Some((first, others)) = own.split_first() else { continue };
            let (mut sent, mut received) = (first.sent, first.received);
            for other in others {
                sent += other.sent;
                received += other.received;
            }
            let change =
                if sent == 0 || received == 0 { 0 } else { change(sent, received, inputs) };
            let (income, expense) = (received - change, sent - change);
            self.entries(height).statistics.push(PartialStatistics {
                owner: first.owner,
                first: height,
                last: height,
                transactions_in: u64::from(income > 0),
                transactions_out: u64::from(expense > 0),
                received: income,
                sent: expense,
            });
        }
        self.flows = flows;
    }
}
