//! Numbers and times as graphs store them.

use jiff::Timestamp;

/// A count, height or number as rows hold it. None comes near the largest signed number.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A time: milliseconds since 1970.
pub(crate) fn milliseconds(time: Timestamp) -> i64 {
    time.as_millisecond()
}

/// A time from milliseconds since 1970; `None` beyond the range of a timestamp.
pub(crate) fn time(milliseconds: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds).ok()
}
