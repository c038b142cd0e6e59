//! Results of linters for the manifests: kubeconform with the API server's schemas of all kinds, and checkov and
//! kube-score with their rules for workloads.

mod schemas;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    time::Duration,
};

use assay_tests::{Cluster, Helm, Linters, security::expect_part};
use serde_json::Value;

use crate::{
    file,
    rendered::{EVERYTHING, NAMESPACES, PRODUCTION, documents, objects, rendered},
    text,
};

const PATIENCE: Duration = Duration::from_mins(1);

/// Findings that are accepted: the rule, the objects, and the reason.
type AcceptedFindings = [(&'static str, &'static [&'static str], &'static str)];

/// Every pod of the chart.
const PODS: &[&str] =
    &["assay-operator", "assay-postgresql", "assay-redis", "assay-secrets", "assay-test"];

/// Accepted findings of checkov.
const CHECKOV: &AcceptedFindings = &[
    (
        "CKV_K8S_11",
        PODS,
        "a limit of CPU slows down what could go on; requests of CPU keep the others' share",
    ),
    (
        "CKV_K8S_43",
        PODS,
        "digests are the choice of the installation: `image.digest`, `operator.image.digest` and others",
    ),
    (
        "CKV_K8S_15",
        PODS,
        "tags of releases do not move; a registry that is away must not keep a pod from starting",
    ),
    (
        "CKV_K8S_38",
        &["assay-operator", "assay-secrets"],
        "they talk to the API server: that is what they are for",
    ),
    (
        "CKV_K8S_40",
        &["assay-postgresql", "assay-redis"],
        "the images' own users, who own their folders; `evaluation.*.user` is another one",
    ),
    (
        "CKV_K8S_8",
        &["assay-postgresql", "assay-redis", "assay-test"],
        "a database that is slow gets no faster by being killed; a test ends by itself",
    ),
    ("CKV_K8S_9", &["assay-test"], "nobody calls a test"),
];

/// Accepted findings of kube-score.
const KUBE_SCORE: &AcceptedFindings = &[
    (
        "container-ephemeral-storage-request-and-limit",
        PODS,
        "they write little, to logs and empty folders, within the thresholds at which a node evicts",
    ),
    (
        "container-image-pull-policy",
        PODS,
        "tags of releases do not move; a registry that is away must not keep a pod from starting",
    ),
    (
        "container-resources",
        PODS,
        "limits of memory are set, those of CPU slow down what could go on",
    ),
    (
        "container-security-context-user-group-id",
        &["assay-postgresql", "assay-redis"],
        "the images' own users, who own their folders; `evaluation.*.user` is another one",
    ),
    (
        "deployment-has-host-podantiaffinity",
        &["assay-operator"],
        "a spread over nodes does the same; on one node, both operators still run",
    ),
    (
        "deployment-replicas",
        &["assay-postgresql", "assay-redis"],
        "an evaluation has one database and one cache; production has yours",
    ),
    (
        "deployment-strategy",
        &["assay-postgresql", "assay-redis"],
        "two servers must not write one folder: the first ends before the next begins",
    ),
    (
        "networkpolicy-targets-pod",
        &["assay-workloads"],
        "the operator creates the pods that the policy selects",
    ),
    (
        "pod-probes",
        &["assay-postgresql", "assay-redis"],
        "a database that is slow gets no faster by being killed",
    ),
];

/// Values of the tested installations.
const WAYS: [&[&str]; 4] = [&[], EVERYTHING, NAMESPACES, PRODUCTION];

/// All objects of an installation, for every set of values, and those of the examples.
fn everything(helm: &Helm) -> Vec<Value> {
    let rendered = WAYS.iter().flat_map(|arguments| objects(helm, arguments));
    let folders = fs::read_dir(file("charts/assay/examples")).unwrap();
    let examples = folders.flat_map(|folder| {
        let name = folder.unwrap().file_name().into_string().unwrap();
        documents(&text(&format!("charts/assay/examples/{name}/objects.yaml")))
    });
    let definitions = fs::read_dir(file("crds/manifests"))
        .unwrap()
        .flat_map(|definition| documents(&fs::read_to_string(definition.unwrap().path()).unwrap()));
    rendered.chain(examples).chain(definitions).collect()
}

/// Group, version and kind of an object.
fn kind(object: &Value) -> (String, String, String) {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    (group.to_owned(), version.to_owned(), object["kind"].as_str().unwrap().to_owned())
}

fn write(folder: &Path, objects: &[Value]) {
    for (number, object) in objects.iter().enumerate() {
        fs::write(folder.join(format!("{number}.json")), object.to_string()).unwrap();
    }
}

#[test]
#[ignore = "needs Helm, manifest linters, Kubernetes"]
fn every_object_matches_the_schema_of_its_kind() {
    let (helm, linters) = (Helm::find(), Linters::find());
    let cluster = Cluster::start();
    for definitions in [file("crds/manifests"), linters.definitions()] {
        let folder = definitions.display().to_string();
        cluster.kubectl(&["apply", "--server-side", "-f", &folder]);
    }
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    let objects = everything(&helm);
    let schemas = tempfile::tempdir().unwrap();
    let kinds: BTreeSet<_> = objects.iter().map(kind).collect();
    for (group, version, kind) in &kinds {
        schemas::write(&cluster, group, version, kind, schemas.path());
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &objects);
    let said = linters.kubeconform(schemas.path(), folder.path());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let summary = format!("Valid: {}, Invalid: 0, Errors: 0, Skipped: 0", objects.len());
    assert!(said.stdout.contains(&summary), "{}", said.stdout);

    // Given a field that is not there, in an object of each kind that has fields of its own, it notices.
    let mut broken = BTreeMap::new();
    for mut object in objects {
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("typo".into(), true.into());
            broken.insert(kind(&object), object);
        }
    }
    let broken: Vec<Value> = broken.into_values().collect();
    assert!(broken.len() > 10, "{}", broken.len());
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &broken);
    let said = linters.kubeconform(schemas.path(), folder.path());
    assert!(said.stdout.contains(&format!("Valid: 0, Invalid: {}", broken.len())), "{said:?}");
}

