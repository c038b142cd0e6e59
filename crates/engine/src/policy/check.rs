//! The rules a policy must keep, each with the field it is about.

use std::collections::BTreeSet;

use super::{
    ALWAYS_BLOCKING, AmountRules, ListEffect, PolicySpec, Quantity, SAME_KEY_SCORE, TraceSpec,
    curve,
};
use crate::{
    evidence::Pattern,
    score::Score,
    taxonomy::{Category, RISKY_FROM},
};

/// A rule that a policy breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct PolicyProblem {
    /// The field, such as `thresholds.high`.
    pub path: String,
    /// Description of the problem and of a valid value.
    pub message: String,
}

const LONGEST_AGE_HOURS: u32 = 10 * 366 * 24;

/// Every rule that `spec` breaks.
pub(super) fn problems(spec: &PolicySpec) -> Vec<PolicyProblem> {
    let mut problems = Problems::default();
    severities(spec, &mut problems);
    thresholds(spec, &mut problems);
    tier_caps(spec, &mut problems);
    lists(spec, &mut problems);
    mandatory_sources(spec, &mut problems);
    problems.require(
        (1..=100).contains(&spec.minimum_score_rules.severe_category_share_percent),
        "minimumScoreRules.severeCategorySharePercent",
        || "must be from 1 to 100".into(),
    );
    problems.require(
        (RISKY_FROM..=100).contains(&spec.minimum_score_rules.severe_category_from),
        "minimumScoreRules.severeCategoryFrom",
        || format!("must be from {RISKY_FROM} to 100"),
    );
    problems.require(spec.half_life_hops.tenths() > 0, "halfLifeHops", || "must be above 0".into());
    for (unit, rules) in &spec.amounts {
        amounts(unit, rules, &mut problems);
    }
    trace(&spec.trace, &mut problems);
    problems.0
}

#[derive(Default)]
struct Problems(Vec<PolicyProblem>);

impl Problems {
    fn require(&mut self, holds: bool, path: &str, message: impl FnOnce() -> String) {
        if !holds {
            self.0.push(PolicyProblem { path: path.to_owned(), message: message() });
        }
    }
}

fn severities(spec: &PolicySpec, problems: &mut Problems) {
    for (id, severity) in &spec.severities {
        let path = format!("severities.{id}");
        problems.require(id.parse::<Category>().is_ok(), &path, || {
            "no such category; `GET /api/v1/signals` lists them".into()
        });
        problems.require(*severity <= 100, &path, || format!("{severity} is not from 0 to 100"));
    }
    for (id, severity) in &spec.pattern_severities {
        let path = format!("patternSeverities.{id}");
        problems.require(Pattern::ALL.iter().any(|pattern| pattern.as_str() == id), &path, || {
            "no such pattern; `GET /api/v1/signals` lists them".into()
        });
        problems.require(*severity <= 100, &path, || format!("{severity} is not from 0 to 100"));
    }
}

fn thresholds(spec: &PolicySpec, problems: &mut Problems) {
    let t = &spec.thresholds;
    let rising = |problems: &mut Problems, low: Score, high: Score, path: &str, name: &str| {
        problems.require(low < high, path, || {
            format!("{high} must be above {name} ({low}): thresholds rise strictly")
        });
    };
    rising(problems, Score::ZERO, t.medium, "thresholds.medium", "zero");
    rising(problems, t.medium, t.high, "thresholds.high", "medium");
    rising(problems, t.high, t.severe, "thresholds.severe", "high");
    rising(problems, Score::ZERO, t.review, "thresholds.review", "zero");
    rising(problems, t.review, t.block, "thresholds.block", "review");
    problems.require(t.block <= SAME_KEY_SCORE, "thresholds.block", || {
        format!(
            "{} must be at most {SAME_KEY_SCORE}, which the same key as a listed address scores",
            t.block
        )
    });
}

fn tier_caps(spec: &PolicySpec, problems: &mut Problems) {
    let caps = &spec.tier_caps;
    let ordered = [
        ("investigation", caps.investigation, "the maximum", Score::MAXIMUM),
        ("community", caps.community, "investigation", caps.investigation),
        ("heuristic", caps.heuristic, "community", caps.community),
        ("behavior", caps.behavior, "heuristic", caps.heuristic),
    ];
    for (name, cap, stronger, bound) in ordered {
        problems.require(cap <= bound, &format!("tierCaps.{name}"), || {
            format!("{cap} must not exceed that of {stronger} ({bound})")
        });
    }
    let block = spec.thresholds.block;
    for (name, cap) in [("community", caps.community), ("heuristic", caps.heuristic)] {
        problems.require(cap < block, &format!("tierCaps.{name}"), || {
            format!("{cap} must be below the block threshold ({block}): such evidence never blocks")
        });
    }
    let review = spec.thresholds.review;
    problems.require(caps.behavior < review, "tierCaps.behavior", || {
        format!(
            "{} must be below the review threshold ({review}): behaviour alone never reaches review",
            caps.behavior
        )
    });
}

fn lists(spec: &PolicySpec, problems: &mut Problems) {
    for (list, force) in &spec.lists {
        let weakened = ALWAYS_BLOCKING.contains(&list.as_str()) && *force != ListEffect::Blocking;
        problems.require(!weakened, &format!("lists.{list}"), || {
            "this list is blocking and cannot be weakened".into()
        });
    }
}

