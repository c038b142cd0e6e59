//! Rows of addresses in files: CSV with a header, or JSON lines. The problem of an invalid row stays with
//! the row, so that it does not stop the run.

use std::{
    io::{self, BufRead, BufWriter, Read, Write},
    path::Path,
};

use assay_input::{
    Encoding, TextFile, TextReader, encoding_error,
    rows::{CsvRow, CsvRows, Quotes, RowError, Width, column_key},
    text::{TextError, TextFault, TextLines},
};
use clap::ValueEnum;
use serde_json::{Map, Value};

use super::Failure;

/// A format of row files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RowFormat {
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Jsonl,
}

impl RowFormat {
    /// The format that the extension of an output names.
    pub(super) fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// The format of an input by its extension, else by its first character.
    fn of_input(name: &str, text: &mut impl BufRead) -> io::Result<Self> {
        if let Some(format) = Self::from_extension(Path::new(name)) {
            return Ok(format);
        }
        let start = text.fill_buf()?.trim_ascii_start();
        Ok(if start.starts_with(b"{") || start.starts_with(b"[") { Self::Jsonl } else { Self::Csv })
    }
}

/// Extensions of tables in an archive.
const EXTENSIONS: [&str; 7] = ["csv", "tsv", "tab", "txt", "jsonl", "ndjson", "json"];

/// Opens a text file or standard input, packed or not.
pub(super) fn open_text(path: &Path, encoding: Option<Encoding>) -> Result<TextFile, Failure> {
    TextFile::open(path, &EXTENSIONS, encoding, TextFile::LIMITS)
        .map_err(|error| Failure::Input(error.to_string()))
}

/// One row as it was read.
#[derive(Clone, Debug)]
pub(super) struct InputRow {
    content: Content,
    /// The blockchain and the address of the row, or its problem.
    blockchain_and_address: Result<(String, String), String>,
}

#[derive(Clone, Debug)]
enum Content {
    Cells(Vec<String>),
    Object(Map<String, Value>),
    /// An invalid row.
    Nothing,
}

impl InputRow {
    /// Returns the blockchain and the address of the row, or its problem.
    pub(super) fn blockchain_and_address(&self) -> Result<(&str, &str), String> {
        match &self.blockchain_and_address {
            Ok((blockchain, address)) => Ok((blockchain, address)),
            Err(error) => Err(error.clone()),
        }
    }
}

type Text = TextReader<Box<dyn Read + Send>>;

/// Reads a file row by row.
pub(super) struct RowReader {
    rows: Rows,
    columns: Vec<String>,
    /// A row that was read ahead of its use.
    ahead: Option<InputRow>,
    name: String,
}

enum Rows {
    Csv { rows: Box<CsvRows<Text>>, blockchain: usize, address: usize },
    Jsonl(TextLines<Text>),
}

impl RowReader {
    /// Opens a file; `-` is standard input. Without a format, the file's extension or its first character tells it.
    pub(super) fn open(
        path: &Path,
        format: Option<RowFormat>,
        encoding: Option<Encoding>,
    ) -> Result<Self, Failure> {
        let TextFile { origin: name, name: unpacked, mut text } = open_text(path, encoding)?;
        let refused = |reason: &dyn std::fmt::Display| Failure::Input(format!("{name}: {reason}"));
        let by_name = || RowFormat::of_input(&unpacked, &mut text);
        let format = format.map_or_else(by_name, Ok).map_err(|error| {
            let line = 1;
            encoding_error(&error).map_or_else(
                || {
                    refused(&TextError {
                        line,
                        fault: TextFault::Read(io::Error::other(error.to_string())),
                    })
                },
                |problem| refused(problem),
            )
        })?;
        if format == RowFormat::Jsonl
            && text.fill_buf().is_ok_and(|start| start.trim_ascii_start().starts_with(b"["))
        {
            return Err(refused(&"it is a JSON array: write one JSON object a line"));
        }
        let lines = TextLines::new(text);
        if format == RowFormat::Jsonl {
            return Ok(Self { rows: Rows::Jsonl(lines), columns: Vec::new(), ahead: None, name });
        }
        let is_column = |name: &str| REQUIRED.contains(&&*column_key(name));
        let mut rows = CsvRows::new(lines, Quotes::Lenient, Width::Any, &is_column);
        let header = rows.next_row().map_err(|error| refused(&error))?;
        let Some(CsvRow { cells, .. }) = header else {
            return Err(Failure::Input(format!("{name} is empty: the first line is the header")));
        };
        let columns: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        let [blockchain, address] = REQUIRED.map(|wanted| column(&columns, wanted));
        let failed = |problem: String| refused(&problem);
        let (blockchain, address) = (blockchain.map_err(failed)?, address.map_err(failed)?);
        let rows = Rows::Csv { rows: Box::new(rows), blockchain, address };
        Ok(Self { rows, columns, ahead: None, name })
    }

    /// Format of the file.
    pub(super) const fn format(&self) -> RowFormat {
        match self.rows {
            Rows::Csv { .. } => RowFormat::Csv,
            Rows::Jsonl(_) => RowFormat::Jsonl,
        }
    }

