//! Rows of CSV, one by one, each with its line.
//!
//! This module finds the end of a row, not the CSV reader, which accepts any quoting: a missing quote would hide the
//! rows after it.

use std::io::{BufRead, Cursor};

use csv::{ReaderBuilder, StringRecord, Terminator};

use crate::text::{LONGEST_LINE, TextError, TextFault, TextLines};

/// Rules for the quotes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// Quotes as in RFC 4180: a quoted cell may hold line breaks, and a misplaced quote is refused.
    Strict,
    /// A quote may stand anywhere, but a row is one line.
    OneLine,
}

/// An invalid row.
#[derive(Debug)]
pub enum RowError {
    /// The text of the row cannot be read.
    Text(TextError),
    /// The row is no CSV, or has another number of cells than the header.
    Syntax {
        /// Line of the row, counted from one.
        line: u64,
        /// Reason.
        reason: String,
    },
}

impl From<TextError> for RowError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct CsvRow<'a> {
    /// First line of the row, counted from one.
    pub line: u64,
    /// Cells of the row.
    pub cells: &'a StringRecord,
    /// Length of the row in bytes.
    pub bytes: usize,
}

/// A reader of the rows of a file.
pub struct CsvRows<R> {
    lines: TextLines<R>,
    quotes: Quotes,
    /// Number of cells of the header.
    columns: Option<usize>,
    /// Receives one row at a time, ending in a line feed, so that it never reads beyond the row.
    reader: csv::Reader<Cursor<String>>,
    cells: StringRecord,
}

impl<R: BufRead> CsvRows<R> {
    /// A reader of rows, the first of which is the header: all other rows have as many cells.
    pub fn new(lines: TextLines<R>, quotes: Quotes) -> Self {
        let terminator = match quotes {
            Quotes::Strict => Terminator::CRLF,
            Quotes::OneLine => Terminator::Any(b'\n'),
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(terminator)
            .from_reader(Cursor::new(String::new()));
        Self { lines, quotes, columns: None, reader, cells: StringRecord::new() }
    }

    /// The next row that is not empty; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the row cannot be read, or is not valid.
    pub fn next_row(&mut self) -> Result<Option<CsvRow<'_>>, RowError> {
        let text = self.reader.get_mut();
        text.set_position(0);
        let text = text.get_mut();
        let line = loop {
            match self.lines.next_line()? {
                None => return Ok(None),
                Some((_, empty)) if empty.trim_end_matches(['\r', '\n']).is_empty() => {}
                Some((line, first)) => {
                    text.clear();
                    text.push_str(first);
                    break line;
                }
            }
        };
        let syntax = |line, reason: &str| RowError::Syntax { line, reason: reason.to_owned() };
        if self.quotes == Quotes::OneLine {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        let mut place = QuoteState::CellStart.after(line, text, self.quotes)?;
        while place == QuoteState::Inside {
            if self.quotes == Quotes::OneLine {
                return Err(syntax(line, "a cell holds a line break: is a closing quote missing?"));
            }
            let Some((at, more)) = self.lines.next_line()? else {
                return Err(syntax(line, "a quoted cell is not closed"));
            };
            place = place.after(at, more, self.quotes)?;
            text.push_str(more);
            if text.len() > LONGEST_LINE {
                return Err(TextError { line, fault: TextFault::TooLong }.into());
            }
        }
        let bytes = text.len();
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        text.push('\n');
        let read = self.reader.read_record(&mut self.cells);
        read.map_err(|error| syntax(line, &error.to_string()))?;
        let (found, expected) = (self.cells.len(), *self.columns.get_or_insert(self.cells.len()));
        if found != expected {
            let reason = format!("it has {found} cells where the header has {expected}");
            return Err(RowError::Syntax { line, reason });
        }
        Ok(Some(CsvRow { line, cells: &self.cells, bytes }))
    }
}

/// State of the quotes while a row is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteState {
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

impl QuoteState {
    /// The state after a line.
    fn after(mut self, line: u64, text: &str, quotes: Quotes) -> Result<Self, RowError> {
        let malformed = |reason: &str| Err(RowError::Syntax { line, reason: reason.to_owned() });
        let is_strict = quotes == Quotes::Strict;
        for byte in text.bytes() {
            self = match (self, byte) {
                (Self::Inside, b'"') => Self::Quote,
                (Self::Inside, _) | (Self::CellStart | Self::Quote, b'"') => Self::Inside,
                (Self::Return, b'\n') => Self::Return,
                (Self::Return, _) => return malformed("a carriage return outside quotes"),
                (_, b',') => Self::CellStart,
                (_, b'\r' | b'\n') if is_strict => Self::Return,
                (Self::Quote, _) if is_strict => return malformed("text after a quoted cell"),
                (Self::Plain, b'"') if is_strict => {
                    return malformed("a quote inside a cell that has none around it");
                }
                _ => Self::Plain,
            };
        }
        Ok(self)
    }
}