fn mandatory_sources(spec: &PolicySpec, problems: &mut Problems) {
    problems.require(!spec.mandatory_sources.is_empty(), "mandatorySources", || {
        "name at least one source: with none, missing data would count as clean".into()
    });
    let mut seen = BTreeSet::new();
    for (index, source) in spec.mandatory_sources.iter().enumerate() {
        let path = format!("mandatorySources[{index}]");
        problems.require(
            source.name.parse::<crate::names::SourceId>().is_ok(),
            &format!("{path}.name"),
            || "must be 1 to 63 lowercase letters, digits and hyphens".into(),
        );
        problems.require(seen.insert(&source.name), &format!("{path}.name"), || {
            format!("`{}` is named twice", source.name)
        });
        problems.require(
            (1..=LONGEST_AGE_HOURS).contains(&source.maximum_age_hours),
            &format!("{path}.maximumAgeHours"),
            || format!("must be from 1 to {LONGEST_AGE_HOURS}"),
        );
    }
}

fn trace(trace: &TraceSpec, problems: &mut Problems) {
    problems.require((1..=12).contains(&trace.hops), "trace.hops", || {
        format!("{} is not from 1 to 12", trace.hops)
    });
    problems.require(
        trace.stop_below_share_millionths <= 100_000,
        "trace.stopBelowShareMillionths",
        || {
            format!(
                "{} is above 100000 millionths: a tenth could vanish at once",
                trace.stop_below_share_millionths
            )
        },
    );
    for (path, value) in [
        ("trace.addressesPerHop", trace.addresses_per_hop),
        ("trace.transfersPerAddress", trace.transfers_per_address),
    ] {
        problems.require((1..=20_000).contains(&value), path, || {
            format!("{value} is not from 1 to 20000")
        });
    }
}

fn amounts(unit: &str, rules: &AmountRules, problems: &mut Problems) {
    let path = format!("amounts.{unit}.curve");
    problems.require(!rules.curve.is_empty(), &path, || "needs at least one point".into());
    for (index, point) in rules.curve.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| rules.curve.get(before));
        let (amount, score) = before
            .map_or((Quantity::default(), Score::ZERO), |before| (before.amount, before.score));
        problems.require(amount < point.amount, &format!("{path}[{index}].amount"), || {
            format!("{} must be above {amount}: amounts rise strictly", point.amount)
        });
        problems.require(score < point.score, &format!("{path}[{index}].score"), || {
            format!("{} must be above {score}: scores rise strictly", point.score)
        });
    }
    problems.require(curve::bends_down(&rules.curve), &path, || {
        "score^2.5 must grow ever more slowly with the amount; otherwise splitting money over \
         categories would lower their score"
            .into()
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn complaints(spec: Value) -> Vec<String> {
        problems(&serde_json::from_value(spec).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_rule_names_its_field_and_the_correct_value() {
        let cases = [
            (json!({"severities": {"mixers": 5}}), "severities.mixers: no such category"),
            (json!({"severities": {"mixer": 101}}), "severities.mixer: 101 is not from 0 to 100"),
            (json!({"patternSeverities": {"peel": 5}}), "patternSeverities.peel: no such pattern"),
            (
                json!({"thresholds": {"high": 25}}),
                "thresholds.high: 25.0 must be above medium (25.0)",
            ),
            (
                json!({"thresholds": {"block": 50}}),
                "thresholds.block: 50.0 must be above review (50.0)",
            ),
            (
                json!({"thresholds": {"block": 95, "severe": 95}}),
                "thresholds.block: 95.0 must be at most 90.0",
            ),
            (json!({"tierCaps": {"community": 96}}), "tierCaps.community: 96.0 must not exceed"),
            (
                json!({"tierCaps": {"community": 75}}),
                "tierCaps.community: 75.0 must be below the block threshold",
            ),
            (
                json!({"tierCaps": {"behavior": 50}}),
                "tierCaps.behavior: 50.0 must be below the review threshold",
            ),
            (
                json!({"lists": {"ofac-sdn": "advisory"}}),
                "lists.ofac-sdn: this list is blocking and cannot be weakened",
            ),
            (json!({"mandatorySources": []}), "mandatorySources: name at least one source"),
            (
                json!({"mandatorySources": [{"name": "a"}, {"name": "a"}]}),
                "mandatorySources[1].name: `a` is named twice",
            ),
            (
                json!({"mandatorySources": [{"name": "a", "maximumAgeHours": 0}]}),
                "mandatorySources[0].maximumAgeHours: must be from 1",
            ),
            (
                json!({"minimumScoreRules": {"severeCategorySharePercent": 0}}),
                "minimumScoreRules.severeCategorySharePercent: must be from 1 to 100",
            ),
            (
                json!({"minimumScoreRules": {"severeCategoryFrom": 10}}),
                "minimumScoreRules.severeCategoryFrom: must be from 25 to 100",
            ),
            (json!({"halfLifeHops": 0}), "halfLifeHops: must be above 0"),
            (
                json!({"amounts": {"USD": {"curve": [{"amount": 5, "score": 5}, {"amount": 5, "score": 6}], "unsolicitedUpTo": 0}}}),
                "amounts.USD.curve[1].amount: 5 must be above 5",
            ),
            (
                json!({"amounts": {"USD": {"curve": [{"amount": 5, "score": 1}, {"amount": 6, "score": 90}], "unsolicitedUpTo": 0}}}),
                "amounts.USD.curve: score^2.5 must grow ever more slowly",
            ),
        ];
        for (spec, start) in cases {
            let complaints = complaints(spec);
            assert!(
                complaints.iter().any(|complaint| complaint.starts_with(start)),
                "{start}: {complaints:?}"
            );
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let spec = json!({"severities": {"x": 1, "y": 2}, "mandatorySources": [], "thresholds": {"high": 80}});
        assert_eq!(complaints(spec).len(), 4);
    }
}
