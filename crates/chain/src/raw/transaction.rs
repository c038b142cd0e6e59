//! One raw transaction, and its identifier.

use assay_address::ChainId;
use assay_engine::utxo::{
    OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid, shows_signature,
};

use super::{
    RawError,
    cursor::{Cursor, write_compact},
    hash256, reversed,
};
use crate::params::TransactionForm;

/// Flags in the position of a transaction's input count.
const WITNESS: u8 = 1;
const MWEB: u8 = 8;

/// Smallest size of an input, an output and a transaction, in bytes.
const SMALLEST_INPUT: usize = 41;
const SMALLEST_OUTPUT: usize = 9;
pub(super) const SMALLEST_TRANSACTION: usize = 10;

/// Lowest version of Dash transactions with a type, and a payload if the type is not 0.
const DASH_SPECIAL: u32 = 3;

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTransaction<'a> {
    /// Identifier: the hash of the transaction's bytes without witnesses.
    pub txid: Txid,
    /// Version of the transaction.
    pub version: u32,
    /// Inputs of the transaction.
    pub inputs: Vec<RawInput<'a>>,
    /// Outputs of the transaction.
    pub outputs: Vec<RawOutput<'a>>,
    /// Earliest time or height at which a block may include the transaction.
    pub lock_time: u32,
    /// Serialized witness of each input; empty without a witness.
    pub witnesses: Vec<&'a [u8]>,
    /// True if the transaction moves the coins of Litecoin's extension blocks (`HogEx`).
    pub moves_extension: bool,
}

/// Input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawInput<'a> {
    /// Outpoint of the spent output; [`NULL_OUTPOINT`] for a coinbase.
    pub outpoint: OutPoint,
    /// Script that unlocks the spent output.
    pub script: &'a [u8],
    /// Sequence number of the input.
    pub sequence: u32,
}

/// Output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOutput<'a> {
    /// Value of the output in base units.
    pub value: u64,
    /// Script that locks the output.
    pub script: &'a [u8],
}

/// Outpoint that a coinbase has instead of a spent output.
pub const NULL_OUTPOINT: OutPoint = OutPoint { txid: Txid::from_bytes([0; 32]), index: u32::MAX };

impl<'a> RawTransaction<'a> {
    /// Parses a transaction that fills `bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no transaction of this form, or continue after the transaction.
    pub fn parse(bytes: &'a [u8], form: TransactionForm) -> Result<Self, RawError> {
        let mut cursor = Cursor::new(bytes);
        let transaction = Self::read(&mut cursor, form)?;
        if cursor.offset() < cursor.length() {
            return Err(RawError::Longer { at: cursor.offset(), length: cursor.length() });
        }
        Ok(transaction)
    }

