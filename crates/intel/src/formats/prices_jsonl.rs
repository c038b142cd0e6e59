//! Format `prices-jsonl`: prices as JSON lines, with one JSON object per asset and day.
//!
//! The fields are the columns of [`prices_csv`](super::prices_csv). `usd` is a string or a number, which is read as it is
//! written, without floating point.

use std::{borrow::Cow, fmt, io::BufRead};

use assay_input::{FileSelection, text::TextLines};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{FileError, Format, FormatReader};
use crate::{
    labels::text::{MAX_STREAMED_BYTES, json_reason},
    prices::{PriceCollector, PriceColumn, PriceRow},
};

/// Prices as JSON lines.
pub static FORMAT: Format = Format {
    id: "prices-jsonl",
    short_id: Some("jsonl"),
    title: "Prices as JSON lines",
    files: FileSelection { extensions: &["jsonl", "ndjson"], several: true },
    options: &[],
    default_source: Some("prices"),
    terms: None,
    reader: FormatReader::Prices(|input, context| {
        let mut collector = PriceCollector::new(context.published_on);
        let () = input.read_each(|file| read(file.content, file.name, &mut collector))?;
        Ok(collector.finish())
    }),
};

/// Reads a file. Empty lines are skipped.
fn read(input: impl BufRead, name: &str, collector: &mut PriceCollector) -> Result<(), FileError> {
    let mut lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    collector.begin_file(name);
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let text = text.trim_end_matches(['\n', '\r']);
        let row: PriceRow<'_> = serde_json::from_str(text).map_err(|error| FileError::Syntax {
            line,
            format: "a price in JSON",
            reason: json_reason(&error),
        })?;
        collector.add(line, &row)?;
    }
    Ok(())
}

impl<'de: 'a, 'a> Deserialize<'de> for PriceRow<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = PriceRow<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the fields of a price")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PriceRow<'de>, A::Error> {
        let mut row = PriceRow::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let named = PriceColumn::ALL.into_iter().find(|column| column.name() == name);
            let Some(column) = named else {
                let short: String = name.chars().take(64).collect();
                let known = PriceColumn::ALL.map(PriceColumn::name).join(", ");
                return Err(A::Error::custom(format!("no such field: `{short}` (known: {known})")));
            };
            let Some(text) = text(map.next_value()?).map_err(A::Error::custom)? else { continue };
            if !row.set(column, text) {
                return Err(A::Error::custom(format!("field `{name}` is repeated")));
            }
        }
        Ok(row)
    }
}

/// The text of a string or a number as it is written; `None` for null.
fn text(value: &RawValue) -> Result<Option<Cow<'_, str>>, String> {
    let written = value.get();
    match written.as_bytes().first() {
        Some(b'n') => Ok(None),
        Some(b'"') => {
            let text = serde_json::from_str::<String>(written);
            text.map(|text| Some(Cow::Owned(text))).map_err(|error| json_reason(&error))
        }
        Some(b'-' | b'0'..=b'9') => Ok(Some(Cow::Borrowed(written))),
        _ => Err("a text or a number is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn read_one(text: &str) -> Result<Vec<String>, String> {
        let mut collector = PriceCollector::new(date(2026, 11, 27));
        read(text.as_bytes(), "f.jsonl", &mut collector).map_err(|error| error.to_string())?;
        let prices = collector.finish().prices;
        Ok(prices.iter().map(|(asset, day, price)| format!("{asset} {day} {price}")).collect())
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let text = concat!(
            "{\"asset\":\"eth/native\",\"day\":\"2026-01-02\",\"usd\":3021.234567890123456789}\n",
            "\n",
            "{\"usd\": \"0.1\", \"day\":\"2026-01-03\", \"asset\":\"eth\\/native\"}\r\n",
            "{\"usd\": 7 , \"day\":\"2026-01-04\", \"asset\":\"eth/native\"}",
        );
        assert_eq!(
            read_one(text).unwrap(),
            [
                "eth/native 2026-01-02 3021.234567890123456789",
                "eth/native 2026-01-03 0.1",
                "eth/native 2026-01-04 7",
            ]
        );
    }

    #[test]
    fn wrong_lines_are_refused() {
        let row = |usd: &str| {
            format!("{{\"asset\":\"eth/native\",\"day\":\"2026-01-02\",\"usd\":{usd}}}")
        };
        for (text, part) in [
            (row("1e5"), "line 1: `usd`: `1e5` is no price"),
            (row("1E-5"), "instead of an exponent"),
            (row("-1"), "above zero"),
            (row("null"), "line 1: `usd`: is missing"),
            (row("true"), "a text or a number is expected"),
            (row("[1]"), "a text or a number is expected"),
            (row("NaN"), "cannot be read as a price in JSON"),
            (row("1,\"usd\":2"), "field `usd` is repeated"),
            (row("1,\"volume\":2"), "no such field: `volume` (known: asset, day, usd)"),
            ("[]".to_owned(), "cannot be read as a price in JSON"),
            ("asset,day,usd".to_owned(), "cannot be read as a price in JSON"),
        ] {
            let error = read_one(&text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
