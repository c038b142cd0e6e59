//! Labels in CSV: a header with the names of [`super::FIELDS`], in any order, then a label a line.

use std::{
    borrow::Cow,
    io::{BufRead, Read},
};

use assay_engine::names::SourceId;
use assay_input::text::formula_start;
use csv::{ReaderBuilder, StringRecord, Terminator};

use super::{
    LabelError, LabelSet,
    collect::Collector,
    row::{FIELDS, REQUIRED, Row, known, place_of},
    text::{LARGEST_STREAMED, Lines},
};

/// Columns of free text, which end up in spreadsheets of whoever looks into a case.
const FREE_TEXT: [&str; 5] = ["entity", "author", "reason", "upstream", "reference"];

/// Reads a file of labels. A label is one line: no cell may hold a line break.
///
/// # Errors
///
/// Where the file is not text, too large or no CSV, where a column is missing, unknown or there
/// twice, and where a cell is a spreadsheet's formula.
pub fn read(input: impl BufRead, file: &str, source: &SourceId) -> Result<LabelSet, LabelError> {
    let mut collector = Collector::new(file, source);
    let feed = Feed {
        lines: Lines::new(input, file, LARGEST_STREAMED),
        file,
        pending: Vec::new(),
        start: 0,
        open: None,
        failed: None,
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
        if let Some(failed) = feed.failed.take() {
            return Err(failed);
        }
        let line = feed.open.take().unwrap_or(1);
        let broken = |reason| broken(file, line, reason);
        if !more.map_err(|error| broken(error.to_string()))? {
            break;
        }
        let Some(columns) = &columns else {
            columns = Some(header(&record, file, line)?);
            continue;
        };
        if record.len() != columns.len() {
            let (cells, named) = (record.len(), columns.len());
            return Err(broken(format!("it has {cells} cells where the header has {named}")));
        }
        let mut row = Row::default();
        for (place, cell) in columns.iter().zip(&record) {
            plain(*place, cell, file, line)?;
            row.set(*place, Cow::Borrowed(cell));
        }
        row.take(line, &mut collector)?;
    }
    if columns.is_none() {
        let problem = "the file is empty, without a header".to_owned();
        return Err(LabelError::Columns {
            file: file.to_owned(),
            line: 1,
            problem,
            known: known(),
        });
    }
    Ok(collector.finish())
}

fn broken(file: &str, line: u64, reason: String) -> LabelError {
    LabelError::Broken { file: file.to_owned(), line, format: "CSV", reason }
}

/// The field of each column.
fn header(record: &StringRecord, file: &str, line: u64) -> Result<Vec<usize>, LabelError> {
    let wrong =
        |problem| Err(LabelError::Columns { file: file.to_owned(), line, problem, known: known() });
    let mut columns = Vec::with_capacity(record.len());
    for cell in record {
        let name = cell.trim();
        match place_of(name) {
            None => {
                let short: String = name.chars().take(64).collect();
                return wrong(format!("`{short}` is no column"));
            }
            Some(place) if columns.contains(&place) => {
                return wrong(format!("column `{name}` is there twice"));
            }
            Some(place) => columns.push(place),
        }
    }
    let missing = |place: &usize| !columns.contains(place);
    match (0..REQUIRED).find(missing).and_then(|place| FIELDS.get(place)) {
        Some(name) => wrong(format!("column `{name}` is missing")),
        None => Ok(columns),
    }
}

/// Refuses a cell that a spreadsheet would run.
fn plain(place: usize, cell: &str, file: &str, line: u64) -> Result<(), LabelError> {
    let Some(column) = FIELDS.get(place).filter(|column| FREE_TEXT.contains(column)) else {
        return Ok(());
    };
    match formula_start(cell) {
        Some(begins) => Err(LabelError::Formula { file: file.to_owned(), line, column, begins }),
        None => Ok(()),
    }
}

/// Feeds checked lines to the CSV reader, a line at a time, so that it is known which one it is at.
struct Feed<'a, R> {
    lines: Lines<'a, R>,
    file: &'a str,
    pending: Vec<u8>,
    start: usize,
    /// The line of the record that is being read.
    open: Option<u64>,
    /// Why there is no more, where that is not the file's end.
    failed: Option<LabelError>,
}

impl<R: BufRead> Feed<'_, R> {
    /// Makes the next line the pending one; says whether there is one.
    fn advance(&mut self) -> Result<bool, LabelError> {
        // Who asks for more within a record is inside of quotes. Whatever follows would be taken for
        // one cell, up to the file's end.
        if let Some(line) = self.open {
            let reason = "a cell holds a line break: is a closing quote missing?";
            return Err(broken(self.file, line, reason.to_owned()));
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

impl<R: BufRead> Read for Feed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.start >= self.pending.len() {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) => {
                    self.failed = Some(error);
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
