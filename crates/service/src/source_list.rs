//! List of all sources with their freshness under a policy.

use assay_engine::{
    assess_never_fetched, assess_sources, assess_tip, assessment::AssessedSource, policy::Policy,
};
use assay_telemetry::stage;
use jiff::Timestamp;
use tracing::Instrument as _;

use crate::{Service, never_fetched};

impl Service {
    /// Returns the lists, labels, prices and chains, with those that were never fetched. A policy decides which are
    /// mandatory and which are stale. Chains whose latest blocks cannot be read are left out, and logged.
    pub async fn assessed_sources(&self, policy: &Policy, now: Timestamp) -> Vec<AssessedSource> {
        let intel = self.intel();
        let mut sources = assess_sources(intel.sources(), policy, now);
        sources.extend(assess_sources(intel.price_sources(), policy, now));
        let never_fetched = never_fetched(&self.access().directory, &intel);
        sources.extend(assess_never_fetched(&never_fetched, policy));
        let chains = self.chains();
        match chains.latest_blocks().instrument(stage!("read_tips")).await {
            Ok(tips) => sources.extend(
                tips.iter()
                    .filter_map(|(chain, tip)| assess_tip(*chain, intel.environment(), tip, now)),
            ),
            Err(error) => tracing::error!(%error, "failed to read the latest blocks"),
        }
        sources
    }
}
