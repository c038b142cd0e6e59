//! Labels as JSON lines: an object a line with the fields of [`super::FIELDS`].

use std::{borrow::Cow, fmt, io::BufRead};

use assay_engine::names::SourceId;
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, MapAccess, Visitor},
};

use super::{
    LabelError, LabelSet,
    collect::Collector,
    row::{Row, known, place_of},
    text::{LARGEST_STREAMED, Lines, json_reason},
};

/// Reads a file of labels; empty lines are passed over.
///
/// # Errors
///
/// Where the file is not text or too large, and where a line is no such object: a field that is
/// unknown or there twice may mean that another format was meant.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, LabelError> {
    let mut collector = Collector::new(file, source);
    let mut lines = Lines::new(input, file, LARGEST_STREAMED);
    while let Some((line, text)) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let row: Row<'_> = serde_json::from_str(text).map_err(|error| LabelError::Broken {
            file: file.to_owned(),
            line,
            format: "a label in JSON",
            reason: json_reason(&error),
        })?;
        row.take(line, &mut collector)?;
    }
    Ok(collector.finish())
}

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(InRow)
    }
}

struct InRow;

impl<'de> Visitor<'de> for InRow {
    type Value = Row<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the fields of a label")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row<'de>, A::Error> {
        let mut row = Row::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let Some(place) = place_of(&name) else {
                let short: String = name.chars().take(64).collect();
                return Err(A::Error::custom(format!(
                    "`{short}` is no field: the fields are {}",
                    known()
                )));
            };
            let Scalar(text) = map.next_value()?;
            if !row.set(place, text) {
                return Err(A::Error::custom(format!("field `{name}` is there twice")));
            }
        }
        Ok(row)
    }
}

/// A text, a number as text, or nothing.
struct Scalar<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct InScalar;

        impl<'de> Visitor<'de> for InScalar {
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

        json.deserialize_any(InScalar)
    }
}

#[cfg(test)]
mod tests;