    /// Path of the file, or "standard input".
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The columns of a CSV file, else the fields of the next row, which stays unread.
    pub(super) fn columns(&mut self) -> Result<Vec<String>, Failure> {
        if matches!(self.rows, Rows::Csv { .. }) {
            return Ok(self.columns.clone());
        }
        self.has_rows()?;
        Ok(match &self.ahead {
            Some(InputRow { content: Content::Object(object), .. }) => {
                object.keys().cloned().collect()
            }
            _ => REQUIRED.map(str::to_owned).to_vec(),
        })
    }

    /// Checks that the file has a row; returns false if a header is all that it has.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is empty or cannot be read.
    pub(super) fn has_rows(&mut self) -> Result<bool, Failure> {
        if self.ahead.is_none() {
            self.ahead = self.next()?;
        }
        match (&self.ahead, &self.rows) {
            (Some(_), _) => Ok(true),
            (None, Rows::Csv { .. }) => Ok(false),
            (None, Rows::Jsonl(_)) => Err(Failure::Input(format!(
                "{} is empty: expected a JSON object a line",
                self.name
            ))),
        }
    }

    /// Skips rows.
    pub(super) fn skip(&mut self, rows: u64) -> Result<(), Failure> {
        for _ in 0..rows {
            if self.next()?.is_none() {
                return Err(Failure::Input(format!(
                    "{} has fewer rows than the output: it is not the file that was screened",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// The next rows, at most `most`; no row at the end of the file.
    pub(super) fn take(&mut self, most: usize) -> Result<Vec<InputRow>, Failure> {
        let mut rows = Vec::new();
        while rows.len() < most {
            let Some(row) = self.next()? else { break };
            rows.push(row);
        }
        Ok(rows)
    }

    fn next(&mut self) -> Result<Option<InputRow>, Failure> {
        if let Some(row) = self.ahead.take() {
            return Ok(Some(row));
        }
        let width = self.columns.len();
        let row = match &mut self.rows {
            Rows::Csv { rows, blockchain, address } => csv_row(rows, width, *blockchain, *address),
            Rows::Jsonl(lines) => json_row(lines),
        };
        row.map_err(|error| Failure::Input(format!("{}: {error}", self.name)))
    }
}

/// Columns that every file has.
const REQUIRED: [&str; 2] = ["blockchain", "address"];

/// The index of a required column.
fn column(columns: &[String], wanted: &str) -> Result<usize, String> {
    let shown = |name: &String| name.escape_debug().to_string();
    let mut found = columns.iter().enumerate().filter(|(_, name)| column_key(name) == wanted);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some((_, one)), Some((_, other))) => Err(format!(
            "the columns `{}` and `{}` mean the same: remove one",
            shown(one),
            shown(other)
        )),
        (None, _) => {
            let found: Vec<String> = columns.iter().map(shown).collect();
            Err(format!(
                "no column `{wanted}` in the header: it has {}; expected `blockchain` and `address`, separated by \
                 commas, semicolons, tabs or vertical bars",
                found.join(", ")
            ))
        }
    }
}

impl InputRow {
    fn invalid(content: Content, problem: String) -> Self {
        Self { content, blockchain_and_address: Err(problem) }
    }
}

/// The next row of CSV.
fn csv_row(
    rows: &mut CsvRows<Text>,
    width: usize,
    blockchain: usize,
    address: usize,
) -> Result<Option<InputRow>, RowError> {
    // The output stays a table for every input.
    let nothing = || Content::Cells(vec![String::new(); width]);
    let (line, mut cells) = match rows.next_row() {
        Ok(None) => return Ok(None),
        Ok(Some(CsvRow { line, cells, .. })) => {
            (line, cells.iter().map(str::to_owned).collect::<Vec<_>>())
        }
        Err(RowError::Text(error)) if !matches!(error.fault, TextFault::TooLong) => {
            return Err(error.into());
        }
        Err(error) => return Ok(Some(InputRow::invalid(nothing(), error.to_string()))),
    };
    let cell =
        |at: usize| cells.get(at).map(|cell| cell.trim_end_matches('\n')).unwrap_or_default();
    let (blockchain, address) = (cell(blockchain).to_owned(), cell(address).to_owned());
    let found = cells.len();
    cells.resize(width, String::new());
    let problem = if found != width {
        format!("line {line}: {found} cells where the header has {width}")
    } else if blockchain.contains('\n') || address.contains('\n') {
        format!(
            "line {line}: a line break in the blockchain or the address: is a closing quote missing?"
        )
    } else {
        let blockchain_and_address = Ok((blockchain, address));
        return Ok(Some(InputRow { content: Content::Cells(cells), blockchain_and_address }));
    };
    if rows.split_row() {
        cells = vec![String::new(); width];
    }
    Ok(Some(InputRow::invalid(Content::Cells(cells), problem)))
}

/// The next row of JSON lines.
fn json_row(lines: &mut TextLines<Text>) -> Result<Option<InputRow>, RowError> {
    let (line, text) = loop {
        match lines.next_line() {
            Ok(None) => return Ok(None),
            Ok(Some((_, blank))) if blank.trim().is_empty() => {}
            Ok(Some((line, text))) => break (line, text.trim_end_matches('\n')),
            Err(error) if matches!(error.fault, TextFault::TooLong) => {
                return Ok(Some(InputRow::invalid(Content::Nothing, error.to_string())));
            }
            Err(error) => return Err(error.into()),
        }
    };
    let broken =
        |error: String| InputRow::invalid(Content::Nothing, format!("line {line}: {error}"));
    let object = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Ok(Some(broken("expected a JSON object".to_owned()))),
        Err(error) => {
            let error = error.to_string();
            return Ok(Some(broken(error.replace(" at line 1 column ", " at character "))));
        }
    };
    let field = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("line {line}: `{name}` is not a text")),
        None => Err(format!("line {line}: `{name}` is missing")),
    };
    let blockchain_and_address =
        field("blockchain").and_then(|chain| Ok((chain, field("address")?)));
    Ok(Some(InputRow { content: Content::Object(object), blockchain_and_address }))
}

/// A row with the fields that it gained.
pub(super) struct OutputRow<'a> {
    /// The row as it was read.
    pub(super) input: &'a InputRow,
    /// Names and values.
    pub(super) added: Vec<(&'static str, Value)>,
}

impl OutputRow<'_> {
    fn cells(&self, columns: &[String]) -> Vec<String> {
        let mut cells: Vec<String> = match &self.input.content {
            Content::Cells(cells) => cells.clone(),
            // A row is one line, so that a run can be continued.
            Content::Object(object) => columns
                .iter()
                .map(|column| object.get(column).map(cell_of).unwrap_or_default())
                .map(|cell| cell.replace(['\n', '\r'], " "))
                .collect(),
            Content::Nothing => Vec::new(),
        };
        // The output stays a table for every input.
        cells.resize(columns.len(), String::new());
        cells.extend(self.added.iter().map(|(_, value)| cell_of(value)));
        cells
    }

