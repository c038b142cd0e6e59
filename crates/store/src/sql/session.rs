//! Sessions: statements with one text for both databases.
//!
//! Placeholders are `$1`, `$2` and so on in both databases; each is a value, or a list of values ([`Session::any`]).

use std::borrow::Cow;

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use jiff::{Timestamp, civil::Date};
use sqlx::{
    AssertSqlSafe, Database, Executor, Postgres, SqlSafeStr, SqlStr, Sqlite, Transaction,
    pool::PoolConnection, postgres::PgArguments, query::Query, sqlite::SqliteArguments,
};

use super::scope::RowScope;
use crate::{StoreError, row::Row, value};

/// Number of rows of one statement that inserts: `SQLite` allows 32,766 values in one statement.
const SQLITE_BATCH: usize = 500;
/// Number of rows of one statement that inserts into PostgreSQL: enough that network latency does not dominate the
/// import of a million labels.
const POSTGRES_BATCH: usize = 5_000;

/// A value of a statement. Times are milliseconds since 1970, days ISO 8601 text.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Bytes(Option<&'a [u8]>),
    Flag(bool),
    /// Lists, for [`Session::any`] and for rows that are inserted.
    Texts(Vec<Option<&'a str>>),
    Integers(Vec<Option<i64>>),
    ManyBytes(Vec<Option<&'a [u8]>>),
}

/// Conversions into values.
macro_rules! values {
    ($($kind:ident: $($from:ty => |$value:ident| $into:expr),+;)+) => {
        $($(impl<'a> From<$from> for Value<'a> {
            fn from($value: $from) -> Self {
                Self::$kind($into)
            }
        })+)+
    };
}

values! {
    Text: &'a str => |text| Some(text.into()),
        String => |text| Some(text.into()),
        Option<&'a str> => |text| text.map(Into::into),
        Option<String> => |text| text.map(Into::into),
        Date => |day| Some(day.to_string().into()),
        Option<Date> => |day| day.map(|day| day.to_string().into());
    Integer: i64 => |number| Some(number),
        u32 => |number| Some(number.into()),
        u64 => |number| Some(value::signed(number)),
        Option<i64> => |number| number,
        Timestamp => |time| Some(value::milliseconds(time)),
        Option<Timestamp> => |time| time.map(value::milliseconds);
    Bytes: &'a [u8] => |bytes| Some(bytes);
    Flag: bool => |flag| flag;
    Texts: Vec<&'a str> => |texts| texts.into_iter().map(Some).collect();
    Integers: Vec<i64> => |numbers| numbers.into_iter().map(Some).collect();
}

impl Value<'_> {
    fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { text.as_deref() } else { None }
    }

    const fn integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self { *number } else { None }
    }

    const fn bytes(&self) -> Option<&[u8]> {
        if let Value::Bytes(bytes) = self { *bytes } else { None }
    }
}

/// A connection of a pool, or a transaction on such a connection.
#[derive(Debug)]
pub(crate) enum SessionConnection<D: Database> {
    Connection(PoolConnection<D>),
    Transaction(Transaction<'static, D>),
}

impl<D: Database> SessionConnection<D> {
    fn connection(&mut self) -> &mut D::Connection {
        match self {
            Self::Connection(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }

    async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Connection(_) => Ok(()),
            Self::Transaction(transaction) => transaction.commit().await,
        }
    }
}

/// A connection or transaction in which statements run. A transaction that is not committed is rolled back.
#[derive(Debug)]
pub(crate) enum Session {
    Sqlite(SessionConnection<Sqlite>),
    Postgres(SessionConnection<Postgres>),
}

impl Session {
    /// The condition that a column's value is an element of a list, as the text after the column's name.
    pub(crate) fn any(&self, placeholder: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("IN (SELECT value FROM json_each({placeholder}))"),
            Self::Postgres(_) => format!("= ANY({placeholder})"),
        }
    }

