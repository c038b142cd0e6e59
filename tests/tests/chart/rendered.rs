//! Objects that Helm renders from the chart, as values.

use std::collections::BTreeMap;

use assay_tests::Helm;
use serde_json::Value;

use crate::chart;

/// Values of a production installation.
pub(crate) const PRODUCTION: &[&str] =
    &["--set", "mode=production,database.secret.name=database,cache.secret.name=cache"];

/// Values of an operator that watches a few namespaces.
pub(crate) const NAMESPACES: &[&str] =
    &["--set", "operator.scope=namespaces,operator.namespaces={payments}"];

/// Arguments that tell `helm template` that the cluster has the kind `ValidatingAdmissionPolicy`.
pub(crate) const POLICIES: &[&str] =
    &["--api-versions", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"];

/// Values that turn everything on.
pub(crate) const EVERYTHING: &[&str] = &[
    "--set",
    "persistence.enabled=true,metrics.serviceMonitor.enabled=true,\
     metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,imagePullSecrets={registry},\
     networkPolicy.allowedPrivateCidrs={10.20.0.0/16},proxy.https=http://proxy.example:3128,\
     caBundle.configMap=authorities,api.exposure.host=risk.example,\
     api.exposure.ingress.className=public,api.scaling.requestsInFlight=40,\
     telemetry.otlpEndpoint=http://collector.otel:4318",
];

/// The YAML documents of a text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    all.into_iter().filter(|document| !document.is_null()).collect()
}

/// The text that Helm renders with further arguments.
pub(crate) fn rendered(helm: &Helm, arguments: &[&str]) -> String {
    let chart = chart();
    let all =
        [&["template", "assay", &chart, "--namespace", "assay"], POLICIES, arguments].concat();
    helm.run(&all).ok().stdout
}

/// The objects that Helm renders with further arguments.
pub(crate) fn objects(helm: &Helm, arguments: &[&str]) -> Vec<Value> {
    documents(&rendered(helm, arguments))
}

/// The objects of a kind.
pub(crate) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// The object of a kind and name.
pub(crate) fn one<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found =
        of_kind(objects, kind).into_iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

/// The pod templates of objects, with the objects' names.
pub(crate) fn pods(objects: &[Value]) -> Vec<(String, &Value)> {
    objects
        .iter()
        .filter_map(|object| {
            let pod = match object["kind"].as_str()? {
                "Deployment" | "Job" => &object["spec"]["template"]["spec"],
                "Pod" => &object["spec"],
                _ => return None,
            };
            Some((pod_name(object)?, pod))
        })
        .collect()
}

/// The name of an object with pods: that of a Job without the digest of its spec.
pub(crate) fn pod_name(object: &Value) -> Option<String> {
    let name = object["metadata"]["name"].as_str()?;
    let of_job = name.rsplit_once('-').filter(|_| object["kind"] == "Job");
    Some(of_job.map_or(name, |(name, _)| name).to_owned())
}

/// The texts of a Secret that the Job of the chart generates, by key, with a random text.
pub(crate) fn generated_texts(
    objects: &[Value],
    secret: &str,
    random: &str,
) -> BTreeMap<String, String> {
    let pods = pods(objects);
    let job = pods.iter().find(|(name, _)| name.ends_with("-secrets"));
    let arguments = job.and_then(|(_, pod)| pod["containers"][0]["args"].as_array());
    let prefix = format!("--value={secret}/");
    let texts = arguments.into_iter().flatten().filter_map(|argument| {
        let (key, text) = argument.as_str()?.strip_prefix(&prefix)?.split_once('=')?;
        Some((key.to_owned(), text.replace("{random}", random)))
    });
    texts.collect()
}
