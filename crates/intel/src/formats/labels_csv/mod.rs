//! Format `labels-csv`: labels as CSV, a header with the names of [`FIELDS`], then one label per line.

use std::{borrow::Cow, io::BufRead};

use assay_engine::names::SourceId;
use assay_input::{
    FileSelection,
    rows::{CsvRow, CsvRows, Quotes},
    text::{TextLines, formula_start},
};
use csv::StringRecord;

use super::{FileError, Format, FormatReader};
use crate::labels::{
    FIELDS, LabelSet,
    collect::LabelCollector,
    row::{LabelRow, REQUIRED, column_error, field_index},
    text::MAX_STREAMED_BYTES,
};

/// Labels as CSV.
pub static FORMAT: Format = Format {
    id: "labels-csv",
    short_id: Some("csv"),
    title: "Labels as CSV",
    files: FileSelection { extensions: &["csv"], several: true },
    options: &[],
    default_source: None,
    terms: None,
    reader: FormatReader::Labels(|input, context| {
        input.read_each(|file| read(file.content, file.name, context.source))
    }),
};

/// Columns with free text, which people open in spreadsheets.
const FREE_TEXT: [&str; 5] = ["entity", "author", "reason", "upstream", "reference"];

/// Reads a file as labels of `source`. A label is one line: a cell must not hold a line break.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8, too large or no CSV; a column is missing, unknown or
/// repeated; or a cell is a formula in a spreadsheet.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let mut collector = LabelCollector::new(file, source);
    let lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    let mut rows = CsvRows::new(lines, Quotes::OneLine);
    let Some(first) = rows.next_row()? else {
        return Err(column_error(1, "the file is empty, without a header".to_owned()));
    };
    let columns = header(first.cells, first.line)?;
    while let Some(CsvRow { line, cells, .. }) = rows.next_row()? {
        let mut row = LabelRow::default();
        for (index, cell) in columns.iter().zip(cells) {
            check_formula(*index, cell, line)?;
            row.set(*index, Cow::Borrowed(cell));
        }
        row.collect(line, &mut collector)?;
    }
    Ok(collector.finish())
}

/// Reads the header: the index of the field in each column.
fn header(record: &StringRecord, line: u64) -> Result<Vec<usize>, FileError> {
    let refuse = |problem| Err(column_error(line, problem));
    let mut columns = Vec::with_capacity(record.len());
    for cell in record {
        let name = cell.trim();
        match field_index(name) {
            None => {
                let short: String = name.chars().take(64).collect();
                return refuse(format!("no such column: `{short}`"));
            }
            Some(index) if columns.contains(&index) => {
                return refuse(format!("column `{name}` is repeated"));
            }
            Some(index) => columns.push(index),
        }
    }
    let missing = |index: &usize| !columns.contains(index);
    match (0..REQUIRED).find(missing).and_then(|index| FIELDS.get(index)) {
        Some(name) => refuse(format!("column `{name}` is missing")),
        None => Ok(columns),
    }
}

/// Refuses a cell of free text that is a formula in a spreadsheet.
fn check_formula(index: usize, cell: &str, line: u64) -> Result<(), FileError> {
    let Some(column) = FIELDS.get(index).filter(|column| FREE_TEXT.contains(column)) else {
        return Ok(());
    };
    match formula_start(cell) {
        Some(start) => Err(FileError::Formula { line, column, start }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
