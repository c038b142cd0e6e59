//! Sources, publications, listings and labels in `SQLite`.

mod labels;
mod listings;

use assay_address::CanonicalAddress;
use assay_engine::names::SourceId;
use async_trait::async_trait;
use jiff::Timestamp;

use super::SqliteStore;
use crate::{
    StoreError,
    intel::{
        FetchConditions, Intel, IntelStore, LabelChange, LabelFilter, LabelImport, LabelReading,
        PublicationImport, RecordedHistory, RecordedLabel, Suppression,
    },
};

#[async_trait]
impl IntelStore for SqliteStore {
    async fn intel(&self, labels: Option<LabelReading<'_>>) -> Result<Intel, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let intel = listings::load(&mut transaction).await?;
        if let Some(reading) = labels
            && reading.known != Some(intel.label_generation)
        {
            labels::standing(&mut transaction, reading.each).await?;
        }
        Ok(intel)
    }

    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError> {
        let mut transaction = self.pool.begin().await?;
        listings::history(&mut transaction, source).await
    }

    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        listings::record_publication(&mut transaction, &import).await?;
        Ok(transaction.commit().await?)
    }

    async fn record_labels(&self, import: LabelImport) -> Result<Option<LabelChange>, StoreError> {
        let mut transaction = self.write().await?;
        let change = labels::record(&mut transaction, &import).await?;
        transaction.commit().await?;
        Ok(change)
    }

    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError> {
        labels::all(&self.pool, filter, each).await
    }

    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError> {
        let mut transaction = self.write().await?;
        let withdrawn = labels::suppress(&mut transaction, suppression).await?;
        transaction.commit().await?;
        Ok(withdrawn)
    }

    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut transaction = self.write().await?;
        let lifted = labels::lift(&mut transaction, source, address, at).await?;
        transaction.commit().await?;
        Ok(lifted)
    }

    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError> {
        labels::suppressions(&self.pool).await
    }

    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError> {
        listings::fetch_conditions(&self.pool, source, url).await
    }

    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        listings::confirm_fetch(&mut transaction, source, at, fetched).await?;
        Ok(transaction.commit().await?)
    }
}
