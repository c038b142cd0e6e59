//! Columns and rows of price files. A row that cannot be read refuses the files: a missing price is no better than a
//! wrong one, and the publisher of a price file can mend it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, btree_map::Entry},
};

use assay_engine::account::{AssetId, UsdPrice};
use jiff::civil::Date;

use super::PriceSet;
use crate::error::FileError;

/// Largest number of prices of an import: 500 assets over ten years.
const MAX_PRICES: usize = 2_000_000;

/// Column of a row of `prices-csv`, and field of an object of `prices-jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriceColumn {
    Asset,
    Day,
    Usd,
}

impl PriceColumn {
    /// Every column; each is required.
    pub(crate) const ALL: [Self; 3] = [Self::Asset, Self::Day, Self::Usd];

    /// Names and columns.
    pub(crate) fn named_columns() -> [(&'static str, Self); 3] {
        Self::ALL.map(|column| (column.name(), column))
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Asset => "asset",
            Self::Day => "day",
            Self::Usd => "usd",
        }
    }
}

/// An error about the columns of a file.
pub(crate) fn column_error(line: u64, problem: String) -> FileError {
    FileError::Columns { line, problem, known: PriceColumn::ALL.map(PriceColumn::name).join(", ") }
}

/// The texts of a row. A column that is left out is `None`.
#[derive(Default)]
pub(crate) struct PriceRow<'a> {
    asset: Option<Cow<'a, str>>,
    day: Option<Cow<'a, str>>,
    usd: Option<Cow<'a, str>>,
}

impl<'a> PriceRow<'a> {
    /// Sets the text of a column. Returns false if it is set already.
    pub(crate) fn set(&mut self, column: PriceColumn, text: Cow<'a, str>) -> bool {
        let held = match column {
            PriceColumn::Asset => &mut self.asset,
            PriceColumn::Day => &mut self.day,
            PriceColumn::Usd => &mut self.usd,
        };
        held.replace(text).is_none()
    }
}

/// The price of an asset and day, with its place.
struct FoundPrice {
    price: UsdPrice,
    file: usize,
    line: u64,
}

/// Prices of files while they are read.
pub(crate) struct PriceCollector {
    today: Date,
    /// Names of the files.
    files: Vec<String>,
    /// Assets by their texts: reading an address takes longer than the rest of a row.
    assets: HashMap<String, AssetId>,
    prices: BTreeMap<(AssetId, Date), FoundPrice>,
    repeated: u64,
}

impl PriceCollector {
    /// Collects prices of days up to `today`.
    pub(crate) fn new(today: Date) -> Self {
        Self {
            today,
            files: Vec::new(),
            assets: HashMap::new(),
            prices: BTreeMap::new(),
            repeated: 0,
        }
    }

    /// Begins the next file.
    pub(crate) fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Adds the price of a row.
    ///
    /// # Errors
    ///
    /// Returns an error if a text cannot be read, the day is in the future, or another row states another price.
    pub(crate) fn add(&mut self, line: u64, row: &PriceRow<'_>) -> Result<(), FileError> {
        let cell = |column: PriceColumn, text: &Option<Cow<'_, str>>| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| wrong(line, column, "is missing".to_owned()))
        };
        let asset = self.asset(line, &cell(PriceColumn::Asset, &row.asset)?)?;
        let day = self.day(line, &cell(PriceColumn::Day, &row.day)?)?;
        let price: UsdPrice = cell(PriceColumn::Usd, &row.usd)?
            .parse()
            .map_err(|error| wrong(line, PriceColumn::Usd, format!("{error}")))?;
        let file = self.files.len().saturating_sub(1);
        match self.prices.entry((asset, day)) {
            Entry::Vacant(vacant) => {
                vacant.insert(FoundPrice { price, file, line });
            }
            Entry::Occupied(found) if found.get().price == price => self.repeated += 1,
            Entry::Occupied(found) => {
                let FoundPrice { price: other, file: other_file, line: other_line } = found.get();
                let place = match self.files.get(*other_file) {
                    Some(name) if *other_file != file => format!("line {other_line} of {name}"),
                    _ => format!("line {other_line}"),
                };
                let problem = format!(
                    "{price} for {asset} on {day}, and {other} in {place}: leave one of them out"
                );
                return Err(wrong(line, PriceColumn::Usd, problem));
            }
        }
        if self.prices.len() > MAX_PRICES {
            return Err(FileError::TooMany { subject: "prices", max: MAX_PRICES });
        }
        Ok(())
    }

    fn asset(&mut self, line: u64, text: &str) -> Result<AssetId, FileError> {
        if let Some(known) = self.assets.get(text) {
            return Ok(*known);
        }
        let asset: AssetId =
            text.parse().map_err(|error| wrong(line, PriceColumn::Asset, format!("{error}")))?;
        self.assets.insert(text.to_owned(), asset);
        Ok(asset)
    }

    fn day(&self, line: u64, text: &str) -> Result<Date, FileError> {
        let is_whole = text.len() == "2026-01-31".len();
        let day = text.parse::<Date>().ok().filter(|_| is_whole).ok_or_else(|| {
            let short: String = text.chars().take(80).collect();
            let problem = format!("`{short}` is no day: write a day of UTC such as 2026-01-31");
            wrong(line, PriceColumn::Day, problem)
        })?;
        if day > self.today {
            let problem = format!("{day} is in the future: today is {} (UTC)", self.today);
            return Err(wrong(line, PriceColumn::Day, problem));
        }
        Ok(day)
    }

    pub(crate) fn finish(self) -> PriceSet {
        let prices = self.prices.into_iter();
        PriceSet {
            prices: prices.map(|((asset, day), found)| (asset, day, found.price)).collect(),
            repeated: self.repeated,
        }
    }
}

fn wrong(line: u64, column: PriceColumn, problem: String) -> FileError {
    FileError::Cell { line, column: column.name(), problem }
}
