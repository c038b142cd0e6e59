//! The part of a chain that a source on demand has read, transaction by transaction.

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::{
    ChainView, FeePayer, LookupResult, SideTotals, TransactionEntry, TransactionRead, ViewError,
    Waypoint,
};
use crate::{
    evidence::Direction,
    ledger::{OwnHistory, OwnTransaction, OwnerNumber, Statistics, TransactionNumber},
    utxo::{OutPoint, OutputNumber, ScriptOwner, Transaction, TransactionKind, Txid},
};

/// Number of positions reserved for a block, more than any block has transactions.
const POSITIONS_OF_BLOCK: u64 = 1 << 24;

/// Position of a transaction in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPosition {
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Index among the block's transactions, from 0.
    pub index: u64,
}

impl BlockPosition {
    /// The position as one number that increases along the chain.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.height * POSITIONS_OF_BLOCK + self.index
    }
}

/// Transactions that were read on demand. The transactions are numbered in the order in which they were first
/// mentioned.
#[derive(Debug, Default)]
pub struct GatheredChain {
    transactions: Vec<(Txid, GatherState<GatheredTransaction>)>,
    numbers: FxHashMap<Txid, TransactionNumber>,
    outputs: Vec<(OutPoint, GatherState<Option<TransactionNumber>>)>,
    output_numbers: FxHashMap<OutPoint, OutputNumber>,
    owners: Vec<ScriptOwner>,
    owner_numbers: FxHashMap<ScriptOwner, OwnerNumber>,
    /// Number of times that transactions got another position after they were added.
    moves: u64,
}

#[derive(Clone, Debug)]
enum GatherState<T> {
    Unread,
    Failed,
    Found(T),
}

#[derive(Clone, Debug)]
struct GatheredTransaction {
    at: BlockPosition,
    kind: TransactionKind,
    inputs: SideTotals,
    outputs: SideTotals,
    input_entries: Vec<TransactionEntry>,
    output_entries: Vec<TransactionEntry>,
    fee_payers: Vec<FeePayer>,
}

impl GatheredChain {
    /// The number of a transaction.
    pub fn number(&mut self, txid: Txid) -> TransactionNumber {
        let transactions = &mut self.transactions;
        *self.numbers.entry(txid).or_insert_with(|| {
            transactions.push((txid, GatherState::Unread));
            TransactionNumber(transactions.len() as u64 - 1)
        })
    }

    /// The number of an output.
    pub fn output_number(&mut self, outpoint: OutPoint) -> OutputNumber {
        let outputs = &mut self.outputs;
        *self.output_numbers.entry(outpoint).or_insert_with(|| {
            outputs.push((outpoint, GatherState::Unread));
            OutputNumber(outputs.len() as u64 - 1)
        })
    }

    /// The number of an owner.
    pub fn owner_number(&mut self, owner: &ScriptOwner) -> OwnerNumber {
        if let Some(number) = self.owner_numbers.get(owner) {
            return *number;
        }
        let number = OwnerNumber(self.owners.len() as u64);
        self.owners.push(owner.clone());
        self.owner_numbers.insert(owner.clone(), number);
        number
    }

    /// The outpoint of an output.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain did not give out the number.
    pub fn outpoint(&self, number: OutputNumber) -> Result<OutPoint, ViewError> {
        let found = usize::try_from(number.0).ok().and_then(|index| self.outputs.get(index));
        found.map(|(outpoint, _)| *outpoint).ok_or_else(|| unknown_number("output", number.0))
    }

    /// True if a transaction was read, or if reading it failed.
    #[must_use]
    pub fn is_read(&self, number: TransactionNumber) -> bool {
        self.transaction(number).is_ok_and(|(_, found)| !matches!(found, GatherState::Unread))
    }

