//! Spans of a file's rows, which several programs screen beside one another.

use std::{ops::Range, str::FromStr};

/// Most spans of a file.
const MOST: u32 = 100_000;

/// One of the equal parts of a file's rows, written `0/8` for the first of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    index: u32,
    count: u32,
}

impl Span {
    /// True for the first span, which alone has the header of a CSV file, so that the outputs of all spans one after another
    /// are one file.
    pub(super) const fn is_first(self) -> bool {
        self.index == 0
    }

    /// The span's rows of a file with `total` rows. Together the spans have each row once, in order.
    pub(super) fn rows(self, total: u64) -> Range<u64> {
        let before = |index: u32| {
            let rows = u128::from(total) * u128::from(index) / u128::from(self.count);
            u64::try_from(rows).unwrap_or(total)
        };
        before(self.index)..before(self.index + 1)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.parse::<u32>().ok();
        let parts =
            text.split_once('/').and_then(|(index, count)| number(index).zip(number(count)));
        match parts {
            Some((index, count)) if index < count && count <= MOST => Ok(Self { index, count }),
            _ => Err(format!(
                "write the number of the span, from 0, and the number of spans, at most {MOST}: 0/8 to 7/8"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "1", "8/8", "-1/8", "1/0", "0/100001", "a/b", "1/2/3", "1 / 2"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!("7/8".parse(), Ok(Span { index: 7, count: 8 }));
    }

    #[test]
    fn spans_have_each_row_once_in_order() {
        for total in [0, 1, 7, 8, 9, 1_000_003, u64::MAX] {
            for count in [1, 2, 7, 8, 199, MOST] {
                let mut next = 0;
                for index in 0..count {
                    let rows = Span { index, count }.rows(total);
                    assert_eq!(rows.start, next, "{index}/{count} of {total}");
                    assert!(rows.end - rows.start <= total.div_ceil(u64::from(count)));
                    next = rows.end;
                }
                assert_eq!(next, total);
            }
        }
    }
}
