//! Unconfirmed transactions over a view: a chain as if a next block held them.
//!
//! A trace of an unconfirmed deposit reads the deposit, and unconfirmed transactions before it, from
//! [`UnconfirmedTransactions`], and all others from the view below. Numbers, kinds and clusters are those that the
//! transactions would have in a block.

use std::collections::BTreeSet;

use assay_address::ChainId;
use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::{
    ChainView, LookupResult, SideTotals, TransactionEntry, TransactionRead, ViewError, Waypoint,
};
use crate::{
    composition::Composition,
    evidence::Direction,
    ledger::{OwnerNumber, Statistics, TransactionNumber},
    utxo::{ScriptOwner, Transaction, TxInput, TxOut, Txid, cluster::co_spend},
};

/// First number of unconfirmed transactions, and of owners that appear in no block. Chains have fewer of either.
const FIRST: u64 = 1 << 62;

/// Unconfirmed transactions of a chain, each after those whose outputs it spends.
#[derive(Debug)]
pub struct UnconfirmedTransactions {
    chain: ChainId,
    height: u64,
    time: Timestamp,
    transactions: Vec<Transaction>,
    numbers: FxHashMap<Txid, TransactionNumber>,
    recorded: RecordedNumbers,
    owners: Vec<ScriptOwner>,
    owner_numbers: FxHashMap<ScriptOwner, OwnerNumber>,
    /// Clusters that these transactions join, each with the cluster that stands for the joined ones.
    joined: FxHashMap<OwnerNumber, OwnerNumber>,
}

/// The numbers that a view gave to transactions and owners in blocks.
#[derive(Clone, Debug, Default)]
pub struct RecordedNumbers {
    /// Transactions whose outputs are spent.
    pub transactions: FxHashMap<Txid, TransactionNumber>,
    /// Owners of inputs and outputs.
    pub owners: FxHashMap<ScriptOwner, OwnerNumber>,
}

impl UnconfirmedTransactions {
    /// No transactions, in a next block of this height and time, over a view with these numbers.
    #[must_use]
    pub fn new(
        chain: ChainId,
        (height, time): (u64, Timestamp),
        recorded: RecordedNumbers,
    ) -> Self {
        Self {
            chain,
            height,
            time,
            transactions: Vec::new(),
            numbers: FxHashMap::default(),
            recorded,
            owners: Vec::new(),
            owner_numbers: FxHashMap::default(),
            joined: FxHashMap::default(),
        }
    }

    /// Adds a transaction whose spent outputs are known, and recognizes its kind. Transactions whose outputs it spends
    /// were added before.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view below fails.
    pub fn add(
        &mut self,
        below: &dyn ChainView,
        mut transaction: Transaction,
    ) -> Result<TransactionNumber, ViewError> {
        transaction.classify(self.chain, self.time);
        for output in transaction.all_outputs() {
            self.number_owner(&output.owner);
        }
        let together = co_spend(&transaction, self.chain, self.time).map(|found| found.owners);
        let together = together.unwrap_or_default();
        let owners: Vec<_> = together.into_iter().filter_map(|it| self.owner_number(it)).collect();
        self.join(below, &owners)?;
        let number = TransactionNumber(FIRST + self.transactions.len() as u64);
        self.numbers.insert(transaction.txid, number);
        self.transactions.push(transaction);
        Ok(number)
    }

    /// The view of a chain with these transactions in its next block.
    #[must_use]
    pub const fn over<'a>(&'a self, below: &'a dyn ChainView) -> UnconfirmedView<'a> {
        UnconfirmedView { below, unconfirmed: self }
    }

    /// True if a number is that of an unconfirmed transaction.
    #[must_use]
    pub const fn has_number(number: TransactionNumber) -> bool {
        number.0 >= FIRST
    }

    /// An added transaction, with its kind.
    #[must_use]
    pub fn transaction(&self, number: TransactionNumber) -> Option<&Transaction> {
        self.transactions.get(usize::try_from(number.0.checked_sub(FIRST)?).ok()?)
    }

    fn owner_number(&self, owner: &ScriptOwner) -> Option<OwnerNumber> {
        self.recorded.owners.get(owner).or_else(|| self.owner_numbers.get(owner)).copied()
    }

    fn number_owner(&mut self, owner: &ScriptOwner) {
        if self.owner_number(owner).is_none() {
            let number = OwnerNumber(FIRST + self.owners.len() as u64);
            self.owners.push(owner.clone());
            self.owner_numbers.insert(owner.clone(), number);
        }
    }

