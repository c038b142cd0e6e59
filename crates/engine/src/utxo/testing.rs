//! Synthetic transactions for unit tests.

use super::{OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid};

pub(crate) fn key(number: u8) -> ScriptOwner {
    ScriptOwner::KeyHash([number; 20])
}

pub(crate) fn witness(number: u8) -> ScriptOwner {
    ScriptOwner::Witness(0, vec![number; 20])
}

pub(crate) fn output(owner: u8, value: u64) -> TxOut {
    TxOut { owner: key(owner), value }
}

/// An input that spends the first output of a transaction.
pub(crate) fn input(number: u8, spent: Option<TxOut>) -> TxInput {
    TxInput::new(OutPoint { txid: Txid::from_bytes([number; 32]), index: 0 }, spent)
}

/// A payment with this number.
pub(crate) fn transaction(number: u8, inputs: Vec<TxInput>, outputs: Vec<TxOut>) -> Transaction {
    let txid = Txid::from_bytes([number; 32]);
    Transaction { txid, kind: TransactionKind::Payment, inputs, outputs }
}

/// A payment with this number between owners, which spends outputs of the previous transaction.
pub(crate) fn payment(
    number: u8,
    spent: &[(ScriptOwner, u64)],
    outputs: &[(ScriptOwner, u64)],
) -> Transaction {
    let output =
        |(owner, value): &(ScriptOwner, u64)| TxOut { owner: owner.clone(), value: *value };
    let txid = Txid::from_bytes([number - 1; 32]);
    let input = |(index, spent)| TxInput::new(OutPoint { txid, index }, Some(output(spent)));
    transaction(number, (0..).zip(spent).map(input).collect(), outputs.iter().map(output).collect())
}
