//! Delays between retries: exponential, with jitter.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// The delay after a number of consecutive failures: from half of the full delay, which doubles with each
/// failure, to all of it. `jitter` is from 0 to 1.
#[must_use]
pub fn delay(failures: u32, jitter: f64) -> Duration {
    let full = FIRST_DELAY.saturating_mul(1 << failures.min(16)).min(MAX_DELAY);
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// An interval changed by up to a tenth in either direction. `jitter` is from 0 to 1.
#[must_use]
pub fn with_jitter(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + jitter.clamp(0.0, 1.0) / 5.0)
}

/// The number of consecutive failures of each object, by its UID.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Counts a failure, and returns the delay before the next attempt.
    pub fn next_delay(&self, identity: Option<String>) -> Duration {
        let mut failures = self.lock();
        let count = failures.entry(identity.unwrap_or_default()).or_default();
        *count += 1;
        delay(*count - 1, assay_system::random_fraction())
    }

    /// Resets the count of an object that succeeded or was deleted.
    pub fn reset(&self, identity: Option<&String>) {
        identity.and_then(|identity| self.lock().remove(identity));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_an_object_are_counted_until_it_succeeds() {
        let failures = Failures::default();
        let object = "a".to_owned();
        let waits = [0; 3].map(|_| failures.next_delay(Some(object.clone())).as_millis());
        for (wait, full) in waits.into_iter().zip([200, 400, 800]) {
            assert!((full / 2..=full).contains(&wait), "{waits:?}");
        }
        assert!(
            failures.next_delay(Some("b".into())).as_millis() <= 200,
            "each object has its own count"
        );
        failures.reset(Some(&object));
        assert!(failures.next_delay(Some(object)).as_millis() <= 200);
    }

    #[test]
    fn delays_double_up_to_a_minute() {
        let waits: Vec<_> = [0, 1, 4, 20].map(|failures| delay(failures, 1.0).as_millis()).into();
        assert_eq!(waits, [200, 400, 3_200, 60_000]);
        assert_eq!(delay(1, 0.0).as_millis(), 200);
        assert_eq!(with_jitter(Duration::from_secs(100), 0.5), Duration::from_secs(100));
    }
}
