//! Transactions to classify.

use assay_address::ChainId;
use assay_engine::utxo::{
    self, OutPoint, ScriptOwner, TransactionKind, TxInput, TxOut, Txid,
    coinjoin::{self, CoinjoinKind, PayjoinSuspicion, Recognition, RecognizedKind},
};
use jiff::{Timestamp, civil::date, tz::TimeZone};

/// An output's owner and value.
pub(crate) type OwnedAmount = (ScriptOwner, u64);

/// A transaction to classify, with its chain and time.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) chain: ChainId,
    pub(crate) time: Timestamp,
    pub(crate) inputs: Vec<Option<OwnedAmount>>,
    pub(crate) outputs: Vec<OwnedAmount>,
}

/// An output as the detector reads it.
fn output((owner, value): &OwnedAmount) -> TxOut {
    TxOut { owner: owner.clone(), value: *value }
}

impl Candidate {
    /// The kind, if it is a joint transaction.
    pub(crate) fn kind(&self) -> Option<CoinjoinKind> {
        coinjoin::classify(&self.transaction(), self.chain, self.time)
    }

    pub(crate) fn recognition(&self) -> Option<Recognition> {
        coinjoin::recognize(&self.transaction(), self.chain, self.time)
    }

    pub(crate) fn is_entry(&self) -> bool {
        self.recognition().is_some_and(|found| found.kind == RecognizedKind::Entry)
    }

    pub(crate) fn is_possible(&self) -> bool {
        coinjoin::is_possible(&self.transaction(), self.chain, self.time)
    }

    pub(crate) fn payjoin(&self) -> PayjoinSuspicion {
        coinjoin::payjoin::suspicion(&self.transaction(), self.chain, self.time)
    }

    pub(crate) fn transaction(&self) -> utxo::Transaction {
        let spent = Txid::from_bytes([1; 32]);
        let inputs = self.inputs.iter().zip(0..).map(|(coin, index)| {
            TxInput::new(OutPoint { txid: spent, index }, coin.as_ref().map(output))
        });
        utxo::Transaction {
            txid: Txid::from_bytes([2; 32]),
            kind: TransactionKind::Payment,
            inputs: inputs.collect(),
            outputs: self.outputs.iter().map(output).collect(),
        }
    }

    /// The transaction with unknown inputs, of which only the number is known.
    pub(crate) fn with_unknown_inputs(mut self) -> Self {
        self.inputs.fill(None);
        self
    }

    pub(crate) fn on(mut self, year: i16, month: i8, day: i8) -> Self {
        self.time = time(year, month, day);
        self
    }

    /// Bitcoin, 2021-08-01.
    pub(crate) fn new(inputs: Vec<OwnedAmount>, outputs: Vec<OwnedAmount>) -> Self {
        let inputs = inputs.into_iter().map(Some).collect();
        Self { chain: ChainId::BTC, time: time(2021, 8, 1), inputs, outputs }
    }
}

pub(crate) fn time(year: i16, month: i8, day: i8) -> Timestamp {
    date(year, month, day).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

/// A P2WPKH owner.
pub(crate) fn segwit(number: u64) -> ScriptOwner {
    ScriptOwner::Witness(0, key(number).to_vec())
}

/// A P2WSH owner.
pub(crate) fn witness_script(number: u64) -> ScriptOwner {
    ScriptOwner::Witness(0, [&key(number)[..], &[3; 12]].concat())
}

/// An output of data, without value.
pub(crate) fn data(number: u8) -> OwnedAmount {
    (ScriptOwner::Script([number; 32]), 0)
}

/// A P2TR owner.
pub(crate) fn taproot(number: u64) -> ScriptOwner {
    ScriptOwner::Witness(1, [&key(number)[..], &[7; 12]].concat())
}

/// A P2PKH owner.
pub(crate) fn legacy(number: u64) -> ScriptOwner {
    ScriptOwner::KeyHash(key(number))
}

/// A P2SH owner.
pub(crate) fn script(number: u64) -> ScriptOwner {
    ScriptOwner::ScriptHash(key(number))
}

fn key(number: u64) -> [u8; 20] {
    let mut key = [0x5a; 20];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Coins of the values, each to an owner of its own: the first has number `first`.
pub(crate) fn coins(owner: fn(u64) -> ScriptOwner, first: u64, values: &[u64]) -> Vec<OwnedAmount> {
    (first..).map(owner).zip(values.iter().copied()).collect()
}
