//! Rows of prices and their sources.

use std::collections::BTreeMap;

use assay_engine::{
    account::{AssetId, DayPrice},
    evidence::{SourceKind, SourceState},
};

use super::Row;
use crate::{StoreError, value};

/// The prices of rows in the order of assets. The asset of the last row is kept: reading an address takes longer than
/// the rest of a row.
#[derive(Default)]
pub(crate) struct PriceRows {
    last: Option<(String, AssetId)>,
}

impl PriceRows {
    pub(crate) fn price(&mut self, row: &Row) -> Result<DayPrice, StoreError> {
        let text = row.text("asset")?;
        let asset = match &self.last {
            Some((known, asset)) if known == text => *asset,
            _ => {
                let asset = value::parsed("prices.asset", text)?;
                self.last = Some((text.to_owned(), asset));
                asset
            }
        };
        let day = value::day("prices.day", row.text("day")?)?;
        Ok((asset, day, value::parsed("prices.usd", row.text("usd")?)?))
    }
}

/// The state of a source of prices.
pub(crate) fn source(row: &Row) -> Result<SourceState, StoreError> {
    Ok(SourceState {
        id: value::parsed("price_sources.id", row.text("id")?)?,
        kind: SourceKind::Prices,
        lists: Vec::new(),
        publications: vec![value::day("price_sources.newest_day", row.text("newest_day")?)?],
        fetched_at: value::time("price_sources.fetched_at", row.integer("fetched_at")?)?,
        digest: row.text("digest")?.to_owned(),
        entries: value::unsigned("price_sources.entries", row.integer("entries")?)?,
        sample: row.flag("sample")?,
        unmatched: BTreeMap::new(),
    })
}
