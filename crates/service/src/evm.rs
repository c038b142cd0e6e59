//! Check of one account on every EVM chain, where the same key controls it: the checks of the single chains, of which the
//! worst is the answer.

use std::{cmp::Reverse, sync::Arc};

use assay_address::{AddressRules, CanonicalAddress, ChainId};
use assay_engine::{
    assessment::{AssessmentScope, digest},
    score::{RiskLevel, Score, Verdict},
};
use futures_util::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CacheStatus, Caller, CheckError, CheckOutcome, SerializedAssessment, Service};

/// Check of an account on one of several chains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainVerdict {
    /// Identifier of the blockchain.
    pub blockchain: ChainId,
    /// Verdict of the policy.
    pub verdict: Verdict,
    /// Risk score, 0 to 100.
    pub risk_score: Score,
    /// Risk level of the score under the policy.
    pub risk_level: RiskLevel,
    /// `false` if mandatory data is missing or stale.
    pub complete: bool,
    /// Evidence that the assessment covers: `lists_and_labels` if flows of funds were not assessed.
    pub scope: AssessmentScope,
    /// Kinds of evidence that were assessed, in whole or in part, such as `sanctions`.
    pub assessed: Vec<String>,
    /// Kinds of evidence that were not assessed, such as `exposure`.
    pub not_assessed: Vec<String>,
    /// Digest of the assessment that a check on this chain gives.
    pub assessment_digest: String,
}

/// The fields of an assessment that a summary of it has.
#[derive(Deserialize)]
struct Summary {
    risk_score: Score,
    risk_level: RiskLevel,
    complete: bool,
    scope: AssessmentScope,
    coverage: serde_json::Map<String, Value>,
}

/// Returns an account on every EVM chain.
#[must_use]
pub fn on_every_evm_chain(account: &CanonicalAddress) -> Vec<CanonicalAddress> {
    let chains = ChainId::all().filter(|chain| matches!(chain.info().rules, AddressRules::Evm));
    chains.filter_map(|chain| CanonicalAddress::parse(chain, account.as_str()).ok()).collect()
}

/// Assessment of an account on several chains: that of the worst one, with a summary of each.
#[derive(Clone, Debug)]
pub struct WorstOfChains {
    /// The worst chain's assessment, with `chains` among its fields.
    pub assessed: SerializedAssessment,
    /// The chain of the worst assessment.
    pub chain: ChainId,
    /// Summary of each assessment.
    pub chains: Vec<ChainVerdict>,
}

/// Combines the assessments of one account on several chains. The worst has the highest verdict (`block`, `review`,
/// `indeterminate`, `allow`), then the highest score, then flows of funds; of equal ones it is the first.
///
/// # Errors
///
/// Returns an error if there is no assessment or one is not valid, which never happens.
pub fn worst_of_chains(
    assessments: &[(ChainId, Arc<SerializedAssessment>)],
) -> Result<WorstOfChains, serde_json::Error> {
    let mut chains = Vec::with_capacity(assessments.len());
    for (chain, assessed) in assessments {
        chains.push(summary(*chain, assessed)?);
    }
    let order = |(index, it): &(usize, &ChainVerdict)| {
        let is_full = it.scope == AssessmentScope::Full;
        (rank(it.verdict), it.risk_score, is_full, Reverse(*index))
    };
    let worst = chains.iter().enumerate().max_by_key(order).map(|(index, _)| index);
    let worst = worst.and_then(|index| assessments.get(index));
    let (chain, assessed) =
        worst.ok_or_else(|| <serde_json::Error as serde::de::Error>::custom("no assessments"))?;
    let mut value: Value = serde_json::from_str(&assessed.text)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("chains".to_owned(), serde_json::to_value(&chains)?);
    }
    let oldest = assessments.iter().map(|(_, it)| it.assessed_at).min();
    let assessed_at = oldest.unwrap_or(assessed.assessed_at);
    let assessed = SerializedAssessment::clone(assessed);
    let text = value.to_string();
    let digest = digest(&text);
    let assessed = assessed.rewritten(text, digest, assessed_at);
    Ok(WorstOfChains { assessed, chain: *chain, chains })
}

/// Order of verdicts, the worst last.
const fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Indeterminate => 1,
        Verdict::Review => 2,
        Verdict::Block => 3,
    }
}

fn summary(
    chain: ChainId,
    assessed: &SerializedAssessment,
) -> Result<ChainVerdict, serde_json::Error> {
    let Summary { risk_score, risk_level, complete, scope, coverage } =
        serde_json::from_str(&assessed.text)?;
    let is_assessed = |block: &Value| {
        let status = block.get("status").and_then(Value::as_str);
        matches!(status, Some("assessed" | "partial"))
    };
    let (assessed_kinds, others): (Vec<_>, Vec<_>) =
        coverage.into_iter().partition(|(_, block)| is_assessed(block));
    let names = |kinds: Vec<(String, Value)>| kinds.into_iter().map(|(name, _)| name).collect();
    Ok(ChainVerdict {
        blockchain: chain,
        verdict: assessed.verdict,
        risk_score,
        risk_level,
        complete,
        scope,
        assessed: names(assessed_kinds),
        not_assessed: names(others),
        assessment_digest: assessed.digest.clone(),
    })
}

