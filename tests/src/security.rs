//! Describes what pods can read and reach, for generated parts of documents.

use std::{collections::BTreeMap, env, fs, path::Path};

use serde_json::Value;

/// Compares a generated part of a document with its expected contents, or writes it where `UPDATE_GENERATED` is set.
/// The part is delimited by the comments `generated: NAME` and `end: NAME`.
///
/// # Panics
///
/// Panics if the contents differ, or the document lacks the part.
pub fn expect_part(document: &Path, name: &str, wanted: &str) {
    let text = fs::read_to_string(document).expect("a document");
    let (begin, end) = (format!("<!-- generated: {name} -->"), format!("<!-- end: {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the begin of the part");
    let (_, after) = rest.split_once(&end).expect("the end of the part");
    let wanted = format!("{before}{begin}\n\n{wanted}\n{end}{after}");
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(document, &wanted).expect("a document that can be written");
    }
    let is_up_to_date = text == wanted || env::var_os("UPDATE_GENERATED").is_some();
    assert!(is_up_to_date, "{} is out of date in `{name}`; wanted: {wanted}", document.display());
}

/// A pod that a document describes.
#[derive(Clone, Copy, Debug)]
pub struct DescribedPod<'a> {
    /// The name of the pod in the document.
    pub name: &'a str,
    /// The pod template: metadata and spec.
    pub template: &'a Value,
}

impl DescribedPod<'_> {
    /// A row of a table: the pod's name, token for the API server, Secrets, and allowed connections to and from the
    /// pod.
    #[must_use]
    pub fn row(&self, policies: &[&Value]) -> String {
        let spec = &self.template["spec"];
        let token = if spec["automountServiceAccountToken"] == false { "no" } else { "yes" };
        let chosen: Vec<&Value> = policies.iter().copied().filter(|it| self.has(it)).collect();
        let [incoming, outgoing] = [("Ingress", "ingress", "from"), ("Egress", "egress", "to")]
            .map(|(kind, field, side)| reach(&chosen, kind, field, side));
        format!("| {} | {token} | {} | {incoming} | {outgoing} |\n", self.name, secrets(spec))
    }

    /// True if a network policy selects the pod.
    fn has(&self, policy: &Value) -> bool {
        let labels = &self.template["metadata"]["labels"];
        let selector = &policy["spec"]["podSelector"];
        let wanted = selector["matchLabels"].as_object().into_iter().flatten();
        let is_chosen = wanted.into_iter().all(|(name, value)| labels[name] == *value);
        let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
        is_chosen
            && expressions.all(|one| {
                assert_eq!(one["operator"], "In", "the one that is known here");
                let label = &labels[one["key"].as_str().unwrap_or_default()];
                one["values"].as_array().is_some_and(|values| values.contains(label))
            })
    }
}

/// The Secrets of a pod: the names, and the keys of each.
fn secrets(spec: &Value) -> String {
    let texts = |list: &Value, field: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(|item| Some(item[field].as_str()?.to_owned())).collect()
    };
    let mut found = Vec::new();
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        assert!(volume.get("projected").is_none(), "no volume with several sources");
        if let Some(name) = volume["secret"]["secretName"].as_str() {
            let keys = texts(&volume["secret"]["items"], "key").join(", ");
            assert!(!keys.is_empty(), "{name}: only named keys are mounted");
            found.push(format!("`{name}` ({keys})"));
        }
    }
    for container in spec["containers"].as_array().into_iter().flatten() {
        let variables = container["env"].as_array().into_iter().flatten();
        let has_secret = variables.into_iter().any(|it| !it["valueFrom"]["secretKeyRef"].is_null());
        let is_plain = !has_secret && container["envFrom"].is_null();
        assert!(is_plain, "no Secret is in the environment: {}", container["env"]);
    }
    if found.is_empty() { "none".to_owned() } else { found.join("; ") }
}

/// Connections in one direction that network policies permit.
fn reach(policies: &[&Value], kind: &str, field: &str, side: &str) -> String {
    let is_about = |policy: &&&Value| {
        policy["spec"]["policyTypes"].as_array().is_some_and(|all| all.contains(&kind.into()))
    };
    let about: Vec<_> = policies.iter().filter(is_about).collect();
    if about.is_empty() {
        return "anything".to_owned();
    }
    let rules =
        about.iter().flat_map(|policy| policy["spec"][field].as_array().into_iter().flatten());
    let mut found: Vec<String> = Vec::new();
    for rule in rules {
        let text = format!("{} {side} {}", ports(&rule["ports"]), peers(&rule[side]));
        if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.is_empty() { "nothing".to_owned() } else { found.join("; ") }
}

/// Ports of a rule, by protocol.
fn ports(list: &Value) -> String {
    let mut by_protocol: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for port in list.as_array().into_iter().flatten() {
        let number = &port["port"];
        let text = number.as_str().map_or_else(|| number.to_string(), str::to_owned);
        by_protocol.entry(port["protocol"].as_str().unwrap_or("TCP")).or_default().push(text);
    }
    let texts =
        by_protocol.iter().map(|(protocol, ports)| format!("{protocol} {}", ports.join(", ")));
    let text = texts.collect::<Vec<_>>().join(" and ");
    if text.is_empty() { "all ports".to_owned() } else { text }
}

/// The peers in a rule.
fn peers(list: &Value) -> String {
    let mut found: Vec<String> = Vec::new();
    for peer in list.as_array().into_iter().flatten() {
        let text = if let Some(cidr) = peer["ipBlock"]["cidr"].as_str() {
            let is_whole = ["0.0.0.0/0", "::/0"].contains(&cidr);
            if is_whole { "public addresses".to_owned() } else { cidr.to_owned() }
        } else {
            let pods = match &peer["podSelector"] {
                Value::Null => "pods".to_owned(),
                Value::Object(labels) if labels.is_empty() => "pods".to_owned(),
                selector => pods(&selector["matchLabels"]),
            };
            match &peer["namespaceSelector"] {
                Value::Null => format!("{pods} of the namespace"),
                Value::Object(labels) if labels.is_empty() => format!("{pods} of any namespace"),
                selector => match selector["matchLabels"]["kubernetes.io/metadata.name"].as_str() {
                    Some(name) => format!("{pods} of the namespace `{name}`"),
                    None => format!("{pods} of namespaces with {selector}"),
                },
            }
        };
        if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.is_empty() { "anywhere".to_owned() } else { found.join(", ") }
}

/// Describes the pods with some labels.
fn pods(labels: &Value) -> String {
    let label = |name: &str| labels[format!("app.kubernetes.io/{name}")].as_str();
    match (label("component"), label("instance")) {
        (Some(component), Some(instance)) => format!("`{component}` pods of `{instance}`"),
        (Some(component), None) => format!("`{component}` pods"),
        _ => "Assay's pods".to_owned(),
    }
}