    fn new_owner(&self, number: OwnerNumber) -> Option<&ScriptOwner> {
        self.owners.get(usize::try_from(number.0.checked_sub(FIRST)?).ok()?)
    }

    fn cluster_of(
        &self,
        below: &dyn ChainView,
        owner: OwnerNumber,
    ) -> Result<OwnerNumber, ViewError> {
        let cluster =
            if self.new_owner(owner).is_some() { owner } else { below.cluster_of(owner)? };
        Ok(self.joined.get(&cluster).copied().unwrap_or(cluster))
    }

    /// Joins the clusters of owners.
    fn join(&mut self, below: &dyn ChainView, owners: &[OwnerNumber]) -> Result<(), ViewError> {
        let clusters = owners.iter().map(|owner| self.cluster_of(below, *owner));
        let clusters = clusters.collect::<Result<BTreeSet<_>, ViewError>>()?;
        let Some(first) = clusters.first().copied() else { return Ok(()) };
        for joined in self.joined.values_mut() {
            if clusters.contains(joined) {
                *joined = first;
            }
        }
        self.joined.extend(clusters.into_iter().map(|cluster| (cluster, first)));
        Ok(())
    }

    /// The transaction that an input spends from, if it is known.
    fn made_in(&self, txid: &Txid) -> Option<Waypoint> {
        let number = self.numbers.get(txid).or_else(|| self.recorded.transactions.get(txid));
        number.copied().map(Waypoint::Transaction)
    }

    fn entry(
        &self,
        (index, output): (u32, &TxOut),
        leads_to: Option<Waypoint>,
    ) -> Option<TransactionEntry> {
        let owner = self.owner_number(&output.owner)?;
        Some(TransactionEntry { index, value: output.value, owner, leads_to })
    }

    /// The inputs of a transaction whose spent outputs are known, or its outputs. Nothing leads on from an output.
    fn entries(&self, transaction: &Transaction, direction: Direction) -> Vec<TransactionEntry> {
        match direction {
            Direction::Source => {
                let inputs = transaction.inputs.iter().zip(0..);
                let entry = |(input, index): (&TxInput, u32)| {
                    self.entry((index, input.spent.as_ref()?), self.made_in(&input.outpoint.txid))
                };
                inputs.filter_map(entry).collect()
            }
            Direction::Destination => {
                let outputs = transaction.outputs.iter().zip(0..);
                let entry = |(output, index)| self.entry((index, output), None);
                outputs.filter_map(entry).collect()
            }
        }
    }
}

/// A view of a chain with unconfirmed transactions in its next block.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a view has nothing to show")]
pub struct UnconfirmedView<'a> {
    below: &'a dyn ChainView,
    unconfirmed: &'a UnconfirmedTransactions,
}

