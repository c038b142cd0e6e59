//! Writing a graph: a batch of blocks is one transaction of the environment.

use std::{collections::HashMap, path::Path, sync::Arc};

use assay_database::value;
use assay_engine::{
    chain::ChainId,
    utxo::{OutPoint, ScriptOwner, Statistics, Txid},
};
use assay_mapped::{MappedError, WriteTransaction, WriterLock};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    EmbeddedError,
    bytes::{LARGEST, NUMBER, number},
    error::{damaged, table_error},
    graph,
    index::{self, MovedBy, put},
    links,
    reader::{Moved, ROOT, Reader, Side},
    record::{InputOrigin, StoredBlock, put_transaction},
    state::{KEY, StoredState},
    tables::Tables,
};
use crate::{
    GraphError, GraphWriter, WriterOptions,
    backend::{
        GraphState, RecordedOutput, Recorder, WritePlan, Writer,
        cluster::RecordedLink,
        rows::{InputRow, InputSource},
    },
    blocking,
};

/// Opens the graph in `folder` for writing; makes it where there is none.
pub(super) async fn open(
    folder: &Path,
    chain: ChainId,
    options: WriterOptions,
) -> Result<Box<dyn GraphWriter>, GraphError> {
    let recorder = blocking(|| {
        let (tables, lock) = Tables::create(folder).map_err(|error| match error {
            GraphError::Embedded(EmbeddedError::Environment(MappedError::Busy { .. })) => {
                GraphError::Busy(chain)
            }
            error => error,
        })?;
        let recorder = EmbeddedRecorder { tables: Arc::new(tables), lock };
        recorder.begin(chain, options)?;
        Ok::<_, GraphError>(recorder)
    })?;
    Ok(Box::new(Writer::new(Box::new(recorder)).await?))
}

#[derive(Debug)]
struct EmbeddedRecorder {
    tables: Arc<Tables>,
    lock: WriterLock,
}

impl EmbeddedRecorder {
    fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        blocking(|| {
            let transaction = self.tables.environment.read()?;
            read(&Reader::new(&self.tables, &transaction))
        })
    }

    fn write<T>(
        &self,
        change: impl FnOnce(&Tables, &mut WriteTransaction<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let tables = &*self.tables;
        blocking(|| tables.environment.write(&self.lock, |txn| change(tables, txn)))
    }

    /// Makes the graph where there is none; one without blocks may begin anywhere.
    fn begin(&self, chain: ChainId, options: WriterOptions) -> Result<(), GraphError> {
        self.write(|tables, txn| {
            let stored = Reader::new(tables, txn).stored_state()?;
            let indexed = stored.as_ref().is_some_and(|stored| stored.state.indexed);
            let mut stored = match stored {
                Some(stored) if stored.state.chain != chain => {
                    return Err(damaged("meta", format!("another chain, {}", stored.state.chain)));
                }
                Some(stored) if stored.state.tip.is_some() => {
                    let start = stored.state.start;
                    if start != options.start {
                        let wanted = options.start;
                        return Err(GraphError::OtherStart { chain, start, wanted });
                    }
                    stored
                }
                _ => StoredState { state: GraphState::new(chain, options), next_output: 0 },
            };
            stored.state.indexed = indexed || !options.backfill;
            put_state(tables, txn, &stored)
        })
    }
}

fn put_state(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    stored: &StoredState,
) -> Result<(), GraphError> {
    put("meta", tables.meta, txn, KEY, &stored.to_bytes())
}

/// The stored state, if it is still `before`.
fn expect_state(
    tables: &Tables,
    txn: &WriteTransaction<'_>,
    before: &GraphState,
) -> Result<StoredState, GraphError> {
    let stored = Reader::new(tables, txn).state()?;
    let is_same = stored.state.next_transaction == before.next_transaction
        && stored.state.next_owner == before.next_owner
        && stored.state.tip.map(|(block, _)| block) == before.tip.map(|(block, _)| block);
    if is_same { Ok(stored) } else { Err(GraphError::Conflict(before.chain)) }
}

