//! Assessments as they are cached, with the facts that decide whether they may be repeated.

use std::sync::{Arc, OnceLock};

use assay_engine::{
    assessment::{Assessment, digest},
    evidence::ChainState,
    facts::Cluster,
    score::Verdict,
};
use assay_store::checks::CheckSummary;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Assessment with its time and digest. Its properties are serialized without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerializedAssessment {
    /// The assessment as a JSON object, serialized once.
    #[serde(skip)]
    pub text: Arc<str>,
    /// Address in canonical form that was assessed; for a transfer, the receiver's address.
    pub address: String,
    /// Digest of the assessment.
    pub digest: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Time of the assessment.
    pub assessed_at: Timestamp,
    /// Time from which the assessment would differ although no data is new.
    pub valid_until: Option<Timestamp>,
    /// Generation of the lists and labels by which the address was assessed.
    pub(super) generation: u64,
    /// Hash of the chain's latest block when the address was assessed; `None` if the chain was not read.
    pub(super) tip: Option<String>,
    /// Root of the address's cluster when it was assessed; `None` if the address is alone in its cluster, or clusters
    /// were not read.
    pub(super) cluster_root: Option<String>,
    /// Revision of the compositions (origin breakdowns) that the assessment used, if they rest on earlier lists and
    /// labels; `None` otherwise.
    pub(super) outdated_compositions: Option<String>,
    /// Properties by which kept checks with this assessment are found, once a check was kept.
    #[serde(skip)]
    pub(super) summary: Derived<Option<Arc<CheckSummary>>>,
    /// Hash of the address in logs, once a check was logged.
    #[serde(skip)]
    pub(super) address_hash: Derived<String>,
}

/// Value that follows from the other properties, computed when it is first needed: it makes no difference between two
/// assessments.
#[derive(Clone, Debug)]
pub(super) struct Derived<T>(OnceLock<T>);

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Derived<T> {}

impl SerializedAssessment {
    /// Serializes an assessment made at `assessed_at` from lists and labels of `generation`.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be serialized, which never happens.
    pub fn new(
        assessment: &Assessment,
        assessed_at: Timestamp,
        generation: u64,
    ) -> Result<Self, serde_json::Error> {
        let tips = assessment.sources.iter().filter_map(|source| source.latest_block.as_ref());
        let text = serde_json::to_string(assessment)?;
        let digest = digest(&text);
        Ok(Self {
            text: text.into(),
            address: assessment.address.clone(),
            digest,
            verdict: assessment.verdict,
            assessed_at,
            valid_until: assessment.valid_until,
            generation,
            tip: tips.map(|tip| tip.hash.clone()).next(),
            cluster_root: None,
            outdated_compositions: None,
            summary: Derived(Some(Arc::new(CheckSummary::of_assessment(assessment))).into()),
            address_hash: Derived::default(),
        })
    }

    /// Returns the assessment with another text, digest and time: that of several assessments together.
    #[must_use]
    pub(crate) fn rewritten(self, text: String, digest: String, assessed_at: Timestamp) -> Self {
        Self { text: text.into(), digest, assessed_at, summary: Derived::default(), ..self }
    }

    /// Adds the cluster on which the assessment rests.
    #[must_use]
    pub fn with_cluster(self, cluster: Option<&Cluster>) -> Self {
        let shared = cluster.filter(|cluster| cluster.size > 1);
        Self { cluster_root: shared.map(|cluster| cluster.root.as_str().to_owned()), ..self }
    }

    /// Adds the outdated compositions (origin breakdowns) on which the assessment rests.
    #[must_use]
    pub fn with_compositions(self, chain: &ChainState) -> Self {
        let used = match chain {
            ChainState::Followed(chain) => chain.flows.compositions.as_ref(),
            ChainState::NotFollowed | ChainState::Unavailable(_) => None,
        };
        let outdated = used.filter(|used| used.is_outdated).map(|used| used.revision.clone());
        Self { outdated_compositions: outdated, ..self }
    }

    /// True if the assessment used compositions (origin breakdowns) of earlier lists and labels: it may differ as soon
    /// as they are computed anew, so that callers must not repeat it.
    #[must_use]
    pub const fn has_outdated_compositions(&self) -> bool {
        self.outdated_compositions.is_some()
    }

    /// Returns the properties by which kept checks with this assessment are found, without a reference; `None` if the
    /// text has none.
    #[must_use]
    pub fn summary(&self) -> Option<&Arc<CheckSummary>> {
        let read = || CheckSummary::of_answer(&self.text).map(Arc::new);
        self.summary.0.get_or_init(read).as_ref()
    }

    /// Returns the hash of the address in the logs of this server, which `compute` returns.
    pub fn address_hash(&self, compute: impl FnOnce() -> String) -> &str {
        self.address_hash.0.get_or_init(compute)
    }

    /// Returns the age of the assessment.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.assessed_at).max(SignedDuration::ZERO)
    }
}