impl ChainView for UnconfirmedView<'_> {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        match waypoint {
            Waypoint::Transaction(number) if self.unconfirmed.transaction(number).is_some() => {
                Ok(LookupResult::Transaction { number, position: number.0 })
            }
            _ => self.below.look_up(waypoint),
        }
    }

    fn read(
        &self,
        number: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        let Some(transaction) = self.unconfirmed.transaction(number) else {
            return self.below.read(number, direction, most, into);
        };
        *into = TransactionRead {
            number,
            position: number.0,
            height: self.unconfirmed.height,
            time: self.unconfirmed.time,
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
            entries: self.unconfirmed.entries(transaction, direction),
            fee_payers: Vec::new(),
        };
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        self.unconfirmed.cluster_of(self.below, owner)
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        match self.unconfirmed.new_owner(number) {
            Some(owner) => Ok(owner.clone()),
            None => self.below.owner(number),
        }
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        match self.unconfirmed.transaction(number) {
            Some(transaction) => Ok(transaction.txid),
            None => self.below.txid(number),
        }
    }

    fn composition(&self, of: TransactionNumber) -> Result<Option<Composition>, ViewError> {
        match self.unconfirmed.transaction(of) {
            Some(_) => Ok(None),
            None => self.below.composition(of),
        }
    }

    fn first_new_owner(&self, of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        match self.unconfirmed.transaction(of) {
            Some(_) => Ok(None),
            None => self.below.first_new_owner(of),
        }
    }

    fn statistics(&self, of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        match self.unconfirmed.new_owner(of) {
            Some(_) => Ok(None),
            None => self.below.statistics(of),
        }
    }

    fn moves(&self) -> u64 {
        self.below.moves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reading::{BlockPosition, GatheredChain},
        utxo::{OutPoint, TransactionKind},
    };

    fn key(number: u8) -> ScriptOwner {
        ScriptOwner::KeyHash([number; 20])
    }

    fn output(owner: u8, value: u64) -> TxOut {
        TxOut { owner: key(owner), value }
    }

    /// An input that spends an output of a transaction.
    fn input(number: u8, index: u32, spent: Option<TxOut>) -> TxInput {
        TxInput::new(OutPoint { txid: Txid::from_bytes([number; 32]), index }, spent)
    }

    fn transaction(number: u8, inputs: Vec<TxInput>, outputs: Vec<TxOut>) -> Transaction {
        let txid = Txid::from_bytes([number; 32]);
        Transaction { txid, kind: TransactionKind::Payment, inputs, outputs }
    }

    const AT: (u64, Timestamp) = (9, Timestamp::UNIX_EPOCH);

    /// A chain in which transaction 1 pays owners 1 and 2.
    fn below() -> (GatheredChain, RecordedNumbers) {
        let mut chain = GatheredChain::default();
        let paid = transaction(1, vec![], vec![output(1, 50), output(2, 70)]);
        let at = BlockPosition { height: 1, time: Timestamp::UNIX_EPOCH, index: 0 };
        let number = chain.add(&paid, at);
        let mut numbers = RecordedNumbers::default();
        numbers.transactions.insert(paid.txid, number);
        for owner in [key(1), key(2)] {
            numbers.owners.insert(owner.clone(), chain.owner_number(&owner));
        }
        (chain, numbers)
    }

    fn number(found: LookupResult) -> TransactionNumber {
        match found {
            LookupResult::Transaction { number, .. } => number,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn funds_lead_from_an_unconfirmed_transaction_over_its_parent_into_the_chain() {
        // Given a parent that spends outputs of owners 1 and 2, and a child that spends its output.
        let (chain, numbers) = below();
        let mut unconfirmed = UnconfirmedTransactions::new(ChainId::BTC, AT, numbers);
        let spends = vec![input(1, 0, Some(output(1, 50))), input(1, 1, Some(output(2, 70)))];
        let parent = transaction(2, spends, vec![output(3, 110)]);
        let child = transaction(3, vec![input(2, 0, Some(output(3, 110)))], vec![output(4, 100)]);
        unconfirmed.add(&chain, parent).unwrap();
        let child = unconfirmed.add(&chain, child).unwrap();
        let view = unconfirmed.over(&chain);

        // Then the child's input leads to the parent, whose inputs lead to the recorded transaction.
        let mut read = TransactionRead::default();
        view.read(child, Direction::Source, u32::MAX, &mut read).unwrap();
        assert_eq!((read.height, read.fee(), read.is_whole(Direction::Source)), (9, 10, true));
        let owner = read.entries[0].owner;
        assert_eq!(view.owner(owner).unwrap(), key(3));
        let parent = number(view.look_up(read.entries[0].leads_to.unwrap()).unwrap());
        assert!(UnconfirmedTransactions::has_number(parent));
        view.read(parent, Direction::Source, u32::MAX, &mut read).unwrap();
        let before = read.entries[1].leads_to.unwrap();
        let recorded = number(view.look_up(before).unwrap());
        assert_eq!(view.txid(recorded).unwrap(), Txid::from_bytes([1; 32]));
        assert!(!UnconfirmedTransactions::has_number(recorded));
        // And the owners whose outputs the parent spends together are one cluster, as they would be in a block.
        let clusters = read.entries.iter().map(|entry| view.cluster_of(entry.owner).unwrap());
        assert_eq!(clusters.collect::<BTreeSet<_>>().len(), 1);
        assert_eq!(view.cluster_of(owner).unwrap(), owner);
    }

    #[test]
    fn an_input_of_unknown_value_leads_nowhere() {
        let (chain, numbers) = below();
        let mut unconfirmed = UnconfirmedTransactions::new(ChainId::BTC, AT, numbers);
        let spends = vec![input(1, 0, Some(output(1, 50))), input(8, 0, None)];
        let deposit = transaction(2, spends, vec![output(3, 110)]);
        let deposit = unconfirmed.add(&chain, deposit).unwrap();
        let mut read = TransactionRead::default();
        let view = unconfirmed.over(&chain);
        view.read(deposit, Direction::Source, u32::MAX, &mut read).unwrap();
        assert_eq!((read.entries.len(), read.inputs.unknown, read.inputs.total), (1, 60, 110));
        assert!(!read.is_whole(Direction::Source));
    }
}