    /// The condition that a column's text contains another text.
    pub(crate) fn contains(&self, column: &str, placeholder: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("instr({column}, {placeholder}) > 0"),
            Self::Postgres(_) => format!("strpos({column}, {placeholder}) > 0"),
        }
    }

    /// A table that is read by an index, if one is named. `SQLite` would prefer the order of the table to a selective
    /// index.
    pub(crate) fn by_index(&self, table: &str, index: Option<&str>) -> String {
        match (self, index) {
            (Self::Sqlite(_), Some(index)) => format!("{table} INDEXED BY {index}"),
            (Self::Sqlite(_) | Self::Postgres(_), _) => table.to_owned(),
        }
    }

    /// The clause that locks the rows that are read. A writing transaction of `SQLite` locks the whole database
    /// without a clause.
    pub(crate) const fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => "FOR UPDATE",
        }
    }

    /// The clause that locks the rows that are read, and skips rows that another program has locked.
    pub(crate) const fn for_update_of_unlocked(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => "FOR UPDATE SKIP LOCKED",
        }
    }

    /// Reads rows, one by one.
    pub(crate) fn stream<'a>(
        &'a mut self,
        text: impl SqlSafeStr,
        values: &'a [Value<'a>],
    ) -> BoxStream<'a, Result<Row, sqlx::Error>> {
        let text = text.into_sql_str();
        match self {
            Self::Sqlite(held) => {
                sqlite(text, values).fetch(held.connection()).map_ok(Row::Sqlite).boxed()
            }
            Self::Postgres(held) => {
                postgres(text, values).fetch(held.connection()).map_ok(Row::Postgres).boxed()
            }
        }
    }

    /// Reads all rows.
    pub(crate) async fn rows(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.stream(text, values).try_collect().await?)
    }

    /// Reads the only row, or none.
    pub(crate) async fn optional_row(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(text, values).await?.into_iter().next())
    }

    /// Reads the only row.
    pub(crate) async fn row(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<Row, StoreError> {
        let row = self.optional_row(text, values).await?;
        row.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Runs a statement. Returns the number of the rows that it changed.
    pub(crate) async fn execute(
        &mut self,
        text: impl SqlSafeStr,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let text = text.into_sql_str();
        Ok(match self {
            Self::Sqlite(held) => {
                held.connection().execute(sqlite(text, values)).await?.rows_affected()
            }
            Self::Postgres(held) => {
                held.connection().execute(postgres(text, values)).await?.rows_affected()
            }
        })
    }

    /// Inserts rows in their order, many by one statement. `otherwise` is the clause for rows that exist already.
    pub(crate) async fn insert<const N: usize>(
        &mut self,
        table: &'static str,
        names: &str,
        rows: &[[Value<'_>; N]],
        otherwise: &'static str,
    ) -> Result<(), StoreError> {
        let batch = match self {
            Self::Sqlite(_) => SQLITE_BATCH,
            Self::Postgres(_) => POSTGRES_BATCH,
        };
        for rows in rows.chunks(batch) {
            let columns;
            let (source, values) = match self {
                Self::Sqlite(_) => (format!("VALUES {}", placeholders(rows)), rows.as_flattened()),
                Self::Postgres(_) => {
                    columns = columns_of(rows);
                    (format!("SELECT * FROM {}", unnested(&columns)), &columns[..])
                }
            };
            let text = format!("INSERT INTO {table} ({names}) {source} {otherwise}");
            self.execute(AssertSqlSafe(text), values).await?;
        }
        Ok(())
    }

    /// Makes another part of the tenants' rows visible, until the transaction ends. Only PostgreSQL hides rows.
    pub(crate) async fn enter(&mut self, scope: RowScope<'_>) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(held) => super::scope::enter(held.connection(), scope).await,
        }
    }

    /// Lets the database read rows in the order of an index rather than sort them, until the transaction ends.
    /// PostgreSQL sorts a whole table if its statistics are missing or old.
    pub(crate) async fn prefer_order_of_index(&mut self) -> Result<(), StoreError> {
        if let Self::Postgres(_) = self {
            self.execute("SET LOCAL enable_sort = off", &[]).await?;
        }
        Ok(())
    }

    /// Commits the transaction, and returns `done`.
    pub(crate) async fn commit<T>(self, done: T) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(held) => held.commit().await?,
            Self::Postgres(held) => held.commit().await?,
        }
        Ok(done)
    }
}

/// The placeholders of rows that are inserted. Placeholders have no numbers, because `SQLite` searches numbered
/// placeholders one by one.
fn placeholders<const N: usize>(rows: &[[Value<'_>; N]]) -> String {
    let row = format!("({})", ["?"; N].join(", "));
    vec![row; rows.len()].join(", ")
}

/// The columns of rows, each as a list, which has the kind of its first value.
fn columns_of<'a, const N: usize>(rows: &'a [[Value<'a>; N]]) -> Vec<Value<'a>> {
    let list = |column| {
        let values = rows.iter().filter_map(move |row| row.get(column));
        match values.clone().next() {
            Some(Value::Integer(_)) => Value::Integers(values.map(Value::integer).collect()),
            Some(Value::Bytes(_)) => Value::ManyBytes(values.map(Value::bytes).collect()),
            _ => Value::Texts(values.map(Value::text).collect()),
        }
    };
    (0..N).map(list).collect()
}

/// The SQL expression by which PostgreSQL makes a table of columns.
fn unnested(columns: &[Value<'_>]) -> String {
    let list = |(column, number): (&Value<'_>, u32)| {
        let kind = match column {
            Value::Integers(_) => "bigint",
            Value::ManyBytes(_) => "bytea",
            _ => "text",
        };
        format!("${number}::{kind}[]")
    };
    let lists: Vec<String> = columns.iter().zip(1..).map(list).collect();
    format!("unnest({})", lists.join(", "))
}

/// Returns a statement for `SQLite`, where a list is a JSON array.
fn sqlite<'q>(text: SqlStr, values: &'q [Value<'q>]) -> Query<'q, Sqlite, SqliteArguments> {
    values.iter().fold(sqlx::query(text), |query, value| match value {
        Value::Text(text) => query.bind(text.as_deref()),
        Value::Integer(number) => query.bind(*number),
        Value::Bytes(bytes) => query.bind(*bytes),
        Value::Flag(flag) => query.bind(*flag),
        Value::Texts(texts) => query.bind(serde_json::json!(texts).to_string()),
        Value::Integers(numbers) => query.bind(serde_json::json!(numbers).to_string()),
        Value::ManyBytes(many) => query.bind(serde_json::json!(many).to_string()),
    })
}

/// A statement for PostgreSQL.
fn postgres<'q>(text: SqlStr, values: &'q [Value<'q>]) -> Query<'q, Postgres, PgArguments> {
    values.iter().fold(sqlx::query(text), |query, value| match value {
        Value::Text(text) => query.bind(text.as_deref()),
        Value::Integer(number) => query.bind(*number),
        Value::Bytes(bytes) => query.bind(*bytes),
        Value::Flag(flag) => query.bind(*flag),
        Value::Texts(texts) => query.bind(texts),
        Value::Integers(numbers) => query.bind(numbers),
        Value::ManyBytes(many) => query.bind(many),
    })
}