    /// Adds a transaction that was read, unless the transaction was added before.
    pub fn add(&mut self, transaction: &Transaction, at: BlockPosition) -> TransactionNumber {
        let number = self.number(transaction.txid);
        if self.transaction(number).is_ok_and(|(_, found)| matches!(found, GatherState::Found(_))) {
            return number;
        }
        let mut input_entries = Vec::with_capacity(transaction.inputs.len());
        for (input, index) in transaction.inputs.iter().zip(0..) {
            if let Some(spent) = &input.spent {
                let is_from_pool = input.is_from_pool(transaction.txid);
                let made = (!is_from_pool).then(|| self.number(input.outpoint.txid));
                input_entries.push(TransactionEntry {
                    index,
                    value: spent.value,
                    owner: self.owner_number(&spent.owner),
                    leads_to: made.map(Waypoint::Transaction),
                });
            }
        }
        let mut output_entries = Vec::with_capacity(transaction.outputs.len());
        for (output, index) in transaction.outputs.iter().zip(0..) {
            let outpoint = OutPoint { txid: transaction.txid, index };
            output_entries.push(TransactionEntry {
                index,
                value: output.value,
                owner: self.owner_number(&output.owner),
                leads_to: Some(Waypoint::Output(self.output_number(outpoint))),
            });
        }
        let gathered = GatheredTransaction {
            at,
            kind: transaction.kind,
            inputs: SideTotals {
                count: transaction.inputs.len() as u64,
                total: transaction.input_total(),
                unknown: transaction.unknown_value(),
            },
            outputs: SideTotals {
                count: transaction.outputs.len() as u64,
                total: transaction.output_total(),
                unknown: 0,
            },
            input_entries,
            output_entries,
            fee_payers: Vec::new(),
        };
        self.set(number, GatherState::Found(gathered));
        number
    }

    /// The position of a transaction in the chain; `None` if the transaction was not added.
    #[must_use]
    pub fn position(&self, number: TransactionNumber) -> Option<u64> {
        match &self.transaction(number).ok()?.1 {
            GatherState::Found(found) => Some(found.at.position()),
            GatherState::Unread | GatherState::Failed => None,
        }
    }

    /// Sets the index of a transaction in its block, which a source may provide later than the transaction. Has no
    /// effect if the transaction was not added.
    pub fn set_index_in_block(&mut self, number: TransactionNumber, index: u64) {
        let found = usize::try_from(number.0).ok().and_then(|at| self.transactions.get_mut(at));
        if let Some((_, GatherState::Found(found))) = found
            && found.at.index != index
        {
            found.at.index = index;
            self.moves += 1;
        }
    }

    /// Records that reading a transaction failed, unless the transaction was read.
    pub fn fail(&mut self, number: TransactionNumber) {
        if !self.is_read(number) {
            self.set(number, GatherState::Failed);
        }
    }

    /// Records the transaction that spends an output; `None` if the output is unspent.
    pub fn set_spender(&mut self, output: OutputNumber, spender: Option<Txid>) {
        let spender = spender.map(|txid| self.number(txid));
        let found = usize::try_from(output.0).ok().and_then(|index| self.outputs.get_mut(index));
        if let Some((_, found)) = found {
            *found = GatherState::Found(spender);
        }
    }

    /// Records that reading the spender of an output failed, unless the spender was read.
    pub fn fail_output(&mut self, output: OutputNumber) {
        let found = usize::try_from(output.0).ok().and_then(|index| self.outputs.get_mut(index));
        if let Some((_, found @ GatherState::Unread)) = found {
            *found = GatherState::Failed;
        }
    }

    /// Records the payers of a coinbase's fees, if the coinbase was added.
    pub fn set_fee_payers(&mut self, coinbase: TransactionNumber, payers: Vec<FeePayer>) {
        let index = usize::try_from(coinbase.0).ok();
        let found = index.and_then(|index| self.transactions.get_mut(index));
        if let Some((_, GatherState::Found(found))) = found {
            found.fee_payers = payers;
        }
    }

