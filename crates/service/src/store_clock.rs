//! Clock of the store as a server knows it. Charges are booked on a day of this clock, so that the servers of an
//! installation agree on the day even if a server's own clock is wrong.

use std::{
    sync::{PoisonError, RwLock},
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};

/// Interval of reading the database's clock: the monotonic clock differs little from it in this time.
const READ_INTERVAL: Duration = Duration::from_secs(30);

/// Time of the store's database, read every 30 seconds, and advanced by the monotonic clock in between.
#[derive(Debug, Default)]
pub struct StoreClock(RwLock<Option<ClockReading>>);

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    time: Timestamp,
    /// Local time at which the database was asked.
    asked: Instant,
}

impl StoreClock {
    /// True if the database's clock is to be read at `now`.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let reading = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        reading.is_some_and(|reading| now.saturating_duration_since(reading.asked) >= READ_INTERVAL)
    }

    /// Records the database's `time`, requested at `asked`; `None` if the store has no clock of its own.
    pub(crate) fn set(&self, time: Option<Timestamp>, asked: Instant) {
        let reading = time.map(|time| ClockReading { time, asked });
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = reading;
    }

    /// Returns the present time of the database, or `own`, the time of this server, if the store has no clock of its
    /// own.
    #[must_use]
    pub fn now(&self, own: Timestamp) -> Timestamp {
        self.time_at(Instant::now(), own)
    }

    fn time_at(&self, now: Instant, own: Timestamp) -> Timestamp {
        let reading = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        reading.map_or(own, |ClockReading { time, asked }| {
            let since = SignedDuration::try_from(now.saturating_duration_since(asked));
            since.ok().and_then(|since| time.checked_add(since).ok()).unwrap_or(time)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_the_databases_whatever_the_own_clock_says() {
        let (clock, begun) = (StoreClock::default(), Instant::now());
        let time: Timestamp = "2026-11-25T23:59:50Z".parse().unwrap();
        let wrong: Timestamp = "2026-12-24T12:00:00Z".parse().unwrap();
        let later = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(clock.time_at(begun, wrong), wrong, "as long as there is no other");
        clock.set(Some(time), begun);
        assert_eq!(clock.time_at(begun, wrong), time);
        let next_day = "2026-11-26T00:00:05Z".parse().unwrap();
        assert_eq!((clock.is_due(later(15)), clock.is_due(later(30))), (false, true));
        assert_eq!(
            clock.time_at(later(15), wrong),
            next_day,
            "it goes on while the database is away"
        );
        clock.set(None, later(16));
        assert_eq!(clock.time_at(later(16), wrong), wrong);
    }
}
