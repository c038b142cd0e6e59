//! Rows in PostgreSQL's binary format of `COPY`.

use sqlx::PgConnection;

use super::Schema;
use crate::StoreError;

/// What every such stream begins with: its signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Where a row would say how many fields it has: there are no more.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Bytes that are sent at once.
const MESSAGE: usize = 1 << 20;
/// The length of a field that is not there.
const NULL: i32 = -1;
/// A numeric's digits are to this base.
const BASE: u128 = 10_000;

/// Rows of one table.
#[derive(Debug)]
pub(super) struct Rows {
    bytes: Vec<u8>,
}

impl Rows {
    /// No rows yet; there is room for so many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut rows = Self { bytes: Vec::with_capacity(bytes + HEADER.len() + TRAILER.len()) };
        rows.bytes.extend_from_slice(HEADER);
        rows
    }

    /// Begins a row of so many fields.
    pub(super) fn row(&mut self, fields: i16) -> &mut Self {
        self.bytes.extend_from_slice(&fields.to_be_bytes());
        self
    }

    /// A field of fixed width.
    fn fixed<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        self.length(N);
        self.bytes.extend_from_slice(&bytes);
        self
    }

    /// Fields never come near the largest length.
    fn length(&mut self, bytes: usize) {
        let length = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
    }

    pub(super) fn small(&mut self, number: i16) -> &mut Self {
        self.fixed(number.to_be_bytes())
    }

    pub(super) fn integer(&mut self, number: i32) -> &mut Self {
        self.fixed(number.to_be_bytes())
    }

    pub(super) fn big(&mut self, number: i64) -> &mut Self {
        self.fixed(number.to_be_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn null(&mut self) -> &mut Self {
        self.bytes.extend_from_slice(&NULL.to_be_bytes());
        self
    }

    /// A number of any size: how many digits, the power of the first, no sign, no decimals, the digits
    /// without zeros at the end.
    pub(super) fn numeric(&mut self, number: u128) -> &mut Self {
        let mut digits = Vec::with_capacity(10);
        let mut rest = number;
        while rest > 0 {
            digits.push(u16::try_from(rest % BASE).unwrap_or_default());
            rest /= BASE;
        }
        let power = digits.len().saturating_sub(1);
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        let short = |number: usize| i16::try_from(number).unwrap_or_default().to_be_bytes();
        let count = digits.len() - zeros;
        self.length(8 + 2 * count);
        self.bytes.extend_from_slice(&short(count));
        self.bytes.extend_from_slice(&short(power));
        self.bytes.extend_from_slice(&[0; 4]);
        for digit in digits.iter().skip(zeros).rev() {
            self.bytes.extend_from_slice(&digit.to_be_bytes());
        }
        self
    }

    /// Sends the rows to a table, whose columns are named in the order of the fields.
    pub(super) async fn send(
        mut self,
        connection: &mut PgConnection,
        schema: &Schema,
        table: &str,
    ) -> Result<(), StoreError> {
        if self.bytes.len() == HEADER.len() {
            return Ok(());
        }
        self.bytes.extend_from_slice(&TRAILER);
        let statement = format!("COPY chain.{table} FROM STDIN (FORMAT binary)");
        let mut copy = connection.copy_in_raw(schema.sql(&statement).as_str()).await?;
        for message in self.bytes.chunks(MESSAGE) {
            copy.send(message).await?;
        }
        copy.finish().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_written_in_digits_of_ten_thousand() {
        let written = |number| {
            let mut rows = Rows { bytes: Vec::new() };
            rows.numeric(number);
            let shorts = rows.bytes[4..].chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
            assert_eq!(rows.bytes[..4], u32::try_from(rows.bytes.len() - 4).unwrap().to_be_bytes());
            shorts.collect::<Vec<_>>()
        };
        assert_eq!(written(0), [0, 0, 0, 0]);
        assert_eq!(written(1), [1, 0, 0, 0, 1]);
        assert_eq!(written(9999), [1, 0, 0, 0, 9999]);
        assert_eq!(written(10_000), [1, 1, 0, 0, 1]);
        assert_eq!(written(120_000_003), [3, 2, 0, 0, 1, 2000, 3]);
        assert_eq!(
            written(u128::MAX),
            [10, 9, 0, 0, 340, 2823, 6692, 938, 4634, 6337, 4607, 4317, 6821, 1455]
        );
    }
}
