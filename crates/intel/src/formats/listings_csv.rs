//! Format `listings-csv`: listings as CSV, with a header and one row per address.
//!
//! | column | content |
//! |---|---|
//! | `list` | identifier of the list, such as `ofac-sdn` |
//! | `entity_id` | the list's identifier of the entity |
//! | `entity` | primary name of the entity |
//! | `asset_code` | the list's code for the asset, such as `XBT` |
//! | `address` | address exactly as the list prints it |
//! | `list_name` | name of the list for people; defaults to `list` |
//! | `programs`, `aliases` | several texts, separated by semicolons |
//! | `remarks`, `address_remarks` | remarks of the list on the entity and on the address |
//! | `entity_listed_on` | date on which the entity was listed, such as 2026-01-31 |
//! | `expires_on` | first day on which the listing is no longer valid |
//! | `order_number`, `legal_basis`, `official_link` | references as the publisher states them |
//!
//! The first five columns are required; the order is free. Cells are separated by commas. A cell with a
//! comma, a quote or a line break is quoted, with quotes inside doubled. The file does not state its date
//! of issue.

use std::io::{BufRead, Cursor};

use assay_input::{
    FileSelection,
    text::{LONGEST_LINE, TextLines},
};
use csv::{ReaderBuilder, StringRecord};
use jiff::civil::Date;

use super::{FileError, Format, ReadOption, Reader};
use crate::listings::{
    Publication,
    column::{Column, wrong},
    rows::{Row, Rows},
};

/// Listings as CSV.
pub static FORMAT: Format = Format {
    id: "listings-csv",
    short_id: Some("csv"),
    title: "Listings as CSV",
    files: FileSelection { extensions: &["csv"], several: false },
    options: &[ReadOption::PublishedOn],
    default_source: None,
    terms: None,
    reader: Reader::Listings(|input, context| {
        input.read_one(|file| read(file.content, context.published_on))
    }),
};

/// Reads a file that was issued on `published_on`.
///
/// # Errors
///
/// Returns an error if the file is damaged or of another format. Nothing of it is kept then.
pub fn read(input: impl BufRead, published_on: Date) -> Result<Publication, FileError> {
    let mut records = Records::new(input);
    let header = records.next()?.ok_or_else(|| wrong(1, "the file is empty".to_owned()))?;
    let columns = read_header(&header)?;
    let mut rows = Rows::new(published_on);
    while let Some(record) = records.next()? {
        rows.add(record.line, &read_row(&record, &columns)?, record.bytes)?;
    }
    Ok(rows.publish())
}

fn read_header(header: &Record) -> Result<Vec<Column>, FileError> {
    let line = header.line;
    let mut columns = Vec::new();
    for name in header.cells.iter().map(str::trim) {
        let column = Column::named(name, line)?;
        if columns.contains(&column) {
            return Err(wrong(line, format!("column `{name}` is repeated")));
        }
        columns.push(column);
    }
    match Column::REQUIRED.into_iter().find(|required| !columns.contains(required)) {
        Some(missing) => Err(wrong(line, format!("column `{}` is missing", missing.name()))),
        None => Ok(columns),
    }
}

fn read_row(record: &Record, columns: &[Column]) -> Result<Row, FileError> {
    let line = record.line;
    let (found, expected) = (record.cells.len(), columns.len());
    if found != expected {
        return Err(malformed(
            line,
            format!("it has {found} cells where the header has {expected}"),
        ));
    }
    let mut row = Row::default();
    for (column, cell) in columns.iter().zip(&record.cells) {
        let texts = if column.is_several() {
            cell.split(';').map(str::to_owned).collect()
        } else {
            vec![cell.to_owned()]
        };
        row.set(line, *column, texts)?;
    }
    Ok(row)
}

/// An error about the syntax of a row.
fn malformed(line: u64, reason: impl Into<String>) -> FileError {
    FileError::Syntax { line, format: "CSV", reason: reason.into() }
}

/// Cells of a row, which may span several lines.
struct Record {
    line: u64,
    cells: StringRecord,
    bytes: usize,
}

/// Splits a file into rows. The end of a row is decided here and not by the CSV reader, which accepts any
/// quoting: a missing quote would swallow the rows that follow.
struct Records<R> {
    lines: TextLines<R>,
    /// Receives one row at a time, ending in a line feed, so that it never reads beyond the row.
    reader: csv::Reader<Cursor<String>>,
}

impl<R: BufRead> Records<R> {
    fn new(input: R) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Cursor::new(String::new()));
        Self { lines: TextLines::new(input), reader }
    }

    fn next(&mut self) -> Result<Option<Record>, FileError> {
        let (line, mut text) = loop {
            match self.lines.next_line()? {
                None => return Ok(None),
                Some((_, text)) if text.trim_end_matches(['\r', '\n']).is_empty() => {}
                Some((line, text)) => break (line, text.to_owned()),
            }
        };
        let mut quoting = Quoting::CellStart;
        quoting = quoting.after(line, &text)?;
        while quoting == Quoting::Inside {
            let Some((at, more)) = self.lines.next_line()? else {
                return Err(malformed(line, "a quoted cell is not closed"));
            };
            quoting = quoting.after(at, more)?;
            text.push_str(more);
            if text.len() > LONGEST_LINE {
                return Err(FileError::LongLine { line, max: LONGEST_LINE });
            }
        }
        let bytes = text.len();
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        text.push('\n');
        *self.reader.get_mut() = Cursor::new(text);
        let mut cells = StringRecord::new();
        match self.reader.read_record(&mut cells) {
            Ok(_) => Ok(Some(Record { line, cells, bytes })),
            Err(error) => Err(malformed(line, error.to_string())),
        }
    }
}

/// State of the quoting while a row is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    CellStart,
    /// In an unquoted cell.
    Plain,
    /// In a quoted cell.
    Inside,
    /// After a quote in a quoted cell: the end of the cell, or the first quote of a pair.
    Quote,
    /// After a carriage return outside quotes, which must be followed by a line feed.
    Return,
}

impl Quoting {
    /// The state after a line.
    fn after(mut self, line: u64, text: &str) -> Result<Self, FileError> {
        let malformed = |reason: &str| malformed(line, reason);
        for byte in text.bytes() {
            self = match (self, byte) {
                (Self::Inside, b'"') => Self::Quote,
                (Self::Inside, _) | (Self::CellStart | Self::Quote, b'"') => Self::Inside,
                (Self::Return, b'\n') => Self::Return,
                (Self::Return, _) => {
                    return Err(malformed("a carriage return outside quotes"));
                }
                (_, b',') => Self::CellStart,
                (_, b'\r' | b'\n') => Self::Return,
                (Self::Quote, _) => return Err(malformed("text after a quoted cell")),
                (Self::Plain, b'"') => {
                    return Err(malformed("a quote inside a cell that has none around it"));
                }
                (Self::CellStart | Self::Plain, _) => Self::Plain,
            };
        }
        Ok(self)
    }
}
