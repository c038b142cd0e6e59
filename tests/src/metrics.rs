//! Parsing of scraped metrics.

use std::str::FromStr;

/// The value of a series, named with its labels as printed (`name{label="value"}`). `None` if the text lacks it.
pub(crate) fn metric<T: FromStr>(text: &str, series: &str) -> Option<T> {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    values.next()?.parse().ok()
}
