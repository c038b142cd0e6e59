//! Records of transactions and blocks.
//!
//! A transaction's record has a head, its inputs and its outputs. An input names the spent output by the distance to
//! the output's transaction, and repeats its value and owner, so that one record suffices to read all inputs.

use assay_columns::bytes::{
    ByteReader, NUMBER_BYTES, from_zigzag, number, put_varint, put_wide_varint, zigzag,
};
use assay_engine::{
    ledger::{BlockRef, TransactionNumber},
    reading::FeePayer,
    utxo::{
        OutPoint, TransactionKind, TransactionSide, TransactionView, Txid, coinjoin::CoinjoinKind,
    },
};
use jiff::Timestamp;

use crate::{GraphError, error::damaged};

/// Codes in place of a distance: a shielded pool, or an unrecorded output.
const POOL: u64 = 0;
const UNRECORDED: u64 = 1;
/// The code of distance 1, the previous transaction.
const NEAREST: u64 = 2;

/// The head of a transaction's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionHead {
    /// Height of the transaction's block.
    pub height: u64,
    /// Kind.
    pub kind: TransactionKind,
    /// The number of the transaction's first output.
    pub first_output: u64,
    /// Number of inputs.
    pub inputs: u64,
    /// Number of outputs.
    pub outputs: u64,
    /// Total value of the inputs, inputs of unknown value included.
    pub input_total: u64,
    /// Total value of the outputs.
    pub output_total: u64,
    /// Minimum total value of inputs of unknown value.
    pub unknown: u64,
}

impl TransactionHead {
    /// The fee: total of inputs minus total of outputs; 0 for a coinbase.
    #[must_use]
    pub const fn fee(&self) -> u64 {
        self.input_total.saturating_sub(self.output_total)
    }

    /// A view of the transaction with totals and without entries. `time` is the time of the block.
    pub(super) fn without_entries(&self, txid: Txid, time: Timestamp) -> TransactionView {
        let side = |count: u64, total: u64, unknown: u64| TransactionSide {
            largest: Vec::new(),
            count,
            total: total.into(),
            unknown: unknown.into(),
        };
        TransactionView {
            txid,
            height: self.height,
            time,
            kind: self.kind,
            inputs: side(self.inputs, self.input_total, self.unknown),
            outputs: side(self.outputs, self.output_total, 0),
        }
    }
}

/// The stored number of a kind. New kinds get new numbers.
pub(super) const fn kind_number(kind: TransactionKind) -> u8 {
    match kind {
        TransactionKind::Payment => 0,
        TransactionKind::Coinbase => 1,
        TransactionKind::Coinjoin(CoinjoinKind::Generic) => 2,
        TransactionKind::Coinjoin(CoinjoinKind::Wasabi1) => 3,
        TransactionKind::Coinjoin(CoinjoinKind::Wasabi2) => 4,
        TransactionKind::Coinjoin(CoinjoinKind::Whirlpool) => 5,
        TransactionKind::Coinjoin(CoinjoinKind::JoinMarket) => 6,
        TransactionKind::Coinjoin(CoinjoinKind::PrivateSend) => 7,
    }
}

/// The kind that is stored as `number`; `None` if no kind has it.
fn kind_from_number(number: u8) -> Option<TransactionKind> {
    let coinjoins = CoinjoinKind::ALL.map(TransactionKind::Coinjoin);
    let mut kinds =
        [TransactionKind::Payment, TransactionKind::Coinbase].into_iter().chain(coinjoins);
    kinds.find(|kind| kind_number(*kind) == number)
}

/// Appends the fee payers of a block: for each transaction, the distance from the block's first transaction, and the
/// fee.
pub(super) fn put_payers(first_transaction: u64, payers: &[FeePayer], into: &mut Vec<u8>) {
    for FeePayer { transaction, fee } in payers {
        put_varint(into, transaction.0.saturating_sub(first_transaction));
        put_varint(into, *fee);
    }
}

/// Parses the bytes that [`put_payers`] wrote; `None` if they are damaged.
pub(super) fn read_payers(
    first_transaction: u64,
    bytes: &[u8],
    into: &mut Vec<FeePayer>,
) -> Option<()> {
    let mut reading = ByteReader(bytes);
    while !reading.0.is_empty() {
        let number = first_transaction.checked_add(reading.varint()?)?;
        let fee = reading.varint()?;
        into.push(FeePayer { transaction: TransactionNumber(number), fee });
    }
    Some(())
}

/// The output that an input spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOrigin {
    /// A recorded output, by the number of its transaction and its index.
    Recorded {
        /// The transaction.
        transaction: u64,
        /// The index of the output.
        index: u32,
    },
    /// An output from before the first recorded block.
    Unrecorded(OutPoint),
    /// A shielded pool.
    Pool,
}

/// An input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputEntry {
    /// Index among the inputs, from 0.
    pub index: u32,
    /// The output that the input spends.
    pub origin: InputOrigin,
    /// Value and owner of the spent output, if known.
    pub spent: Option<OutputValue>,
}

