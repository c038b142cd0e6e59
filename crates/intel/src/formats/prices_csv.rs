//! Format `prices-csv`: prices as CSV, with a header and one row per asset and day.
//!
//! | column | content |
//! |---|---|
//! | `asset` | chain and asset: `eth/native`, or `eth/0x...` for a token by its contract |
//! | `day` | day of UTC, such as 2026-01-31 |
//! | `usd` | price of one whole unit in US dollars: a decimal number above zero |
//!
//! Columns may be in any order. Cells are separated by commas, semicolons, tabs or vertical bars.

use std::{borrow::Cow, io::BufRead};

use assay_input::{
    FileSelection,
    rows::{CsvRow, CsvRows, Quotes, Width},
    text::TextLines,
};

use super::{FileError, Format, FormatReader};
use crate::{
    header,
    labels::text::MAX_STREAMED_BYTES,
    prices::{PriceCollector, PriceColumn, PriceRow, column_error},
};

/// Prices as CSV.
pub static FORMAT: Format = Format {
    id: "prices-csv",
    short_id: Some("csv"),
    title: "Prices as CSV",
    files: FileSelection { extensions: &["csv"], several: true },
    options: &[],
    default_source: Some("prices"),
    terms: None,
    reader: FormatReader::Prices(|input, context| {
        let mut collector = PriceCollector::new(context.published_on);
        let () = input.read_each(|file| read(file.content, file.name, &mut collector))?;
        Ok(collector.finish())
    }),
};

/// Reads a file.
fn read(input: impl BufRead, name: &str, collector: &mut PriceCollector) -> Result<(), FileError> {
    let known = PriceColumn::named_columns();
    let is_column = |name: &str| header::find(name, &known).is_some();
    let lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    let mut rows = CsvRows::new(lines, Quotes::Lenient, Width::OfHeader, &is_column);
    collector.begin_file(name);
    let Some(CsvRow { line, cells, .. }) = rows.next_row()? else {
        return Err(column_error(1, "the file is empty, without a header".to_owned()));
    };
    if cells.get(0).is_some_and(|first| first.trim_start().starts_with('{')) {
        return Err(column_error(line, "the file holds JSON: its format is `jsonl`".to_owned()));
    }
    let columns =
        header::columns(cells, &known, &known).map_err(|problem| column_error(line, problem))?;
    while let Some(CsvRow { line, cells, .. }) = rows.next_row()? {
        let mut row = PriceRow::default();
        for (column, cell) in columns.iter().zip(cells) {
            if let Some(column) = *column {
                row.set(column, Cow::Borrowed(cell));
            } else if let Some(problem) = header::problem_of_unnamed(cell) {
                return Err(column_error(line, problem));
            }
        }
        collector.add(line, &row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::prices::PriceSet;

    fn read_all(files: &[&str]) -> Result<PriceSet, String> {
        let mut collector = PriceCollector::new(date(2026, 11, 27));
        for (file, number) in files.iter().zip(1..) {
            let name = format!("{number}.csv");
            let outcome = read(file.as_bytes(), &name, &mut collector);
            outcome.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(collector.finish())
    }

    fn rows(set: &PriceSet) -> Vec<String> {
        let rows = set.prices.iter();
        rows.map(|(asset, day, price)| format!("{asset} {day} {price}")).collect()
    }

    #[test]
    fn prices_are_read_with_any_order_of_columns_and_any_separator() {
        let plain = "asset,day,usd\neth/native,2026-01-02,3000.5\nbtc/native,2026-01-02,90000\n";
        let other = "\u{feff}USD; Day ;Asset\r\n 3000.50 ;2026-01-02; eth/native\r\n\r\n90000;2026-01-02;btc/native";
        let expected = ["btc/native 2026-01-02 90000", "eth/native 2026-01-02 3000.5"];
        for text in [plain, other] {
            let mut found = rows(&read_all(&[text]).unwrap());
            found.sort();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_contract_is_one_asset_in_every_spelling() {
        let text = "asset,day,usd\n\
                    eth/0xdac17f958d2ee523a2206206994597c13d831ec7,2026-01-02,1\n\
                    eth/0xdAC17F958D2ee523a2206206994597C13D831ec7,2026-01-02,1.000\n";
        let set = read_all(&[text]).unwrap();
        assert_eq!((set.prices.len(), set.repeated), (1, 1));
    }

    #[test]
    fn wrong_cells_are_refused_with_the_line_and_what_would_be_right() {
        for (row, parts) in [
            ("ETH,2026-01-02,1", &["line 2: `asset`", "`ETH` is no asset", "eth/native"][..]),
            ("eth/USDT,2026-01-02,1", &["line 2: `asset`", "`USDT` is no asset"]),
            (
                "eth/0xDAC17f958d2ee523a2206206994597c13d831ec7,2026-01-02,1",
                &["line 2: `asset`", "is no asset"],
            ),
            (",2026-01-02,1", &["line 2: `asset`", "is missing"]),
            ("eth/native,,1", &["line 2: `day`", "is missing"]),
            ("eth/native,02.01.2026,1", &["line 2: `day`", "such as 2026-01-31"]),
            ("eth/native,2026-02-30,1", &["line 2: `day`", "is no day"]),
            ("eth/native,2026-01-02T00:00:00Z,1", &["line 2: `day`", "is no day"]),
            ("eth/native,1767312000,1", &["line 2: `day`", "is no day"]),
            ("eth/native,2026-11-28,1", &["line 2: `day`", "in the future", "2026-11-27"]),
            ("eth/native,2026-01-02,", &["line 2: `usd`", "is missing"]),
            ("eth/native,2026-01-02,1e5", &["line 2: `usd`", "instead of an exponent"]),
            ("eth/native,2026-01-02,\"1,5\"", &["line 2: `usd`", "a decimal point"]),
            ("eth/native,2026-01-02,0", &["line 2: `usd`", "above zero", "leave the row out"]),
            ("eth/native,2026-01-02,-3", &["line 2: `usd`", "above zero"]),
            ("eth/native,2026-01-02,$3", &["line 2: `usd`", "without signs"]),
            ("eth/native,2026-01-02,1,5", &["line 2"]),
        ] {
            let error = read_all(&[&format!("asset,day,usd\n{row}\n")]).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{row}: {error}");
            }
        }
    }

    #[test]
    fn headers_without_the_columns_are_refused() {
        for (text, part) in [
            ("", "empty"),
            ("asset,day\n", "`usd` is missing"),
            ("asset,day,usd,volume\n", "no such column: `volume`"),
            ("asset,day,usd,USD\n", "mean the same"),
            ("{\"asset\":\"eth/native\"}\n", "its format is `jsonl`"),
        ] {
            let error = read_all(&[text]).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn two_prices_of_a_day_are_refused_with_both_places() {
        let one = "asset,day,usd\neth/native,2026-01-02,1\n";
        let same = read_all(&[one, one]).unwrap();
        assert_eq!((same.prices.len(), same.repeated), (1, 1));
        let other = "asset,day,usd\n\neth/native,2026-01-02,2\n";
        let error = read_all(&[one, other]).unwrap_err();
        assert!(error.contains("2.csv: line 3") && error.contains("line 2 of 1.csv"), "{error}");
        let both = "asset,day,usd\neth/native,2026-01-02,1\neth/native,2026-01-02,2\n";
        let error = read_all(&[both]).unwrap_err();
        assert!(error.contains("line 3") && error.contains("1 in line 2:"), "{error}");
    }
}
