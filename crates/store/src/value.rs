//! Between stored values and the engine's types.

use assay_engine::{evidence::Tier, facts::Environment};
use jiff::{Timestamp, civil::Date};
use serde::de::DeserializeOwned;

use crate::StoreError;

pub(crate) fn environment(text: &str) -> Result<Environment, StoreError> {
    match text {
        "production" => Ok(Environment::Production),
        "sample" => Ok(Environment::Sample),
        other => Err(StoreError::unreadable("installation.environment", other)),
    }
}

pub(crate) fn tier(text: &str) -> Result<Tier, StoreError> {
    Tier::ALL
        .into_iter()
        .find(|tier| tier.as_str() == text)
        .ok_or_else(|| StoreError::unreadable("labels.tier", text))
}

pub(crate) fn unsigned(what: &'static str, value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|error| StoreError::unreadable(what, error))
}

/// Counts never come near the largest signed number.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn milliseconds(time: Timestamp) -> i64 {
    time.as_millisecond()
}

pub(crate) fn time(what: &'static str, milliseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(milliseconds).map_err(|error| StoreError::unreadable(what, error))
}

pub(crate) fn optional_time(
    what: &'static str,
    milliseconds: Option<i64>,
) -> Result<Option<Timestamp>, StoreError> {
    milliseconds.map(|milliseconds| time(what, milliseconds)).transpose()
}

pub(crate) fn microseconds(what: &'static str, microseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(microseconds).map_err(|error| StoreError::unreadable(what, error))
}

pub(crate) fn optional_microseconds(
    what: &'static str,
    time: Option<i64>,
) -> Result<Option<Timestamp>, StoreError> {
    time.map(|time| microseconds(what, time)).transpose()
}

pub(crate) fn day(what: &'static str, text: &str) -> Result<Date, StoreError> {
    text.parse().map_err(|error: jiff::Error| StoreError::unreadable(what, error))
}

pub(crate) fn optional_day(
    what: &'static str,
    text: Option<&str>,
) -> Result<Option<Date>, StoreError> {
    text.map(|text| day(what, text)).transpose()
}

pub(crate) fn json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::unreadable(what, error))
}

pub(crate) fn parsed<T: std::str::FromStr>(what: &'static str, text: &str) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| StoreError::unreadable(what, error))
}
