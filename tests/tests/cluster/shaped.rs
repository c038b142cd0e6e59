//! Given an operator with workloads, when people write `spec.pods` of a kind, then its pods have it, and follow its
//! changes. `kwok` simulates the pods without images.

use serde_json::Value;

use crate::{
    platform::wait_until,
    service::{DATABASE, service},
    sources::{CHAIN, FEED, FOLLOW, chain, feed, platform},
};

/// A `spec.pods` with parts of every kind; `word` is the value of a label, an annotation and a variable.
fn pods(word: &str) -> String {
    format!(
        "{{labels: {{team: {word}}}, annotations: {{example.com/word: {word}}}, env: [{{name: WORD, value: {word}}}], \
         nodeSelector: {{type: kwok}}, priorityClassName: system-cluster-critical, \
         resources: {{limits: {{memory: 64Mi}}}}, \
         affinity: {{podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: \
         [{{weight: 1, podAffinityTerm: {{topologyKey: zone}}}}]}}}}, \
         volumes: [{{name: extra, configMap: {{name: extra, optional: true}}}}], \
         volumeMounts: [{{name: extra, mountPath: /extra}}]}}"
    )
}

/// Asserts that a pod template has the parts of `pods(word)`.
fn has_parts(template: &Value, word: &str) -> bool {
    let (spec, container) = (&template["spec"], &template["spec"]["containers"][0]);
    let has = |list: &Value, field: &str, wanted: &str| {
        list.as_array().is_some_and(|all| all.iter().any(|one| one[field] == wanted))
    };
    let anti = &spec["affinity"]["podAntiAffinity"];
    let term = &anti["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"];
    let metadata = &template["metadata"];
    metadata["labels"]["team"] == word
        && metadata["labels"]["app.kubernetes.io/name"] == "assay"
        && metadata["annotations"]["example.com/word"] == word
        && has(&container["env"], "value", word)
        && spec["nodeSelector"]["type"] == "kwok"
        && spec["priorityClassName"] == "system-cluster-critical"
        && has(&spec["volumes"], "name", "extra")
        && has(&container["volumeMounts"], "mountPath", "/extra")
        && term["labelSelector"]["matchLabels"]["app.kubernetes.io/name"] == "assay"
}

#[test]
#[ignore = "needs Kubernetes"]
fn pods_of_every_kind_have_what_their_spec_says_and_follow_it() {
    let platform = platform();
    let apply = |word: &str| {
        let pods = pods(word);
        let sources = [
            feed(&format!(", pods: {pods}")),
            chain(&format!("{FOLLOW}, pods: {pods}")),
            DATABASE.to_owned(),
            service("1.0", &format!("  pods: {pods}")),
        ];
        platform.cluster.apply(&sources.concat());
    };
    let workloads = [
        ("cronjob", "intel-own", "/spec/jobTemplate/spec/template"),
        ("statefulset", "chain-bitcoin", "/spec/template"),
        ("deployment", "api", "/spec/template"),
        ("cronjob", "api-purge", "/spec/jobTemplate/spec/template"),
    ];
    for word in ["one", "two"] {
        apply(word);
        for (kind, name, path) in workloads {
            wait_until(&format!("{kind} {name} has the pods of `{word}`"), || {
                let object = platform.cluster.find(&[kind, name, "-n", "default"]);
                let template = object.as_ref().and_then(|object| object.pointer(path));
                template.is_some_and(|template| has_parts(template, word))
            });
        }
    }
    let limits = ".spec.template.spec.containers[0].resources.limits.memory";
    assert_eq!(platform.cluster.field(&["deployment", "api"], limits), "64Mi");
    // A spec without pods removes what was added.
    platform.cluster.apply(&[feed(""), chain(FOLLOW), service("1.0", "")].concat());
    for (kind, name, path) in workloads {
        wait_until(&format!("{kind} {name} has the operator's pods alone"), || {
            let object = platform.cluster.find(&[kind, name, "-n", "default"]);
            let template = object.as_ref().and_then(|object| object.pointer(path));
            template.is_some_and(|template| {
                let text = template.to_string();
                !["/extra", "example.com/word", "\"team\""].iter().any(|part| text.contains(part))
            })
        });
    }
    // A volume of the operator is refused with its message, also past the rules of the definition.
    let wrong = "  pods: {volumeMounts: [{name: none, mountPath: /none}]}";
    platform.cluster.apply(&service("1.0", wrong));
    platform.wait_for_reason(&["riskservice", "api"], "Invalid");
    let message = ".status.conditions[?(@.type==\"Ready\")].message";
    let said = platform.cluster.field(&["riskservice", "api"], message);
    assert!(said.contains("spec.pods.volumeMounts[0].name: is no volume of `volumes`"), "{said}");
    // What only the API server knows to be wrong is told, too.
    platform.cluster.apply(&service("1.0", "  pods: {nodeSelector: {no label: a}}"));
    wait_until("the refusal is told", || {
        let said = platform.cluster.field(&["riskservice", "api"], message);
        said.contains("the API server refuses an object of the service")
            && said.contains("no label")
    });
    platform.cluster.kubectl(&["delete", "riskservice", "api"]);
    for object in [FEED, CHAIN] {
        platform.cluster.kubectl(&[&["delete"], &object[..]].concat());
    }
}
