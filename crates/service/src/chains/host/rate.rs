//! Rate at which blocks are recorded.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Time over which blocks are counted.
const WINDOW: Duration = Duration::from_mins(1);

/// Blocks that were recorded in the last minute.
#[derive(Clone, Debug, Default)]
pub struct Rate(VecDeque<(Instant, u64)>);

impl Rate {
    /// Adds blocks that were recorded at a time.
    pub fn add(&mut self, at: Instant, blocks: u64) {
        match self.0.back_mut() {
            // One entry a second is enough.
            Some((last, count)) if at.duration_since(*last) < Duration::from_secs(1) => {
                *count += blocks;
            }
            _ => self.0.push_back((at, blocks)),
        }
        self.forget(at);
    }

    /// Returns the number of blocks per second over the last minute.
    #[must_use]
    pub fn per_second(&mut self, now: Instant) -> f64 {
        self.forget(now);
        let blocks: u64 = self.0.iter().map(|(_, blocks)| blocks).sum();
        #[expect(clippy::cast_precision_loss, reason = "a minute has far fewer blocks than 2^52")]
        let blocks = blocks as f64;
        blocks / WINDOW.as_secs_f64()
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_count_for_a_minute() {
        let (begun, mut rate) = (Instant::now(), Rate::default());
        let at = |seconds| begun + Duration::from_secs(seconds);
        rate.add(at(0), 60);
        rate.add(at(0), 60);
        rate.add(at(30), 60);
        assert!((rate.per_second(at(30)) - 3.0).abs() < 1e-9);
        assert!((rate.per_second(at(61)) - 1.0).abs() < 1e-9);
        assert!(rate.per_second(at(200)).abs() < 1e-9);
    }
}
