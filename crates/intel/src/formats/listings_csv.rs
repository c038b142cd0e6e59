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
//! The first five columns are required; columns may be in any order. Cells are separated by commas. A cell with a
//! comma, a quote or a line break is quoted, with quotes inside doubled. The file does not state its date of issue.

use std::io::BufRead;

use assay_input::{
    FileSelection,
    rows::{CsvRow, CsvRows, Quotes},
    text::TextLines,
};
use jiff::civil::Date;

use super::{FileError, Format, FormatReader, ReadOption};
use crate::listings::{
    Publication,
    column::{ListingColumn, column_error},
    rows::{ListingRow, ListingRows},
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
    reader: FormatReader::Listings(|input, context| {
        input.read_one(|file| read(file.content, context.published_on))
    }),
};

/// Reads a file that was issued on `published_on`.
///
/// # Errors
///
/// Returns an error if the file is damaged or of another format. A refused file has no effect.
pub fn read(input: impl BufRead, published_on: Date) -> Result<Publication, FileError> {
    let mut records = CsvRows::new(TextLines::new(input), Quotes::Strict);
    let Some(header) = records.next_row()? else {
        return Err(column_error(1, "the file is empty".to_owned()));
    };
    let columns = read_header(header)?;
    let mut rows = ListingRows::new(published_on);
    while let Some(record) = records.next_row()? {
        rows.add(record.line, &read_row(record, &columns)?, record.bytes)?;
    }
    Ok(rows.publish())
}

fn read_header(CsvRow { line, cells, .. }: CsvRow<'_>) -> Result<Vec<ListingColumn>, FileError> {
    let mut columns = Vec::new();
    for name in cells.iter().map(str::trim) {
        let column = ListingColumn::named(name, line)?;
        if columns.contains(&column) {
            return Err(column_error(line, format!("column `{name}` is repeated")));
        }
        columns.push(column);
    }
    match ListingColumn::REQUIRED.into_iter().find(|required| !columns.contains(required)) {
        Some(missing) => Err(column_error(line, format!("column `{}` is missing", missing.name()))),
        None => Ok(columns),
    }
}

fn read_row(
    CsvRow { line, cells, .. }: CsvRow<'_>,
    columns: &[ListingColumn],
) -> Result<ListingRow, FileError> {
    let mut row = ListingRow::default();
    for (column, cell) in columns.iter().zip(cells) {
        let texts = if column.is_several() {
            cell.split(';').map(str::to_owned).collect()
        } else {
            vec![cell.to_owned()]
        };
        row.set(line, *column, texts)?;
    }
    Ok(row)
}
