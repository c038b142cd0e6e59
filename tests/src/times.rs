//! Figures that are printed and never asserted.

use std::{fmt, time::Duration};

/// How long things took, the shortest first.
#[derive(Clone, Debug)]
pub struct Times(Vec<f64>);

impl Times {
    /// Puts them in order.
    #[must_use]
    pub fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<f64> =
            times.into_iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// The time that so many of a hundred took at most, in milliseconds.
    #[must_use]
    pub fn part(&self, percent: usize) -> f64 {
        let place = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(place).copied().unwrap_or(0.0)
    }

    /// All together, in milliseconds.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99, most) = (self.part(50), self.part(99), self.part(100));
        write!(
            formatter,
            "p50 {p50:.1} ms, p99 {p99:.1} ms ({:.1} times as long), most {most:.1} ms",
            p99 / p50
        )
    }
}