/// An output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEntry {
    /// Index among the outputs, from 0.
    pub index: u32,
    /// Value and owner.
    pub output: OutputValue,
}

/// Value and owner of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputValue {
    /// Value in base units.
    pub value: u64,
    /// The number of the owner.
    pub owner: u64,
}

/// A transaction's record.
#[derive(Clone, Copy, Debug)]
pub struct TransactionRecord<'t> {
    number: u64,
    head: TransactionHead,
    inputs: ByteReader<'t>,
    outputs: ByteReader<'t>,
}

impl<'t> TransactionRecord<'t> {
    /// Reads the record of a transaction.
    pub(super) fn read(number: u64, bytes: &'t [u8]) -> Result<Self, GraphError> {
        Self::parse(number, bytes).ok_or_else(|| damaged("tx", number))
    }

    #[inline]
    fn parse(number: u64, bytes: &'t [u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let height = u64::from(reading.u32()?);
        let kind = kind_from_number(reading.byte()?)?;
        let first_output = reading.number()?;
        let (inputs, outputs) = (reading.varint()?, reading.varint()?);
        let output_total = reading.varint()?;
        let more = from_zigzag(reading.varint()?);
        let unknown = reading.varint()?;
        let input_total = output_total.checked_add_signed(more)?;
        let length = usize::try_from(reading.varint()?).ok()?;
        let of_inputs = ByteReader(reading.take(length)?);
        let head = TransactionHead {
            height,
            kind,
            first_output,
            inputs,
            outputs,
            input_total,
            output_total,
            unknown,
        };
        Some(Self { number, head, inputs: of_inputs, outputs: reading })
    }

    /// The number of the transaction.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The head of the record.
    #[must_use]
    pub const fn head(&self) -> &TransactionHead {
        &self.head
    }

    /// Passes the inputs to `each`, in order.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is damaged.
    pub fn inputs(&self, mut each: impl FnMut(InputEntry)) -> Result<(), GraphError> {
        let mut reading = self.inputs;
        for index in 0..self.head.inputs {
            let entry = self.input(&mut reading, index);
            each(entry.ok_or_else(|| damaged("tx", self.number))?);
        }
        Ok(())
    }

    #[inline]
    fn input(&self, reading: &mut ByteReader<'t>, index: u64) -> Option<InputEntry> {
        let origin = match reading.varint()? {
            POOL => InputOrigin::Pool,
            UNRECORDED => {
                let txid = Txid::from_bytes(reading.array()?);
                let index = u32::try_from(reading.varint()?).ok()?;
                InputOrigin::Unrecorded(OutPoint { txid, index })
            }
            distance => InputOrigin::Recorded {
                transaction: self.number.checked_sub(distance - NEAREST + 1)?,
                index: u32::try_from(reading.varint()?).ok()?,
            },
        };
        let spent = match reading.varint()? {
            0 => None,
            more => Some(OutputValue { value: more - 1, owner: reading.number()? }),
        };
        Some(InputEntry { index: u32::try_from(index).ok()?, origin, spent })
    }

    /// Passes the outputs to `each`, in order.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is damaged.
    pub fn outputs(&self, mut each: impl FnMut(OutputEntry)) -> Result<(), GraphError> {
        let mut reading = self.outputs;
        for index in 0..self.head.outputs {
            let entry = Self::output(&mut reading, index);
            each(entry.ok_or_else(|| damaged("tx", self.number))?);
        }
        Ok(())
    }

    #[inline]
    fn output(reading: &mut ByteReader<'t>, index: u64) -> Option<OutputEntry> {
        let output = OutputValue { value: reading.varint()?, owner: reading.number()? };
        Some(OutputEntry { index: u32::try_from(index).ok()?, output })
    }

    /// The output at an index; `None` if the transaction has fewer outputs.
    ///
    /// # Errors
    ///
    /// Returns an error if the record is damaged.
    pub fn output_at(&self, wanted: u32) -> Result<Option<OutputValue>, GraphError> {
        if u64::from(wanted) >= self.head.outputs {
            return Ok(None);
        }
        let mut reading = self.outputs;
        for index in 0..=u64::from(wanted) {
            let entry = Self::output(&mut reading, index);
            let entry = entry.ok_or_else(|| damaged("tx", self.number))?;
            if entry.index == wanted {
                return Ok(Some(entry.output));
            }
        }
        Ok(None)
    }
}

/// A transaction's record under construction.
#[derive(Debug, Default)]
pub(super) struct RecordBuilder {
    inputs: Vec<u8>,
    outputs: Vec<u8>,
}

impl RecordBuilder {
    pub(super) fn clear(&mut self) {
        self.inputs.clear();
        self.outputs.clear();
    }

