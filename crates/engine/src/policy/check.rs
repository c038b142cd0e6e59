//! Validation rules of a policy, each with the field that it checks.

use std::collections::BTreeSet;

use super::{
    AmountRules, FIXED_RULES, ListEffect, PolicySpec, Quantity, RuleSpec, RuleVerdict,
    SAME_KEY_SCORE, TraceSpec, curve,
    rules::{
        BLOCK_TIER, Conditions, LONGEST_DESCRIPTION, MOST_GROUPS, MOST_HOPS, MOST_RULES, is_id,
    },
};
use crate::{
    evidence::{ALWAYS_BLOCKING, Pattern},
    policy::MOST_THRESHOLDS,
    score::Score,
    taxonomy::Category,
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
const MOST_ACCEPTED_TEXTS: usize = 256;
const LONGEST_ACCEPTED_TEXT: usize = 1024;

/// Every rule that `spec` breaks.
pub(super) fn problems(spec: &PolicySpec) -> Vec<PolicyProblem> {
    let mut problems = Problems::default();
    severities(spec, &mut problems);
    thresholds(spec, &mut problems);
    tier_caps(spec, &mut problems);
    lists(spec, &mut problems);
    mandatory_sources(spec, &mut problems);
    accepted_texts(spec, &mut problems);
    rules(&spec.rules, &mut problems);
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

fn accepted_texts(spec: &PolicySpec, problems: &mut Problems) {
    let texts = &spec.accepted_texts;
    problems.require(texts.len() <= MOST_ACCEPTED_TEXTS, "acceptedTexts", || {
        format!("{} texts: at most {MOST_ACCEPTED_TEXTS} are allowed", texts.len())
    });
    let fits = |text: &String| (1..=LONGEST_ACCEPTED_TEXT).contains(&text.chars().count());
    problems.require(texts.iter().all(fits), "acceptedTexts", || {
        format!("each text has 1 to {LONGEST_ACCEPTED_TEXT} characters")
    });
}

fn trace(trace: &TraceSpec, problems: &mut Problems) {
    problems.require(trace.hops != Some(0), "trace.hops", || {
        "must be from 1; leave it out for no limit".into()
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
    for (path, value, most) in [
        ("trace.transactions", trace.transactions, 1_000_000),
        ("trace.sourceTransactions", trace.source_transactions, 1_000_000),
        ("trace.entries", trace.entries, 10_000_000),
        ("trace.transfersPerAddress", trace.transfers_per_address, 1_000_000),
    ] {
        problems.require((1..=most).contains(&value), path, || {
            format!("{value} is not from 1 to {most}")
        });
    }
}

fn rules(rules: &[RuleSpec], problems: &mut Problems) {
    problems.require(rules.len() <= MOST_RULES, "rules", || {
        format!("{} rules: at most {MOST_RULES} are allowed", rules.len())
    });
    let mut seen = BTreeSet::new();
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("rules[{index}]");
        let id = &rule.id;
        problems.require(is_id(id), &format!("{path}.id"), || {
            "must be 1 to 63 lowercase letters, digits and underscores, a letter first".into()
        });
        problems.require(seen.insert(id), &format!("{path}.id"), || {
            format!("`{id}` is used twice: each rule has an id of its own")
        });
        let is_fixed = FIXED_RULES.iter().any(|fixed| fixed.id == id);
        problems.require(!is_fixed, &format!("{path}.id"), || {
            format!("`{id}` is the id of a rule that every policy has: choose another")
        });
        if rule.enabled {
            content(&path, rule, problems);
        }
    }
}

/// Checks the conditions and the description of an enabled rule.
fn content(path: &str, rule: &RuleSpec, problems: &mut Problems) {
    problems.require(!rule.description.trim().is_empty(), &format!("{path}.description"), || {
        "needs a sentence: answers give it as the reason".into()
    });
    let length = rule.description.chars().count();
    problems.require(length <= LONGEST_DESCRIPTION, &format!("{path}.description"), || {
        format!("has {length} characters: at most {LONGEST_DESCRIPTION} are allowed")
    });
    problems.require(rule.any_of.len() <= MOST_GROUPS, &format!("{path}.anyOf"), || {
        format!("{} groups: at most {MOST_GROUPS} are allowed", rule.any_of.len())
    });
    let own = rule.conditions();
    conditions(path, &own, problems);
    tier_of_verdict(path, rule.verdict, &own, problems);
    let missing = || {
        "selects no funds: name `categories`, `severityFrom`, `role` or `sinceListing`".to_owned()
    };
    problems.require(own.selects() || !rule.any_of.is_empty(), path, missing);
    for (index, group) in rule.any_of.iter().enumerate() {
        let path = format!("{path}.anyOf[{index}]");
        let group = group.conditions();
        if group.present().is_empty() {
            problems.require(false, &path, || "needs a condition".into());
            continue;
        }
        conditions(&path, &group, problems);
        tier_of_verdict(&path, rule.verdict, &group, problems);
        problems.require(own.selects() || group.selects(), &path, missing);
        apart(&path, &own, &group, problems);
    }
}

/// Checks the conditions of a rule or of a group.
fn conditions(path: &str, conditions: &Conditions<'_>, problems: &mut Problems) {
    for (index, id) in conditions.categories.iter().enumerate() {
        let path = format!("{path}.categories[{index}]");
        problems.require(id.parse::<Category>().is_ok(), &path, || {
            format!("no such category: `{id}`; `GET /api/v1/signals` lists them")
        });
        let before = conditions.categories.iter().take(index);
        problems.require(!before.into_iter().any(|other| other == id), &path, || {
            format!("`{id}` is named twice")
        });
    }
    let severity = conditions.severity_from.unwrap_or(1);
    problems.require((1..=100).contains(&severity), &format!("{path}.severityFrom"), || {
        format!("{severity} is not from 1 to 100")
    });
    let hops = conditions.hops_up_to.unwrap_or(1);
    problems.require((1..=MOST_HOPS).contains(&hops), &format!("{path}.hopsUpTo"), || {
        format!("{hops} is not from 1 to {MOST_HOPS}")
    });
    for (unit, amount) in conditions.amount_from {
        problems.require(
            *amount > Quantity::default(),
            &format!("{path}.amountFrom.{unit}"),
            || "must be above 0".into(),
        );
    }
    let both = |one: bool, other: bool| one && other;
    problems.require(
        !both(!conditions.categories.is_empty(), conditions.severity_from.is_some()),
        &format!("{path}.categories"),
        || "names categories beside `severityFrom`: use one of both".into(),
    );
    problems.require(
        !both(conditions.direct, conditions.hops_up_to.is_some()),
        &format!("{path}.direct"),
        || "contradicts `hopsUpTo`: use one of both".into(),
    );
}

/// Checks that a rule with the verdict `block` requires a tier that can block.
fn tier_of_verdict(
    path: &str,
    verdict: RuleVerdict,
    conditions: &Conditions<'_>,
    problems: &mut Problems,
) {
    let weakest = conditions.tier_from.unwrap_or(BLOCK_TIER);
    problems.require(
        verdict != RuleVerdict::Block || weakest.at_least(BLOCK_TIER),
        &format!("{path}.tierFrom"),
        || {
            format!(
                "`{}` is too weak for `verdict: block`, which needs evidence of the tier `{}` or \
                 stronger: raise the tier, or use `review`",
                weakest.as_str(),
                BLOCK_TIER.as_str()
            )
        },
    );
}

/// Checks that no condition of a group repeats or contradicts one of the rule.
fn apart(path: &str, own: &Conditions<'_>, group: &Conditions<'_>, problems: &mut Problems) {
    let own = own.present();
    for name in group.present() {
        problems.require(!own.contains(&name), &format!("{path}.{name}"), || {
            "is a condition of the rule already: use it in the rule or in the groups".into()
        });
        let opposite = match name {
            "categories" => "severityFrom",
            "severityFrom" => "categories",
            "direct" => "hopsUpTo",
            "hopsUpTo" => "direct",
            _ => continue,
        };
        problems.require(!own.contains(&opposite), &format!("{path}.{name}"), || {
            format!("contradicts `{opposite}` of the rule: use one of both")
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
    let thresholds = rules.structuring_below.as_ref().map_or(0, Vec::len);
    problems.require(
        thresholds <= MOST_THRESHOLDS,
        &format!("amounts.{unit}.structuringBelow"),
        || format!("has {thresholds} thresholds; {MOST_THRESHOLDS} are the most"),
    );
    for (index, threshold) in rules.structuring_below.iter().flatten().enumerate() {
        let path = format!("amounts.{unit}.structuringBelow[{index}]");
        problems.require(*threshold > Quantity::default(), &path, || "must be above 0".into());
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
    fn a_rule_that_cannot_be_meant_is_refused_with_its_field() {
        let rule = |change: Value| {
            let mut rule = json!({"id": "own", "description": "x", "categories": ["mixer"]});
            let fields = rule.as_object_mut().unwrap();
            for (name, value) in change.as_object().unwrap() {
                fields.insert(name.clone(), value.clone());
                if value.is_null() {
                    fields.remove(name);
                }
            }
            rule
        };
        let one = |change: Value| json!({"rules": [rule(change)]});
        let cases = [
            (
                json!({"rules": [rule(json!({})), rule(json!({}))]}),
                "rules[1].id: `own` is used twice",
            ),
            (one(json!({"id": "Own-1"})), "rules[0].id: must be 1 to 63 lowercase letters"),
            (
                one(json!({"id": "cluster_listed"})),
                "rules[0].id: `cluster_listed` is the id of a rule",
            ),
            (one(json!({"description": " "})), "rules[0].description: needs a sentence"),
            (
                one(json!({"description": "x".repeat(301)})),
                "rules[0].description: has 301 characters",
            ),
            (
                one(json!({"categories": ["mixers"]})),
                "rules[0].categories[0]: no such category: `mixers`",
            ),
            (
                one(json!({"categories": ["mixer", "mixer"]})),
                "rules[0].categories[1]: `mixer` is named twice",
            ),
            (
                one(json!({"severityFrom": 90})),
                "rules[0].categories: names categories beside `severityFrom`",
            ),
            (
                one(json!({"categories": null, "severityFrom": 0})),
                "rules[0].severityFrom: 0 is not from 1 to 100",
            ),
            (one(json!({"categories": null})), "rules[0]: selects no funds"),
            (one(json!({"categories": null, "shareFrom": "10%"})), "rules[0]: selects no funds"),
            (
                one(
                    json!({"categories": null, "anyOf": [{"role": "counterparty"}, {"direct": true}]}),
                ),
                "rules[0].anyOf[1]: selects no funds",
            ),
            (
                one(json!({"direct": true, "hopsUpTo": 2})),
                "rules[0].direct: contradicts `hopsUpTo`",
            ),
            (one(json!({"hopsUpTo": 0})), "rules[0].hopsUpTo: 0 is not from 1 to 100"),
            (one(json!({"amountFrom": {"BTC": 0}})), "rules[0].amountFrom.BTC: must be above 0"),
            (one(json!({"anyOf": [{}]})), "rules[0].anyOf[0]: needs a condition"),
            (
                one(json!({"shareFrom": "1%", "anyOf": [{"shareFrom": "2%"}]})),
                "rules[0].anyOf[0].shareFrom: is a condition of the rule already",
            ),
            (
                one(json!({"direct": true, "anyOf": [{"hopsUpTo": 2}]})),
                "rules[0].anyOf[0].hopsUpTo: contradicts `direct` of the rule",
            ),
            (
                one(json!({"verdict": "block", "tierFrom": "community"})),
                "rules[0].tierFrom: `community` is too weak for `verdict: block`",
            ),
            (
                one(json!({"verdict": "block", "anyOf": [{"tierFrom": "heuristic"}]})),
                "rules[0].anyOf[0].tierFrom: `heuristic` is too weak",
            ),
        ];
        for (spec, start) in cases {
            let complaints = complaints(spec);
            assert!(complaints.len() == 1, "{start}: {complaints:?}");
            assert!(complaints[0].starts_with(start), "{start}: {complaints:?}");
        }
        for right in [
            json!({}),
            json!({"verdict": "block", "tierFrom": "investigation"}),
            json!({"hopsUpTo": 3, "recentShareFrom": "0.5%", "recentPartFrom": "100%"}),
            json!({"enabled": false, "description": null, "categories": null}),
            json!({"amountFrom": {"BTC": "0.5", "USD": 9}, "anyOf": [{"direct": true}, {"role": "counterparty"}]}),
        ] {
            assert_eq!(complaints(one(right)), [""; 0]);
        }
    }

    #[test]
    fn a_share_outside_its_range_is_refused_where_it_is_read() {
        for (share, error) in [
            (json!("0%"), "`0%` is no share"),
            (json!("100.1%"), "`100.1%` is no share"),
            (
                json!("10"),
                "`10` is no share: write a percentage above 0% and up to 100%, such as 10% or 2.5%",
            ),
            (json!(10), "`10` is no share"),
            (json!("-1%"), "`-1%` is no share"),
        ] {
            let rule = json!({"rules": [{"id": "own", "shareFrom": share}]});
            let refused = serde_json::from_value::<PolicySpec>(rule).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let spec = json!({"severities": {"x": 1, "y": 2}, "mandatorySources": [], "thresholds": {"high": 80}});
        assert_eq!(complaints(spec).len(), 4);
    }
}
