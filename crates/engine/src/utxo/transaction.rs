//! Transactions with their inputs and outputs.

use super::{OutPoint, ScriptOwner, Txid, coinjoin::kind::CoinjoinKind};

/// Kind of a transaction, which decides the endpoints of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionKind {
    /// A payment: any other transaction.
    #[default]
    Payment,
    /// A coinbase: it creates new coins and has no inputs.
    Coinbase,
    /// A coinjoin: several parties hide their payments to one another.
    Coinjoin(CoinjoinKind),
}

/// A transaction.
///
/// Value that leaves a shielded pool without spending an output is an input ([`TxInput::from_pool`]), and value that
/// enters a pool is an output of the pool, after all other outputs. Inputs and outputs therefore cover all value that a
/// transaction moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Identifier. Two coinbases of early Bitcoin have the identifiers of later ones (BIP 30); the later ones count.
    pub txid: Txid,
    /// Kind. A reader tells coinbases from payments; [`Transaction::classify`] finds the coinjoins.
    pub kind: TransactionKind,
    /// Inputs; none for a coinbase.
    pub inputs: Vec<TxInput>,
    /// Outputs.
    pub outputs: Vec<TxOut>,
}

/// An input: the output that it spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxInput {
    /// The spent output's outpoint.
    pub outpoint: OutPoint,
    /// The spent output; `None` before it is looked up, and if it is not known.
    pub spent: Option<TxOut>,
    /// False if the unlocking data has no signature, so that anybody may have spent the output. True if the source does
    /// not state signatures, because graphs do not store them.
    pub is_signed: bool,
}

/// An output: an amount and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxOut {
    /// Owner of the output's script.
    pub owner: ScriptOwner,
    /// Amount in base units.
    pub value: u64,
}

/// The output index in the outpoint of an input whose value comes from a pool. No output has this index.
pub const POOL_INDEX: u32 = u32::MAX;

impl TxInput {
    /// An input with a signature, or of a source that does not state signatures.
    #[must_use]
    pub const fn new(outpoint: OutPoint, spent: Option<TxOut>) -> Self {
        Self { outpoint, spent, is_signed: true }
    }

    /// An input of transaction `txid` whose value comes out of a pool without spending an output.
    /// `spent` is the pool and the amount; `None` where the chain does not show the amount (Dash's
    /// credit pool).
    #[must_use]
    pub const fn from_pool(txid: Txid, spent: Option<TxOut>) -> Self {
        Self::new(OutPoint { txid, index: POOL_INDEX }, spent)
    }

    /// True if the input of transaction `txid` has its value from a pool.
    #[must_use]
    pub fn is_from_pool(&self, txid: Txid) -> bool {
        self.outpoint == OutPoint { txid, index: POOL_INDEX }
    }
}

impl Transaction {
    /// The spent outputs, as far as they are known, in the order of the inputs.
    pub fn spent_outputs(&self) -> impl Iterator<Item = &TxOut> {
        self.inputs.iter().filter_map(|input| input.spent.as_ref())
    }

    /// The outputs on both sides: first the spent outputs, as far as they are known, then the transaction's own.
    pub fn all_outputs(&self) -> impl Iterator<Item = &TxOut> {
        self.spent_outputs().chain(&self.outputs)
    }

    /// The outputs' total in base units.
    #[must_use]
    pub fn output_total(&self) -> u128 {
        total(self.outputs.iter())
    }

    /// The inputs' total in base units, including [`Transaction::unknown_value`]. A coinbase's inputs are worth as much
    /// as its outputs.
    #[must_use]
    pub fn input_total(&self) -> u128 {
        match self.kind {
            TransactionKind::Coinbase => self.output_total(),
            TransactionKind::Payment | TransactionKind::Coinjoin(_) => {
                total(self.spent_outputs()).saturating_add(self.unknown_value())
            }
        }
    }

    /// Smallest possible total of the inputs of unknown value, in base units: the outputs' total less the known inputs.
    #[must_use]
    pub fn unknown_value(&self) -> u128 {
        if self.inputs.iter().all(|input| input.spent.is_some()) {
            return 0;
        }
        self.output_total().saturating_sub(total(self.spent_outputs()))
    }

    /// The fee in base units: the inputs' total less the outputs'; 0 for a coinbase.
    #[must_use]
    pub fn fee(&self) -> u128 {
        self.input_total().saturating_sub(self.output_total())
    }
}

fn total<'a>(outputs: impl Iterator<Item = &'a TxOut>) -> u128 {
    outputs.map(|output| u128::from(output.value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::testing::{input, output, transaction};

    #[test]
    fn inputs_of_unknown_value_pay_the_remainder() {
        let known = |value| vec![input(1, Some(output(1, value))), input(2, None)];
        let short = transaction(7, known(40), vec![output(3, 70), output(4, 50)]);
        assert_eq!((short.unknown_value(), short.input_total()), (80, 120));
        let rich = transaction(7, known(400), vec![output(3, 70)]);
        assert_eq!((rich.unknown_value(), rich.input_total()), (0, 400));
        let complete = transaction(7, vec![input(1, Some(output(1, 40)))], vec![output(3, 70)]);
        assert_eq!((complete.unknown_value(), complete.input_total()), (0, 40));
        let mined = Transaction {
            kind: TransactionKind::Coinbase,
            ..transaction(7, vec![], vec![output(3, 70)])
        };
        assert_eq!((mined.unknown_value(), mined.input_total()), (0, 70));
    }
}
