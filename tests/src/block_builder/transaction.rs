//! Transactions, their bytes and identifiers.

use assay_engine::utxo::{OutPoint, Txid};

use super::{
    LockingScript,
    bytes::{sha256d, write_bytes, write_count},
};

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Version of the transaction.
    pub version: u32,
    /// Inputs of the transaction.
    pub inputs: Vec<TxIn>,
    /// Outputs of the transaction.
    pub outputs: Vec<TxOut>,
    /// The first block that may contain the transaction.
    pub lock_time: u32,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxIn {
    /// The spent output; zeros and `u32::MAX` in a coinbase.
    pub output: OutPoint,
    /// Script of the input or output.
    pub script: Vec<u8>,
    /// Sequence number of the input.
    pub sequence: u32,
    /// Witness of the input.
    pub witness: Vec<Vec<u8>>,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxOut {
    /// Value of the output in base units.
    pub value: u64,
    /// Script of the input or output.
    pub script: Vec<u8>,
}

impl TxOut {
    /// An output that is locked with `lock`.
    #[must_use]
    pub fn new(lock: &LockingScript, value: u64) -> Self {
        Self { value, script: lock.script() }
    }
}

impl TxIn {
    /// An input that spends `output`, which is locked with `lock`.
    #[must_use]
    pub fn new(output: OutPoint, lock: &LockingScript) -> Self {
        let (script, witness) = lock.spending_script();
        Self { output, script, sequence: u32::MAX, witness }
    }

    /// The input of a coinbase.
    #[must_use]
    pub fn coinbase(script: Vec<u8>) -> Self {
        let output = OutPoint { txid: Txid::from_bytes([0; 32]), index: u32::MAX };
        Self { output, script, sequence: u32::MAX, witness: vec![] }
    }
}

impl Transaction {
    /// A payment.
    #[must_use]
    pub const fn new(inputs: Vec<TxIn>, outputs: Vec<TxOut>) -> Self {
        Self { version: 2, inputs, outputs, lock_time: 0 }
    }

    /// True for a coinbase.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        matches!(&*self.inputs, [input] if input.output.index == u32::MAX)
    }

    /// Identifier of the transaction.
    #[must_use]
    pub fn txid(&self) -> Txid {
        Txid::from_hash(sha256d(&self.stripped()))
    }

    /// The hash of the transaction with its witnesses (wtxid), in the byte order of merkle trees.
    #[must_use]
    pub fn witness_hash(&self) -> [u8; 32] {
        if self.is_coinbase() { [0; 32] } else { sha256d(&self.bytes()) }
    }

    /// Serialized transaction; without the witness marker if no input has a witness.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        if self.inputs.iter().all(|input| input.witness.is_empty()) {
            return self.stripped();
        }
        let mut bytes = self.version.to_le_bytes().to_vec();
        bytes.extend([0, 1]);
        self.write_sides(&mut bytes);
        for input in &self.inputs {
            write_count(&mut bytes, input.witness.len());
            for item in &input.witness {
                write_bytes(&mut bytes, item);
            }
        }
        bytes.extend(self.lock_time.to_le_bytes());
        bytes
    }

    /// Serialized transaction without witnesses.
    #[must_use]
    pub fn stripped(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        self.write_sides(&mut bytes);
        bytes.extend(self.lock_time.to_le_bytes());
        bytes
    }

    fn write_sides(&self, bytes: &mut Vec<u8>) {
        write_count(bytes, self.inputs.len());
        for input in &self.inputs {
            bytes.extend(input.output.txid.as_bytes().iter().rev());
            bytes.extend(input.output.index.to_le_bytes());
            write_bytes(bytes, &input.script);
            bytes.extend(input.sequence.to_le_bytes());
        }
        write_count(bytes, self.outputs.len());
        for output in &self.outputs {
            bytes.extend(output.value.to_le_bytes());
            write_bytes(bytes, &output.script);
        }
    }
}
