//! Format `ransomware-json`: payment addresses of ransomware, as Ransomwhere exports them.
//!
//! The file is an object with an array `result`, or the array itself. Each row has an `address`, a
//! `blockchain`, a `family` and the days on which it was created and updated. Rows come from victims'
//! reports.

use std::io::Read;

use assay_engine::{evidence::Tier, names::SourceId, taxonomy::Category};
use serde_json::Value;

use super::{FileError, Format, FormatReader};
use crate::{
    labels::{
        LabelSet, chains,
        collect::{LabelCollector, LabelFields},
        text::{MAX_HELD_BYTES, json_reason, read_whole},
    },
    listings::dates::day,
};

/// Addresses of ransomware.
pub static FORMAT: Format = Format::of_publisher(
    "ransomware-json",
    "ransomwhere",
    "Ransomware addresses (Ransomwhere), JSON",
    &["json"],
    FormatReader::Labels(|input, context| {
        input.read_one(|file| read(file.content, file.name, context.source))
    }),
);

/// Confidence in a report, in percent.
const CONFIDENCE: u8 = 80;

/// Reads a file as labels of `source`.
///
/// # Errors
///
/// Returns an error if the file is too large, no JSON or of another format.
pub fn read(input: impl Read, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let rows = rows(input, "result")?;
    let mut collector = LabelCollector::new(file, source);
    for (row, number) in rows.iter().zip(1_u64..) {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::trim);
        let position = || format!("{file}, row {number}");
        let address = text("address").unwrap_or_default();
        let chain = text("blockchain").or(Some("btc"));
        let address = chains::parse_address(chain, None, address);
        if address.is_ok() {
            for day in ["createdAt", "updatedAt"].into_iter().filter_map(|name| day(text(name)?)) {
                collector.written_on(day);
            }
        }
        let claim = |address| LabelFields {
            entity: text("family"),
            author: Some("Ransomwhere"),
            upstream: Some("ransomwhe.re"),
            term: Some("ransomware"),
            reference: Some("https://ransomwhe.re"),
            ..LabelFields::new(address, Category::Ransomware, Tier::Community, CONFIDENCE)
        };
        collector.add(address, position, claim)?;
    }
    Ok(collector.finish())
}

/// The rows of a JSON file: those of an array, or of the array in a field of an object.
pub(super) fn rows(input: impl Read, field: &str) -> Result<Vec<Value>, FileError> {
    let text = read_whole(input, MAX_HELD_BYTES, None)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| FileError::Syntax {
        line: u64::try_from(error.line()).unwrap_or(1),
        format: "JSON",
        reason: json_reason(&error),
    })?;
    let rows = match value {
        Value::Array(rows) => Some(rows),
        Value::Object(mut object) => match object.remove(field) {
            Some(Value::Array(rows)) => Some(rows),
            _ => None,
        },
        _ => None,
    };
    rows.ok_or_else(|| FileError::Syntax {
        line: 1,
        format: "JSON",
        reason: format!("neither an array nor an object with an array `{field}`"),
    })
}
