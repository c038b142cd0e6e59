//! Format `labels-csv`: labels as CSV, a header with the names of [`FIELDS`], then one label per line.

use std::{
    borrow::Cow,
    io::{BufRead, Read},
};

use assay_engine::names::SourceId;
use assay_input::{FileSelection, text::formula_start};
use csv::{ReaderBuilder, StringRecord, Terminator};

use super::{FileError, Format, Reader};
use crate::labels::{
    FIELDS, LabelSet,
    collect::Collector,
    row::{REQUIRED, Row, field_index, wrong},
    text::{Lines, MAX_STREAMED_BYTES},
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
    reader: Reader::Labels(|input, context| {
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
    let mut collector = Collector::new(file, source);
    let feed = Feed {
        lines: Lines::new(input, MAX_STREAMED_BYTES),
        pending: Vec::new(),
        start: 0,
        open: None,
        error: None,
    };
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(feed);
    let mut record = StringRecord::new();
    let mut columns: Option<Vec<usize>> = None;
    loop {
        let more = reader.read_record(&mut record);
        let feed = reader.get_mut();
        if let Some(error) = feed.error.take() {
            return Err(error);
        }
        let line = feed.open.take().unwrap_or(1);
        if !more.map_err(|error| broken(line, error.to_string()))? {
            break;
        }
        let Some(columns) = &columns else {
            columns = Some(header(&record, line)?);
            continue;
        };
        if record.len() != columns.len() {
            let (cells, named) = (record.len(), columns.len());
            let reason = format!("it has {cells} cells where the header has {named}");
            return Err(broken(line, reason));
        }
        let mut row = Row::default();
        for (index, cell) in columns.iter().zip(&record) {
            check_formula(*index, cell, line)?;
            row.set(*index, Cow::Borrowed(cell));
        }
        row.collect(line, &mut collector)?;
    }
    if columns.is_none() {
        return Err(wrong(1, "the file is empty, without a header".to_owned()));
    }
    Ok(collector.finish())
}

fn broken(line: u64, reason: String) -> FileError {
    FileError::Syntax { line, format: "CSV", reason }
}

/// Reads the header: the index of the field in each column.
fn header(record: &StringRecord, line: u64) -> Result<Vec<usize>, FileError> {
    let wrong = |problem| Err(wrong(line, problem));
    let mut columns = Vec::with_capacity(record.len());
    for cell in record {
        let name = cell.trim();
        match field_index(name) {
            None => {
                let short: String = name.chars().take(64).collect();
                return wrong(format!("no such column: `{short}`"));
            }
            Some(index) if columns.contains(&index) => {
                return wrong(format!("column `{name}` is repeated"));
            }
            Some(index) => columns.push(index),
        }
    }
    let missing = |index: &usize| !columns.contains(index);
    match (0..REQUIRED).find(missing).and_then(|index| FIELDS.get(index)) {
        Some(name) => wrong(format!("column `{name}` is missing")),
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

/// Feeds checked lines to the CSV reader, one at a time, so that the number of each record's line is known.
struct Feed<R> {
    lines: Lines<R>,
    pending: Vec<u8>,
    start: usize,
    /// Line of the record that is being read.
    open: Option<u64>,
    /// Error that ended the input before the end of the file.
    error: Option<FileError>,
}

impl<R: BufRead> Feed<R> {
    /// Makes the next line the pending one; returns false at the end of the file.
    fn advance(&mut self) -> Result<bool, FileError> {
        // The CSV reader asks for more within a record only inside quotes. It would read everything up to the
        // end of the file as one cell.
        if let Some(line) = self.open {
            let reason = "a cell holds a line break: is a closing quote missing?";
            return Err(broken(line, reason.to_owned()));
        }
        self.pending.clear();
        self.start = 0;
        let Some((line, text)) = self.lines.next_line()? else { return Ok(false) };
        if !text.is_empty() {
            self.open = Some(line);
        }
        self.pending.extend_from_slice(text.as_bytes());
        self.pending.push(b'\n');
        Ok(true)
    }
}

impl<R: BufRead> Read for Feed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.start >= self.pending.len() {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) => {
                    self.error = Some(error);
                    return Ok(0);
                }
            }
        }
        let mut rest = self.pending.get(self.start..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
