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
//! The first five columns are required; columns may be in any order. Cells are separated by commas, semicolons, tabs or
//! vertical bars. A cell with the separator, a quote or a line break is quoted, with quotes inside doubled. The file does
//! not state its date of issue.

use std::io::BufRead;

use assay_engine::names::{ListId, SourceId};
use assay_input::{
    FileSelection,
    rows::{CsvRow, CsvRows, Quotes, Width},
    text::TextLines,
};
use jiff::civil::Date;

use super::{FileError, Format, FormatReader, ReadOption};
use crate::{
    header,
    listings::{
        Publication,
        column::{ListingColumn, column_error},
        rows::{ListingRow, ListingRows},
    },
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
        input.read_one(|file| read(file.content, context.published_on, context.source))
    }),
};

/// Reads a file of `source` that was issued on `published_on`. Rows that name no list belong to that of the source.
///
/// # Errors
///
/// Returns an error if the file is damaged or of another format. A refused file has no effect.
pub fn read(
    input: impl BufRead,
    published_on: Date,
    source: &SourceId,
) -> Result<Publication, FileError> {
    let known = ListingColumn::named_columns();
    let is_column = |name: &str| header::find(name, &known).is_some();
    let lines = TextLines::new(input);
    let mut records = CsvRows::new(lines, Quotes::Strict, Width::OfHeader, &is_column);
    let Some(CsvRow { line, cells, .. }) = records.next_row()? else {
        return Err(column_error(1, "the file is empty".to_owned()));
    };
    let required = ListingColumn::REQUIRED.map(|column| (column.name(), column));
    let columns =
        header::columns(cells, &known, &required).map_err(|problem| column_error(line, problem))?;
    let mut rows = ListingRows::new(published_on, ListId::from(source));
    while let Some(record) = records.next_row()? {
        rows.add(record.line, &read_row(record, &columns)?, record.bytes)?;
    }
    Ok(rows.publish())
}

fn read_row(
    CsvRow { line, cells, .. }: CsvRow<'_>,
    columns: &[Option<ListingColumn>],
) -> Result<ListingRow, FileError> {
    let mut row = ListingRow::default();
    for (column, cell) in columns.iter().zip(cells) {
        let Some(column) = *column else {
            header::problem_of_unnamed(cell)
                .map_or(Ok(()), |problem| Err(column_error(line, problem)))?;
            continue;
        };
        let texts = if column.is_several() {
            cell.split(';').map(str::to_owned).collect()
        } else {
            vec![cell.to_owned()]
        };
        row.set(line, column, texts)?;
    }
    Ok(row)
}
