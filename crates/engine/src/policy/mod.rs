//! The risk policy: its spec, validation, and the form in which the engine uses it.

mod check;
mod curve;
mod pattern_rules;
mod quantity;
mod rules;
mod spec;

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};

pub use check::PolicyProblem;
pub use curve::AmountCurve;
pub use pattern_rules::{MOST_THRESHOLDS, PatternRules};
pub use quantity::{InvalidQuantity, Quantity};
pub use rules::{
    Alternative, CLUSTER_LISTED, CLUSTER_LISTED_COUNTERPARTY, ConditionGroup, FIXED_RULES,
    FUNDS_TAKEN, FixedRule, InvalidShare, LISTED_ADVISORY, LISTED_TOKEN_DEALING,
    LISTING_RECENTLY_EXPIRED, Role, Rule, RuleSpec, RuleThresholds, RuleVerdict, SEVERE_HELD,
    Selection, Share,
};
pub use spec::{
    AmountRules, CurvePoint, ListEffect, MandatorySource, PolicySpec, Thresholds, TierCaps,
    TraceSpec,
};

use crate::{
    account::worth_of_ticker,
    evidence::{ALWAYS_BLOCKING, Pattern, Tier},
    fixed::Fraction,
    names::ListId,
    score::{Confidence, RiskLevel, Score, Verdict},
    taxonomy::Category,
};

/// Severity of funds that were not followed to an endpoint: low, so that even fully unresolved funds give a low score.
pub const UNRESOLVED_SEVERITY: u8 = 18;

/// Minimum score of an active listing of the same key.
pub const SAME_KEY_SCORE: Score = Score::from_points(90);

/// A large amount of severe funds divided by the least amount of them that matters among held coins.
const LARGE_OVER_HELD: u32 = 50;
/// The least held amount that matters divided by that on account chains.
const HELD_OVER_HELD_BY_ACCOUNT: u32 = 10;

/// Hexadecimal digits of a policy's revision: 64 bits, enough to distinguish policies.
const REVISION_DIGITS: usize = 16;

/// A valid policy. Policies that decide alike have the same revision, regardless of their notation.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    spec: PolicySpec,
    severities: BTreeMap<Category, u8>,
    pattern_severities: BTreeMap<Pattern, u8>,
    decay_of_a_hop: Fraction,
    amounts: BTreeMap<String, AmountCurve>,
    rules: Vec<Rule>,
    revision: Arc<str>,
}

impl Policy {
    /// Validates a policy and compiles its rules.
    ///
    /// # Errors
    ///
    /// Returns every rule that the spec breaks.
    pub fn compile(spec: PolicySpec) -> Result<Self, Vec<PolicyProblem>> {
        let problems = check::problems(&spec);
        if problems.is_empty() { Ok(Self::build(spec)) } else { Err(problems) }
    }

    fn build(mut spec: PolicySpec) -> Self {
        for list in ALWAYS_BLOCKING {
            if let Ok(list) = list.parse() {
                spec.lists.insert(list, ListEffect::Blocking);
            }
        }
        spec.lists.retain(|_, force| *force == ListEffect::Blocking);
        for (unit, rules) in PolicySpec::default().amounts {
            spec.amounts.entry(unit).or_insert(rules);
        }
        let severities: BTreeMap<_, _> = Category::ALL
            .iter()
            .map(|category| {
                let written = spec.severities.get(category.as_str());
                (*category, written.copied().unwrap_or(category.info().severity))
            })
            .collect();
        let pattern_severities: BTreeMap<_, _> = Pattern::ALL
            .iter()
            .map(|pattern| {
                let written = spec.pattern_severities.get(pattern.as_str());
                (*pattern, written.copied().unwrap_or(pattern.severity()))
            })
            .collect();
        spec.severities =
            severities.iter().map(|(category, value)| (category.to_string(), *value)).collect();
        spec.pattern_severities = pattern_severities
            .iter()
            .map(|(pattern, value)| (pattern.as_str().to_owned(), *value))
            .collect();
        spec.mandatory_sources.sort_by(|a, b| a.name.cmp(&b.name));
        let half_life = u64::from(spec.half_life_hops.tenths());
        // Weights are powers of 2.5 of risks, and half-lives are in tenths.
        let decay_of_a_hop = Fraction::half_to_the(25, half_life);
        let amounts = spec
            .amounts
            .iter()
            .map(|(unit, rules)| (unit.clone(), AmountCurve::new(rules)))
            .collect();
        spec.rules = rules::complete(&spec.rules);
        let rules = spec.rules.iter().filter(|rule| rule.enabled).map(Rule::compile).collect();
        let revision = revision(&spec);
        Self { spec, severities, pattern_severities, decay_of_a_hop, amounts, rules, revision }
    }

