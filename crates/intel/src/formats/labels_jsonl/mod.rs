//! Format `labels-jsonl`: labels as JSON lines, one object per line with the fields of
//! [`FIELDS`](crate::labels::FIELDS).

use std::{borrow::Cow, fmt, io::BufRead};

use assay_engine::names::SourceId;
use assay_input::{FileSelection, text::TextLines};
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};

use super::{FileError, Format, FormatReader};
use crate::labels::{
    FIELDS, LabelSet,
    collect::LabelCollector,
    row::{LabelRow, field_index},
    text::{MAX_STREAMED_BYTES, json_reason},
};

/// Labels as JSON lines.
pub static FORMAT: Format = Format {
    id: "labels-jsonl",
    short_id: Some("jsonl"),
    title: "Labels as JSON lines",
    files: FileSelection { extensions: &["jsonl", "ndjson"], several: true },
    options: &[],
    default_source: None,
    terms: None,
    reader: FormatReader::Labels(|input, context| {
        input.read_each(|file| read(file.content, file.name, context.source))
    }),
};

/// Reads a file as labels of `source`. Empty lines are skipped.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8 or too large, or a line is no JSON object of this
/// format. An unknown or repeated field refuses the file, because it may be of another format.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let mut collector = LabelCollector::new(file, source);
    let mut lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let text = text.trim_end_matches(['\n', '\r']);
        let row: LabelRow<'_> = serde_json::from_str(text).map_err(|error| FileError::Syntax {
            line,
            format: "a label in JSON",
            reason: json_reason(&error),
        })?;
        row.collect(line, &mut collector)?;
    }
    Ok(collector.finish())
}

impl<'de: 'a, 'a> Deserialize<'de> for LabelRow<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = LabelRow<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the fields of a label")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LabelRow<'de>, A::Error> {
        let mut row = LabelRow::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let Some(index) = field_index(&name) else {
                let short: String = name.chars().take(64).collect();
                let known = FIELDS.join(", ");
                return Err(A::Error::custom(format!("no such field: `{short}` (known: {known})")));
            };
            let Scalar(text) = map.next_value()?;
            if !row.set(index, text) {
                return Err(A::Error::custom(format!("field `{name}` is repeated")));
            }
        }
        Ok(row)
    }
}

/// Text, number as text, or null as an empty text.
struct Scalar<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a number")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }

            fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Borrowed("")))
            }
        }

        json.deserialize_any(ScalarVisitor)
    }
}

#[cfg(test)]
mod tests;
