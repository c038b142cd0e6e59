//! New rows of a table, column by column, and the two ways in which they are written.
//!
//! `COPY` is the fastest for many rows. But it ends with a message of its own, which the network holds
//! back for some 40 ms until the server has acknowledged the rows before it: few rows are there sooner
//! by a statement with arrays.

use sqlx::{PgConnection, Postgres, postgres::PgArguments, query::Query};

use super::Schema;
use crate::GraphError;

/// From how many rows on `COPY` is used.
const MANY: usize = 8192;
/// Start of a binary `COPY`: its signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of a binary `COPY`, in place of a row's number of fields.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Bytes that are sent at once.
const MESSAGE: usize = 1 << 20;
/// The length of a field that is not there.
const NULL: i32 = -1;
/// A numeric's digits are to this base.
const BASE: u128 = 10_000;

/// The values of a column.
#[derive(Debug)]
pub(super) enum Column {
    Small(Vec<i16>),
    Integer(Vec<Option<i32>>),
    Big(Vec<Option<i64>>),
    Numeric(Vec<u128>),
    Bytes(Vec<Option<Vec<u8>>>),
    Truth(Vec<bool>),
}

/// New rows of a table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) rows: usize,
    /// Their columns, by name. All have as many values as there are rows.
    pub(super) columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Writes the rows.
    pub(super) async fn write(
        self,
        connection: &mut PgConnection,
        schema: &Schema,
    ) -> Result<(), GraphError> {
        match self.rows {
            0 => Ok(()),
            1..MANY => self.insert(connection, schema).await,
            MANY.. => self.copy(connection, schema).await,
        }
    }

    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// The rows as a table of the statement, called `new`.
    fn arrays(&self) -> String {
        let arrays = self.columns.iter().zip(1..).map(|((_, column), number)| column.array(number));
        let arrays = arrays.collect::<Vec<_>>().join(", ");
        format!("unnest({arrays}) AS new ({})", self.names())
    }

    async fn insert(
        self,
        connection: &mut PgConnection,
        schema: &Schema,
    ) -> Result<(), GraphError> {
        let values = self.columns.iter().map(|(name, column)| column.value(name));
        let values = values.collect::<Vec<_>>().join(", ");
        let (name, names, arrays) = (self.name, self.names(), self.arrays());
        let statement = format!("INSERT INTO chain.{name} ({names}) SELECT {values} FROM {arrays}");
        self.execute(connection, schema, &statement).await
    }

    /// Changes the rows that are there already and have the same first column.
    pub(super) async fn update(
        self,
        connection: &mut PgConnection,
        schema: &Schema,
    ) -> Result<(), GraphError> {
        let [(key, _), others @ ..] = &self.columns[..] else { return Ok(()) };
        if self.rows == 0 {
            return Ok(());
        }
        let changes =
            others.iter().map(|(name, column)| format!("{name} = {}", column.value(name)));
        let changes = changes.collect::<Vec<_>>().join(", ");
        let (name, arrays) = (self.name, self.arrays());
        let statement = format!(
            "UPDATE chain.{name} AS old SET {changes} FROM {arrays} WHERE old.{key} = new.{key}"
        );
        self.execute(connection, schema, &statement).await
    }

    async fn execute(
        self,
        connection: &mut PgConnection,
        schema: &Schema,
        statement: &str,
    ) -> Result<(), GraphError> {
        let mut query = sqlx::query(schema.sql(statement));
        for (_, column) in self.columns {
            query = column.bind(query);
        }
        query.execute(connection).await?;
        Ok(())
    }

    async fn copy(self, connection: &mut PgConnection, schema: &Schema) -> Result<(), GraphError> {
        let (name, names) = (self.name, self.names());
        let statement =
            schema.sql(&format!("COPY chain.{name} ({names}) FROM STDIN (FORMAT binary)"));
        let mut copy = connection.copy_in_raw(statement.as_str()).await?;
        let mut message = Vec::with_capacity(MESSAGE + MESSAGE / 8);
        message.extend_from_slice(HEADER);
        let fields = i16::try_from(self.columns.len()).unwrap_or(i16::MAX).to_be_bytes();
        for row in 0..self.rows {
            message.extend_from_slice(&fields);
            for (_, column) in &self.columns {
                column.write(row, &mut message);
            }
            if message.len() >= MESSAGE {
                copy.send(&message[..]).await?;
                message.clear();
            }
        }
        message.extend_from_slice(&TRAILER);
        copy.send(message).await?;
        copy.finish().await?;
        Ok(())
    }
}