    /// Identifier of the policy's content: equal for policies that decide alike.
    #[must_use]
    pub const fn revision(&self) -> &Arc<str> {
        &self.revision
    }

    /// The complete policy, with all defaults filled in.
    #[must_use]
    pub const fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    /// The least amount of severe funds among held coins that matters ([`SEVERE_HELD`]), in a unit: a fiftieth of a large
    /// amount, USD 1,000 or 0.02 BTC. `None` for a unit without a large amount. On account chains see
    /// [`Self::least_held_by_account`].
    #[must_use]
    pub fn least_held(unit: &str) -> Option<Quantity> {
        Some(Self::amount_in(&rules::large_amounts(), unit)?.divided(LARGE_OVER_HELD))
    }

    /// The amount in a unit of which a policy states an amount for some units: of an asset without a price, the amount in
    /// dollars by the asset's order of worth.
    #[must_use]
    pub fn amount_in(amounts: &BTreeMap<String, Quantity>, unit: &str) -> Option<Quantity> {
        let in_dollars = || Some(amounts.get("USD")?.at_worth(worth_of_ticker(unit)?));
        amounts.get(unit).copied().or_else(in_dollars)
    }

    /// The same least amount on account chains, where money can go round for cents and a part below it would pass for
    /// little beside that: a tenth of it, USD 100.
    #[must_use]
    pub fn least_held_by_account(unit: &str) -> Option<Quantity> {
        Some(Self::least_held(unit)?.divided(HELD_OVER_HELD_BY_ACCOUNT))
    }

    /// The minimum score rules in force, without the rules that every policy has ([`FIXED_RULES`]).
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Minimum score of a rule that fires: the threshold of its verdict, or the score just below the block
    /// threshold if its evidence is too weak for a block.
    #[must_use]
    pub const fn minimum_score(&self, verdict: RuleVerdict, can_block: bool) -> Score {
        match (verdict, can_block) {
            (RuleVerdict::Review, _) => self.spec.thresholds.review,
            (RuleVerdict::Block, true) => self.spec.thresholds.block,
            (RuleVerdict::Block, false) => self.spec.thresholds.block.just_below(),
        }
    }

    /// A category's severity, 0 to 100.
    #[must_use]
    pub fn severity(&self, category: Category) -> u8 {
        self.severities.get(&category).copied().unwrap_or(category.info().severity)
    }

    /// True if all categories have their default severities, so that this policy attributes owners as the default
    /// policy does.
    #[must_use]
    pub fn has_default_severities(&self) -> bool {
        Category::ALL.iter().all(|category| self.severity(*category) == category.info().severity)
    }

    /// A pattern's severity, 0 to 100.
    #[must_use]
    pub fn pattern_severity(&self, pattern: Pattern) -> u8 {
        self.pattern_severities.get(&pattern).copied().unwrap_or(pattern.severity())
    }

    /// Effect of a list.
    #[must_use]
    pub fn effect(&self, list: &ListId) -> ListEffect {
        self.spec.lists.get(list).copied().unwrap_or(ListEffect::Advisory)
    }

    /// `severity x confidence`: the standalone risk of evidence.
    #[must_use]
    pub fn risk(&self, severity: u8, confidence: Confidence) -> Fraction {
        Fraction::ratio(severity.into(), 100).times(confidence.fraction())
    }

