//! Recording prices in place of those of the same assets and days.

use std::collections::BTreeSet;

use assay_engine::account::AssetId;
use assay_store::{IntelStore, StoreError, intel::PriceImport};
use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::{ImportError, ImportOrigin, ImportOutcome, ImportedContent};
use crate::{
    plan::{
        Digests, ImportOptions,
        prices::{self as price_plan, PriceChange},
    },
    prices::PriceSet,
};

/// Prices that were recorded, with the changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedPrices {
    /// SHA-256 of the content.
    pub digest: String,
    /// SHA-256 of the file before unpacking.
    pub file_digest: String,
    /// Number of files.
    pub files: usize,
    /// Number of prices.
    pub prices: usize,
    /// Number of assets.
    pub assets: usize,
    /// First day with a price.
    pub first_day: Date,
    /// Newest day with a price.
    pub newest_day: Date,
    /// Numbers of prices that changed.
    #[serde(flatten)]
    pub change: PriceChange,
    /// Number of rows that repeat the price of another row.
    pub repeated: u64,
}

/// Records the prices of `files` files.
///
/// # Errors
///
/// Returns an error if there is no price, a price is implausible, or the store fails.
pub async fn record(
    store: &dyn IntelStore,
    set: &PriceSet,
    files: usize,
    provenance: &ImportOrigin,
    options: &ImportOptions,
    now: Timestamp,
) -> Result<ImportOutcome, ImportError> {
    let days = || set.prices.iter().map(|(_, day, _)| *day);
    let (Some(first_day), Some(newest_day)) = (days().min(), days().max()) else {
        return Err(ImportError::NoPrices { origin: provenance.origin.clone() });
    };
    let digests = Digests { file: &provenance.file_digest, content: &provenance.digest };
    let change = loop {
        let known = store.recorded_prices(&provenance.source).await?;
        if known.digest.as_ref() == Some(&provenance.digest) {
            store.confirm_fetch(&provenance.source, now, provenance.fetched.as_ref()).await?;
            let digest = provenance.digest.clone();
            return Ok(ImportOutcome::Unchanged { digest, verified: true });
        }
        let (changed, change) = price_plan::plan(&known.prices, &set.prices);
        if !digests.accepted_by(options) {
            price_plan::check(&known.prices, &changed, digests.file)
                .map_err(|source| ImportError::refused(&provenance.origin, source))?;
        }
        let import = PriceImport {
            planned_at_generation: known.generation,
            source: provenance.source.clone(),
            sample: provenance.sample,
            digest: provenance.digest.clone(),
            file_digest: provenance.file_digest.clone(),
            format: provenance.format.clone(),
            origin: provenance.origin.clone(),
            fetched: provenance.fetched.clone(),
            entries: u64::try_from(set.prices.len()).unwrap_or(u64::MAX),
            newest_day,
            changed,
            at: now,
        };
        match store.record_prices(&import).await {
            Ok(()) => break change,
            // Another import was recorded meanwhile: plan again.
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    };
    let assets: BTreeSet<AssetId> = set.prices.iter().map(|(asset, ..)| *asset).collect();
    Ok(ImportOutcome::Imported(ImportedContent::Prices(ImportedPrices {
        digest: provenance.digest.clone(),
        file_digest: provenance.file_digest.clone(),
        files,
        prices: set.prices.len(),
        assets: assets.len(),
        first_day,
        newest_day,
        change,
        repeated: set.repeated,
    })))
}
