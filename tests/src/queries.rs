//! Queries of the chart's alerts and dashboard, compared with the metrics that running programs return.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Labels of a series, each with its value.
type Labels<'a> = BTreeMap<&'a str, &'a str>;

/// The program that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    /// API servers and chain servers.
    Server,
    /// The operator.
    Operator,
}

impl Exporter {
    /// The program that counts a metric.
    fn of(metric: &str) -> Self {
        if metric.starts_with("assay_operator_") { Self::Operator } else { Self::Server }
    }

    /// Asserts that every metric, label and value in the chart's queries for this program is in `metrics`, the text
    /// that it returns.
    ///
    /// # Panics
    ///
    /// Panics if the chart has no such query, or a query without its series.
    pub fn assert_answers_its_queries(self, metrics: &str) {
        let mut series = BTreeMap::<&str, Vec<Labels<'_>>>::new();
        for line in metrics.lines().filter(|line| !line.starts_with('#')) {
            let (name, labels) = parse(line);
            series.entry(name).or_default().push(labels);
        }
        let mut count = 0;
        for query in queries() {
            for (begin, _) in query.match_indices("assay_") {
                let (name, wanted) = parse(&query[begin..]);
                if Self::of(name) != self {
                    continue;
                }
                count += 1;
                let found = series.get(name).unwrap_or_else(|| panic!("{query}: no {name}"));
                for label in grouped_by(&query) {
                    let has_label = found.iter().all(|labels| labels.contains_key(label));
                    assert!(has_label, "{query}: {name} has no label {label}");
                }
                let is_wanted = |labels: &Labels<'_>| {
                    wanted.iter().all(|(label, values)| {
                        labels.get(label).is_some_and(|it| values.split('|').any(|one| one == *it))
                    })
                };
                assert!(found.iter().any(is_wanted), "{query}: no {name} has {wanted:?}");
            }
        }
        assert!(count > 0, "the chart has no query for {self:?}");
    }
}

/// The name and the labels at the beginning of a text: of a series, or of a query.
fn parse(text: &str) -> (&str, Labels<'_>) {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let within = rest.strip_prefix('{').and_then(|rest| rest.split_once("\"}"));
    let pairs = within.into_iter().flat_map(|(within, _)| within.split("\","));
    let labels = pairs.map(|pair| {
        let (label, value) = pair.split_once('=').expect("a label with its value");
        (label, value.trim_start_matches('~').trim_start_matches('"'))
    });
    (name, labels.collect())
}

/// The labels by which a query groups series.
fn grouped_by(query: &str) -> impl Iterator<Item = &str> {
    let lists = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    lists.flat_map(|list| list.split(", "))
}

/// All queries of the chart.
fn queries() -> Vec<String> {
    let text = |name: &str| fs::read_to_string(chart_file(name)).expect("a file of the chart");
    let alerts: Vec<Value> = serde_saphyr::from_str(&text("alerts.yaml")).expect("YAML");
    let dashboard: Value = serde_json::from_str(&text("dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let shown = panels.iter().map(|panel| &panel["targets"][0]["expr"]);
    let all = alerts.iter().map(|alert| &alert["expr"]).chain(shown);
    all.map(|query| query.as_str().expect("a query").to_owned()).collect()
}

fn chart_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/assay/files").join(name)
}
