//! Rows of an export, as CSV or JSON lines.

use std::io::{self, Write};

use serde::Serialize;

use super::{Failure, export::ExportFormat, rows::csv_failure};

/// The output.
pub(super) enum Sink {
    Csv(Box<csv::Writer<Box<dyn Write + Send>>>),
    Lines(Box<dyn Write + Send>),
}

impl Sink {
    /// An output with these columns.
    pub(super) fn new(
        format: ExportFormat,
        columns: &[&str],
        target: io::BufWriter<Box<dyn Write + Send>>,
    ) -> Result<Self, Failure> {
        let target: Box<dyn Write + Send> = Box::new(target);
        Ok(match format {
            ExportFormat::Jsonl => Self::Lines(target),
            ExportFormat::Csv => {
                let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(target);
                csv.write_record(columns).map_err(csv_failure)?;
                Self::Csv(Box::new(csv))
            }
        })
    }

    /// Writes a row, whose fields are in the order of the columns.
    pub(super) fn row(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        match self {
            Self::Csv(csv) => csv.serialize(row).map_err(csv_failure),
            Self::Lines(target) => {
                serde_json::to_writer(&mut *target, row).map_err(io::Error::from)?;
                Ok(target.write_all(b"\n")?)
            }
        }
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Csv(mut csv) => Ok(csv.flush()?),
            Self::Lines(mut target) => Ok(target.flush()?),
        }
    }
}
