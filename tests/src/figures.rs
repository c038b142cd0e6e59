//! Statistics of measurements, which are printed and never asserted.

use std::{fmt, time::Duration};

/// CPU time that this thread has used.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Memory of this program in bytes, without the pages of mapped files.
#[must_use]
pub fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Measured numbers, the smallest first.
#[derive(Clone, Debug)]
pub struct Figures(Vec<f64>);

impl Figures {
    /// Sorts the numbers.
    #[must_use]
    pub fn from_numbers(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        Self(numbers)
    }

    /// Durations, in milliseconds.
    #[must_use]
    pub fn from_times(times: impl IntoIterator<Item = Duration>) -> Self {
        Self::from_numbers(times.into_iter().map(|time| time.as_secs_f64() * 1_000.0))
    }

    /// The percentile `percent` of the numbers.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> f64 {
        let place = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(place).copied().unwrap_or(0.0)
    }

    /// The sum of the numbers.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99, most) = (self.percentile(50), self.percentile(99), self.percentile(100));
        let ratio = p99 / p50;
        write!(formatter, "p50 {p50:.2}, p99 {p99:.2} ({ratio:.1} times as much), most {most:.2}")
    }
}
