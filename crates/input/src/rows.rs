//! Rows of CSV with any delimiter, one by one, each with its line; and the names of columns.
//!
//! This module finds the end of a row, not the CSV reader, which accepts any quoting: a missing quote would hide the
//! rows after it.

use std::{
    collections::VecDeque,
    io::{BufRead, Cursor},
};

use csv::{ReaderBuilder, StringRecord, Terminator};

use crate::{
    delimiter,
    text::{LONGEST_LINE, TextError, TextFault, TextLines},
};

/// Rules for the quotes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// Quotes as in RFC 4180: a misplaced quote is refused.
    Strict,
    /// A quote may stand anywhere in a cell without quotes around it, and text may follow a quoted cell of one line.
    Lenient,
}

/// Number of cells of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// As many as the header has.
    OfHeader,
    /// Any number.
    Any,
}

/// An invalid row.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The text of the row cannot be read.
    #[error(transparent)]
    Text(TextError),
    /// The row is no CSV, or has another number of cells than the header.
    #[error("line {line}: {reason}")]
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

/// The name of a column without white space, punctuation and letter case: names with the same key mean the same.
#[must_use]
pub fn column_key(name: &str) -> String {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Two columns of a header that mean the same, as in `Address,address`.
#[must_use]
pub fn repeated_column(header: &StringRecord) -> Option<(&str, &str)> {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for name in header.iter().map(str::trim) {
        let key = column_key(name);
        if let Some((_, earlier)) = seen.iter().find(|(known, _)| !key.is_empty() && *known == key)
        {
            return Some((earlier, name));
        }
        seen.push((key, name));
    }
    None
}

/// Number of lines in which the names of columns are searched, for the delimiter.
const HEADER_LINES: usize = 50;

/// A reader of the rows of a file.
///
/// A line that Excel writes about the delimiter (`sep=;`) is no row, nor are rows of blank cells and repetitions of the
/// header, which files that were joined have.
pub struct CsvRows<R> {
    lines: TextLines<R>,
    /// Lines that were read ahead, and the error after them.
    ahead: VecDeque<(u64, String)>,
    failed: Option<TextError>,
    /// Lines of the last row after its first one.
    continued: Vec<(u64, String)>,
    quotes: Quotes,
    width: Width,
    delimiter: u8,
    /// Cells of the first row.
    header: Option<StringRecord>,
    /// Receives one row at a time, ending in a line feed, so that it never reads beyond the row.
    reader: csv::Reader<Cursor<String>>,
    cells: StringRecord,
    /// True if the last line that was read has no line end.
    is_last_line_open: bool,
}

impl<R: BufRead> CsvRows<R> {
    /// A reader of rows, the first of which is the header. `is_column` knows the names of columns, by which the
    /// delimiter is found: a comma, a semicolon, a tab or a vertical bar. Errors of the first lines are those of the
    /// first row.
    pub fn new(
        mut lines: TextLines<R>,
        quotes: Quotes,
        width: Width,
        is_column: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut ahead = VecDeque::new();
        let mut stated = None;
        let mut failed = None;
        let mut is_last_line_open = false;
        while ahead.len() < HEADER_LINES {
            let (line, text) = match lines.next_line() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            if ahead.is_empty() && stated.is_none() {
                stated = delimiter::stated(text);
                if stated.is_some() {
                    continue;
                }
            }
            is_last_line_open = !text.ends_with('\n');
            let is_header = delimiter::has_column(text, is_column);
            if !is_blank(text) {
                ahead.push_back((line, text.to_owned()));
            }
            if is_header || (stated.is_some() && !ahead.is_empty()) {
                break;
            }
        }
        let first = ahead.iter().map(|(_, text)| text.trim_end_matches(['\r', '\n']));
        let delimiter = stated.unwrap_or_else(|| delimiter::find(&first, is_column));
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(Cursor::new(String::new()));
        Self {
            lines,
            ahead,
            failed,
            continued: Vec::new(),
            quotes,
            width,
            delimiter,
            header: None,
            reader,
            cells: StringRecord::new(),
            is_last_line_open,
        }
    }

    /// The next row that is not blank; `None` at the end of the file. After a row that is not valid, the rows after
    /// its first line can be read.
    ///
    /// # Errors
    ///
    /// Returns an error if the row cannot be read, or is not valid.
    pub fn next_row(&mut self) -> Result<Option<CsvRow<'_>>, RowError> {
        let (line, bytes) = loop {
            let Some((line, bytes)) = self.read_row()? else { return Ok(None) };
            let is_header = self.header.as_ref().is_some_and(|header| *header == self.cells);
            if !is_header && !self.cells.iter().all(|cell| cell.trim().is_empty()) {
                break (line, bytes);
            }
        };
        let header = self.header.get_or_insert_with(|| self.cells.clone());
        let (found, expected) = (self.cells.len(), header.len());
        if self.width == Width::OfHeader && found != expected {
            self.split_row();
            let reason = format!("it has {found} cells where the header has {expected}");
            return Err(RowError::Syntax { line, reason });
        }
        Ok(Some(CsvRow { line, cells: &self.cells, bytes }))
    }

    /// True if the last line that was read has no line end, as the last line of a file that was cut off.
    pub const fn is_last_line_open(&self) -> bool {
        self.is_last_line_open
    }

    /// Takes the lines of the last row after its first one as rows of their own, as a missing quote joined them;
    /// returns false if the row has one line.
    pub fn split_row(&mut self) -> bool {
        let is_split = !self.continued.is_empty();
        for line in self.continued.drain(..).rev() {
            self.ahead.push_front(line);
        }
        is_split
    }

    /// Reads the cells of the next row, and returns its first line and its length in bytes.
    fn read_row(&mut self) -> Result<Option<(u64, usize)>, RowError> {
        self.continued.clear();
        if self.ahead.is_empty() && self.failed.is_none() {
            match self.read_plain_row()? {
                PlainRow::Read(line, bytes) => return Ok(Some((line, bytes))),
                PlainRow::Quoted(line, text) => self.ahead.push_back((line, text)),
                PlainRow::Ended => return Ok(None),
            }
        }
        let (line, mut text) = loop {
            match self.take_line()? {
                None => return Ok(None),
                Some((_, blank)) if is_blank(&blank) => {}
                Some(found) => break found,
            }
        };
        let syntax = |reason: &str| RowError::Syntax { line, reason: reason.to_owned() };
        let start = QuoteState::CellStart.after(&text, self.quotes, self.delimiter);
        let mut state = start.map_err(syntax)?;
        while state == QuoteState::Inside {
            let more = match self.take_line() {
                Ok(Some((at, more))) => {
                    // Quotes are strict after a line break: another cell's quote must not end this one.
                    let after = state.after(&more, Quotes::Strict, self.delimiter);
                    text.push_str(&more);
                    self.continued.push((at, more));
                    after.map_err(|_| syntax(NOT_CLOSED))
                }
                Ok(None) => Err(syntax(NOT_CLOSED)),
                Err(error) => {
                    self.failed = Some(error);
                    Err(syntax(NOT_CLOSED))
                }
            };
            state = match more {
                Ok(_) if text.len() > LONGEST_LINE => {
                    self.split_row();
                    return Err(TextError { line, fault: TextFault::TooLong }.into());
                }
                Ok(after) => after,
                Err(error) => {
                    self.split_row();
                    return Err(error);
                }
            };
        }
        let bytes = text.len();
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        text.push('\n');
        *self.reader.get_mut() = Cursor::new(text);
        let read = self.reader.read_record(&mut self.cells);
        read.map_err(|error| syntax(&error.to_string()))?;
        Ok(Some((line, bytes)))
    }

    /// Reads the cells of the next line that is not blank, if none of them is quoted.
    fn read_plain_row(&mut self) -> Result<PlainRow, TextError> {
        loop {
            let Some((line, text)) = self.lines.next_line()? else { return Ok(PlainRow::Ended) };
            self.is_last_line_open = !text.ends_with('\n');
            let row = text.trim_end_matches(['\r', '\n']);
            if row.is_empty() {
                continue;
            }
            if memchr::memchr2(b'"', b'\r', row.as_bytes()).is_some() {
                return Ok(PlainRow::Quoted(line, text.to_owned()));
            }
            self.cells.clear();
            let mut start = 0;
            for end in memchr::memchr_iter(self.delimiter, row.as_bytes()) {
                self.cells.push_field(row.get(start..end).unwrap_or_default());
                start = end + 1;
            }
            self.cells.push_field(row.get(start..).unwrap_or_default());
            return Ok(PlainRow::Read(line, text.len()));
        }
    }

    fn take_line(&mut self) -> Result<Option<(u64, String)>, TextError> {
        if let Some(line) = self.ahead.pop_front() {
            return Ok(Some(line));
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Some((line, text)) = self.lines.next_line()? else { return Ok(None) };
        self.is_last_line_open = !text.ends_with('\n');
        Ok(Some((line, text.to_owned())))
    }
}

/// Result of reading a row without quotes.
enum PlainRow {
    /// The cells were read. Holds the line and the length of the row in bytes.
    Read(u64, usize),
    /// The line has quotes, or a carriage return inside.
    Quoted(u64, String),
    /// The file ended.
    Ended,
}

/// The problem of a quote that takes in the rows after it.
const NOT_CLOSED: &str = "a quoted cell is not closed";

fn is_blank(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']).is_empty()
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
    fn after(mut self, text: &str, quotes: Quotes, delimiter: u8) -> Result<Self, &'static str> {
        let is_strict = quotes == Quotes::Strict;
        for byte in text.bytes() {
            self = match (self, byte) {
                (Self::Inside, b'"') => Self::Quote,
                (Self::Inside, _) | (Self::CellStart | Self::Quote, b'"') => Self::Inside,
                (Self::Return, b'\n') => Self::Return,
                (Self::Return, _) => return Err("a carriage return outside quotes"),
                (_, byte) if byte == delimiter => Self::CellStart,
                (_, b'\r' | b'\n') if is_strict => Self::Return,
                (Self::Quote, _) if is_strict => return Err("text after a quoted cell"),
                (Self::Plain, b'"') if is_strict => {
                    return Err("a quote inside a cell that has none around it");
                }
                _ => Self::Plain,
            };
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextReader;

    /// The rows of a file as `line:cells`, or their errors.
    fn rows(bytes: &[u8], quotes: Quotes) -> Vec<String> {
        let is_column = |name: &str| ["chain", "address"].contains(&name);
        let lines = TextLines::new(TextReader::new(bytes, None));
        let mut rows = CsvRows::new(lines, quotes, Width::OfHeader, &is_column);
        std::iter::from_fn(|| match rows.next_row() {
            Ok(row) => row.map(|CsvRow { line, cells, .. }| {
                format!("{line}:{}", cells.iter().collect::<Vec<_>>().join("|"))
            }),
            Err(RowError::Syntax { line, reason }) => Some(format!("{line}!{reason}")),
            Err(error) => panic!("{error:?}"),
        })
        .collect()
    }

    #[test]
    fn delimiters_line_ends_and_quotes_give_the_same_rows() {
        let wanted = ["1:chain|address|note", "2:eth|0x1|a\nb, \"c\";", "4:btc|1|"];
        for delimiter in [",", ";", "\t", "|"] {
            for end in ["\n", "\r\n", "\r"] {
                let text = "chain#address#note~eth#0x1#\"a~b, \"\"c\"\";\"~btc#1#";
                let text = text.replace('#', delimiter).replace('~', end);
                for quotes in [Quotes::Strict, Quotes::Lenient] {
                    assert_eq!(rows(text.as_bytes(), quotes), wanted, "{text:?}");
                    let ended = format!("{text}{end}{end}");
                    assert_eq!(rows(ended.as_bytes(), quotes), wanted, "{ended:?}");
                }
            }
        }
    }

    #[test]
    fn rows_that_are_no_rows_are_left_out() {
        let text =
            "sep=;\r\nchain;address\r\n;\r\neth;0x1\r\n\u{FEFF}chain;address\r\n ; \r\nbtc;1\r\n";
        let wanted = ["2:chain|address", "4:eth|0x1", "7:btc|1"];
        assert_eq!(rows(text.as_bytes(), Quotes::Strict), wanted);
    }

    #[test]
    fn a_missing_quote_hides_no_row() {
        let text = "chain,address\neth,\"0x1\nbtc,1\neth,\"0x2\"\nbtc,2\n";
        let not_closed = "2!a quoted cell is not closed";
        for quotes in [Quotes::Strict, Quotes::Lenient] {
            let rows = rows(text.as_bytes(), quotes);
            assert_eq!(rows, ["1:chain|address", not_closed, "3:btc|1", "4:eth|0x2", "5:btc|2"]);
        }
        let text = "chain,address\neth,\"0x1\nbtc,1\n";
        let rows = rows(text.as_bytes(), Quotes::Strict);
        assert_eq!(rows, ["1:chain|address", "2!a quoted cell is not closed", "3:btc|1"]);
    }

    #[test]
    fn columns_that_mean_the_same_are_found() {
        let repeated = |names: &[&str]| {
            let header = StringRecord::from(names.to_vec());
            repeated_column(&header).map(|(one, other)| format!("{one} {other}"))
        };
        assert_eq!(repeated(&["Address", "x", "address"]).unwrap(), "Address address");
        assert_eq!(repeated(&["entity_id", "Entity ID"]).unwrap(), "entity_id Entity ID");
        assert_eq!(repeated(&["a", "b", "", ""]), None);
    }
}
