//! A plain listing as CSV: a header, then one row an address.
//!
//! | column | what it holds |
//! |---|---|
//! | `list` | the list's name here, such as `ofac-sdn` |
//! | `entity_id` | the list's own identifier of the entity |
//! | `entity` | the entity's primary name |
//! | `asset_code` | the list's code for the asset, such as `XBT` |
//! | `address` | the address exactly as the list prints it |
//! | `list_name` | the list's name as people know it; the one in `list` where it is left out |
//! | `programs`, `aliases` | several texts with semicolons between them |
//! | `remarks`, `address_remarks` | what the list remarks on the entity and on the address |
//! | `entity_listed_on` | the entity's own date on the list, such as 2026-01-31 |
//! | `expires_on` | first day on which the listing is no longer valid |
//!
//! The first five must be there, in any order with the others. Cells are separated by commas; one with
//! a comma, a quote or a line break stands in quotes, with quotes inside doubled. The date of issue is
//! not in the file.

use std::io::{BufRead, Cursor};

use assay_input::text::{LONGEST_LINE, TextLines};
use csv::{Reader, ReaderBuilder, StringRecord};
use jiff::civil::Date;

use super::{
    ListError, Publication,
    column::Column,
    rows::{Row, Rows},
};

/// Reads a publication.
///
/// # Errors
///
/// Where the file is broken, or not of this format: then nothing of it is taken in.
pub fn read(input: impl BufRead, published_on: Date) -> Result<Publication, ListError> {
    let mut records = Records::new(input);
    let header = records.next()?.ok_or(ListError::Empty { line: 1 })?;
    let columns = read_header(&header)?;
    let mut rows = Rows::new(published_on);
    while let Some(record) = records.next()? {
        rows.add(record.line, &read_row(&record, &columns)?, record.bytes)?;
    }
    Ok(rows.publish())
}

fn read_header(header: &Record) -> Result<Vec<Column>, ListError> {
    let line = header.line;
    let mut columns = Vec::new();
    for name in header.cells.iter().map(str::trim) {
        let column = Column::named(name, line)?;
        if columns.contains(&column) {
            return Err(ListError::RepeatedColumn { line, name: name.to_owned() });
        }
        columns.push(column);
    }
    match Column::REQUIRED.into_iter().find(|required| !columns.contains(required)) {
        Some(missing) => Err(ListError::MissingColumn { line, name: missing.name() }),
        None => Ok(columns),
    }
}

fn read_row(record: &Record, columns: &[Column]) -> Result<Row, ListError> {
    let line = record.line;
    let (found, expected) = (record.cells.len(), columns.len());
    if found != expected {
        return Err(ListError::Cells { line, found, expected });
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

/// The cells of one row, which may span several lines.
struct Record {
    line: u64,
    cells: StringRecord,
    bytes: usize,
}

/// Cuts a file into rows. Where one ends is decided here and not by the reader of cells, which takes any
/// quoting there is: a quote too few would swallow the rows that follow.
struct Records<R> {
    lines: TextLines<R>,
    /// Is given one row at a time, ending in a line feed, so that it never looks beyond.
    reader: Reader<Cursor<String>>,
}

impl<R: BufRead> Records<R> {
    fn new(input: R) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(Cursor::new(String::new()));
        Self { lines: TextLines::new(input), reader }
    }

    fn next(&mut self) -> Result<Option<Record>, ListError> {
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
                let detail = "a quoted cell is not closed".to_owned();
                return Err(ListError::Malformed { line, detail });
            };
            quoting = quoting.after(at, more)?;
            text.push_str(more);
            if text.len() > LONGEST_LINE {
                return Err(ListError::TooLong { line });
            }
        }
        let bytes = text.len();
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        text.push('\n');
        *self.reader.get_mut() = Cursor::new(text);
        let mut cells = StringRecord::new();
        match self.reader.read_record(&mut cells) {
            Ok(_) => Ok(Some(Record { line, cells, bytes })),
            Err(error) => Err(ListError::Malformed { line, detail: error.to_string() }),
        }
    }
}

/// Where in a row's quoting a reader stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    CellStart,
    /// In a cell without quotes.
    Plain,
    /// In a cell with quotes.
    Inside,
    /// After a quote in such a cell: its end, or the first of a pair.
    Quote,
    /// After a carriage return outside quotes, which only the end of a row has.
    Return,
}

impl Quoting {
    /// Where the reader stands after a line.
    fn after(mut self, line: u64, text: &str) -> Result<Self, ListError> {
        let malformed = |detail: &str| ListError::Malformed { line, detail: detail.to_owned() };
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