    fn object(&self, columns: &[String]) -> Map<String, Value> {
        let mut object = match &self.input.content {
            Content::Object(object) => object.clone(),
            Content::Cells(cells) => {
                let values = cells.iter().map(|cell| Value::from(cell.as_str()));
                columns.iter().cloned().zip(values).collect()
            }
            Content::Nothing => Map::new(),
        };
        for (name, value) in &self.added {
            object.insert((*name).to_owned(), value.clone());
        }
        object
    }
}

/// Writes rows.
pub(super) struct RowWriter {
    target: Target,
    /// Columns of the input; none if input and output are JSON lines.
    columns: Vec<String>,
}

enum Target {
    Csv(Box<csv::Writer<Box<dyn Write>>>),
    Jsonl(BufWriter<Box<dyn Write>>),
}

impl RowWriter {
    /// A writer of rows with the columns of the input and the added columns; writes the header of CSV if `header` is
    /// set.
    pub(super) fn new(
        target: Box<dyn Write>,
        format: RowFormat,
        columns: Vec<String>,
        added: &[&str],
        header: bool,
    ) -> Result<Self, Failure> {
        let all: Vec<&str> =
            columns.iter().map(String::as_str).chain(added.iter().copied()).collect();
        let repeated = all
            .iter()
            .enumerate()
            .find(|(index, column)| all.iter().take(*index).any(|earlier| earlier == *column));
        if let Some((_, column)) = repeated {
            return Err(Failure::Input(format!(
                "the output would have the column `{column}` twice: remove it from the input"
            )));
        }
        let target = match format {
            RowFormat::Jsonl => Target::Jsonl(BufWriter::new(target)),
            RowFormat::Csv => {
                let mut csv = csv::Writer::from_writer(target);
                if header {
                    csv.write_record(&all).map_err(csv_failure)?;
                }
                Target::Csv(Box::new(csv))
            }
        };
        Ok(Self { target, columns })
    }

    /// Writes a row.
    pub(super) fn write(&mut self, row: &OutputRow<'_>) -> Result<(), Failure> {
        match &mut self.target {
            Target::Csv(csv) => csv.write_record(row.cells(&self.columns)).map_err(csv_failure),
            Target::Jsonl(target) => {
                serde_json::to_writer(&mut *target, &row.object(&self.columns))
                    .map_err(io::Error::from)?;
                Ok(target.write_all(b"\n")?)
            }
        }
    }

    /// Writes the rows that are buffered.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.target {
            Target::Csv(mut csv) => Ok(csv.flush()?),
            Target::Jsonl(mut target) => Ok(target.flush()?),
        }
    }
}

/// A value as a cell: the values of an array are joined by semicolons.
fn cell_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell_of).collect::<Vec<_>>().join(";"),
        other => other.to_string(),
    }
}

pub(super) fn csv_failure(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Failure::from(error),
        other => Failure::Failed(format!("failed to write CSV: {other:?}")),
    }
}
