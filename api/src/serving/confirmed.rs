//! How long ago something in memory was last known to be what the store says.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// When something was last confirmed, by a clock that nobody sets.
#[derive(Debug)]
pub struct Confirmed {
    begun: Instant,
    /// Milliseconds since then.
    at: AtomicU64,
}

impl Confirmed {
    /// Confirmed at `now`.
    #[must_use]
    pub const fn at(now: Instant) -> Self {
        Self { begun: now, at: AtomicU64::new(0) }
    }

    /// Confirmed by an answer to what was asked at `asked`: what changed while the answer was under way
    /// may not be in it.
    pub fn confirm(&self, asked: Instant) {
        let since = asked.saturating_duration_since(self.begun).as_millis();
        self.at.fetch_max(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How long before `now` that was.
    #[must_use]
    pub fn age(&self, now: Instant) -> Duration {
        let at = self.begun + Duration::from_millis(self.at.load(Ordering::Relaxed));
        now.saturating_duration_since(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_confirms_what_was_so_when_it_was_asked_for() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let confirmed = Confirmed::at(begun);
        assert_eq!(confirmed.age(after(10)), Duration::from_secs(10));
        confirmed.confirm(after(10));
        assert_eq!(confirmed.age(after(13)), Duration::from_secs(3));
        // An answer that was overtaken by a later one changes nothing.
        confirmed.confirm(after(5));
        assert_eq!(confirmed.age(after(13)), Duration::from_secs(3));
    }
}
