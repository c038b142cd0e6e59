//! Tests of the objects of a source.
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

use std::collections::BTreeSet;

use assay_crds::{ChainSource, EgressSpec, IntelSource, TelemetrySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::*;
use crate::{
    egress::Egress,
    golden::assert_objects,
    owned::{LiveObjects, OwnedKind, Owner, document},
    pod::{PodDefaults, SecretFile},
    source::{WorkloadSettings, fetch::Inputs, kind::Source, task::Idle, validate::validate},
};

fn settings(egress: Value, telemetry: Value) -> WorkloadSettings {
    let egress: EgressSpec = serde_json::from_value(egress).unwrap();
    let telemetry: TelemetrySpec = serde_json::from_value(telemetry).unwrap();
    WorkloadSettings {
        pods: PodDefaults {
            image: "assay:1".into(),
            pull_secrets: vec![],
            egress: Egress::parse(&egress).unwrap(),
            telemetry,
        },
        database: SecretFile {
            name: "database",
            source: serde_json::from_value(json!({"name": "store"})).unwrap(),
        },
    }
}

fn proxied() -> WorkloadSettings {
    let telemetry = json!({"otlpEndpoint": "http://otel:4318"});
    settings(json!({"httpsProxy": "http://proxy:3128"}), telemetry)
}

fn validated<K: Source>(
    name: &str,
    spec: Value,
    settings: &WorkloadSettings,
    live: LiveObjects,
) -> Result<ValidatedSource, Idle>
where
    K::Spec: serde::de::DeserializeOwned,
{
    let owner = OwnerReference {
        api_version: "assay.dev/v1alpha1".into(),
        kind: "IntelSource".into(),
        name: "own".into(),
        uid: "me".into(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    validate::<K>(&Inputs {
        name: &name.parse().unwrap(),
        spec: serde_json::from_value(spec).unwrap(),
        is_new: Some(true),
        owner: Owner::new(owner, "system", name, K::COMPONENT),
        live,
        database_ports: BTreeSet::from([5433]),
        settings,
    })
}

fn intel(change: Value, settings: &WorkloadSettings) -> SourceObjects {
    let mut spec = json!({
        "location": "https://lists.example/own.csv", "format": "listings-csv",
        "schedule": "17 * * * *",
    });
    spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    build(&validated::<IntelSource>("own", spec, settings, LiveObjects::default()).unwrap())
}

fn chain(change: Value, settings: &WorkloadSettings) -> SourceObjects {
    let mut spec = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
    });
    spec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    build(&validated::<ChainSource>("own", spec, settings, LiveObjects::default()).unwrap())
}

fn documents(objects: &SourceObjects) -> Vec<Value> {
    let SourceObjects { network_policy, workload } = objects;
    let mut all = vec![document(network_policy).unwrap()];
    match workload {
        Workload::Importer { cron_job, first_job } => {
            all.push(document(&**cron_job).unwrap());
            all.extend(first_job.iter().map(|job| document(&**job).unwrap()));
        }
        Workload::Follower(deployment) => all.push(document(&**deployment).unwrap()),
    }
    all
}

fn spec_of(objects: &SourceObjects, kind: &str) -> Value {
    let all = documents(objects);
    all.into_iter().find(|object| object["kind"] == kind).unwrap()["spec"].clone()
}

fn arguments(pod: &Value) -> Vec<String> {
    serde_json::from_value(pod["containers"][0]["args"].clone()).unwrap()
}

#[test]
fn objects_equal_the_files() {
    let mut full = settings(
        json!({
            "httpsProxy": "http://proxy:3128", "noProxy": [".svc"],
            "caBundle": {"configMap": "authorities"},
        }),
        json!({"otlpEndpoint": "http://otel:4318"}),
    );
    full.pods.pull_secrets = vec!["registry".parse().unwrap()];
    let bare = settings(json!({}), json!({}));
    for format in ["listings-csv", "tagpack"] {
        let spec = json!({
            "location": "http://lists.example/own", "format": format,
            "acceptDigest": "ab".repeat(32),
        });
        assert_objects(&format!("intel-{format}"), documents(&intel(spec, &full)));
    }
    let spec = json!({
        "location": "https://lists.example/own", "format": "tagpack", "suspended": true,
    });
    assert_objects("intel-suspended", documents(&intel(spec, &bare)));
    let rpc = json!({
        "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
        "allowTestNetwork": true,
    });
    assert_objects("chain-rpc", documents(&chain(rpc, &full)));
    let esplora = json!({
        "protocol": "esplora", "endpoint": "https://esplora.example/api", "suspended": true,
    });
    assert_objects("chain-esplora", documents(&chain(esplora, &bare)));
}

#[test]
fn a_list_is_imported_on_its_schedule_one_import_at_a_time() {
    let digest = "ab".repeat(32);
    let objects = intel(json!({"acceptDigest": digest}), &proxied());
    let job = spec_of(&objects, "CronJob");
    assert_eq!((&job["schedule"], &job["timeZone"]), (&json!("17 * * * *"), &json!("Etc/UTC")));
    assert_eq!((&job["concurrencyPolicy"], &job["suspend"]), (&json!("Forbid"), &json!(false)));
    let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(
        arguments(pod),
        [
            "ingest",
            "sanctions",
            "--format=listings-csv",
            "--source=own",
            &format!("--accept-digest={digest}"),
            "--data-dir=/var/lib/assay",
            "--database-url-file=/run/secrets/assay/database/value",
            "--",
            "https://lists.example/own.csv",
        ]
    );
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let labels = json!({"format": "tagpack", "suspended": true, "acceptDigest": digest});
    let job = spec_of(&intel(labels, &proxied()), "CronJob");
    assert_eq!(job["suspend"], true);
    let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(arguments(pod)[..4], ["ingest", "labels", "--format=tagpack", "--source=own"]);
    assert!(!arguments(pod).iter().any(|argument| argument.starts_with("--accept-digest")));
}

#[test]
fn a_list_that_was_never_imported_is_imported_at_once_unless_it_is_suspended() {
    let kinds = |change| {
        let all = documents(&intel(change, &proxied()));
        all.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(json!({})), ["NetworkPolicy", "CronJob", "Job"]);
    assert_eq!(kinds(json!({"suspended": true})), ["NetworkPolicy", "CronJob"]);
}

#[test]
fn a_chain_has_one_follower_with_the_nodes_credentials_as_a_file() {
    let change = json!({
        "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
    });
    let deployment = spec_of(&chain(change, &proxied()), "Deployment");
    assert_eq!(
        (&deployment["replicas"], &deployment["strategy"]["type"]),
        (&json!(1), &json!("Recreate"))
    );
    let pod = &deployment["template"]["spec"];
    assert_eq!(
        arguments(pod)[..7],
        [
            "ingest",
            "chain",
            "btc",
            "--rpc=http://node:8332",
            "--from=7",
            "--follow",
            "--cookie=/run/secrets/assay/credentials/value",
        ]
    );
    let secret = &pod["volumes"][3]["secret"];
    assert_eq!(
        (&secret["secretName"], &secret["items"][0]["key"]),
        (&json!("node"), &json!("cookie"))
    );
    let suspended = chain(json!({"suspended": true}), &proxied());
    assert_eq!(spec_of(&suspended, "Deployment")["replicas"], 0);
}

#[test]
fn workloads_reach_the_ports_that_they_need_and_nothing_reaches_them() {
    let ports = |objects: SourceObjects| {
        let spec = spec_of(&objects, "NetworkPolicy");
        assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
        assert!(spec.get("ingress").is_none(), "no connection is let in");
        assert_eq!(spec["podSelector"]["matchLabels"]["app.kubernetes.io/instance"], "own");
        assert_eq!(spec["egress"][0]["ports"][0]["port"], 53);
        let ports = spec["egress"][1]["ports"].as_array().unwrap().iter();
        ports.map(|port| port["port"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ports(intel(json!({}), &proxied())), [443, 3128, 4318, 5433]);
    let plain = json!({"location": "http://lists.example/own.csv"});
    assert_eq!(ports(intel(plain, &proxied())), [80, 443, 3128, 4318, 5433]);
    assert_eq!(ports(chain(json!({}), &proxied())), [443, 3128, 4318, 5433, 8332]);
}

#[test]
fn a_source_that_servers_read_has_no_workload() {
    let settings = proxied();
    let file = json!({
        "location": "own.csv", "format": "listings-csv", "schedule": "17 * * * *",
    });
    let idle = validated::<IntelSource>("own", file, &settings, LiveObjects::default());
    assert_eq!(idle.unwrap_err(), Idle::File);
    let on_demand = json!({
        "chain": "btc", "mode": "on_demand", "protocol": "esplora",
        "endpoint": "https://esplora.example/api",
    });
    let idle = validated::<ChainSource>("own", on_demand, &settings, LiveObjects::default());
    assert_eq!(idle.unwrap_err(), Idle::OnDemand);
}

#[test]
fn a_foreign_object_blocks_the_workload() {
    let foreign: DynamicObject =
        serde_json::from_value(json!({"metadata": {"name": "intel-own"}})).unwrap();
    let spec = json!({
        "location": "https://lists.example/own.csv", "format": "listings-csv",
        "schedule": "17 * * * *",
    });
    let live = |kind| {
        let mut live = LiveObjects::default();
        live.insert(kind, foreign.clone());
        live
    };
    let with = |kind| validated::<IntelSource>("own", spec.clone(), &proxied(), live(kind));
    let taken = with(OwnedKind::CronJob).unwrap_err();
    assert_eq!(
        taken.to_string(),
        "CronJob `intel-own` in namespace `system` was not created for this source: delete it"
    );
    assert!(with(OwnedKind::Deployment).is_ok(), "it needs no Deployment");
}
