//! Format `listings-jsonl`: listings as JSON lines, with one JSON object per address.
//!
//! The fields are the columns of [`listings_csv`](super::listings_csv). Texts and dates are strings;
//! `programs` and `aliases` are arrays of strings; `null` stands for a field that is left out. The file
//! does not state its date of issue.

use std::{fmt, io::BufRead};

use assay_engine::names::{ListId, SourceId};
use assay_input::{FileSelection, text::TextLines};
use jiff::civil::Date;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::{FileError, Format, FormatReader, ReadOption};
use crate::{
    labels::text::json_reason,
    listings::{
        Publication,
        column::{ListingColumn, column_error},
        rows::{ListingRow, ListingRows},
    },
};

/// Listings as JSON lines.
pub static FORMAT: Format = Format {
    id: "listings-jsonl",
    short_id: Some("jsonl"),
    title: "Listings as JSON lines",
    files: FileSelection { extensions: &["jsonl", "ndjson"], several: false },
    options: &[ReadOption::PublishedOn],
    default_source: None,
    terms: None,
    reader: FormatReader::Listings(|input, context| {
        input.read_one(|file| read(file.content, context.published_on, context.source))
    }),
};

/// Reads a file of `source` that was issued on `published_on`. Rows that name no list belong to that of the source.
///
/// # Errors
///
/// Returns an error if the file is damaged or of another format. A refused file has no effect.
pub fn read(
    input: impl BufRead,
    published_on: Date,
    source: &SourceId,
) -> Result<Publication, FileError> {
    let mut lines = TextLines::new(input);
    let mut rows = ListingRows::new(published_on, ListId::from(source));
    let mut is_empty = true;
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        is_empty = false;
        rows.add(line, &read_row(line, text)?, text.len())?;
    }
    if is_empty {
        return Err(column_error(1, "the file is empty".to_owned()));
    }
    Ok(rows.publish())
}

fn read_row(line: u64, text: &str) -> Result<ListingRow, FileError> {
    let fields: Fields =
        serde_json::from_str(text).map_err(|error| malformed(line, describe(&error)))?;
    let mut row = ListingRow::default();
    for (name, value) in fields.0 {
        let column = ListingColumn::named(&name, line)?;
        row.set(line, column, texts(line, column, value)?)?;
    }
    Ok(row)
}

fn texts(line: u64, column: ListingColumn, value: Value) -> Result<Vec<String>, FileError> {
    let name = column.name();
    let expected = if column.is_several() { "an array of strings" } else { "a string" };
    let wrong = || malformed(line, format!("`{name}` must be {expected}"));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if !column.is_several() => Ok(vec![text]),
        Value::Array(values) if column.is_several() => values
            .into_iter()
            .map(|value| match value {
                Value::String(text) => Ok(text),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

/// An error about the syntax of a line.
fn malformed(line: u64, reason: String) -> FileError {
    FileError::Syntax { line, format: "a listing in JSON", reason }
}

/// The message of a JSON error with its column. The message omits the line number, which is always 1.
fn describe(error: &serde_json::Error) -> String {
    format!("{}, column {}", json_reason(error), error.column())
}

/// Fields of an object in their order, repeated ones included.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}
