//! An assessment as it is answered, and what decides whether it may be repeated.

use assay_engine::{assessment::Assessment, score::Verdict};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// An assessment, when it was made, and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessed {
    /// The assessment in JSON: an object, printed once however often it is answered.
    pub text: String,
    /// Its digest.
    pub digest: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// When it was made.
    pub assessed_at: Timestamp,
    /// From when on time alone would change it.
    pub valid_until: Option<Timestamp>,
    /// The generation of the lists and labels it was made from.
    pub(super) generation: u64,
    /// Its chain's newest block then, by its hash; `None` where the chain was not looked at.
    pub(super) tip: Option<String>,
}

impl Assessed {
    /// Takes note of an assessment made at `assessed_at` from lists and labels of `generation`.
    ///
    /// # Errors
    ///
    /// Where it cannot be printed, which never happens.
    pub fn new(
        assessment: &Assessment,
        assessed_at: Timestamp,
        generation: u64,
    ) -> Result<Self, serde_json::Error> {
        let tips = assessment.sources.iter().filter_map(|source| source.latest_block.as_ref());
        Ok(Self {
            text: serde_json::to_string(assessment)?,
            digest: assessment.digest(),
            verdict: assessment.verdict,
            assessed_at,
            valid_until: assessment.valid_until,
            generation,
            tip: tips.map(|tip| tip.hash.clone()).next(),
        })
    }

    /// How old it is.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.assessed_at).max(SignedDuration::ZERO)
    }
}
