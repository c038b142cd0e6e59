//! Given invalid values, when the chart is rendered, then the error describes the problem.

use std::collections::BTreeSet;

use assay_tests::Helm;
use serde_json::Value;

use crate::{
    chart,
    rendered::{EVERYTHING, PRODUCTION},
    text,
};

fn schema() -> Value {
    serde_json::from_str(&text("charts/assay/values.schema.json")).unwrap()
}

/// A value of the chart.
#[derive(Debug)]
pub(crate) struct DocumentedValue {
    /// Path of the value, such as `operator.replicas`.
    pub(crate) path: String,
    /// Default value.
    pub(crate) default: Value,
    /// Description of the value.
    pub(crate) meaning: String,
}

/// Every value of `values.yaml` with its comment. Keys without a comment are sections.
pub(crate) fn documented_values() -> Vec<DocumentedValue> {
    let text = text("charts/assay/values.yaml");
    let values: Value = serde_saphyr::from_str(&text).unwrap();
    let mut found: Vec<DocumentedValue> = Vec::new();
    let mut sections: Vec<(usize, &str)> = Vec::new();
    let mut meaning = Vec::new();
    let mut inside = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        // Keys inside a documented value are part of it.
        if inside.is_some_and(|above| depth > above) {
            continue;
        }
        inside = None;
        if let Some(words) = line.trim().strip_prefix("# ") {
            meaning.push(words);
            continue;
        }
        let (key, rest) = line.trim().split_once(':').unwrap();
        sections.retain(|(above, _)| *above < depth);
        if meaning.is_empty() {
            assert!(rest.is_empty(), "{key} lacks a comment that says what it means");
            sections.push((depth, key));
            continue;
        }
        let path: Vec<&str> = sections.iter().map(|(_, key)| *key).chain([key]).collect();
        found.push(DocumentedValue {
            default: values.pointer(&format!("/{}", path.join("/"))).unwrap().clone(),
            path: path.join("."),
            meaning: meaning.join(" "),
        });
        meaning.clear();
        inside = Some(depth);
    }
    found
}

/// The schema that a schema refers to, or itself.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.map_or(schema, |target| root.pointer(target).unwrap())
}

#[test]
fn the_schema_knows_every_value_and_no_other() {
    let schema = schema();
    let mut known = BTreeSet::new();
    // A section's properties are the values below it.
    let mut sections = vec![(String::new(), &schema)];
    let documented_values: BTreeSet<String> =
        documented_values().into_iter().map(|value| value.path).collect();
    while let Some((above, section)) = sections.pop() {
        for (name, property) in section["properties"].as_object().unwrap() {
            let path = format!("{above}{name}");
            if documented_values.contains(&path) || path == "global" {
                known.insert(path);
            } else {
                let property = resolved(&schema, property);
                assert!(property["properties"].is_object(), "{path} is not in values.yaml");
                sections.push((format!("{path}."), property));
            }
        }
    }
    known.remove("global");
    assert_eq!(known, documented_values);
}

#[test]
fn no_object_of_the_schema_accepts_unknown_fields() {
    fn check(place: &str, schema: &Value) {
        if let Value::Object(fields) = schema {
            if fields.get("type").is_some_and(|kind| kind == "object") {
                let more = &fields["additionalProperties"];
                // Labels have any names, and texts as values.
                let labels = more["type"] == "string" && !fields.contains_key("properties");
                // Global values of a parent chart are not ours.
                let others = place == "/properties/global";
                assert!(*more == Value::Bool(false) || labels || others, "{place} takes anything");
            }
            fields.iter().for_each(|(name, field)| check(&format!("{place}/{name}"), field));
        }
    }
    check("", &schema());
}

#[test]
#[ignore = "needs Helm"]
fn errors_of_values_are_named() {
    let helm = Helm::find();
    for (values, sentence) in [
        ("operator.replica=3", "at '/operator': additional properties 'replica' not allowed"),
        ("networkpolicy.enabled=false", "additional properties 'networkpolicy' not allowed"),
        (
            "operator.namespaces={payments}",
            "operator.namespaces needs operator.scope=namespaces: with operator.scope=cluster",
        ),
        ("operator.scope=tenant", "at '/operator/scope': value must be one of 'cluster'"),
        ("mode=prod", "at '/mode': value must be one of 'evaluation', 'production'"),
        ("persistence.size=8Gb", "at '/persistence/size': '8Gb' does not match pattern"),
        ("image.digest=sha256:ab", "at '/image/digest': 'sha256:ab' does not match pattern"),
        ("evaluation.password=a'b", "at '/evaluation/password'"),
        ("evaluation.redis.user=0", "at '/evaluation/redis/user': minimum: got 0, want 1"),
        ("operator.replicas=0", "at '/operator/replicas': minimum: got 0, want 1"),
        (
            "api.exposure.ingress.className=public",
            "properties 'host' required, if 'ingress' exists",
        ),
        (
            "networkPolicy.allowedPrivateCidrs={10.0.0.1}",
            "at '/networkPolicy/allowedPrivateCidrs/0'",
        ),
        (
            "mode=production",
            "mode=production needs database.secret.name: a Secret with the URL of PostgreSQL",
        ),
        (
            "mode=production,database.secret.name=a,persistence.enabled=true",
            "persistence is only for mode=evaluation: mode=production uses your database",
        ),
        ("database.secret.name=a", "mode=evaluation includes its own"),
        ("cache.secret.name=a", "mode=evaluation includes its own"),
        (
            "networkPolicy.database.ports={6432}",
            "networkPolicy.database is only for mode=production",
        ),
        ("networkPolicy.apiServer.ports={0}", "at '/networkPolicy/apiServer/ports/0'"),
        (
            "proxy.https=proxy.example:3128",
            "at '/proxy/https': 'proxy.example:3128' does not match",
        ),
        ("commonLabels.helm\\.sh/chart=a", "commonLabels: `helm.sh/chart` is a label of the chart"),
        ("fullnameOverride=Risk", "the name `Risk` cannot be the name of the API's Service"),
        ("api.pods.hostNetwork=true", "additional properties 'hostNetwork' not allowed"),
        (
            "operator.volumes[0].name=a,operator.volumes[0].hostPath.path=/",
            "'hostPath' not allowed",
        ),
        ("imagePullPolicy=Sometimes", "at '/imagePullPolicy': value must be one of"),
        ("caBundle.configMap=a,caBundle.secret=b", "set caBundle.configMap or caBundle.secret"),
    ] {
        let refused = helm.run(&["template", "assay", &chart(), "--set", values]);
        let complaint = refused.stderr.contains(sentence);
        assert!(
            refused.code != 0 && complaint,
            "{values}: wanted `{sentence}`: {}",
            refused.stderr
        );
    }
    let refused = helm.run(&["template", "7-assay", &chart()]);
    assert!(refused.stderr.contains("starting with a letter"), "{}", refused.stderr);
    for good in [EVERYTHING, PRODUCTION] {
        let _ = helm.run(&[&["template", "assay", &chart()], good].concat()).ok();
    }
}