#[test]
#[ignore = "needs Helm, manifest linters"]
fn findings_of_checkov_are_the_documented_ones() {
    let linters = Linters::find();
    let text = |helm: &Helm, arguments: &[&str]| {
        let objects = objects(helm, arguments);
        objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
    };
    expect_findings(CHECKOV, text, |file| linters.checkov(file));
}

#[test]
#[ignore = "needs Helm, manifest linters"]
fn findings_of_kube_score_are_the_documented_ones() {
    let linters = Linters::find();
    expect_findings(KUBE_SCORE, rendered, |file| linters.kube_score(file));
}

/// Asserts that a linter finds what is accepted, and nothing else, in the text of every installation.
fn expect_findings(
    accepted: &AcceptedFindings,
    text: impl Fn(&Helm, &[&str]) -> String,
    lint: impl Fn(&Path) -> Vec<(String, String)>,
) {
    let helm = Helm::find();
    let mut found = BTreeSet::new();
    for arguments in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("objects.yaml");
        fs::write(&file, text(&helm, arguments)).unwrap();
        found.extend(lint(&file));
    }
    let accepted: BTreeSet<(&str, &str)> = accepted
        .iter()
        .flat_map(|(rule, objects, _)| objects.iter().map(|object| (*rule, *object)))
        .collect();
    // A resource is called by its kind, its namespace and its name; the name of a Job ends with a digest.
    let found: BTreeSet<(&str, &str)> = found
        .iter()
        .map(|(rule, object)| {
            let name = object.rsplit('.').next().unwrap();
            let name = if name.starts_with("assay-secrets-") { "assay-secrets" } else { name };
            (rule.as_str(), name)
        })
        .collect();
    assert_eq!(found, accepted);
}

#[test]
fn the_generated_table_of_accepted_findings() {
    let mut rows = String::from("| linter | rule | objects | reason |\n|---|---|---|---|\n");
    for (linter, accepted) in [("checkov", CHECKOV), ("kube-score", KUBE_SCORE)] {
        for (rule, objects, reason) in accepted {
            let objects: Vec<String> = objects.iter().map(|name| format!("`{name}`")).collect();
            let objects = if objects.len() == PODS.len() {
                "all pods".to_owned()
            } else {
                objects.join(", ")
            };
            writeln!(rows, "| {linter} | `{rule}` | {objects} | {reason} |").unwrap();
        }
    }
    expect_part(&file("docs/security.md"), "accepted findings", &rows);
}