    /// True if the transaction creates coins.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        matches!(&*self.inputs, [only] if only.outpoint == NULL_OUTPOINT)
    }

    /// Returns the owner of the output that an input spends, if the input discloses it; see
    /// [`ScriptOwner::from_unlocking`]. `None` if the transaction is a coinbase.
    #[must_use]
    pub fn owner_from_input(&self, chain: ChainId, index: usize) -> Option<ScriptOwner> {
        let input = self.inputs.get(index).filter(|_| !self.is_coinbase())?;
        ScriptOwner::from_unlocking(chain, input.script, &self.witness(index)?)
    }

    /// True if the unlocking data of an input shows a signature; see [`shows_signature`].
    #[must_use]
    pub fn shows_signature(&self, index: usize) -> bool {
        let script = self.inputs.get(index).map(|input| input.script);
        let witness = self.witness(index);
        script.zip(witness).is_some_and(|(script, witness)| shows_signature(script, &witness))
    }

    /// Returns the items of an input's witness; `None` if it is malformed.
    fn witness(&self, index: usize) -> Option<Vec<&'a [u8]>> {
        match self.witnesses.get(index) {
            Some(bytes) => read_witness(&mut Cursor::new(bytes)).ok(),
            None => Some(Vec::new()),
        }
    }

    /// Converts the transaction to the common form of all sources, without the outputs that it spends.
    #[must_use]
    pub fn to_transaction(&self, chain: ChainId) -> Transaction {
        let (kind, spent) = if self.is_coinbase() {
            (TransactionKind::Coinbase, &[][..])
        } else {
            (TransactionKind::Payment, &*self.inputs)
        };
        let output = |output: &RawOutput<'_>| TxOut {
            owner: ScriptOwner::from_script(chain, output.script),
            value: output.value,
        };
        let input = |(index, input): (usize, &RawInput<'_>)| TxInput {
            is_signed: self.shows_signature(index),
            ..TxInput::new(input.outpoint, None)
        };
        Transaction {
            txid: self.txid,
            kind,
            inputs: spent.iter().enumerate().map(input).collect(),
            outputs: self.outputs.iter().map(output).collect(),
        }
    }

    pub(super) fn read(bytes: &mut Cursor<'a>, form: TransactionForm) -> Result<Self, RawError> {
        let begin = bytes.offset();
        let version = bytes.u32("a transaction's version")?;
        let flags = read_flags(bytes, form)?;
        let body = bytes.offset();
        let inputs = read_inputs(bytes)?;
        let outputs = read_outputs(bytes)?;
        let body = bytes.since(body);
        let mut witnesses = Vec::new();
        if flags & WITNESS != 0 {
            for _ in &inputs {
                let begin = bytes.offset();
                read_witness(bytes)?;
                witnesses.push(bytes.since(begin));
            }
        }
        let extension = if flags & MWEB == 0 { None } else { Some(bytes.byte("a MWEB part")?) };
        let ending = bytes.offset();
        let lock_time = bytes.u32("a lock time")?;
        if form == TransactionForm::DashSpecial && has_payload(version) {
            bytes.bytes("an extra payload")?;
        }
        let ending = bytes.since(ending);
        let hash = if flags == 0 {
            hash256(&[bytes.since(begin)])
        } else {
            hash256(&[&version.to_le_bytes(), body, ending])
        };
        let txid = Txid::from_hash(hash);
        match extension {
            None | Some(0) => {}
            Some(_) => return Err(RawError::Extension { txid }),
        }
        let moves_extension = extension.is_some();
        Ok(Self { txid, version, inputs, outputs, lock_time, witnesses, moves_extension })
    }
}

/// Reads the flags between version and inputs; 0 without flags.
fn read_flags(bytes: &mut Cursor<'_>, form: TransactionForm) -> Result<u8, RawError> {
    let known = match form {
        TransactionForm::Witness => WITNESS,
        TransactionForm::Mweb => WITNESS | MWEB,
        _ => return Ok(0),
    };
    // An input count of zero, which no transaction in a block has, precedes the flags.
    let mut ahead = bytes.clone();
    if ahead.byte("a transaction's inputs")? != 0 {
        return Ok(0);
    }
    let at = ahead.offset();
    let flag = ahead.byte("a transaction's flag")?;
    if flag == 0 || flag & !known != 0 {
        return Err(RawError::Flag { at, flag });
    }
    *bytes = ahead;
    Ok(flag)
}

/// Reads the items of a witness.
fn read_witness<'a>(bytes: &mut Cursor<'a>) -> Result<Vec<&'a [u8]>, RawError> {
    (0..bytes.count(1, "witness items")?).map(|_| bytes.bytes("a witness item")).collect()
}

fn read_inputs<'a>(bytes: &mut Cursor<'a>) -> Result<Vec<RawInput<'a>>, RawError> {
    (0..bytes.count(SMALLEST_INPUT, "inputs")?)
        .map(|_| {
            let txid = Txid::from_hash(bytes.array("an input's transaction")?);
            let index = bytes.u32("an input's index")?;
            let script = bytes.bytes("an input's script")?;
            let sequence = bytes.u32("an input's sequence")?;
            Ok(RawInput { outpoint: OutPoint { txid, index }, script, sequence })
        })
        .collect()
}

pub(super) fn read_outputs<'a>(bytes: &mut Cursor<'a>) -> Result<Vec<RawOutput<'a>>, RawError> {
    (0..bytes.count(SMALLEST_OUTPUT, "outputs")?)
        .map(|_| {
            let value = bytes.u64("an output's value")?;
            Ok(RawOutput { value, script: bytes.bytes("an output's script")? })
        })
        .collect()
}

/// True if a Dash transaction of this version has a payload: the upper half is its type.
const fn has_payload(version: u32) -> bool {
    version & 0xffff >= DASH_SPECIAL && version >> 16 != 0
}

