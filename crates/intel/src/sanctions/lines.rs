//! A plain listing as JSON lines: one JSON object an address, each on a line of its own.
//!
//! The fields are the columns of [`table`](super::table), with the same meaning and the same ones
//! required. Texts and dates are strings; `programs` and `aliases` are arrays of strings; a field that
//! is `null` is left out. The date of issue is not in the file.

use std::{fmt, io::BufRead};

use assay_input::text::TextLines;
use jiff::civil::Date;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::{
    ListError, Publication,
    column::Column,
    rows::{Row, Rows},
};

/// Reads a publication.
///
/// # Errors
///
/// Where the file is broken, or not of this format: then nothing of it is taken in.
pub fn read(input: impl BufRead, published_on: Date) -> Result<Publication, ListError> {
    let mut lines = TextLines::new(input);
    let mut rows = Rows::new(published_on);
    let mut is_empty = true;
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        is_empty = false;
        rows.add(line, &read_row(line, text)?, text.len())?;
    }
    if is_empty {
        return Err(ListError::Empty { line: 1 });
    }
    Ok(rows.publish())
}

fn read_row(line: u64, text: &str) -> Result<Row, ListError> {
    let fields: Fields = serde_json::from_str(text)
        .map_err(|error| ListError::Malformed { line, detail: describe(&error) })?;
    let mut row = Row::default();
    for (name, value) in fields.0 {
        let column = Column::named(&name, line)?;
        row.set(line, column, texts(line, column, value)?)?;
    }
    Ok(row)
}

fn texts(line: u64, column: Column, value: Value) -> Result<Vec<String>, ListError> {
    let name = column.name();
    let expected = if column.is_several() { "an array of strings" } else { "a string" };
    let wrong = || ListError::Malformed { line, detail: format!("`{name}` must be {expected}") };
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

/// What is wrong with the JSON of one line. The line in the message is always the first, and left out.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("no JSON object of a listing: {what}, column {}", error.column())
}

/// The fields of an object in their order, those that come twice included.
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