impl Column {
    /// The column as a parameter of a statement.
    fn array(&self, number: usize) -> String {
        let kind = match self {
            Self::Small(_) => "smallint",
            Self::Integer(_) => "integer",
            Self::Big(_) => "bigint",
            Self::Numeric(_) => "text",
            Self::Bytes(_) => "bytea",
            Self::Truth(_) => "boolean",
        };
        format!("${number}::{kind}[]")
    }

    /// The value of a row of that parameter.
    fn value(&self, name: &str) -> String {
        match self {
            Self::Numeric(_) => format!("new.{name}::numeric"),
            _ => format!("new.{name}"),
        }
    }

    fn bind(self, query: Query<'_, Postgres, PgArguments>) -> Query<'_, Postgres, PgArguments> {
        match self {
            Self::Small(values) => query.bind(values),
            Self::Integer(values) => query.bind(values),
            Self::Big(values) => query.bind(values),
            Self::Numeric(values) => {
                query.bind(values.iter().map(ToString::to_string).collect::<Vec<_>>())
            }
            Self::Bytes(values) => query.bind(values),
            Self::Truth(values) => query.bind(values),
        }
    }

    /// Writes the value of a row in the format of `COPY`.
    fn write(&self, row: usize, to: &mut Vec<u8>) {
        match self {
            Self::Small(values) => field(values.get(row).map(|value| value.to_be_bytes()), to),
            Self::Integer(values) => {
                field(values.get(row).copied().flatten().map(i32::to_be_bytes), to);
            }
            Self::Big(values) => {
                field(values.get(row).copied().flatten().map(i64::to_be_bytes), to);
            }
            Self::Numeric(values) => field(values.get(row).map(|value| numeric(*value)), to),
            Self::Bytes(values) => field(values.get(row).and_then(Option::as_ref), to),
            Self::Truth(values) => field(values.get(row).map(|value| [u8::from(*value)]), to),
        }
    }
}

/// A field: its length, then its bytes. Fields never come near the largest length.
fn field(bytes: Option<impl AsRef<[u8]>>, to: &mut Vec<u8>) {
    match bytes {
        Some(bytes) => {
            let length = i32::try_from(bytes.as_ref().len()).unwrap_or(i32::MAX);
            to.extend_from_slice(&length.to_be_bytes());
            to.extend_from_slice(bytes.as_ref());
        }
        None => to.extend_from_slice(&NULL.to_be_bytes()),
    }
}

/// A number of any size: how many digits, the power of the first, no sign, no decimals, then the
/// digits without zeros at the end.
fn numeric(number: u128) -> Vec<u8> {
    let mut digits = Vec::with_capacity(10);
    let mut rest = number;
    while rest > 0 {
        digits.push(u16::try_from(rest % BASE).unwrap_or_default());
        rest /= BASE;
    }
    let power = digits.len().saturating_sub(1);
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let short = |number: usize| i16::try_from(number).unwrap_or_default().to_be_bytes();
    let mut bytes = Vec::with_capacity(8 + 2 * digits.len());
    bytes.extend_from_slice(&short(digits.len() - zeros));
    bytes.extend_from_slice(&short(power));
    bytes.extend_from_slice(&[0; 4]);
    for digit in digits.iter().skip(zeros).rev() {
        bytes.extend_from_slice(&digit.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_written_in_digits_of_ten_thousand() {
        let written = |number| {
            let bytes = numeric(number);
            let shorts = bytes.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
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
