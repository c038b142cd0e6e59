//! Tables of publishers: CSV with any header, read as rows of cells.

use std::io::BufRead;

use assay_input::{
    rows::{CsvRow, CsvRows, Quotes, Width},
    text::TextLines,
};

use crate::{error::FileError, labels::text::MAX_HELD_BYTES};

/// Reads a CSV file as rows of cells without surrounding white space. Rows may have any number of cells,
/// and a cell may hold several lines. `is_column` knows the names of columns.
pub(crate) fn rows(
    input: impl BufRead,
    is_column: &dyn Fn(&str) -> bool,
) -> Result<Vec<(u64, Vec<String>)>, FileError> {
    let lines = TextLines::new(input).with_max_bytes(MAX_HELD_BYTES);
    let mut csv = CsvRows::new(lines, Quotes::Lenient, Width::Any, is_column);
    let mut rows = Vec::new();
    while let Some(CsvRow { line, cells, .. }) = csv.next_row()? {
        rows.push((line, cells.iter().map(|cell| cell.trim().to_owned()).collect()));
    }
    Ok(rows)
}
