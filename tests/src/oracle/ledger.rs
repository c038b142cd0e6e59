//! The oracle's view of a chain: all transactions with complete inputs and outputs.

use std::collections::BTreeMap;

use assay_engine::utxo::{
    OutPoint, ResolvedBlock, ScriptOwner, TransactionKind, TxInput, TxOut, Txid,
};
use jiff::Timestamp;

/// A transaction.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    pub(super) txid: Txid,
    pub(super) height: u64,
    /// Height and index in the block.
    pub(super) position: (u64, usize),
    pub(super) time: Timestamp,
    pub(super) kind: TransactionKind,
    pub(super) inputs: &'a [TxInput],
    pub(super) outputs: &'a [TxOut],
}

/// An input or output of a transaction.
#[derive(Clone, Debug)]
pub(super) struct SideEntry<'a> {
    /// Index among the inputs or outputs.
    pub(super) index: usize,
    pub(super) output: OutPoint,
    pub(super) owner: &'a ScriptOwner,
    pub(super) value: u128,
}

/// The inputs or outputs of a transaction that a trace reads.
#[derive(Debug)]
pub(super) struct Side<'a> {
    /// The read inputs or outputs, in order.
    pub(super) read: Vec<SideEntry<'a>>,
    /// True if all inputs or outputs are read.
    pub(super) whole: bool,
}

impl<'a> Transaction<'a> {
    /// Sum of all outputs.
    pub(super) fn paid(&self) -> u128 {
        self.outputs.iter().map(|coin| u128::from(coin.value)).sum()
    }

    /// Sum of all inputs, including those of unknown value; for a coinbase, of its outputs.
    pub(super) fn total(&self) -> u128 {
        if self.kind == TransactionKind::Coinbase {
            return self.paid();
        }
        self.known() + self.unknown()
    }

    fn known(&self) -> u128 {
        let known = self.inputs.iter().flat_map(|input| &input.spent);
        known.map(|output| u128::from(output.value)).sum()
    }

    /// Total of the inputs of unknown value: the excess of the outputs over the known inputs.
    pub(super) fn unknown(&self) -> u128 {
        let any_unknown = self.inputs.iter().any(|input| input.spent.is_none());
        if any_unknown { self.paid().saturating_sub(self.known()) } else { 0 }
    }

    pub(super) fn given_by(&self, owner: &ScriptOwner) -> u128 {
        let coins = self.inputs.iter().flat_map(|input| &input.spent);
        coins.filter(|coin| coin.owner == *owner).map(|coin| u128::from(coin.value)).sum()
    }

    pub(super) fn got_by(&self, owner: &ScriptOwner) -> u128 {
        let coins = self.outputs.iter().filter(|coin| coin.owner == *owner);
        coins.map(|coin| u128::from(coin.value)).sum()
    }

    /// Amount that an owner paid itself.
    fn change(&self, owner: &ScriptOwner) -> u128 {
        let (given, got, total) = (self.given_by(owner), self.got_by(owner), self.total());
        if total == 0 {
            return 0;
        }
        let change = num_bigint::BigUint::from(given) * got / total;
        u128::try_from(change).expect("no more than was given")
    }

    pub(super) fn income(&self, owner: &ScriptOwner) -> u128 {
        self.got_by(owner) - self.change(owner)
    }

    pub(super) fn spending(&self, owner: &ScriptOwner) -> u128 {
        self.given_by(owner) - self.change(owner)
    }

    /// The `largest` largest inputs.
    pub(super) fn inputs(&self, largest: usize) -> Side<'a> {
        let known = self.inputs.iter().enumerate().filter_map(|(index, input)| {
            let (coin, output) = (input.spent.as_ref()?, input.outpoint);
            Some(SideEntry { index, output, owner: &coin.owner, value: coin.value.into() })
        });
        Side::of(&known.collect::<Vec<_>>(), self.inputs.len(), largest)
    }

    /// The `largest` largest outputs.
    pub(super) fn outputs(&self, largest: usize) -> Side<'a> {
        let legs =
            self.outputs.iter().zip(0..).enumerate().map(|(place, (coin, index))| SideEntry {
                index: place,
                output: OutPoint { txid: self.txid, index },
                owner: &coin.owner,
                value: coin.value.into(),
            });
        Side::of(&legs.collect::<Vec<_>>(), self.outputs.len(), largest)
    }
}

