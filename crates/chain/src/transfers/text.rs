//! Rows of CSV and of JSON lines.

use std::io::{BufRead, Read};

use assay_input::{
    TextReader,
    rows::{CsvRow, CsvRows, Quotes, RowError, Width, repeated_column},
    text::{TextError, TextLines},
};
use csv::StringRecord;
use serde::{
    Deserializer as _,
    de::{self, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    RowPosition,
    cell::CellValue,
    columns::{Columns, FileForm, is_column},
    row::Cells,
};

/// Longest line in bytes: the input of a transaction and the output of a call may have megabytes.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// A text, unpacked and decoded.
pub(super) type Text = TextReader<Box<dyn Read + Send>>;

/// A file that cannot be read further, and the position, if the reason is in a row.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) position: Option<RowPosition>,
    pub(super) reason: String,
}

impl Refusal {
    pub(super) fn of_file(reason: impl Into<String>) -> Self {
        Self { position: None, reason: reason.into() }
    }

    pub(super) fn at(line: u64, reason: impl Into<String>) -> Self {
        Self { position: Some(RowPosition::Line(line)), reason: reason.into() }
    }
}

impl From<TextError> for Refusal {
    fn from(error: TextError) -> Self {
        Self::at(error.line, error.fault.to_string())
    }
}

impl From<RowError> for Refusal {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Text(error) => error.into(),
            RowError::Syntax { line, reason } => Self::at(line, reason),
        }
    }
}

impl Cells for StringRecord {
    fn cell(&self, column: usize) -> CellValue<'_> {
        self.get(column).map_or(CellValue::Missing, CellValue::Text)
    }
}

/// Rows of CSV.
pub(super) struct CsvSource {
    rows: CsvRows<Text>,
    pub(super) columns: Columns,
    pub(super) form: FileForm,
}

impl CsvSource {
    pub(super) fn open(text: Text) -> Result<Self, Refusal> {
        let lines = TextLines::with_max_line(text, LONGEST_LINE);
        let mut rows = CsvRows::new(lines, Quotes::Strict, Width::OfHeader, &is_column);
        let Some(CsvRow { cells: header, line, .. }) = rows.next_row()? else {
            return Err(Refusal::of_file(
                "it is empty: not even the names of its columns are there",
            ));
        };
        if let Some((one, other)) = repeated_column(header) {
            return Err(Refusal::at(
                line,
                format!("the columns `{one}` and `{other}` are the same"),
            ));
        }
        let mut columns = Columns::default();
        header.iter().for_each(|name| columns.add(name));
        let form = columns.form().map_err(|reason| Refusal::at(line, reason))?;
        Ok(Self { rows, columns, form })
    }

    /// The next row with its line.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &StringRecord, &Columns)>, Refusal> {
        let row = self.rows.next_row()?;
        Ok(row.map(|CsvRow { line, cells, .. }| (line, cells, &self.columns)))
    }

    /// True if the last line that was read has no line end.
    pub(super) const fn is_last_line_open(&self) -> bool {
        self.rows.is_last_line_open()
    }
}

/// Rows of JSON lines: an object a line.
pub(super) struct JsonSource {
    lines: TextLines<Text>,
    pub(super) columns: Columns,
    form: Option<FileForm>,
    cells: JsonCells,
}

impl JsonSource {
    pub(super) fn open(text: Text) -> Self {
        let lines = TextLines::with_max_line(text, LONGEST_LINE);
        Self { lines, columns: Columns::default(), form: None, cells: JsonCells::default() }
    }

    /// The form of the rows; `None` before the first row.
    pub(super) const fn form(&self) -> Option<FileForm> {
        self.form
    }

