//! Messages of Protocol Buffers: those that are hashed are written whole, and those of transactions are read leniently.
//!
//! Anybody can send a transaction whose message has a known field in another form. Nodes take such a field for an unknown one and
//! accept the transaction, so that a strict reader would stop at it. [`Fields`] reads as nodes do.

use prost::{
    Message,
    encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint},
};

/// The part of a block's header that its identifier is the hash of.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawHeader {
    /// Milliseconds since 1970.
    #[prost(int64, tag = "1")]
    pub(super) timestamp: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) tx_trie_root: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) parent_hash: Vec<u8>,
    #[prost(int64, tag = "7")]
    pub(super) number: i64,
    #[prost(int64, tag = "8")]
    pub(super) witness_id: i64,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) witness_address: Vec<u8>,
    #[prost(int32, tag = "10")]
    pub(super) version: i32,
    #[prost(bytes = "vec", tag = "11")]
    pub(super) account_state_root: Vec<u8>,
}

/// A transaction, as a block's root commits to it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WholeTransaction {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) raw_data: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(super) signatures: Vec<Vec<u8>>,
    /// Encoded [`TransactionResult`]s.
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(super) results: Vec<Vec<u8>>,
}

/// The result that a block states of a transaction. A sender can put any fields into the results but the first one's `contractRet`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TransactionResult {
    #[prost(int64, tag = "1")]
    pub(super) fee: i64,
    #[prost(int32, tag = "2")]
    pub(super) code: i32,
    #[prost(int32, tag = "3")]
    pub(super) contract_result: i32,
    #[prost(string, tag = "14")]
    pub(super) asset_issue_id: String,
    #[prost(int64, tag = "15")]
    pub(super) withdraw_amount: i64,
    #[prost(int64, tag = "16")]
    pub(super) unfreeze_amount: i64,
    #[prost(int64, tag = "18")]
    pub(super) exchange_received_amount: i64,
    #[prost(int64, tag = "19")]
    pub(super) exchange_inject_another_amount: i64,
    #[prost(int64, tag = "20")]
    pub(super) exchange_withdraw_another_amount: i64,
    #[prost(int64, tag = "21")]
    pub(super) exchange_id: i64,
    #[prost(int64, tag = "22")]
    pub(super) shielded_transaction_fee: i64,
    #[prost(bytes = "vec", tag = "25")]
    pub(super) order_id: Vec<u8>,
    #[prost(int64, tag = "27")]
    pub(super) withdraw_expire_amount: i64,
}

/// Appends a field whose meaning is not known: a number, or bytes.
pub(super) fn append_unknown(number: u32, value: &UnknownValue, to: &mut Vec<u8>) {
    match value {
        UnknownValue::Number(value) => {
            encode_key(number, WireType::Varint, to);
            encode_varint(*value, to);
        }
        UnknownValue::Empty => {
            encode_key(number, WireType::LengthDelimited, to);
            encode_varint(0, to);
        }
    }
}

/// The value of a field whose meaning is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownValue {
    /// A number.
    Number(u64),
    /// Bytes of the length zero.
    Empty,
}

/// The fields of a message, of which those of the forms of numbers and bytes are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a> {
    numbers: Vec<(u32, u64)>,
    bytes: Vec<(u32, &'a [u8])>,
}

impl<'a> Fields<'a> {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no message.
    pub(super) fn read(message: &'a [u8]) -> Result<Self, &'static str> {
        const BROKEN: &str = "its bytes are no message of Protocol Buffers";
        let mut fields = Self::default();
        let mut rest = message;
        // The numbers of groups that are open: their content is unknown.
        let mut groups = Vec::new();
        while !rest.is_empty() {
            let (number, form) = decode_key(&mut rest).map_err(|_| BROKEN)?;
            match form {
                WireType::Varint => {
                    let value = decode_varint(&mut rest).map_err(|_| BROKEN)?;
                    if groups.is_empty() {
                        fields.numbers.push((number, value));
                    }
                }
                WireType::LengthDelimited => {
                    let length = decode_varint(&mut rest).map_err(|_| BROKEN)?;
                    let length = usize::try_from(length).map_err(|_| BROKEN)?;
                    let (value, after) = rest.split_at_checked(length).ok_or(BROKEN)?;
                    rest = after;
                    if groups.is_empty() {
                        fields.bytes.push((number, value));
                    }
                }
                WireType::SixtyFourBit => rest = rest.get(8..).ok_or(BROKEN)?,
                WireType::ThirtyTwoBit => rest = rest.get(4..).ok_or(BROKEN)?,
                WireType::StartGroup => groups.push(number),
                WireType::EndGroup if groups.pop() == Some(number) => {}
                WireType::EndGroup => return Err(BROKEN),
            }
        }
        if groups.is_empty() { Ok(fields) } else { Err(BROKEN) }
    }

    /// The number of a field; 0 without the field. Of several the last one counts.
    pub(super) fn number(&self, field: u32) -> i64 {
        let found = self.numbers.iter().rev().find(|(number, _)| *number == field);
        found.map_or(0, |(_, value)| value.cast_signed())
    }

    /// The bytes of a field; none without the field. Of several the last ones count.
    pub(super) fn bytes(&self, field: u32) -> &'a [u8] {
        let found = self.bytes.iter().rev().find(|(number, _)| *number == field);
        found.map_or(&[], |(_, value)| value)
    }

    /// The bytes of the message of a field that stands at most once. If it stands several times, nodes read all as one message.
    pub(super) fn message(&self, field: u32) -> Vec<u8> {
        let parts = self.bytes.iter().filter(|(number, _)| *number == field);
        parts.flat_map(|(_, value)| value.iter().copied()).collect()
    }

    /// The bytes of each message of a field that may stand several times.
    pub(super) fn messages(&self, field: u32) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.bytes.iter().filter(move |(number, _)| *number == field).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_form_is_an_unknown_one() {
        // Given field 1 as a number, as bytes, as eight bytes and within a group...
        let message = [
            &[0x08, 0x05][..],
            &[0x0a, 0x02, 0xaa, 0xbb],
            &[0x09, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x13, 0x08, 0x07, 0x14],
            &[0x08, 0x06],
        ]
        .concat();
        let fields = Fields::read(&message).unwrap();
        // ...then each reading takes its own form, and the last of several.
        assert_eq!((fields.number(1), fields.bytes(1)), (6, &[0xaa, 0xbb][..]));
        assert_eq!((fields.number(2), fields.bytes(2)), (0, &[][..]));
    }

    #[test]
    fn a_message_that_stands_twice_is_one() {
        let message = [&[0x0a, 0x02, 0x08, 0x05][..], &[0x0a, 0x02, 0x10, 0x06]].concat();
        let fields = Fields::read(&message).unwrap();
        let inner = fields.message(1);
        let inner = Fields::read(&inner).unwrap();
        assert_eq!((inner.number(1), inner.number(2)), (5, 6));
        assert_eq!(fields.messages(1).count(), 2);
    }

    #[test]
    fn broken_messages_are_refused() {
        for broken in [
            &[0x08][..],
            &[0x0a, 0x05, 1],
            &[0x13, 0x08, 0x07],
            &[0x14],
            &[0x13, 0x1c],
            &[0x09, 1],
            &[0x00, 0x01],
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ] {
            assert!(Fields::read(broken).is_err(), "{broken:?}");
        }
    }
}
