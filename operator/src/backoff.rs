//! When what failed is tried again: later each time, and never everywhere at once.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::system;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// How long to wait after so many failures in a row; `jitter` is a part of one. At least half of the
/// full time, which doubles each time.
#[must_use]
pub fn delay(failures: u32, jitter: f64) -> Duration {
    let full = FIRST_DELAY.saturating_mul(1 << failures.min(16)).min(MAX_DELAY);
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// A regular time with a tenth of it more or less.
#[must_use]
pub fn spread(regular: Duration, jitter: f64) -> Duration {
    regular.mul_f64(0.9 + jitter.clamp(0.0, 1.0) / 5.0)
}

/// How often work on objects failed in a row, by their identity.
#[derive(Debug, Default)]
pub struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Takes note of another one, and says how long to wait now.
    pub fn next_delay(&self, identity: Option<String>) -> Duration {
        let mut failures = self.lock();
        let count = failures.entry(identity.unwrap_or_default()).or_default();
        *count += 1;
        delay(*count - 1, system::jitter())
    }

    /// Whether work on an object failed when it was last tried.
    pub fn has_failed(&self, identity: Option<&String>) -> bool {
        identity.is_some_and(|identity| self.lock().contains_key(identity))
    }

    /// Takes note that it went well, or that there is nothing more to do.
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
    fn failures_of_one_object_are_counted_until_it_goes_well() {
        let failures = Failures::default();
        let object = "a".to_owned();
        let waits = [0; 3].map(|_| failures.next_delay(Some(object.clone())).as_millis());
        for (wait, full) in waits.into_iter().zip([200, 400, 800]) {
            assert!((full / 2..=full).contains(&wait), "{waits:?}");
        }
        assert!(failures.next_delay(Some("b".into())).as_millis() <= 200, "others begin anew");
        assert!(failures.has_failed(Some(&object)) && !failures.has_failed(Some(&"c".into())));
        failures.reset(Some(&object));
        assert!(!failures.has_failed(Some(&object)));
        assert!(failures.next_delay(Some(object)).as_millis() <= 200);
    }

    #[test]
    fn failures_wait_longer_each_time_up_to_a_minute() {
        let waits: Vec<_> = [0, 1, 4, 20].map(|failures| delay(failures, 1.0).as_millis()).into();
        assert_eq!(waits, [200, 400, 3_200, 60_000]);
        assert_eq!(delay(1, 0.0).as_millis(), 200);
        assert_eq!(spread(Duration::from_secs(100), 0.5), Duration::from_secs(100));
    }
}