    /// The next row with its line.
    pub(super) fn next(
        &mut self,
    ) -> Result<Option<(u64, &JsonCells, &Columns, FileForm)>, Refusal> {
        let (line, text) = loop {
            match self.lines.next_line()? {
                None => return Ok(None),
                Some((_, text)) if text.trim_ascii().is_empty() => {}
                Some(found) => break found,
            }
        };
        self.cells
            .read(text.trim_ascii(), &mut self.columns)
            .map_err(|reason| Refusal::at(line, reason))?;
        let form = match self.form {
            Some(form) => form,
            None => self.columns.form().map_err(|reason| Refusal::at(line, reason))?,
        };
        self.form = Some(form);
        Ok(Some((line, &self.cells, &self.columns, form)))
    }
}

/// True if a text begins as JSON.
pub(super) fn is_json(text: &mut Text) -> std::io::Result<bool> {
    let start = text.fill_buf()?;
    Ok(matches!(start.trim_ascii_start().first(), Some(b'{' | b'[')))
}

/// The cells of a JSON object, whose strings are kept between rows.
#[derive(Default)]
pub(super) struct JsonCells {
    cells: Vec<JsonCell>,
}

#[derive(Default)]
struct JsonCell {
    kind: JsonKind,
    text: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum JsonKind {
    #[default]
    Missing,
    Text,
    Boolean(bool),
}

impl Cells for JsonCells {
    fn cell(&self, column: usize) -> CellValue<'_> {
        match self.cells.get(column) {
            None | Some(JsonCell { kind: JsonKind::Missing, .. }) => CellValue::Missing,
            Some(JsonCell { kind: JsonKind::Text, text }) => CellValue::Text(text),
            Some(JsonCell { kind: JsonKind::Boolean(value), .. }) => CellValue::Boolean(*value),
        }
    }
}

impl JsonCells {
    /// Reads the object of a line. Keys that no earlier object has become new columns.
    fn read(&mut self, text: &str, columns: &mut Columns) -> Result<(), String> {
        if text.starts_with('[') {
            return Err("it is a JSON array: write one object a line".to_owned());
        }
        for cell in &mut self.cells {
            cell.kind = JsonKind::Missing;
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = parser.deserialize_map(ObjectVisitor { cells: &mut self.cells, columns });
        let read = read.and_then(|()| parser.end());
        read.map_err(|error| {
            // The line of the message is that of the text, which is one line.
            let message = error.to_string();
            let message = message.split(" at line 1").next().unwrap_or_default();
            format!("it is no JSON object: {message} at column {}", error.column())
        })
    }
}

struct ObjectVisitor<'a> {
    cells: &'a mut Vec<JsonCell>,
    columns: &'a mut Columns,
}

/// Most keys of the objects of a file.
const MOST_KEYS: usize = 1_000;

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let value: &'de RawValue = map.next_value()?;
            // Objects of a file have their keys in the same order, as a rule.
            let names = self.columns.names();
            let column = match names.get(expected) {
                Some(name) if *name == *key => expected,
                _ => match names.iter().position(|name| *name == *key) {
                    Some(column) => column,
                    None if names.len() >= MOST_KEYS => {
                        return Err(de::Error::custom("the objects have too many different keys"));
                    }
                    None => {
                        self.columns.add(&key);
                        self.columns.names().len() - 1
                    }
                },
            };
            expected = column + 1;
            if self.cells.len() <= column {
                self.cells.resize_with(column + 1, JsonCell::default);
            }
            let Some(cell) = self.cells.get_mut(column) else { continue };
            if cell.kind != JsonKind::Missing {
                return Err(de::Error::custom(format!("the key `{key}` stands twice")));
            }
            cell.set(value.get()).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

impl JsonCell {
    fn set(&mut self, raw: &str) -> Result<(), serde_json::Error> {
        self.text.clear();
        self.kind = match raw {
            "null" => JsonKind::Missing,
            "true" => JsonKind::Boolean(true),
            "false" => JsonKind::Boolean(false),
            _ => JsonKind::Text,
        };
        if self.kind != JsonKind::Text {
            return Ok(());
        }
        let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        match inner {
            Some(inner) if !inner.contains('\\') => self.text.push_str(inner),
            Some(_) => self.text = serde_json::from_str(raw)?,
            // A number as it is written, or a list.
            None => self.text.push_str(raw),
        }
        Ok(())
    }
}
