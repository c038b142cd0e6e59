//! Stored values as Rust values. Every error names table and column.

use jiff::{Timestamp, civil::Date};
use serde::de::DeserializeOwned;

use crate::DatabaseError;

type Result<T> = std::result::Result<T, DatabaseError>;

/// A count or height. Databases store signed numbers.
///
/// # Errors
///
/// Returns an error if the number is negative.
pub fn unsigned(column: &'static str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|error| DatabaseError::unreadable(column, error))
}

/// A count as databases store it. No count comes near the largest signed number.
#[must_use]
pub fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A time as databases store it: milliseconds since 1970.
#[must_use]
pub fn milliseconds(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// A time in milliseconds since 1970.
///
/// # Errors
///
/// Returns an error if the time is beyond the range of a timestamp.
pub fn time(column: &'static str, milliseconds: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|error| DatabaseError::unreadable(column, error))
}

/// A nullable time in milliseconds since 1970.
///
/// # Errors
///
/// Returns the errors of [`time`].
pub fn optional_time(column: &'static str, milliseconds: Option<i64>) -> Result<Option<Timestamp>> {
    milliseconds.map(|milliseconds| time(column, milliseconds)).transpose()
}

/// A time in microseconds since 1970.
///
/// # Errors
///
/// Returns an error if the time is beyond the range of a timestamp.
pub fn microseconds(column: &'static str, microseconds: i64) -> Result<Timestamp> {
    Timestamp::from_microsecond(microseconds)
        .map_err(|error| DatabaseError::unreadable(column, error))
}

/// A nullable time in microseconds since 1970.
///
/// # Errors
///
/// Returns the errors of [`microseconds`].
pub fn optional_microseconds(column: &'static str, time: Option<i64>) -> Result<Option<Timestamp>> {
    time.map(|time| microseconds(column, time)).transpose()
}

/// A day, as `2026-11-22`.
///
/// # Errors
///
/// Returns an error if the text is no day.
pub fn day(column: &'static str, text: &str) -> Result<Date> {
    parsed(column, text)
}

/// A nullable day, as `2026-11-22`.
///
/// # Errors
///
/// Returns the errors of [`day`].
pub fn optional_day(column: &'static str, text: Option<&str>) -> Result<Option<Date>> {
    text.map(|text| day(column, text)).transpose()
}

/// A value that is stored as JSON.
///
/// # Errors
///
/// Returns an error if the text is not JSON of that type.
pub fn json<T: DeserializeOwned>(column: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| DatabaseError::unreadable(column, error))
}

/// A value that is stored as text.
///
/// # Errors
///
/// Returns an error if the type refuses the text.
pub fn parsed<T: std::str::FromStr>(column: &'static str, text: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| DatabaseError::unreadable(column, error))
}
