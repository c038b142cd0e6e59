//! Periods of protocols, by days of UTC.

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};

/// Period in which a protocol was in use, from its first day up to but not including its last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    from: Date,
    until: Option<Date>,
}

impl Era {
    pub(crate) const fn since(year: i16, month: i8, day: i8) -> Self {
        Self { from: date(year, month, day), until: None }
    }

    pub(crate) const fn until(self, year: i16, month: i8, day: i8) -> Self {
        Self { from: self.from, until: Some(date(year, month, day)) }
    }

    /// True if the time lies in the era.
    pub(crate) fn contains(&self, time: Timestamp) -> bool {
        self.contains_with_lead(time, 0)
    }

    /// True if the time lies in the era, or at most `days` before it.
    pub(crate) fn contains_with_lead(&self, time: Timestamp, days: i64) -> bool {
        let day = TimeZone::UTC.to_datetime(time).date();
        self.from.saturating_sub(days.days()) <= day && self.until.is_none_or(|end| day < end)
    }
}
