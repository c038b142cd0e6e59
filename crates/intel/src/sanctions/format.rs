//! Reading a publication by its format.

use std::io::BufRead;

use jiff::civil::Date;

use super::{ListError, Publication, lines, ofac_advanced, ofac_enhanced, table};
use crate::xml::XmlError;

/// A format that a publication comes in. Where the file does not give its date of issue, the format
/// carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OFAC's Advanced XML.
    OfacAdvanced,
    /// OFAC's Enhanced XML.
    OfacEnhanced,
    /// A plain listing as CSV.
    Table {
        /// Date of issue.
        published_on: Date,
    },
    /// A plain listing as JSON lines.
    Lines {
        /// Date of issue.
        published_on: Date,
    },
}

/// Why a publication could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An XML format.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// A plain listing.
    #[error(transparent)]
    List(#[from] ListError),
}

/// Reads a publication.
///
/// # Errors
///
/// Where the file is broken or not of this format.
pub fn read(format: Format, input: impl BufRead) -> Result<Publication, ReadError> {
    Ok(match format {
        Format::OfacAdvanced => ofac_advanced::read(input)?,
        Format::OfacEnhanced => ofac_enhanced::read(input)?,
        Format::Table { published_on } => table::read(input, published_on)?,
        Format::Lines { published_on } => lines::read(input, published_on)?,
    })
}