impl Service {
    /// Checks an account on several chains for a caller, and returns the worst of the answers with the chain that it is
    /// about. Each is the answer of a check on its chain, from the cache or new.
    ///
    /// # Errors
    ///
    /// Returns an error if an assessment cannot be serialized, which never happens.
    pub async fn check_chains(
        self: &Arc<Self>,
        caller: &Caller,
        accounts: &[CanonicalAddress],
        caller_accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<(ChainId, CheckOutcome), CheckError> {
        let checks =
            accounts.iter().map(|account| self.check(caller, account, caller_accepts, now));
        let outcomes: Vec<CheckOutcome> = try_join_all(checks).await?;
        let has = |status| outcomes.iter().any(|outcome| outcome.cache == status);
        let cache = if has(CacheStatus::Bypass) {
            CacheStatus::Bypass
        } else if has(CacheStatus::Miss) {
            CacheStatus::Miss
        } else {
            CacheStatus::Hit
        };
        let time_to_live = outcomes.iter().map(|outcome| outcome.time_to_live).min();
        let chains = accounts.iter().map(CanonicalAddress::chain);
        let assessments: Vec<_> =
            chains.zip(outcomes.into_iter().map(|outcome| outcome.assessed)).collect();
        let WorstOfChains { assessed, chain, .. } = worst_of_chains(&assessments)?;
        let assessed = Arc::new(assessed);
        let time_to_live = time_to_live.unwrap_or_default();
        Ok((chain, CheckOutcome { assessed, cache, time_to_live }))
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::{assess, policy::Policy};
    use assay_intel::IntelSnapshot;

    use super::*;

    fn now() -> Timestamp {
        "2026-11-20T12:00:00Z".parse().unwrap()
    }

    fn account() -> CanonicalAddress {
        CanonicalAddress::parse(ChainId::ETH, "0x189f40034be7a199f1fa9891668ee3ab6049f82d").unwrap()
    }

    /// The assessments of an account, with a verdict and a score on some chains.
    fn assessments(on: &[(&str, Verdict, u8)]) -> Vec<(ChainId, Arc<SerializedAssessment>)> {
        let all = on_every_evm_chain(&account()).into_iter().map(|account| {
            let facts = IntelSnapshot::default().facts(&account);
            let mut assessment = assess(&account, &facts, &Policy::default(), now());
            (assessment.verdict, assessment.risk_score) = (Verdict::Allow, Score::ZERO);
            for (chain, verdict, points) in on {
                if account.chain().as_str() == *chain {
                    assessment.verdict = *verdict;
                    assessment.risk_score = Score::from_points(*points);
                }
            }
            let assessed = SerializedAssessment::new(&assessment, now(), 1).unwrap();
            (account.chain(), Arc::new(assessed))
        });
        all.collect()
    }

    #[test]
    fn the_worst_verdict_is_the_answer_and_each_chain_is_named() {
        use Verdict::{Allow, Block, Indeterminate, Review};
        for (on, worst) in [
            (
                &[("base", Indeterminate, 50), ("bsc", Review, 60), ("polygon", Block, 80)][..],
                "polygon",
            ),
            (&[("base", Indeterminate, 50), ("bsc", Review, 50)], "bsc"),
            (&[("base", Indeterminate, 50), ("bsc", Allow, 60)], "base"),
            (&[("base", Review, 55), ("bsc", Review, 56)], "bsc"),
            (&[], "eth"),
        ] {
            let assessments = assessments(on);
            let found = worst_of_chains(&assessments).unwrap();
            assert_eq!(found.chain.as_str(), worst, "{on:?}");
            let answer: Value = serde_json::from_str(&found.assessed.text).unwrap();
            assert_eq!(answer["blockchain"], worst);
            let chains = answer["chains"].as_array().unwrap();
            assert_eq!(chains.len(), assessments.len());
            for (chain, verdict, points) in on {
                let named = chains.iter().find(|it| it["blockchain"] == *chain).unwrap();
                assert_eq!(named["verdict"], serde_json::to_value(verdict).unwrap());
                assert_eq!(named["risk_score"].as_f64(), Some(f64::from(*points)));
                let not_assessed = named["not_assessed"].as_array().unwrap();
                assert!(not_assessed.contains(&"exposure".into()), "{named}");
            }
        }
    }

    #[test]
    fn the_digest_covers_all_chains() {
        let one = worst_of_chains(&assessments(&[("bsc", Verdict::Review, 60)])).unwrap();
        let two = [("bsc", Verdict::Review, 60), ("base", Verdict::Review, 55)];
        let two = worst_of_chains(&assessments(&two)).unwrap();
        assert_eq!(one.chain, two.chain);
        assert_ne!(one.assessed.digest, two.assessed.digest);
        let value: Value = serde_json::from_str(&one.assessed.text).unwrap();
        assert_eq!(one.assessed.digest, digest(&value.to_string()));
    }
}