    /// True if a label by itself leads to a review of its address.
    #[must_use]
    pub fn would_review(&self, category: Category, tier: Tier, confidence: Confidence) -> bool {
        let risk = Score::from_fraction(self.risk(self.severity(category), confidence));
        risk.min(self.cap(tier)) >= self.spec.thresholds.review
    }

    /// `2^(-2.5 / half-life)`: the factor by which a hop reduces the weight of funds.
    #[must_use]
    pub const fn decay_of_a_hop(&self) -> Fraction {
        self.decay_of_a_hop
    }

    /// The highest score that evidence of `tier` and of weaker tiers can reach together.
    #[must_use]
    pub const fn cap(&self, tier: Tier) -> Score {
        match tier {
            Tier::OfficialList | Tier::OnChainProof => Score::MAXIMUM,
            Tier::Investigation => self.spec.tier_caps.investigation,
            Tier::Community => self.spec.tier_caps.community,
            Tier::Heuristic => self.spec.tier_caps.heuristic,
            Tier::Behavior => self.spec.tier_caps.behavior,
        }
    }

    /// The policy with trace limits of at most a plan's ceiling. If a limit changes, the policy has another revision.
    #[must_use]
    pub fn within(&self, ceiling: TraceSpec) -> Self {
        let trace = self.spec.trace.within(ceiling);
        if trace == self.spec.trace {
            return self.clone();
        }
        Self::build(PolicySpec { trace, ..self.spec.clone() })
    }

    /// The amount curve of `unit`; `None` if the policy does not define the unit.
    #[must_use]
    pub fn amounts(&self, unit: &str) -> Option<&AmountCurve> {
        self.amounts.get(unit)
    }

    /// Risk level of a score.
    #[must_use]
    pub fn level(&self, score: Score) -> RiskLevel {
        let thresholds = &self.spec.thresholds;
        if score >= thresholds.severe {
            RiskLevel::Severe
        } else if score >= thresholds.high {
            RiskLevel::High
        } else if score >= thresholds.medium {
            RiskLevel::Medium
        } else {
            RiskLevel::Low
        }
    }

    /// Verdict for a score.
    #[must_use]
    pub fn verdict(&self, score: Score) -> Verdict {
        if score >= self.spec.thresholds.block {
            Verdict::Block
        } else if score >= self.spec.thresholds.review {
            Verdict::Review
        } else {
            Verdict::Allow
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::build(PolicySpec::default())
    }
}

fn revision(spec: &PolicySpec) -> Arc<str> {
    let canonical = serde_json_canonicalizer::to_vec(spec).unwrap_or_default();
    let mut revision = hex::encode(Sha256::digest(canonical));
    revision.truncate(REVISION_DIGITS);
    revision.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_a_valid_policy() {
        let policy = Policy::compile(PolicySpec::default()).unwrap();
        assert_eq!(policy, Policy::default());
        assert_eq!(policy.severity(Category::Mixer), 75);
        assert_eq!(policy.risk(100, Confidence::CERTAIN), Fraction::ONE);
        for list in ALWAYS_BLOCKING {
            assert_eq!(policy.effect(&list.parse().unwrap()), ListEffect::Blocking);
        }
        assert_eq!(policy.effect(&"il-nbctf".parse().unwrap()), ListEffect::Advisory);
    }

    #[test]
    fn the_revision_depends_on_content_and_not_on_notation() {
        let read = |yaml: serde_json::Value| {
            Policy::compile(serde_json::from_value(yaml).unwrap()).unwrap()
        };
        let default = Policy::default();
        let spelled_out = read(serde_json::json!({
            "severities": {"mixer": 75}, "halfLifeHops": 2.4, "lists": {"ofac-sdn": "blocking", "il-nbctf": "advisory"},
        }));
        assert_eq!(spelled_out.revision(), default.revision());
        let different = read(serde_json::json!({"severities": {"mixer": 76}}));
        assert_ne!(different.revision(), default.revision());
    }
}
