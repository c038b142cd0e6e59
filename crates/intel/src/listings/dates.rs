//! Days as the publishers of lists write them, by hand and by machine.

use jiff::{ToSpan, civil::Date};

/// English names of months, by their first three letters.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day in a text: `2012-12-31` with or without a time, `31/12/2012`, `3.12.2024`, `3 December 2024`,
/// `2023年1月5日`. The day comes before the month where the year is last. `None` for any other text, and
/// for a day that does not exist.
pub(crate) fn day(text: &str) -> Option<Date> {
    let words: Vec<&str> = text
        .split(|character: char| !character.is_alphanumeric() || "年月日".contains(character))
        .filter(|word| !word.is_empty())
        .collect();
    let [first, second, third, ..] = words.as_slice() else { return None };
    // A time may follow a day of ISO 8601, in one word with it.
    let third = third.split(['T', 't']).next().unwrap_or_default();
    let (year, month, day) = if first.len() == 4 {
        (*first, *second, third)
    } else if third.len() == 4 {
        (third, *second, *first)
    } else {
        return None;
    };
    let month = month_number(month)?;
    Date::new(year.parse().ok()?, month, day.parse().ok()?).ok()
}

fn month_number(word: &str) -> Option<i8> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let start = word.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == start)?;
    i8::try_from(index + 1).ok()
}

/// The day that a spreadsheet stores as a number of days since the end of 1899.
pub(crate) fn spreadsheet_day(number: &str) -> Option<Date> {
    let days: f64 = number.trim().parse().ok()?;
    // From 1927 to 2119: smaller numbers are years and counts.
    if !(10_000.0..80_000.0).contains(&days) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked above")]
    let days = days as i64;
    jiff::civil::date(1899, 12, 30).checked_add(days.days()).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_are_read_as_publishers_write_them() {
        for (text, expected) in [
            ("2012-12-31", date(2012, 12, 31)),
            ("2026-07-28T11:43:32+02:00", date(2026, 7, 28)),
            ("2012-12-31-04:00", date(2012, 12, 31)),
            ("31/12/2012", date(2012, 12, 31)),
            ("03.09.2025", date(2025, 9, 3)),
            ("1.7.2021", date(2021, 7, 1)),
            ("3 September 2025", date(2025, 9, 3)),
            ("2023年1月5日", date(2023, 1, 5)),
            ("2001.9.22", date(2001, 9, 22)),
        ] {
            assert_eq!(day(text), Some(expected), "{text}");
        }
        for text in ["", "-", "31.02.2024", "dd/mm/1957", "Forfeiture Order (FO 18/24)", "12/24"] {
            assert_eq!(day(text), None, "{text}");
        }
        assert_eq!(spreadsheet_day("45000"), Some(date(2023, 3, 15)));
        assert_eq!(spreadsheet_day("2001"), None);
    }
}