/// Splits the rows that belong to a transaction off the front of `rows`.
fn split_off_front<'r, T>(rows: &mut &'r [T], is_own: impl Fn(&T) -> bool) -> &'r [T] {
    let own = rows.iter().take_while(|row| is_own(row)).count();
    let (own, rest) = rows.split_at_checked(own).unwrap_or((rows, &[]));
    *rows = rest;
    own
}

/// First outputs of transactions, and how many they have, while a plan is written.
struct Outputs<'p> {
    plan: &'p WritePlan,
    /// The first number of the plan's transactions.
    begun: u64,
    /// The first outputs of the plan's transactions.
    first: Vec<u64>,
}

impl Outputs<'_> {
    /// The number of an output that is spent.
    fn number(&self, reader: &Reader<'_>, transaction: u64, index: u32) -> Result<u64, GraphError> {
        let planned = transaction.checked_sub(self.begun).and_then(|at| usize::try_from(at).ok());
        let planned = planned.and_then(|at| {
            let row = self.plan.transactions.get(at)?;
            Some((*self.first.get(at)?, row.outputs.unsigned_abs()))
        });
        let (first, count) = if let Some(planned) = planned {
            planned
        } else {
            let head = *reader.known_transaction(transaction)?.head();
            (head.first_output, head.outputs)
        };
        if u64::from(index) >= count {
            let chain = self.plan.after.chain;
            return Err(EmbeddedError::NoSuchOutput { chain, transaction, index }.into());
        }
        Ok(first + u64::from(index))
    }
}

fn record(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    before: &GraphState,
    plan: &WritePlan,
) -> Result<(), GraphError> {
    let chain = before.chain;
    let too_many = |what| GraphError::from(EmbeddedError::TooMany { chain, what });
    let stored = expect_state(tables, txn, before)?;
    let begun = before.next_transaction.unsigned_abs();
    let mut next_output = stored.next_output;
    let first: Vec<u64> = plan
        .transactions
        .iter()
        .map(|row| {
            let first = next_output;
            next_output += row.outputs.unsigned_abs();
            first
        })
        .collect();
    if next_output >= LARGEST || plan.after.next_transaction.unsigned_abs() >= LARGEST {
        return Err(too_many("transactions or outputs"));
    }
    if plan.after.next_owner.unsigned_abs() >= ROOT {
        return Err(too_many("owners"));
    }
    let outputs = Outputs { plan, begun, first };
    transactions(tables, txn, &outputs)?;
    let txids: Vec<u8> = plan.transactions.iter().flat_map(|row| *row.txid.as_bytes()).collect();
    tables.txid.append(txn, begun, &txids)?;
    blocks(tables, txn, &outputs, next_output)?;
    spends(tables, txn, &outputs, (stored.next_output, next_output))?;
    for row in &plan.new_owners {
        let key = number(row.number.unsigned_abs());
        put("script", tables.script, txn, &key, &row.owner.to_bytes())?;
    }
    links::record(tables, txn, before.next_owner.unsigned_abs(), plan)?;
    index::record(tables, txn, plan)?;
    let state = GraphState { indexed: stored.state.indexed, ..plan.after.clone() };
    put_state(tables, txn, &StoredState { state, next_output })
}

/// Writes the records of transactions.
fn transactions(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    outputs: &Outputs<'_>,
) -> Result<(), GraphError> {
    let (mut of_inputs, mut of_outputs) = (&*outputs.plan.inputs, &*outputs.plan.outputs);
    let (mut record, mut scratch) = (Vec::new(), Vec::new());
    for (row, first_output) in outputs.plan.transactions.iter().zip(&outputs.first) {
        let inputs = split_off_front(&mut of_inputs, |input| input.transaction == row.number);
        let outputs = split_off_front(&mut of_outputs, |output| output.transaction == row.number);
        record.clear();
        put_transaction(&mut record, &mut scratch, row, *first_output, inputs, outputs)
            .ok_or_else(|| damaged("tx", row.number))?;
        put("tx", tables.transaction, txn, &number(row.number.unsigned_abs()), &record)?;
    }
    Ok(())
}

