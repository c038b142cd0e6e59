//! Rows of addresses in files: CSV with a header, or JSON lines. The problem of an invalid row stays with
//! the row, so that it does not stop the run.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::Path,
};

use clap::ValueEnum;
use serde_json::{Map, Value};

use super::Failure;

/// Longest line of a file in bytes; a longer line is an error of its row.
const LONGEST_LINE: usize = 1024 * 1024;

/// A format of row files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RowFormat {
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Jsonl,
}

impl RowFormat {
    /// The format that a file's extension names.
    pub(super) fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
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

/// Reads a file row by row.
pub(super) struct RowReader {
    input: BufReader<Box<dyn Read>>,
    /// Number of lines that were read.
    line: u64,
    rows: Rows,
    columns: Vec<String>,
    /// A row that was read ahead of its use.
    ahead: Option<InputRow>,
    name: String,
}

enum Rows {
    Csv { blockchain: usize, address: usize },
    Jsonl,
}

impl RowReader {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path, format: RowFormat) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let input: Box<dyn Read> = if name == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(
                File::open(path)
                    .map_err(|error| Failure::Input(format!("failed to read {name}: {error}")))?,
            )
        };
        let input = BufReader::new(input);
        let mut reader =
            Self { input, line: 0, rows: Rows::Jsonl, columns: Vec::new(), ahead: None, name };
        if format == RowFormat::Csv {
            reader.read_header()?;
        }
        Ok(reader)
    }

    fn read_header(&mut self) -> Result<(), Failure> {
        let name = self.name.clone();
        let Some(line) = self.next_line()? else {
            return Err(Failure::Input(format!("{name} is empty: the first line is the header")));
        };
        let header = cells_of(&line).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
        let columns: Vec<String> = header.iter().map(|cell| cell.trim().to_owned()).collect();
        let find = |wanted: &str| {
            columns.iter().position(|column| column.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
                Failure::Input(format!(
                    "{name}: no column `{wanted}` in the header: it has {}",
                    columns.join(", ")
                ))
            })
        };
        self.rows = Rows::Csv { blockchain: find("blockchain")?, address: find("address")? };
        self.columns = columns;
        Ok(())
    }

    /// The columns of a CSV file, else the fields of the next row, which stays unread.
    pub(super) fn columns(&mut self) -> Result<Vec<String>, Failure> {
        if matches!(self.rows, Rows::Csv { .. }) {
            return Ok(self.columns.clone());
        }
        if self.ahead.is_none() {
            self.ahead = self.next()?;
        }
        Ok(match &self.ahead {
            Some(InputRow { content: Content::Object(object), .. }) => {
                object.keys().cloned().collect()
            }
            _ => ["blockchain", "address"].map(str::to_owned).to_vec(),
        })
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
        let Some(line) = self.next_line()? else { return Ok(None) };
        Ok(Some(match self.rows {
            Rows::Csv { blockchain, address } => {
                csv_row(&line, self.line, self.columns.len(), blockchain, address)
            }
            Rows::Jsonl => json_row(&line, self.line),
        }))
    }

    /// The next line that is not empty.
    fn next_line(&mut self) -> Result<Option<Line>, Failure> {
        loop {
            let mut text = Vec::new();
            let read = read_line(&mut self.input, &mut text).map_err(|error| {
                Failure::Input(format!("failed to read {}: {error}", self.name))
            })?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if self.line == 1 && text.starts_with(b"\xEF\xBB\xBF") {
                text.drain(..3);
            }
            if !text.trim_ascii().is_empty() {
                return Ok(Some(Line { text, too_long: read > LONGEST_LINE }));
            }
        }
    }
}

/// A line of a file.
struct Line {
    text: Vec<u8>,
    too_long: bool,
}

/// The cells of one line. A row is one line: otherwise, a quote that is never closed would hide the following rows in
/// one cell.
fn cells_of(line: &Line) -> Result<Vec<String>, String> {
    if line.too_long {
        return Err(format!("longer than {LONGEST_LINE} bytes"));
    }
    let open = line.text.iter().fold(false, |open, byte| open ^ (*byte == b'"'));
    if open {
        return Err("a quote is opened and not closed on the line".to_owned());
    }
    let mut csv = csv::ReaderBuilder::new()
        .has_headers(false)
        .buffer_capacity(line.text.len().max(16))
        .from_reader(line.text.as_slice());
    let mut record = csv::ByteRecord::new();
    csv.read_byte_record(&mut record).map_err(|error| error.to_string())?;
    Ok(record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
}

/// Reads one line, keeps at most [`LONGEST_LINE`] bytes of it and returns its length.
fn read_line(input: &mut impl BufRead, kept: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(length);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        let room = LONGEST_LINE.saturating_sub(kept.len());
        kept.extend(available.iter().take(taken.min(room)));
        input.consume(taken);
        length += taken;
        if end.is_some() {
            return Ok(length);
        }
    }
}

fn csv_row(
    line: &Line,
    number: u64,
    columns: usize,
    blockchain: usize,
    address: usize,
) -> InputRow {
    let read = cells_of(line);
    let blockchain_and_address = match &read {
        Err(error) => Err(format!("line {number}: {error}")),
        Ok(cells) if cells.len() != columns => {
            Err(format!("line {number}: {} cells where the header has {columns}", cells.len()))
        }
        Ok(cells) => {
            let cell = |at: usize| cells.get(at).cloned().unwrap_or_default();
            Ok((cell(blockchain), cell(address)))
        }
    };
    // The output stays a table for every input.
    let mut cells = read.unwrap_or_default();
    cells.resize(columns, String::new());
    InputRow { content: Content::Cells(cells), blockchain_and_address }
}

fn json_row(Line { text, too_long }: &Line, line: u64) -> InputRow {
    let broken = |error: String| InputRow {
        content: Content::Nothing,
        blockchain_and_address: Err(format!("line {line}: {error}")),
    };
    if *too_long {
        return broken(format!("longer than {LONGEST_LINE} bytes"));
    }
    let object = match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return broken("expected a JSON object".to_owned()),
        Err(error) => {
            let error = error.to_string();
            return broken(error.replace(" at line 1 column ", " at character "));
        }
    };
    let field = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("line {line}: `{name}` is not a text")),
        None => Err(format!("line {line}: `{name}` is missing")),
    };
    let blockchain_and_address =
        field("blockchain").and_then(|chain| Ok((chain, field("address")?)));
    InputRow { content: Content::Object(object), blockchain_and_address }
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