    /// Appends an input of the transaction with this number.
    pub(super) fn input(
        &mut self,
        transaction: u64,
        origin: InputOrigin,
        spent: Option<OutputValue>,
    ) {
        match origin {
            InputOrigin::Pool => put_varint(&mut self.inputs, POOL),
            InputOrigin::Unrecorded(OutPoint { txid, index }) => {
                put_varint(&mut self.inputs, UNRECORDED);
                self.inputs.extend_from_slice(txid.as_bytes());
                put_varint(&mut self.inputs, index.into());
            }
            InputOrigin::Recorded { transaction: earlier, index } => {
                let distance = transaction.saturating_sub(earlier);
                put_varint(&mut self.inputs, distance.saturating_sub(1) + NEAREST);
                put_varint(&mut self.inputs, index.into());
            }
        }
        match spent {
            None => put_varint(&mut self.inputs, 0),
            Some(spent) => {
                put_varint(&mut self.inputs, spent.value.saturating_add(1));
                self.inputs.extend_from_slice(&number(spent.owner));
            }
        }
    }

    /// Appends an output.
    pub(super) fn output(&mut self, output: OutputValue) {
        put_varint(&mut self.outputs, output.value);
        self.outputs.extend_from_slice(&number(output.owner));
    }

    /// Appends the record to `into`; `None` if the height exceeds 32 bits.
    pub(super) fn finish(&self, head: &TransactionHead, into: &mut Vec<u8>) -> Option<()> {
        into.extend_from_slice(&u32::try_from(head.height).ok()?.to_be_bytes());
        into.push(kind_number(head.kind));
        into.extend_from_slice(&number(head.first_output));
        put_varint(into, head.inputs);
        put_varint(into, head.outputs);
        put_varint(into, head.output_total);
        // Both are below 2^63.
        let more = head.input_total.cast_signed().wrapping_sub(head.output_total.cast_signed());
        put_varint(into, zigzag(more));
        put_varint(into, head.unknown);
        put_varint(into, self.inputs.len() as u64);
        into.extend_from_slice(&self.inputs);
        into.extend_from_slice(&self.outputs);
        Some(())
    }
}

/// A stored block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// The block.
    pub block: BlockRef,
    /// Work of the block's header; `None` if the source did not report the work, or if an earlier release recorded the
    /// block.
    pub work: Option<u128>,
    /// The number of the block's first transaction, or the next number if the block has none.
    pub first_transaction: u64,
    /// The number of the block's first output.
    pub first_output: u64,
    /// The number of the first owner that is new in the block or later.
    pub first_owner: u64,
}

impl StoredBlock {
    /// Expected size in bytes: the fields that earlier releases wrote, and the work.
    const BYTES: usize = 32 + 32 + 8 + 3 * NUMBER_BYTES + 16;

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::BYTES);
        bytes.extend_from_slice(&self.block.hash);
        bytes.extend_from_slice(&self.block.parent);
        bytes.extend_from_slice(&self.block.time.as_millisecond().to_be_bytes());
        for first in [self.first_transaction, self.first_output, self.first_owner] {
            bytes.extend_from_slice(&number(first));
        }
        if let Some(work) = self.work {
            put_wide_varint(&mut bytes, work);
        }
        bytes
    }

    pub(super) fn read(height: u64, bytes: &[u8]) -> Result<Self, GraphError> {
        let parse = || {
            let mut reading = ByteReader(bytes);
            let (hash, parent) = (reading.array()?, reading.array()?);
            let time = Timestamp::from_millisecond(reading.i64()?).ok()?;
            let [first_transaction, first_output, first_owner] =
                [reading.number()?, reading.number()?, reading.number()?];
            let work = if reading.0.is_empty() { None } else { Some(reading.wide_varint()?) };
            let block = BlockRef { height, hash, parent, time };
            Some(Self { block, work, first_transaction, first_output, first_owner })
        };
        parse().ok_or_else(|| damaged("block", height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_back() {
        for number in 0..8 {
            assert_eq!(kind_number(kind_from_number(number).unwrap()), number);
        }
        assert_eq!(kind_from_number(8), None);
    }

    #[test]
    fn a_block_that_an_earlier_release_recorded_has_no_work() {
        let time = Timestamp::from_second(1_700_000_000).unwrap();
        let block = BlockRef { height: 7, hash: [1; 32], parent: [2; 32], time };
        let without = StoredBlock {
            block,
            work: None,
            first_transaction: 3,
            first_output: 4,
            first_owner: 5,
        };
        let bytes = without.to_bytes();
        assert_eq!(bytes.len(), 32 + 32 + 8 + 3 * NUMBER_BYTES, "as before there was work");
        assert_eq!(StoredBlock::read(7, &bytes).unwrap(), without);
        for work in [0, 2, 1 << 80, u128::MAX] {
            let with = StoredBlock { work: Some(work), ..without };
            assert_eq!(StoredBlock::read(7, &with.to_bytes()).unwrap(), with);
            // An earlier release reads what it knows.
            assert_eq!(with.to_bytes()[..bytes.len()], bytes);
        }
    }
}
