//! Snapshot tests: compares the objects that the operator applies with files under `operator/tests/objects`.
//! `UPDATE_GENERATED=1` writes the files.

use std::{env, fs, path::PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use crate::owned::Owner;

/// Annotations whose values are digests of the object itself.
const DIGESTS: [&str; 2] = ["assay.dev/applied", "assay.dev/settings"];

/// An owner called `name` of objects of a component.
pub(crate) fn owner(
    kind: &str,
    name: &str,
    namespace: &str,
    instance: &str,
    component: &'static str,
) -> Owner {
    let reference = OwnerReference {
        api_version: "assay.dev/v1alpha1".into(),
        kind: kind.into(),
        name: name.into(),
        uid: "me".into(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    Owner::new(reference, &"one".parse().unwrap(), namespace, instance, component)
}

/// The value of a `spec.pods` with every part.
pub(crate) fn pods() -> Value {
    json!({
        "resources": {"requests": {"cpu": "2000m"}, "limits": {"memory": "128Mi"}},
        "nodeSelector": {"disk": "nvme"},
        "tolerations": [{"key": "chains", "value": "yes", "effect": "NoSchedule"}, {"key": "old"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                ]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchFields": [
                        {"key": "metadata.name", "operator": "NotIn", "values": ["one"]},
                    ]}},
                ],
            },
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 3, "podAffinityTerm": {
                    "topologyKey": "zone", "namespaces": ["nodes"],
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                }},
            ]},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname"},
            ]},
        },
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        ],
        "priorityClassName": "high",
        "annotations": {"example.com/team": "risk"},
        "env": [
            {"name": "ASSAY_LOG", "value": "debug"},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "words", "key": "one"}}},
        ],
        "envFrom": [{"prefix": "EXTRA_", "configMapRef": {"name": "extra"}}],
        "volumes": [
            {"name": "extra", "configMap": {"name": "extra", "items": [{"key": "a", "path": "b"}]}},
            {"name": "words", "secret": {"secretName": "words", "optional": true}},
            {"name": "room", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "shared", "persistentVolumeClaim": {"claimName": "shared", "readOnly": true}},
        ],
        "volumeMounts": [
            {"name": "extra", "mountPath": "/extra", "readOnly": true},
            {"name": "shared", "mountPath": "/shared", "subPath": "assay"},
        ],
    })
}

/// Asserts that the objects equal those in the file of that name, except for digests of their content.
pub(crate) fn assert_objects(name: &str, objects: impl IntoIterator<Item = Value>) {
    let mut found = Map::new();
    for mut object in objects {
        mask(&mut object);
        let name = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap();
        let key = format!("{} {}", name("/kind"), name("/metadata/name"));
        assert!(found.insert(key, object).is_none(), "each object is listed once");
    }
    let mut found = Value::Object(found);
    found.sort_all_objects();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/objects/{name}.json"));
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let expected: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(found, expected, "{name}: if this is intended, run `just generate`");
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if DIGESTS.contains(&name.as_str()) {
                    assert_eq!(value.as_str().map(str::len), Some(16), "{name} is a digest");
                    *value = "DIGEST".into();
                }
                mask(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}
