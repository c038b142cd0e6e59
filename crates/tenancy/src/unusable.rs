//! Fields of a valid form that no program can use: refused when a manifest is applied.
//!
//! A stored manifest with such a field stays valid: its source fails, and no other.

use jiff::Timestamp;

use crate::{
    FieldProblem, Name, WEB_URL_FORM, is_web_url,
    manifest::{ChainSourceSpec, FetchSchedule, IntelSourceSpec, ManifestSpec},
};

/// The fields of a spec that no program can use.
#[must_use]
pub fn unusable_fields<R>(spec: &ManifestSpec<R>) -> Vec<FieldProblem> {
    match spec {
        ManifestSpec::IntelSource(spec) => of_intel_source(spec),
        ManifestSpec::ChainSource(spec) => of_chain_source(spec),
        _ => Vec::new(),
    }
}

fn of_intel_source(spec: &IntelSourceSpec) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    problems.extend(url("spec.location", &spec.location));
    for (index, list) in spec.lists.iter().enumerate() {
        if list.parse::<Name>().is_err() {
            let advice = "such as `ofac-sdn`: use 1 to 63 lowercase letters, digits and hyphens";
            let message = format!("`{list}` is no list's identifier, {advice}");
            problems.push(FieldProblem::invalid(format!("spec.lists[{index}]"), message));
        }
    }
    let schedule = FetchSchedule::parse(&spec.schedule).ok();
    // As `0 0 31 2 *`: the source would be fetched once.
    if schedule.is_some_and(|schedule| schedule.next_after(Timestamp::UNIX_EPOCH).is_none()) {
        let message = format!("`{}` names no day that exists", spec.schedule);
        problems.push(FieldProblem::invalid("spec.schedule", message));
    }
    problems
}

fn of_chain_source(spec: &ChainSourceSpec) -> Vec<FieldProblem> {
    url("spec.endpoint", &spec.endpoint).into_iter().collect()
}

/// The problem of an http or https URL; the form of any other text is checked elsewhere.
fn url(path: &str, text: &str) -> Option<FieldProblem> {
    let is_url = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    (is_url && !is_web_url(text))
        .then(|| FieldProblem::invalid(path, format!("is no URL: {WEB_URL_FORM}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::manifest::{Kind, ParsedManifest};

    /// Problems of the spec of a source, changed by `change`.
    fn problems(kind: Kind, mut spec: Value, change: &Value) -> Vec<String> {
        let change = change.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(change);
        let name = "own".parse().unwrap();
        let manifest = ParsedManifest::<Value>::parse_spec("a test".into(), kind, name, &spec);
        let problems = unusable_fields(&manifest.spec.unwrap());
        problems
            .into_iter()
            .map(|problem| format!("{}: {}", problem.path, problem.message))
            .collect()
    }

    #[test]
    fn fields_that_no_program_can_use_are_named() {
        let intel = json!({
            "location": "https://lists.example/own.csv", "format": "listings-csv",
            "schedule": "0 0 29 2 *", "lists": ["own"],
        });
        let chain = json!({
            "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://[::1]:8332",
        });
        for (kind, change, said) in [
            (Kind::IntelSource, json!({}), None),
            (Kind::IntelSource, json!({"location": "folder/own.csv"}), None),
            (Kind::ChainSource, json!({}), None),
            (
                Kind::IntelSource,
                json!({"location": "https://a:99999/x"}),
                Some("spec.location: is no URL: "),
            ),
            (
                Kind::IntelSource,
                json!({"location": "http://[::1/x"}),
                Some("spec.location: is no URL: "),
            ),
            (
                Kind::IntelSource,
                json!({"schedule": "0 0 31 2 *"}),
                Some("spec.schedule: `0 0 31 2 *` names no day"),
            ),
            (
                Kind::IntelSource,
                json!({"lists": ["own", "OFAC SDN"]}),
                Some("spec.lists[1]: `OFAC SDN` is no list's"),
            ),
            (
                Kind::ChainSource,
                json!({"endpoint": "http://"}),
                Some("spec.endpoint: is no URL: write it with a host"),
            ),
        ] {
            let spec = if kind == Kind::IntelSource { &intel } else { &chain };
            let found = problems(kind, spec.clone(), &change);
            assert_eq!(found.len(), usize::from(said.is_some()), "{change}: {found:?}");
            assert!(said.is_none_or(|said| found[0].starts_with(said)), "{change}: {found:?}");
        }
    }
}
