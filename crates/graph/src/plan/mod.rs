//! What recording blocks writes: a pure function of the blocks, of where the graph stands, and of what
//! it knows of the outputs and owners in them.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use assay_engine::utxo::{
    OutPoint, ScriptOwner, Statistics, TransactionKind, Txid, transaction::returned,
};
use jiff::Timestamp;

use super::{
    Coin, GraphBlock, GraphInput, GraphTransaction,
    rows::{
        BlockRow, CoinRow, InputRow, OUT_OF_POOL, OutputRow, OwnerRow, Spends, TransactionRow,
        UndoRow,
    },
    state::State,
};
use crate::GraphError;

/// Of what blocks name, what must be looked up before they can be planned.
#[derive(Debug, Default)]
pub(crate) struct Needs<'a> {
    /// Outputs that are spent and that earlier blocks made.
    pub(crate) outputs: HashSet<OutPoint>,
    /// Everybody who appears.
    pub(crate) owners: HashSet<&'a ScriptOwner>,
}

/// What is recorded of what was looked up. What is missing is not recorded.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The newest transactions of these identifiers.
    pub(crate) transactions: HashMap<Txid, i64>,
    /// Owners with their numbers.
    pub(crate) owners: HashMap<ScriptOwner, (i64, Statistics)>,
}

/// Everything that is to be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) blocks: Vec<BlockRow>,
    pub(crate) transactions: Vec<TransactionRow>,
    pub(crate) inputs: Vec<InputRow>,
    pub(crate) outputs: Vec<OutputRow>,
    /// Owners who appear for the first time, by number.
    pub(crate) begun: Vec<OwnerRow>,
    /// Those who were there before, by number, as they are now.
    pub(crate) changed: Vec<OwnerRow>,
    pub(crate) undo: Vec<UndoRow>,
    /// Where the graph stands then.
    pub(crate) after: State,
}

/// What must be looked up.
pub(crate) fn needs(blocks: &[GraphBlock]) -> Needs<'_> {
    let mut needs = Needs::default();
    let mut made = HashSet::new();
    for transaction in blocks.iter().flat_map(|block| &block.transactions) {
        for input in &transaction.inputs {
            let Some(coin) = &input.coin else { continue };
            needs.owners.insert(&coin.owner);
            if !is_out_of_pool(transaction, input) && !made.contains(&input.output.txid) {
                needs.outputs.insert(input.output);
            }
        }
        needs.owners.extend(transaction.outputs.iter().map(|coin| &coin.owner));
        made.insert(transaction.txid);
    }
    needs
}

/// Plans blocks that follow the tip. Those of at least `reorganisable_from` can be taken back.
///
/// # Errors
///
/// [`GraphError::Gap`] where they do not follow; [`GraphError::Amount`] where a sum is beyond what any
/// chain allows.
pub(crate) fn plan(
    state: &State,
    blocks: &[GraphBlock],
    known: &Known,
    reorganisable_from: u64,
    at: Timestamp,
) -> Result<Plan, GraphError> {
    state.expect_next(blocks)?;
    let mut planner = Planner::new(state, blocks, known, reorganisable_from);
    for block in blocks {
        planner.block(block)?;
    }
    Ok(planner.finish(blocks, at))
}

fn is_out_of_pool(transaction: &GraphTransaction, input: &GraphInput) -> bool {
    input.output == OutPoint { txid: transaction.txid, index: OUT_OF_POOL }
}

/// A owner while blocks are planned.
struct Entry<'a> {
    owner: &'a ScriptOwner,
    number: i64,
    statistics: Statistics,
    /// The newest block for which its statistics before were noted.
    noted: Option<u64>,
}

/// What a transaction moved for a owner: its inputs and its outputs.
#[derive(Clone, Copy, Default)]
struct Flow {
    sent: u128,
    received: u128,
}

struct Planner<'a> {
    known: &'a Known,
    plan: Plan,
    /// Numbers of the transactions that were planned.
    made: HashMap<Txid, i64>,
    entries: Vec<Entry<'a>>,
    /// Where in `entries` a owner is.
    places: HashMap<&'a ScriptOwner, usize>,
    /// What the transaction at hand moves, by the place of the owner.
    flows: Vec<(usize, Flow)>,
    first_begun: i64,
}

impl<'a> Planner<'a> {
    fn new(
        state: &State,
        blocks: &[GraphBlock],
        known: &'a Known,
        reorganisable_from: u64,
    ) -> Self {
        let mut after = state.clone();
        if let Some(last) = blocks.last() {
            after.reorganisable_from =
                state.reorganisable_after(last.block.height, reorganisable_from);
        }
        Self {
            known,
            first_begun: state.next_owner,
            plan: Plan {
                blocks: Vec::with_capacity(blocks.len()),
                transactions: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                begun: Vec::new(),
                changed: Vec::new(),
                undo: Vec::new(),
                after,
            },
            made: HashMap::new(),
            entries: Vec::new(),
            places: HashMap::new(),
            flows: Vec::new(),
        }
    }

