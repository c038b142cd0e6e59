//! Objects that Helm renders from the chart, as values.

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

/// The objects that Helm renders with further arguments.
pub(crate) fn objects(helm: &Helm, arguments: &[&str]) -> Vec<Value> {
    let chart = chart();
    let all =
        [&["template", "assay", &chart, "--namespace", "assay"], POLICIES, arguments].concat();
    documents(&helm.run(&all).ok().stdout)
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
                "Deployment" => &object["spec"]["template"]["spec"],
                "Pod" => &object["spec"],
                _ => return None,
            };
            Some((object["metadata"]["name"].as_str()?.to_owned(), pod))
        })
        .collect()
}
