//! Sources, publications, listings and labels in PostgreSQL.

mod labels;
mod listings;

use assay_address::CanonicalAddress;
use assay_engine::names::SourceId;
use async_trait::async_trait;
use jiff::Timestamp;

use super::PostgresStore;
use crate::{
    StoreError,
    intel::{
        FetchConditions, Intel, IntelStore, LabelChange, LabelFilter, LabelImport, LabelReading,
        PublicationImport, RecordedHistory, RecordedLabel, Suppression,
    },
};

#[async_trait]
impl IntelStore for PostgresStore {
    async fn intel(&self, labels: Option<LabelReading<'_>>) -> Result<Intel, StoreError> {
        let loading = async {
            let mut transaction = self.read().await?;
            let intel = listings::load(&mut transaction).await?;
            Ok::<_, StoreError>((transaction, intel))
        };
        let (mut transaction, intel) = self.database.control.with_timeout(loading).await?;
        if let Some(reading) = labels
            && reading.known != Some(intel.label_generation)
        {
            labels::standing(&mut transaction, &self.database.control, reading.each).await?;
        }
        Ok(intel)
    }

    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError> {
        let asking = async {
            let mut transaction = self.read().await?;
            listings::history(&mut transaction, source).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            listings::record_publication(&mut transaction, &import).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn record_labels(&self, import: LabelImport) -> Result<Option<LabelChange>, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let change = labels::record(&mut transaction, &import).await?;
            transaction.commit().await?;
            Ok(change)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError> {
        let working =
            async { labels::all(&mut *self.database.control.acquire().await?, filter, each).await };
        self.database.control.with_liveness_probe(working).await
    }

    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let withdrawn = labels::suppress(&mut transaction, suppression).await?;
            transaction.commit().await?;
            Ok(withdrawn)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            let lifted = labels::lift(&mut transaction, source, address, at).await?;
            transaction.commit().await?;
            Ok(lifted)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError> {
        let working =
            async { labels::suppressions(&mut *self.database.control.acquire().await?).await };
        self.database.control.with_liveness_probe(working).await
    }

    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError> {
        let asking = async {
            listings::fetch_conditions(&mut *self.database.control.acquire().await?, source, url)
                .await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.change().await?;
            listings::confirm_fetch(&mut transaction, source, at, fetched).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }
}