    /// The history of an owner in the added transactions, with the given statistics over its lifetime.
    #[must_use]
    pub fn history(&self, owner: OwnerNumber, statistics: Statistics) -> OwnHistory {
        let mut history = OwnHistory { statistics, incoming: vec![], outgoing: vec![] };
        let mut found: Vec<(u64, TransactionNumber, &GatheredTransaction)> = self
            .transactions
            .iter()
            .zip(0..)
            .filter_map(|((_, found), number)| match found {
                GatherState::Found(found) => {
                    Some((found.at.position(), TransactionNumber(number), found))
                }
                GatherState::Unread | GatherState::Failed => None,
            })
            .collect();
        found.sort_by_key(|(position, ..)| *position);
        for (_, number, found) in found {
            let own = |entries: &[TransactionEntry]| -> Vec<TransactionEntry> {
                entries.iter().filter(|entry| entry.owner == owner).copied().collect()
            };
            let total =
                |entries: &[TransactionEntry]| entries.iter().map(|it| u128::from(it.value)).sum();
            let (inputs, outputs) = (own(&found.input_entries), own(&found.output_entries));
            let spent = |entry: &&TransactionEntry| match entry.leads_to {
                Some(Waypoint::Output(output)) => self.is_spent(output),
                _ => false,
            };
            let received: u128 = total(&outputs);
            let passed_on: Vec<TransactionEntry> = outputs.iter().filter(spent).copied().collect();
            let entry = OwnTransaction {
                number,
                time: found.at.time,
                inputs: found.inputs.total,
                received,
                sent: total(&inputs),
                unspent: received - total(&passed_on),
                is_passed_on: !passed_on.is_empty(),
            };
            if !outputs.is_empty() {
                history.incoming.push(entry);
            }
            if !inputs.is_empty() {
                history.outgoing.push(OwnTransaction { unspent: 0, is_passed_on: false, ..entry });
            }
        }
        history
    }

    fn is_spent(&self, output: OutputNumber) -> bool {
        let found = usize::try_from(output.0).ok().and_then(|index| self.outputs.get(index));
        matches!(found, Some((_, GatherState::Found(Some(_)))))
    }

    fn set(&mut self, number: TransactionNumber, found: GatherState<GatheredTransaction>) {
        let index = usize::try_from(number.0).ok();
        if let Some((_, known)) = index.and_then(|index| self.transactions.get_mut(index)) {
            *known = found;
        }
    }

    fn transaction(
        &self,
        number: TransactionNumber,
    ) -> Result<&(Txid, GatherState<GatheredTransaction>), ViewError> {
        let found = usize::try_from(number.0).ok().and_then(|index| self.transactions.get(index));
        found.ok_or_else(|| unknown_number("transaction", number.0))
    }

    fn look_up_transaction(&self, number: TransactionNumber) -> Result<LookupResult, ViewError> {
        Ok(match &self.transaction(number)?.1 {
            GatherState::Found(found) => {
                LookupResult::Transaction { number, position: found.at.position() }
            }
            GatherState::Failed => LookupResult::Failed,
            GatherState::Unread => LookupResult::Unread,
        })
    }
}

fn unknown_number(what: &str, number: u64) -> ViewError {
    ViewError::new(format!("there is no {what} of number {number} among those that were gathered"))
}

impl ChainView for GatheredChain {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        let output = match waypoint {
            Waypoint::Transaction(number) => return self.look_up_transaction(number),
            Waypoint::Output(output) => output,
        };
        let found = usize::try_from(output.0).ok().and_then(|index| self.outputs.get(index));
        match found.ok_or_else(|| unknown_number("output", output.0))?.1 {
            GatherState::Found(Some(spender)) => self.look_up_transaction(spender),
            GatherState::Found(None) => Ok(LookupResult::Nothing),
            GatherState::Failed => Ok(LookupResult::Failed),
            GatherState::Unread => Ok(LookupResult::Unread),
        }
    }

    fn read(
        &self,
        number: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        let (_, GatherState::Found(found)) = self.transaction(number)? else {
            return Err(unknown_number("transaction", number.0));
        };
        into.number = number;
        into.position = found.at.position();
        into.height = found.at.height;
        into.time = found.at.time;
        into.kind = found.kind;
        into.inputs = found.inputs;
        into.outputs = found.outputs;
        let (entries, payers): (_, &[FeePayer]) = match direction {
            Direction::Source => (&found.input_entries, &found.fee_payers),
            Direction::Destination => (&found.output_entries, &[]),
        };
        into.entries.clone_from(entries);
        into.fee_payers.clear();
        into.fee_payers.extend_from_slice(payers);
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        Ok(owner)
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        let found = usize::try_from(number.0).ok().and_then(|index| self.owners.get(index));
        found.cloned().ok_or_else(|| unknown_number("owner", number.0))
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        Ok(self.transaction(number)?.0)
    }

    fn moves(&self) -> u64 {
        self.moves
    }
}
