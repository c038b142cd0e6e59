//! Metrics as they are scraped.

use std::str::FromStr;

/// The value of a series, with its labels as they are printed (`name{label="value"}`); nothing where it
/// is not there.
pub(crate) fn metric<T: FromStr>(text: &str, series: &str) -> Option<T> {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    values.next()?.parse().ok()
}
