//! The chart's copies of other files are up to date. `UPDATE_GENERATED=1` writes them.

use std::{collections::BTreeSet, env, fs};

use assay_service::{ready_chain_sources::READY_CHAIN_SOURCES, ready_sources::READY_SOURCES};
use serde_json::{Value, json};

use crate::{file, rendered::documents, text, values::documented_values};

/// Compares a file with its expected contents, or writes it.
fn expect(name: &str, wanted: &str) {
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(file(name), wanted).unwrap();
    }
    assert!(text(name) == wanted, "{name} is out of date: run `just generate`");
}

#[test]
fn the_files_of_others() {
    for name in ["admission", "admission-plans", "rights", "rights-namespaced", "rights-tenant"] {
        expect(&format!("charts/assay/files/{name}.yaml"), &text(&format!("operator/{name}.yaml")));
    }
    for name in ["plans", "policy", "feeds"] {
        let wanted = text(&format!("crates/service/manifests/{name}.yaml"));
        expect(&format!("charts/assay/files/{name}.yaml"), &wanted);
    }
}

/// The ready-made sources that have a feed and need no license, including OFAC's.
#[test]
fn the_ready_made_sources() {
    let offered = READY_SOURCES
        .iter()
        .filter(|source| source.name != "ofac-sdn" && !source.commercial)
        .filter_map(|source| Some((source, source.location?)));
    let manifests: Vec<String> = offered
        .clone()
        .map(|(source, location)| {
            format!(
                "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata:\n  name: {}\nspec:\n  \
                 location: {location}\n  format: {}\n  lists: [{}]\n  schedule: \"{}\"\n",
                source.name,
                source.format,
                source.lists.join(", "),
                source.schedule
            )
        })
        .collect();
    expect("charts/assay/files/sources.yaml", &manifests.join("---\n"));
    let schema: Value = serde_json::from_str(&text("charts/assay/values.schema.json")).unwrap();
    let names: Vec<&str> = offered.map(|(source, _)| source.name).collect();
    let listed = &schema["properties"]["defaults"]["properties"]["sources"]["items"]["enum"];
    assert_eq!(*listed, json!(names));
}

/// The ready-made APIs of explorers.
#[test]
fn the_ready_made_chain_sources() {
    let offered = READY_CHAIN_SOURCES.iter().flat_map(|source| {
        source.endpoints.iter().map(|(chain, endpoint)| {
            let name = format!("{}-{chain}", source.name);
            let manifest = format!(
                "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata:\n  name: {name}\nspec:\n  \
                 chain: {chain}\n  mode: on_demand\n  protocol: {}\n  endpoint: {endpoint}\n",
                source.protocol
            );
            (name, manifest)
        })
    });
    let (names, manifests): (Vec<String>, Vec<String>) = offered.unzip();
    expect("charts/assay/files/chainSources.yaml", &manifests.join("---\n"));
    let schema: Value = serde_json::from_str(&text("charts/assay/values.schema.json")).unwrap();
    let sources = &schema["properties"]["defaults"]["properties"]["chainSources"];
    let known: BTreeSet<&String> = sources["properties"].as_object().unwrap().keys().collect();
    assert_eq!(known, names.iter().collect());
}

/// The schemas of pods and of the console in values are those of a `RiskService`, whose rules the API server checks.
#[test]
fn the_schemas_of_a_risk_service() {
    fn plain(schema: &Value) -> Value {
        match schema {
            Value::Object(fields) => {
                let mut plain = serde_json::Map::new();
                for (name, field) in fields {
                    if name == "properties" || (!name.starts_with("x-") && name != "default") {
                        plain.insert(name.clone(), plain_fields(name, field));
                    }
                }
                if plain.contains_key("properties") {
                    plain.insert("additionalProperties".into(), false.into());
                }
                plain.into()
            }
            other => other.clone(),
        }
    }
    fn plain_fields(name: &str, field: &Value) -> Value {
        match field {
            Value::Object(fields) if name == "properties" => {
                fields.iter().map(|(name, field)| (name.clone(), plain(field))).collect()
            }
            Value::Array(values) => values.iter().map(plain).collect(),
            other => plain(other),
        }
    }
    let definition = &documents(&text("crds/manifests/riskservices.yaml"))[0];
    let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let name = "charts/assay/values.schema.json";
    let mut schema: Value = serde_json::from_str(&text(name)).unwrap();
    for field in ["console", "pods"] {
        schema["definitions"][field] = plain(&root["properties"]["spec"]["properties"][field]);
    }
    expect(name, &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
}

#[test]
fn the_table_of_values() {
    let (name, begin, end) =
        ("charts/assay/README.md", "<!-- generated: values -->", "<!-- end: values -->");
    let rows = documented_values()
        .into_iter()
        .map(|value| format!("| `{}` | `{}` | {} |\n", value.path, value.default, value.meaning));
    let table: String = ["| value | default | meaning |\n|---|---|---|\n".to_owned()]
        .into_iter()
        .chain(rows)
        .collect();
    let text = text(name);
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    expect(name, &format!("{before}{begin}\n\n{table}\n{end}{after}"));
}

#[test]
fn the_version_of_chart_and_programs_is_one() {
    let chart = &documents(&text("charts/assay/Chart.yaml"))[0];
    for name in ["version", "appVersion"] {
        assert_eq!(chart[name], env!("CARGO_PKG_VERSION"), "{name}");
    }
}
