//! The content of a price file, and the shared parts of the readers of its formats.
//!
//! - `row`: the columns, and collecting the rows of files

mod row;

use assay_engine::account::DayPrice;

pub(crate) use row::{PriceCollector, PriceColumn, PriceRow, column_error};

/// The prices of the files of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceSet {
    /// The prices, by asset and day, one for each.
    pub prices: Vec<DayPrice>,
    /// Number of rows that repeat the price of another row.
    pub repeated: u64,
}
