//! Records of imported prices.

use assay_engine::{account::DayPrice, names::SourceId};
use jiff::{Timestamp, civil::Date};

use super::FetchConditions;

/// A request for all prices in force.
#[derive(Clone, Copy, Debug, Default)]
pub struct PriceRequest {
    /// The generation of prices that the caller has: if it is the current generation, no prices are returned.
    pub known: Option<u64>,
}

/// All prices, and the newest import of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPrices {
    /// The number of changes of prices.
    pub generation: u64,
    /// SHA-256 of the content of the source's newest import; `None` if there is none.
    pub digest: Option<String>,
    /// All prices, by asset and day.
    pub prices: Vec<DayPrice>,
}

/// A planned import of prices.
#[derive(Clone, Debug)]
pub struct PriceImport {
    /// The generation of prices at which the import was planned.
    pub planned_at_generation: u64,
    /// The source.
    pub source: SourceId,
    /// True if the data is demo data.
    pub sample: bool,
    /// SHA-256 of the content.
    pub digest: String,
    /// SHA-256 of the file as fetched.
    pub file_digest: String,
    /// The format's name.
    pub format: String,
    /// The file or URL that the prices were imported from.
    pub origin: String,
    /// The URL that the prices were fetched from and the validators of the answer; `None` for a file.
    pub fetched: Option<(String, FetchConditions)>,
    /// The number of prices in the import, unchanged ones included.
    pub entries: u64,
    /// The newest day in the import.
    pub newest_day: Date,
    /// Prices that are new or replace the recorded price of the same asset and day.
    pub changed: Vec<DayPrice>,
    /// The time of the import.
    pub at: Timestamp,
}
