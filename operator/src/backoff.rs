//! When what failed is tried again: later each time, and never everywhere at once.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_mins(1);

/// How long to wait after so many failures in a row; `jitter` is a part of one. At least half of the
/// full time, which doubles each time.
#[must_use]
pub fn delay(failures: u32, jitter: f64) -> Duration {
    let full = FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST);
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

/// A regular time with a tenth of it more or less.
#[must_use]
pub fn spread(regular: Duration, jitter: f64) -> Duration {
    regular.mul_f64(0.9 + jitter.clamp(0.0, 1.0) / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_each_time_up_to_a_minute() {
        let waits: Vec<_> = [0, 1, 4, 20].map(|failures| delay(failures, 1.0).as_millis()).into();
        assert_eq!(waits, [200, 400, 3_200, 60_000]);
        assert_eq!(delay(1, 0.0).as_millis(), 200);
        assert_eq!(spread(Duration::from_secs(100), 0.5), Duration::from_secs(100));
    }
}
