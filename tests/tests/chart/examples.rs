//! Every example renders, and its values refer to objects of the example.

use assay_tests::Helm;
use serde_json::Value;

use crate::{
    file,
    rendered::{documents, objects, of_kind, one},
    text,
};

/// Rendered chart of an example, and the example's own objects.
fn example(helm: &Helm, name: &str) -> (Value, Vec<Value>) {
    let folder = format!("charts/assay/examples/{name}");
    let values = file(&format!("{folder}/values.yaml")).display().to_string();
    let rendered = objects(helm, &["--values", &values]);
    let service = one(&rendered, "RiskService", "assay")["spec"].clone();
    (service, documents(&text(&format!("{folder}/objects.yaml"))))
}

#[test]
#[ignore = "needs Helm"]
fn every_example_fits_its_objects() {
    let helm = Helm::find();
    let folder = file("charts/assay/examples");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["cert-manager", "cloudnative-pg", "external-secrets", "gateway-api"]);

    let (service, made) = example(&helm, "cloudnative-pg");
    // CloudNativePG calls the Secret of the application's login so.
    let secret = format!("{}-app", made[0]["metadata"]["name"].as_str().unwrap());
    assert_eq!(service["databaseSecret"]["name"], secret);
    assert_eq!(service["databaseSecret"]["key"], "uri");

    let (service, made) = example(&helm, "external-secrets");
    for field in ["databaseSecret", "cacheSecret"] {
        let wanted = &service[field];
        let found = of_kind(&made, "ExternalSecret").into_iter().any(|object| {
            let keys = object["spec"]["data"].as_array().unwrap();
            object["spec"]["target"]["name"] == wanted["name"]
                && keys.iter().any(|key| key["secretKey"] == wanted["key"])
        });
        assert!(found, "{wanted}");
    }

    let (service, made) = example(&helm, "cert-manager");
    let exposure = &service["exposure"];
    assert_eq!(exposure["ingress"]["tlsSecret"], made[0]["spec"]["secretName"]);
    assert_eq!(exposure["host"], made[0]["spec"]["dnsNames"][0]);

    let (service, made) = example(&helm, "gateway-api");
    let exposure = &service["exposure"];
    assert_eq!(exposure["httpRoute"]["gateway"], made[0]["metadata"]["name"]);
    assert_eq!(exposure["httpRoute"]["gatewayNamespace"], made[0]["metadata"]["namespace"]);
    assert_eq!(exposure["host"], made[0]["spec"]["listeners"][0]["hostname"]);
}