impl<'a> Side<'a> {
    fn of(legs: &[SideEntry<'a>], count: usize, largest: usize) -> Self {
        let mut places: Vec<usize> = (0..legs.len()).collect();
        // Sorting keeps the order of equals.
        places.sort_by_key(|place| std::cmp::Reverse(legs[*place].value));
        places.truncate(largest);
        places.sort_unstable();
        let read: Vec<_> = places.into_iter().map(|place| legs[place].clone()).collect();
        let whole = read.len() == count;
        Self { read, whole }
    }
}

/// All transactions of a chain.
#[derive(Debug)]
pub(super) struct Ledger<'a> {
    pub(super) transactions: Vec<Transaction<'a>>,
    made: BTreeMap<Txid, usize>,
    spent: BTreeMap<OutPoint, usize>,
    /// The cluster of each owner.
    pub(super) clusters: BTreeMap<ScriptOwner, ScriptOwner>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(
        blocks: &'a [ResolvedBlock],
        clusters: BTreeMap<ScriptOwner, ScriptOwner>,
    ) -> Self {
        let (made, spent) = (BTreeMap::new(), BTreeMap::new());
        let mut ledger = Self { transactions: Vec::new(), made, spent, clusters };
        for block in blocks {
            for (index, transaction) in block.transactions.iter().enumerate() {
                let number = ledger.transactions.len();
                ledger.made.insert(transaction.txid, number);
                for input in &transaction.inputs {
                    ledger.spent.insert(input.outpoint, number);
                }
                ledger.transactions.push(Transaction {
                    txid: transaction.txid,
                    height: block.reference.height,
                    position: (block.reference.height, index),
                    time: block.reference.time,
                    kind: transaction.kind,
                    inputs: &transaction.inputs,
                    outputs: &transaction.outputs,
                });
            }
        }
        ledger
    }

    /// The number of a transaction, if it is known.
    pub(super) fn number(&self, txid: &Txid) -> Option<usize> {
        self.made.get(txid).copied()
    }

    /// The number of the transaction that spends an output, if there is one.
    pub(super) fn spender_number(&self, output: &OutPoint) -> Option<usize> {
        self.spent.get(output).copied()
    }

    /// The transaction that spends an output, if there is one.
    pub(super) fn spender(&self, output: &OutPoint) -> Option<&Transaction<'a>> {
        self.transactions.get(self.spender_number(output)?)
    }

    /// The transactions that made an owner's largest outputs.
    pub(super) fn incoming(&self, owner: &ScriptOwner, largest: usize) -> Vec<&Transaction<'a>> {
        self.largest(largest, |transaction| {
            let coins = transaction.outputs.iter();
            coins.map(|coin| (coin.owner == *owner).then_some(coin.value)).collect()
        })
    }

    /// The transactions that spent an owner's largest outputs.
    pub(super) fn outgoing(&self, owner: &ScriptOwner, largest: usize) -> Vec<&Transaction<'a>> {
        self.largest(largest, |transaction| {
            let coins = transaction.inputs.iter().map(|input| input.spent.as_ref());
            coins
                .map(|coin| coin.filter(|coin| coin.owner == *owner).map(|coin| coin.value))
                .collect()
        })
    }

    /// The transactions with the largest values, of those that `values` gives of each.
    fn largest(
        &self,
        largest: usize,
        values: impl Fn(&Transaction<'a>) -> Vec<Option<u64>>,
    ) -> Vec<&Transaction<'a>> {
        let mut all: Vec<(u64, usize)> = Vec::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            all.extend(values(transaction).into_iter().flatten().map(|value| (value, number)));
        }
        // In the order of the chain, which sorting keeps among equals.
        all.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
        all.truncate(largest);
        let mut numbers: Vec<usize> = all.into_iter().map(|(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| &self.transactions[number]).collect()
    }
}