fn blocks(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    outputs: &Outputs<'_>,
    next_output: u64,
) -> Result<(), GraphError> {
    for row in &outputs.plan.blocks {
        let first_transaction = row.first_transaction.unsigned_abs();
        let at = first_transaction.checked_sub(outputs.begun);
        let first = at.and_then(|at| outputs.first.get(usize::try_from(at).ok()?));
        let stored = StoredBlock {
            block: row.block,
            first_transaction,
            first_output: first.copied().unwrap_or(next_output),
            first_owner: row.first_owner.unsigned_abs(),
        };
        put("block", tables.block, txn, &number(row.block.height), &stored.to_bytes())?;
    }
    Ok(())
}

/// Writes who spends what, and the slots of the plan's own outputs.
fn spends(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    outputs: &Outputs<'_>,
    (before, after): (u64, u64),
) -> Result<(), GraphError> {
    let reader = Reader::new(tables, txn);
    let mut spent = Vec::with_capacity(outputs.plan.inputs.len());
    for InputRow { transaction: spender, source, .. } in &outputs.plan.inputs {
        if let InputSource::Recorded { transaction, index } = *source {
            let output = outputs.number(&reader, transaction.unsigned_abs(), index)?;
            spent.push((output, number(spender.unsigned_abs() + 1)));
        }
    }
    spent.sort_unstable();
    let twice = GraphError::SpentTwice(outputs.plan.after.chain);
    if spent.windows(2).any(|pair| matches!(pair, [one, next] if one.0 == next.0)) {
        return Err(twice);
    }
    let new = spent.partition_point(|(output, _)| *output < before);
    let (old, new) = spent.split_at_checked(new).unwrap_or_default();
    for (output, _) in old {
        if reader.spender(*output)?.is_some() {
            return Err(twice);
        }
    }
    let count = usize::try_from(after - before).unwrap_or(usize::MAX);
    let mut slots = vec![0; count.saturating_mul(NUMBER)];
    for (output, spender) in new {
        let at = usize::try_from(output - before).unwrap_or(usize::MAX).saturating_mul(NUMBER);
        if let Some(slot) = slots.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<NUMBER>) {
            *slot = *spender;
        }
    }
    tables.spent.append(txn, before, &slots)?;
    tables.spent.update(txn, old)
}

