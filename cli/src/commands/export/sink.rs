//! The output of an export: rows as CSV or JSON lines.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use assay_input::text::formula_start;
use clap::ValueEnum;
use serde::Serialize;

use crate::commands::{Failure, rows::csv_failure};

/// A format for other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExportFormat {
    /// Comma-separated values with a header
    Csv,
    /// One JSON object a line
    Jsonl,
}

/// The output.
pub(super) enum Sink {
    Csv(Box<csv::Writer<Box<dyn Write + Send>>>),
    Lines(Box<dyn Write + Send>),
}

impl Sink {
    /// An output with these columns, in a file or on standard output. If no columns are given, the columns of the first
    /// row are the header.
    pub(super) fn new(
        format: ExportFormat,
        columns: &[&str],
        output: Option<&Path>,
    ) -> Result<Self, Failure> {
        let target: Box<dyn Write + Send> = match output {
            Some(path) => Box::new(File::create(path).map_err(|error| {
                Failure::Failed(format!("failed to write {}: {error}", path.display()))
            })?),
            None => Box::new(io::stdout()),
        };
        let target: Box<dyn Write + Send> = Box::new(BufWriter::new(target));
        Ok(match format {
            ExportFormat::Jsonl => Self::Lines(target),
            ExportFormat::Csv => {
                let has_headers = columns.is_empty();
                let mut csv =
                    csv::WriterBuilder::new().has_headers(has_headers).from_writer(target);
                if !columns.is_empty() {
                    csv.write_record(columns).map_err(csv_failure)?;
                }
                Self::Csv(Box::new(csv))
            }
        })
    }

    /// Writes a row; its fields are in the order of the columns.
    pub(super) fn row(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        match self {
            Self::Csv(csv) => csv.serialize(row).map_err(csv_failure),
            Self::Lines(target) => {
                serde_json::to_writer(&mut *target, row).map_err(io::Error::from)?;
                Ok(target.write_all(b"\n")?)
            }
        }
    }

    /// Writes a row with `cells` in CSV, and with its fields in JSON.
    pub(super) fn row_or_cells<C: AsRef<[u8]>>(
        &mut self,
        row: &impl Serialize,
        cells: impl IntoIterator<Item = C>,
    ) -> Result<(), Failure> {
        match self {
            Self::Csv(csv) => csv.write_record(cells).map_err(csv_failure),
            Self::Lines(_) => self.row(row),
        }
    }

    /// Writes the buffered rows.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Csv(mut csv) => Ok(csv.flush()?),
            Self::Lines(mut target) => Ok(target.flush()?),
        }
    }
}

/// A cell that a spreadsheet does not evaluate as a formula.
pub(super) fn spreadsheet_safe(value: &str) -> Cow<'_, str> {
    if formula_start(value).is_some() {
        Cow::Owned(format!("'{value}"))
    } else {
        Cow::Borrowed(value)
    }
}
