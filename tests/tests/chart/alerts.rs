//! Alerts and the dashboard use metrics that the programs have, and every alert has a runbook.

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::Helm;
use serde_json::Value;

use crate::{
    rendered::{EVERYTHING, documents, objects, one},
    text,
};

/// Files that describe the programs' metrics, and the prefix of the metrics' names.
const SOURCES: [(&str, &str); 3] = [
    ("api/src/metrics.rs", "assay"),
    ("api/src/chain_server/metrics.rs", "assay"),
    ("operator/src/metrics.rs", "assay_operator"),
];
const WORDS: [&str; 2] = ["crates/engine/src/score.rs", "operator/src/reason.rs"];

/// The labels of each series.
type SeriesLabels = BTreeMap<String, BTreeSet<String>>;

/// The fields of structures, `name: Type`, with the structure of each.
fn fields(source: &str) -> Vec<(&str, &str, &str)> {
    let mut within = "";
    source
        .lines()
        .filter_map(|line| {
            let line = line.trim().trim_start_matches("pub ");
            if let Some(name) = line.strip_prefix("struct ") {
                within = name.trim_end_matches(" {");
            }
            let (name, kind) = line.trim_end_matches(',').split_once(": ")?;
            Some((within, name, kind))
        })
        .collect()
}

/// Series of a metric beside its name, and the labels that distinguish them.
fn series(name: &str, kind: &str, labels: &BTreeSet<String>) -> SeriesLabels {
    let ends: &[&str] = if kind.contains("Counter") {
        &["_total"]
    } else if kind.contains("Histogram") {
        &["_bucket", "_count", "_sum"]
    } else {
        &[""]
    };
    let labelled = |end: &str| {
        let bounds = (end == "_bucket").then(|| "le".to_owned());
        labels.iter().cloned().chain(bounds).collect()
    };
    ends.iter().map(|end| (format!("{name}{end}"), labelled(end))).collect()
}

/// The series of a program, from the source that registers them: a program shows none of those that it
/// has not counted yet.
fn series_of(source: &str, prefix: &str) -> SeriesLabels {
    let source = text(source);
    let fields = fields(&source);
    let registered = source.split("registry.register(").skip(1).map(|call| {
        let name = call.split('"').nth(1).unwrap();
        let own = call.split(".clone()").next().unwrap().rsplit([' ', '.', '\n']).next().unwrap();
        let is_metrics =
            |(within, field, _): &&(&str, &str, &str)| within.ends_with("Metrics") && *field == own;
        // A metric that is registered once and never changes has no field.
        let kind = fields.iter().find(is_metrics).map_or("", |(_, _, kind)| *kind);
        let set = kind.strip_prefix("Family<").and_then(|kind| kind.split(',').next());
        let labels = fields.iter().filter(|(within, ..)| Some(*within) == set);
        let labels = labels.map(|(_, field, _)| (*field).to_owned()).collect();
        series(&format!("{prefix}_{name}"), kind, &labels)
    });
    registered.flatten().collect()
}

fn known_series() -> SeriesLabels {
    SOURCES.iter().flat_map(|(source, prefix)| series_of(source, prefix)).collect()
}

/// Checks that a query uses existing metrics and labels, with values that exist.
fn check(query: &str, known: &SeriesLabels) {
    let words: String = SOURCES.iter().map(|(source, _)| *source).chain(WORDS).map(text).collect();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let grouped: Vec<&str> = query
        .split("by (")
        .skip(1)
        .flat_map(|rest| rest.split(')').next().unwrap().split(", "))
        .collect();
    let asked = query.match_indices("assay_").map(|(begin, _)| query.get(begin..).unwrap());
    let mut count = 0;
    for rest in asked {
        let name = rest.split(|letter| !is_word(letter)).next().unwrap();
        let labels = known.get(name).unwrap_or_else(|| panic!("{query}: no program counts {name}"));
        let selector = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('{'));
        let selector = selector.map_or("", |rest| rest.split('}').next().unwrap());
        for pair in selector.split(',').filter(|pair| !pair.is_empty()) {
            let (label, value) = pair.split_once('=').unwrap();
            assert!(labels.contains(label), "{query}: {name} has no label {label}");
            for word in value.trim_start_matches('~').trim_matches('"').split('|') {
                assert!(words.contains(word), "{query}: nothing is ever {label} {word}");
            }
        }
        for label in &grouped {
            assert!(labels.contains(*label), "{query}: {name} has no label {label}");
        }
        count += 1;
    }
    assert!(count > 0, "{query} asks for nothing of ours");
}

#[test]
fn the_dashboard_shows_existing_metrics() {
    let dashboard: Value =
        serde_json::from_str(&text("charts/assay/files/dashboard.json")).unwrap();
    let known = known_series();
    for panel in dashboard["panels"].as_array().unwrap() {
        let query = panel["targets"][0]["expr"].as_str().unwrap();
        check(query, &known);
    }
}

#[test]
fn every_alert_uses_existing_metrics_and_has_a_runbook() {
    let rules = documents(&text("charts/assay/files/alerts.yaml"));
    let runbooks = text("docs/runbooks.md");
    let known = known_series();
    let mut titles: BTreeSet<&str> =
        runbooks.lines().filter_map(|line| line.strip_prefix("## Assay")).collect();
    for alert in rules[0].as_array().unwrap() {
        let (name, query) = (alert["alert"].as_str().unwrap(), alert["expr"].as_str().unwrap());
        check(query, &known);
        assert!(titles.remove(name.strip_prefix("Assay").unwrap()), "docs/runbooks.md: ## {name}");
    }
    assert!(titles.is_empty(), "docs/runbooks.md: no alert is called Assay{titles:?}");
}

#[test]
#[ignore = "needs Helm"]
fn alerts_name_their_runbook_and_keep_templates_of_prometheus() {
    let helm = Helm::find();
    let rendered = objects(&helm, EVERYTHING);
    let rules = &one(&rendered, "PrometheusRule", "assay")["spec"]["groups"][0]["rules"];
    let written = documents(&text("charts/assay/files/alerts.yaml"));
    assert_eq!(rules.as_array().unwrap().len(), written[0].as_array().unwrap().len());
    for (rule, written) in rules.as_array().unwrap().iter().zip(written[0].as_array().unwrap()) {
        assert_eq!(rule["expr"], written["expr"]);
        assert_eq!(rule["annotations"]["summary"], written["annotations"]["summary"]);
        let page = rule["alert"].as_str().unwrap().to_lowercase();
        assert_eq!(rule["annotations"]["runbook_url"], format!("docs/runbooks.md#{page}"));
    }
    let dashboard = one(&rendered, "ConfigMap", "assay-dashboard")["data"]["assay.json"].clone();
    let dashboard: Value = serde_json::from_str(dashboard.as_str().unwrap()).unwrap();
    assert_eq!(dashboard["uid"], "assay");
}