fn roll_back(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    before: &GraphState,
    height: u64,
) -> Result<(), GraphError> {
    let stored = expect_state(tables, txn, before)?;
    let reader = Reader::new(tables, txn);
    let Some(first) = reader.first_above(height)? else { return Ok(()) };
    let state = &stored.state;
    let (next_transaction, next_owner) =
        (state.next_transaction.unsigned_abs(), state.next_owner.unsigned_abs());

    let mut removed = Vec::new();
    let mut moved = Vec::new();
    let mut unspent = Vec::new();
    for tx in first.first_transaction..next_transaction {
        let record = reader.known_transaction(tx)?;
        removed.push((tx, reader.txid(tx)?));
        let mut sources = Vec::new();
        record.inputs(|entry| {
            if let Some(spent) = entry.spent {
                let (value, index) = (spent.value, entry.index);
                let entry = Moved { value, transaction: tx, index };
                moved.push(MovedBy { owner: spent.owner, side: Side::Inputs, moved: entry });
            }
            if let InputOrigin::Recorded { transaction, index } = entry.origin {
                sources.push((transaction, index));
            }
        })?;
        record.outputs(|entry| {
            let (value, index) = (entry.output.value, entry.index);
            let moved_by = Moved { value, transaction: tx, index };
            let owner = entry.output.owner;
            moved.push(MovedBy { owner, side: Side::Outputs, moved: moved_by });
        })?;
        for (transaction, index) in sources {
            if transaction < first.first_transaction {
                let head = *reader.known_transaction(transaction)?.head();
                unspent.push((head.first_output + u64::from(index), [0; NUMBER]));
            }
        }
    }
    unspent.sort_unstable();
    let mut owners = Vec::new();
    for owner in first.first_owner..next_owner {
        let script = reader.script(owner)?.ok_or_else(|| damaged("script", owner))?;
        owners.push((owner, script.to_vec()));
    }

    index::roll_back(tables, txn, height, &removed, &owners, &moved)?;
    links::roll_back(tables, txn, first.first_transaction, (next_owner, first.first_owner))?;
    tables.spent.update(txn, &unspent)?;
    tables.spent.truncate(txn, stored.next_output, first.first_output)?;
    tables.txid.truncate(txn, next_transaction, first.first_transaction)?;
    for (name, table, from) in [
        ("script", tables.script, first.first_owner),
        ("tx", tables.transaction, first.first_transaction),
        ("block", tables.block, first.block.height),
    ] {
        let from = number(from);
        let range: (_, std::ops::Bound<&[u8]>) =
            (std::ops::Bound::Included(&from[..]), std::ops::Bound::Unbounded);
        table.delete_range(txn, &range).map_err(|error| table_error(name, error))?;
    }

    let reader = Reader::new(tables, txn);
    let newest =
        first.block.height.checked_sub(1).map(|height| reader.block(height)).transpose()?;
    let verified_at = state.tip.map(|(_, verified_at)| verified_at);
    let tip = newest.flatten().map(|stored| stored.block).zip(verified_at);
    let state = GraphState {
        tip,
        next_transaction: value::signed(first.first_transaction),
        next_owner: value::signed(first.first_owner),
        ..state.clone()
    };
    put_state(tables, txn, &StoredState { state, next_output: first.first_output })
}

#[async_trait]
impl Recorder for EmbeddedRecorder {
    async fn state(&mut self) -> Result<GraphState, GraphError> {
        self.read(|reader| Ok(reader.state()?.state))
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError> {
        self.read(|reader| {
            let mut found = HashMap::with_capacity(txids.len());
            for txid in txids {
                if let Some(number) = reader.find_transaction(&txid)? {
                    found.insert(txid, value::signed(number));
                }
            }
            Ok(found)
        })
    }

    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError> {
        self.read(|reader| {
            let mut found = HashMap::with_capacity(owners.len());
            for owner in owners {
                if let Some(number) = reader.find_owner(owner)? {
                    let statistics = reader.statistics(number)?;
                    found.insert(owner.clone(), (value::signed(number), statistics));
                }
            }
            Ok(found)
        })
    }

    async fn outputs(
        &mut self,
        outpoints: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError> {
        let found = self.read(|reader| graph::outputs(reader, outpoints))?;
        let recorded = found.into_iter().map(|(outpoint, transaction, output)| {
            (outpoint, RecordedOutput { transaction: value::signed(transaction), output })
        });
        Ok(recorded.collect())
    }

    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError> {
        self.read(|reader| {
            let mut spent = Vec::new();
            for (transaction, index) in outputs {
                let Some(record) = reader.transaction(transaction.unsigned_abs())? else {
                    continue;
                };
                let output = record.head().first_output + u64::from(index);
                let exists = u64::from(index) < record.head().outputs;
                if exists && reader.spender(output)?.is_some() {
                    spent.push((transaction, index));
                }
            }
            Ok(spent)
        })
    }

    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError> {
        self.read(|reader| reader.links(&owners))
    }

    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError> {
        self.write(|tables, txn| record(tables, txn, before, plan))
    }

    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
        self.write(|tables, txn| roll_back(tables, txn, before, height))
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.write(|tables, txn| {
            let mut stored = Reader::new(tables, txn).state()?;
            if let Some((_, verified_at)) = &mut stored.state.tip {
                *verified_at = at.max(*verified_at);
            }
            put_state(tables, txn, &stored)
        })
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        self.write(|tables, txn| {
            let mut stored = Reader::new(tables, txn).state()?;
            stored.state.indexed = true;
            put_state(tables, txn, &stored)
        })
    }
}
