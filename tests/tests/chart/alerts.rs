//! Alerts and the dashboard ask for metrics that the programs have, and a person is told what to do.

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::Helm;
use serde_json::Value;

use crate::{
    rendered::{EVERYTHING, documents, objects, one},
    text,
};

/// What series of a metric are called beside its name, by what it is.
fn series(name: &str, definition: &str) -> Vec<String> {
    let ends: &[&str] = if definition.contains("Counter") {
        &["_total"]
    } else if definition.contains("Histogram") {
        &["_bucket", "_count", "_sum"]
    } else {
        &[""]
    };
    ends.iter().map(|end| format!("{name}{end}")).collect()
}

/// The series of a program, from the source that registers them: a program shows none of those that it
/// has not counted yet.
fn series_of(source: &str, prefix: &str) -> BTreeSet<String> {
    let source = text(source);
    let fields: BTreeMap<&str, &str> = source
        .lines()
        .filter_map(|line| {
            line.trim().trim_start_matches("pub ").trim_end_matches(',').split_once(": ")
        })
        .filter(|(_, kind)| {
            ["Family<", "Counter", "Gauge", "Histogram", "Seconds"]
                .iter()
                .any(|known| kind.starts_with(known))
        })
        .collect();
    let registered = source.split("registry.register(").skip(1).filter_map(|call| {
        let mut quoted = call.split('"');
        let name = quoted.nth(1)?;
        let field = call.split(".clone()").next()?.rsplit([' ', '.', '\n']).next()?;
        Some((name, *fields.get(field)?))
    });
    registered.flat_map(|(name, kind)| series(&format!("{prefix}_{name}"), kind)).collect()
}

fn known() -> BTreeSet<String> {
    let api = series_of("api/src/http/metrics.rs", "assay");
    let operator = series_of("operator/src/metrics.rs", "assay_operator");
    assert!(api.len() > 15 && operator.len() > 5, "{api:?} {operator:?}");
    api.union(&operator).cloned().collect()
}

/// The series that a query asks for.
fn asked(query: &str) -> Vec<&str> {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    query.split(|letter| !word(letter)).filter(|name| name.starts_with("assay_")).collect()
}

#[test]
fn the_dashboard_shows_what_is_counted() {
    let dashboard: Value =
        serde_json::from_str(&text("charts/assay/files/dashboard.json")).unwrap();
    let known = known();
    for panel in dashboard["panels"].as_array().unwrap() {
        let query = panel["targets"][0]["expr"].as_str().unwrap();
        assert!(!asked(query).is_empty(), "{query}");
        for name in asked(query) {
            assert!(known.contains(name), "{query}: no program counts {name}");
        }
    }
}

#[test]
fn every_alert_rests_on_what_is_counted_and_has_its_page() {
    let rules = documents(&text("charts/assay/files/alerts.yaml"));
    let runbooks = text("docs/runbooks.md");
    let known = known();
    let mut titles: BTreeSet<&str> =
        runbooks.lines().filter_map(|line| line.strip_prefix("## Assay")).collect();
    for alert in rules[0].as_array().unwrap() {
        let (name, query) = (alert["alert"].as_str().unwrap(), alert["expr"].as_str().unwrap());
        assert!(!asked(query).is_empty(), "{query}");
        for metric in asked(query) {
            assert!(known.contains(metric), "{name}: no program counts {metric}");
        }
        assert!(titles.remove(name.strip_prefix("Assay").unwrap()), "docs/runbooks.md: ## {name}");
    }
    assert!(titles.is_empty(), "docs/runbooks.md: no alert is called Assay{titles:?}");
}

#[test]
fn alerts_name_their_page_and_keep_what_prometheus_fills_in() {
    let Some(helm) = Helm::find() else { return };
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