/// Computes the identifier of a transaction with these fields, as Bitcoin does. `payload` is the appended payload of a
/// special transaction of Dash.
#[must_use]
pub fn transaction_id<'a>(
    version: u32,
    inputs: impl ExactSizeIterator<Item = RawInput<'a>>,
    outputs: impl ExactSizeIterator<Item = RawOutput<'a>>,
    lock_time: u32,
    payload: Option<&[u8]>,
) -> Txid {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend(version.to_le_bytes());
    write_compact(inputs.len(), &mut bytes);
    for RawInput { outpoint, script, sequence } in inputs {
        bytes.extend(reversed(*outpoint.txid.as_bytes()));
        bytes.extend(outpoint.index.to_le_bytes());
        write_compact(script.len(), &mut bytes);
        bytes.extend(script);
        bytes.extend(sequence.to_le_bytes());
    }
    write_compact(outputs.len(), &mut bytes);
    for RawOutput { value, script } in outputs {
        bytes.extend(value.to_le_bytes());
        write_compact(script.len(), &mut bytes);
        bytes.extend(script);
    }
    bytes.extend(lock_time.to_le_bytes());
    if let Some(payload) = payload {
        write_compact(payload.len(), &mut bytes);
        bytes.extend(payload);
    }
    Txid::from_hash(hash256(&[&bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The signed example of BIP 143: its identifier is computed without the witnesses.
    const WITNESS: &str = "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4\
        ad969f00000000494830450221008b9d1dc26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be\
        022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01eeffffffef51e1b804cc89\
        d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9\
        148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2\
        d50ce2f0167faa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7\
        f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e831\
        88368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000";

    fn bytes(text: &str) -> Vec<u8> {
        hex::decode(text).unwrap()
    }

    fn again(read: &RawTransaction<'_>, payload: Option<&[u8]>) -> Txid {
        let (inputs, outputs) = (read.inputs.iter().copied(), read.outputs.iter().copied());
        transaction_id(read.version, inputs, outputs, read.lock_time, payload)
    }

    #[test]
    fn witnesses_are_no_part_of_the_identifier() {
        let all = bytes(WITNESS);
        let read = RawTransaction::parse(&all, TransactionForm::Witness).unwrap();
        let txid = "e8151a2af31c368a35053ddd4bdb285a8595c769a3ad83e0fa02314a602d4609";
        assert_eq!(read.txid.to_string(), txid);
        assert_eq!(again(&read, None), read.txid);
        assert_eq!((read.inputs.len(), read.outputs.len()), (2, 2));
        assert_eq!(read.outputs[0].value, 112_340_000);
        assert!(!read.is_coinbase() && !read.moves_extension);
        // Without segregated witness it is no transaction.
        assert!(RawTransaction::parse(&all, TransactionForm::Plain).is_err());
    }

    #[test]
    fn the_coins_of_extension_blocks_are_moved_by_a_transaction_of_their_own() {
        // Flag 8 and an empty part: the last transaction of a block with an extension block.
        let inputs = format!("01{}00000000 00 ffffffff", "ab".repeat(32)).replace(' ', "");
        let outputs = format!("01 00e1f50500000000 22 5820{}", "cd".repeat(32)).replace(' ', "");
        let plain = bytes(&format!("02000000{inputs}{outputs}00000000"));
        let moving = |part: &str| bytes(&format!("020000000008{inputs}{outputs}{part}00000000"));
        let all = moving("00");
        let read = RawTransaction::parse(&all, TransactionForm::Mweb).unwrap();
        let expected = RawTransaction::parse(&plain, TransactionForm::Mweb).unwrap();
        assert!(read.moves_extension && !expected.moves_extension);
        assert_eq!(read.txid, expected.txid);
        // Bitcoin does not know the flag; a part that is there belongs behind the transactions.
        let flag = RawTransaction::parse(&all, TransactionForm::Witness);
        assert_eq!(flag, Err(RawError::Flag { at: 5, flag: 8 }));
        let full = moving("01");
        let full = RawTransaction::parse(&full, TransactionForm::Mweb);
        assert!(matches!(full, Err(RawError::Extension { .. })));
    }

    #[test]
    fn special_transactions_of_dash_have_a_payload() {
        let parts = format!("00 01 00e1f50500000000 01 51 {}", "00000000").replace(' ', "");
        let all = bytes(&format!("03000900{parts}03aabbcc"));
        let read = RawTransaction::parse(&all, TransactionForm::DashSpecial).unwrap();
        assert_eq!(again(&read, Some(&[0xaa, 0xbb, 0xcc])), read.txid);
        let plain = RawTransaction::parse(&all, TransactionForm::Plain);
        assert!(matches!(plain, Err(RawError::Longer { .. })));
    }
}
