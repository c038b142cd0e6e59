//! The prices of exchanges by day. The ledgers of a day keep the prices with which its first block was booked, so that blocks that
//! are booked again after a reorganisation, in another batch or by another program give the same ledgers.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::account::{AssetNumber, DayPrices, DayValues, Prices, UsdPrice};
use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::{reader::Reader, tables::Tables};
use crate::{GraphError, error::damaged};
use assay_mapped::WriteTransaction;

/// Most days whose values are kept in memory between two batches.
const MOST_DAYS: usize = 64;
/// Length of a price in a row.
const PRICE_BYTES: usize = 4 + 16;

/// The values of the days of blocks.
#[derive(Debug, Default)]
pub(super) struct LedgerValues {
    prices: Arc<Prices>,
    days: FxHashMap<Date, DayValues>,
    /// Days of which the graph has no prices yet.
    new: Vec<(Date, DayPrices)>,
}

impl LedgerValues {
    /// Uses other prices for days without prices.
    pub(super) fn set_prices(&mut self, prices: Arc<Prices>) {
        self.prices = prices;
    }

    /// Forgets what is not written.
    pub(super) fn forget(&mut self) {
        self.days.clear();
        self.new.clear();
    }

    /// Reads or chooses the prices of the days of a batch.
    pub(super) fn note(
        &mut self,
        reader: &Reader<'_>,
        (chain, days): (ChainId, impl Iterator<Item = Date>),
    ) -> Result<(), GraphError> {
        if self.days.len() > MOST_DAYS {
            self.days.clear();
        }
        for day in days {
            if self.days.contains_key(&day) {
                continue;
            }
            let known = reader.day_prices(day)?;
            let prices = known.unwrap_or_else(|| {
                let chosen = DayPrices::before(chain, &self.prices, day);
                self.new.push((day, chosen.clone()));
                chosen
            });
            self.days.insert(day, DayValues::of(chain, &prices));
        }
        Ok(())
    }

    /// The values of a day whose prices were [noted](Self::note).
    pub(super) fn of(&self, day: Date) -> Option<&DayValues> {
        self.days.get(&day)
    }

    /// Writes the prices that were chosen.
    pub(super) fn write(
        &mut self,
        tables: &Tables,
        txn: &mut WriteTransaction<'_>,
    ) -> Result<(), GraphError> {
        for (day, prices) in self.new.drain(..) {
            let mut row = Vec::with_capacity(prices.all().len() * PRICE_BYTES);
            for (asset, price) in prices.all() {
                row.extend_from_slice(&asset.0.to_be_bytes());
                row.extend_from_slice(&price.attodollars().to_be_bytes());
            }
            tables.price.put(txn, day.to_string().as_bytes(), &row)?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// The prices with which the transactions of a day were booked; `None` if none was.
    pub(super) fn day_prices(&self, day: Date) -> Result<Option<DayPrices>, GraphError> {
        let row = self.tables.price.get(self.txn, day.to_string().as_bytes())?;
        let parsed = row.map(|row| parse(row).ok_or_else(|| damaged("price", day)));
        parsed.transpose()
    }
}

fn parse(row: &[u8]) -> Option<DayPrices> {
    let (rows, rest) = row.as_chunks::<PRICE_BYTES>();
    let price = |row: &[u8; PRICE_BYTES]| {
        let (asset, price) = row.split_first_chunk::<4>()?;
        let price = UsdPrice::from_attodollars(u128::from_be_bytes(price.try_into().ok()?))?;
        Some((AssetNumber(u32::from_be_bytes(*asset)), price))
    };
    let prices = rows.iter().map(price).collect::<Option<Vec<_>>>()?;
    rest.is_empty().then(|| DayPrices::of_stored(prices))
}
