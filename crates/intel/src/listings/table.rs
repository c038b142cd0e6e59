//! Tables of publishers: CSV with any header, read as rows of cells.

use std::io::Read;

use csv::{ReaderBuilder, StringRecord};

use crate::{
    error::FileError,
    labels::text::{MAX_HELD_BYTES, read_whole},
};

/// Reads a CSV file as rows of cells without surrounding white space. Rows may have any number of cells,
/// and a cell may hold several lines.
pub(crate) fn rows(input: impl Read) -> Result<Vec<(u64, Vec<String>)>, FileError> {
    let text = read_whole(input, MAX_HELD_BYTES, None)?;
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    let mut rows = Vec::new();
    loop {
        let line = reader.position().line();
        let more = reader.read_record(&mut record).map_err(|error| FileError::Syntax {
            line,
            format: "CSV",
            reason: error.to_string(),
        })?;
        if !more {
            return Ok(rows);
        }
        let line = record.position().map_or(line, csv::Position::line);
        rows.push((line, record.iter().map(|cell| cell.trim().to_owned()).collect()));
    }
}

/// The name of a column without white space, punctuation and letter case.
pub(crate) fn column_key(name: &str) -> String {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
