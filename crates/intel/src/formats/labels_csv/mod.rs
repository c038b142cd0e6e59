//! Format `labels-csv`: labels as CSV, a header with the names of [`FIELDS`], then one label per row.

use std::{borrow::Cow, io::BufRead};

use assay_engine::names::SourceId;
use assay_input::{
    FileSelection,
    rows::{CsvRow, CsvRows, Quotes, Width},
    text::{TextLines, formula_start},
};

use super::{FileError, Format, FormatReader};
use crate::{
    header,
    labels::{
        FIELDS, LabelSet,
        collect::LabelCollector,
        row::{LabelRow, REQUIRED, column_error},
        text::MAX_STREAMED_BYTES,
    },
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

/// Reads a file as labels of `source`.
///
/// # Errors
///
/// Returns an error if the file is not UTF-8, too large or no CSV; a column is missing, unknown or
/// repeated; or a cell is a formula in a spreadsheet.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, FileError> {
    let known: Vec<(&str, usize)> = FIELDS.into_iter().zip(0..).collect();
    let is_column = |name: &str| header::find(name, &known).is_some();
    let mut collector = LabelCollector::new(file, source);
    let lines = TextLines::new(input).with_max_bytes(MAX_STREAMED_BYTES);
    let mut rows = CsvRows::new(lines, Quotes::Lenient, Width::OfHeader, &is_column);
    let Some(CsvRow { line, cells, .. }) = rows.next_row()? else {
        return Err(column_error(1, "the file is empty, without a header".to_owned()));
    };
    let required = known.get(..REQUIRED).unwrap_or_default();
    let columns =
        header::columns(cells, &known, required).map_err(|problem| column_error(line, problem))?;
    while let Some(CsvRow { line, cells, .. }) = rows.next_row()? {
        let mut row = LabelRow::default();
        for (index, cell) in columns.iter().zip(cells) {
            if let Some(index) = *index {
                check_formula(index, cell, line)?;
                row.set(index, Cow::Borrowed(cell));
            } else if let Some(problem) = header::problem_of_unnamed(cell) {
                return Err(column_error(line, problem));
            }
        }
        row.collect(line, &mut collector)?;
    }
    Ok(collector.finish())
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
