//! Sources, publications, listings, labels and prices.

mod labels;
mod listings;
mod prices;

use std::path::Path;

use assay_address::CanonicalAddress;
use assay_engine::names::SourceId;
use async_trait::async_trait;
use jiff::Timestamp;

use super::{Backend, RowScope, SessionMode};
use crate::{
    StoreError,
    intel::{
        FetchConditions, Intel, IntelStore, LabelChange, LabelCounts, LabelFilter, LabelImport,
        LabelRequest, PriceImport, PriceRequest, PublicationImport, RecordedHistory, RecordedLabel,
        RecordedPrices, Suppression,
    },
};

#[async_trait]
impl<B: Backend> IntelStore for B {
    fn cache_folder(&self) -> Option<&Path> {
        Backend::cache_folder(self)
    }

    async fn intel(
        &self,
        labels: Option<LabelRequest<'_>>,
        prices: Option<PriceRequest>,
    ) -> Result<Intel, StoreError> {
        let loading = async {
            let mut session = self.session(SessionMode::Read(RowScope::Common)).await?;
            let mut intel = listings::load(&mut session).await?;
            intel.suppressions = labels::suppressions(&mut session).await?;
            intel.suppressions.retain(|suppression| suppression.lifted_at.is_none());
            intel.price_sources = prices::sources(&mut session).await?;
            Ok((session, intel))
        };
        let (mut session, mut intel) = self.with_timeout(loading).await?;
        if let Some(reading) = labels
            && !(reading.is_known)(&intel.label_revision)
        {
            labels::newest_labels(self, &mut session, reading.each).await?;
        }
        if prices.is_some_and(|asked| asked.known != Some(intel.price_generation)) {
            intel.prices = Some(prices::all(self, &mut session).await?);
        }
        Ok(intel)
    }

    async fn source_history(&self, source: &SourceId) -> Result<RecordedHistory, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Common)).await?;
            listings::history(&mut session, source).await
        };
        self.with_timeout(asking).await
    }

    async fn record_publication(&self, import: PublicationImport) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            listings::record_publication(&mut session, &import).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn record_labels(&self, import: &LabelImport) -> Result<Option<LabelChange>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            let change = labels::record(&mut session, import).await?;
            session.commit(change).await
        };
        self.with_liveness_probe(working).await
    }

    async fn recorded_prices(&self, source: &SourceId) -> Result<RecordedPrices, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Read(RowScope::Common)).await?;
            prices::recorded(&mut session, source).await
        };
        self.with_liveness_probe(working).await
    }

    async fn record_prices(&self, import: &PriceImport) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            prices::record(&mut session, import).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    async fn label_counts(&self, source: &SourceId) -> Result<LabelCounts, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Read(RowScope::Common)).await?;
            labels::counts(&mut session, source).await
        };
        self.with_liveness_probe(working).await
    }

    async fn labels(
        &self,
        filter: &LabelFilter,
        each: &mut (dyn FnMut(RecordedLabel) + Send),
    ) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Statements).await?;
            labels::recorded_labels(&mut session, filter, each).await
        };
        self.with_liveness_probe(working).await
    }

    async fn suppress_labels(&self, suppression: &Suppression) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            let withdrawn = labels::suppress(&mut session, suppression).await?;
            session.commit(withdrawn).await
        };
        self.with_liveness_probe(working).await
    }

    async fn lift_suppressions(
        &self,
        source: &SourceId,
        address: &CanonicalAddress,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            let lifted = labels::lift_suppressions(&mut session, source, address, at).await?;
            session.commit(lifted).await
        };
        self.with_liveness_probe(working).await
    }

    async fn suppressions(&self) -> Result<Vec<Suppression>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Statements).await?;
            labels::suppressions(&mut session).await
        };
        self.with_liveness_probe(working).await
    }

    async fn fetch_conditions(
        &self,
        source: &SourceId,
        url: &str,
    ) -> Result<FetchConditions, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Statements).await?;
            listings::fetch_conditions(&mut session, source, url).await
        };
        self.with_timeout(asking).await
    }

    async fn confirm_fetch(
        &self,
        source: &SourceId,
        at: Timestamp,
        fetched: Option<&(String, FetchConditions)>,
    ) -> Result<(), StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Change(RowScope::Common)).await?;
            listings::confirm_fetch(&mut session, source, at, fetched).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }
}
