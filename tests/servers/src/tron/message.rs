//! Messages of Protocol Buffers, written byte by byte.

/// A message that is being written. Fields with their default value are left out, as the chain leaves them out.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Appends a number.
    pub(super) fn number(mut self, field: u8, value: i64) -> Self {
        if value != 0 {
            self.0.extend(varint(u64::from(field) << 3));
            self.0.extend(varint(value.cast_unsigned()));
        }
        self
    }

    /// Appends bytes.
    pub(super) fn bytes(self, field: u8, value: &[u8]) -> Self {
        if value.is_empty() { self } else { self.message(field, value) }
    }

    /// Appends a message, also an empty one.
    pub(super) fn message(mut self, field: u8, value: &[u8]) -> Self {
        self.0.extend(varint((u64::from(field) << 3) | 2));
        self.0.extend(varint(value.len() as u64));
        self.0.extend(value);
        self
    }

    /// The bytes of the message.
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// A number in groups of seven bits, the lowest first.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            bytes.push(low & 0x7f);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