    fn block(&mut self, block: &'a GraphBlock) -> Result<(), GraphError> {
        let row = BlockRow {
            block: block.block,
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
        transaction: &'a GraphTransaction,
    ) -> Result<(), GraphError> {
        let number = self.plan.after.next_transaction;
        self.plan.after.next_transaction += 1;
        let amount = |value: u128| {
            let (chain, txid) = (self.plan.after.chain, transaction.txid);
            i64::try_from(value).map_err(|_| GraphError::Amount { chain, txid })
        };
        let sum = |coins: &mut dyn Iterator<Item = &Coin>| {
            coins.map(|coin| u128::from(coin.value)).sum::<u128>()
        };
        let known = sum(&mut transaction.inputs.iter().filter_map(|input| input.coin.as_ref()));
        let paid = sum(&mut transaction.outputs.iter());
        let spent = match transaction.kind {
            // New coins have no inputs; they are what the outputs are.
            TransactionKind::Coinbase => paid,
            TransactionKind::Payment | TransactionKind::Coinjoin(_) => {
                known + u128::from(transaction.unknown)
            }
        };
        let row = TransactionRow {
            number,
            height: block.block.height,
            txid: transaction.txid,
            kind: transaction.kind,
            inputs: count(transaction.inputs.len()),
            outputs: count(transaction.outputs.len()),
            input_total: amount(spent)?,
            output_total: amount(paid)?,
            unknown: amount(transaction.unknown.into())?,
        };
        // Each coin is at most its side's total, so that no single one needs to be looked at; but what
        // a coinbase's total says of its inputs is nothing.
        amount(known)?;

        self.flows.clear();
        for (input, place) in transaction.inputs.iter().zip(0..) {
            let coin = input.coin.as_ref().map(|coin| {
                let flow = Flow { sent: coin.value.into(), received: 0 };
                self.coin(coin, flow, block.block.time)
            });
            let spends = self.spends(transaction, input);
            self.plan.inputs.push(InputRow { transaction: number, place, spends, coin });
        }
        for (coin, place) in transaction.outputs.iter().zip(0..) {
            let flow = Flow { sent: 0, received: coin.value.into() };
            let coin = self.coin(coin, flow, block.block.time);
            self.plan.outputs.push(OutputRow { transaction: number, place, coin });
        }
        self.count(block, spent);
        self.made.insert(transaction.txid, number);
        self.plan.transactions.push(row);
        Ok(())
    }

    fn spends(&self, transaction: &GraphTransaction, input: &GraphInput) -> Spends {
        if is_out_of_pool(transaction, input) {
            return Spends::Pool;
        }
        let OutPoint { txid, index } = input.output;
        let recorded = self.made.get(&txid).or_else(|| self.known.transactions.get(&txid));
        match recorded {
            Some(&transaction) if input.coin.is_some() => Spends::Recorded { transaction, index },
            _ => Spends::Elsewhere(input.output),
        }
    }

    /// Notes what a coin moves, and who can spend it.
    fn coin(&mut self, coin: &'a Coin, flow: Flow, time: Timestamp) -> CoinRow {
        let (entries, known, after) = (&mut self.entries, self.known, &mut self.plan.after);
        let place = *self.places.entry(&coin.owner).or_insert_with(|| {
            let nothing = Statistics {
                first_seen: time,
                last_seen: time,
                transactions_in: 0,
                transactions_out: 0,
                received: 0,
                sent: 0,
            };
            let (number, statistics) =
                known.owners.get(&coin.owner).copied().unwrap_or_else(|| {
                    after.next_owner += 1;
                    (after.next_owner - 1, nothing)
                });
            entries.push(Entry { owner: &coin.owner, number, statistics, noted: None });
            entries.len() - 1
        });
        self.flows.push((place, flow));
        let owner = self.entries.get(place).map_or(0, |entry| entry.number);
        // Checked with the sums.
        CoinRow { owner, value: i64::try_from(coin.value).unwrap_or(i64::MAX) }
    }

    /// Adds what the transaction at hand moved to the statistics of everybody in it.
    fn count(&mut self, block: &BlockRow, inputs: u128) {
        let BlockRow { block, first_owner, .. } = block;
        self.flows.sort_unstable_by_key(|(place, _)| *place);
        for legs in self.flows.chunk_by(|one, next| one.0 == next.0) {
            let Some(entry) = legs.first().and_then(|(place, _)| self.entries.get_mut(*place))
            else {
                continue;
            };
            let wanted = block.height >= self.plan.after.reorganisable_from;
            if wanted && entry.number < *first_owner && entry.noted != Some(block.height) {
                entry.noted = Some(block.height);
                let (height, owner) = (block.height, entry.number);
                self.plan.undo.push(UndoRow { height, owner, before: entry.statistics });
            }
            let flow = legs.iter().fold(Flow::default(), |sum, (_, flow)| Flow {
                sent: sum.sent + flow.sent,
                received: sum.received + flow.received,
            });
            add(&mut entry.statistics, flow, inputs, block.time);
        }
    }

    fn finish(self, blocks: &[GraphBlock], at: Timestamp) -> Plan {
        let mut plan = self.plan;
        for Entry { owner, number, statistics, .. } in self.entries {
            let row = OwnerRow { number, owner: owner.clone(), statistics };
            let rows = if number < self.first_begun { &mut plan.changed } else { &mut plan.begun };
            rows.push(row);
        }
        plan.changed.sort_unstable_by_key(|row| row.number);
        if let Some(last) = blocks.last() {
            let before = plan.after.tip.map(|(_, verified_at)| verified_at);
            plan.after.tip = Some((last.block, before.map_or(at, |before| before.max(at))));
        }
        plan
    }
}

/// Counts a transaction: what a owner gave and got, without what it paid itself.
fn add(statistics: &mut Statistics, flow: Flow, inputs: u128, time: Timestamp) {
    let back = returned(flow.sent, flow.received, inputs);
    let (income, expense) = (flow.received - back, flow.sent - back);
    statistics.last_seen = time;
    statistics.transactions_in += u64::from(income > 0);
    statistics.transactions_out += u64::from(expense > 0);
    statistics.received += income;
    statistics.sent += expense;
}

/// A transaction's legs never come near the largest signed number.
fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
