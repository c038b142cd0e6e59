//! The workloads of sources. Pure: the same manifest gives the same objects.

use std::collections::BTreeSet;

use assay_tenancy::manifest::{ChainProtocol, ChainSourceSpec, IntelFormat, IntelSourceSpec};
use serde_json::{Value, json};

use super::Workloads;
use crate::{
    egress,
    jobs::{Schedule, each_time, once},
    owned::{OwnedKind, OwnedObject, Owner, hash},
    pod::{DATA, Pod, Restart, SecretFile},
    ports,
};

/// Longest time for one import, in seconds.
const LONGEST_IMPORT: u32 = 3600;
/// How late a fetch may still begin, in seconds.
const LATEST_START: u32 = 1800;
/// Longest name of a `CronJob`: the names of its Jobs are longer.
const LONGEST_NAME: usize = 52;

/// What the workload of a source is called.
pub(super) fn name(prefix: &str, source: &str) -> String {
    let name = format!("{prefix}-{source}");
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let short: String = name.chars().take(LONGEST_NAME - 17).collect();
    format!("{short}-{}", hash(&[source]))
}

/// The words of a program about its database, and the file with the URL.
fn database(workloads: &Workloads) -> (SecretFile, [String; 2]) {
    let file = SecretFile::new("database", &workloads.database_secret);
    let words = [format!("--data-dir={DATA}"), format!("--database-url-file={}", file.path())];
    (file, words)
}

/// What imports a list or label set once.
fn import(source: &str, spec: &IntelSourceSpec, workloads: &Workloads, parent: &Owner) -> Value {
    let (file, words) = database(workloads);
    let (what, format) = match spec.format {
        IntelFormat::OfacAdvanced => ("sanctions", "ofac-advanced"),
        IntelFormat::OfacEnhanced => ("sanctions", "ofac-enhanced"),
        IntelFormat::ListingsCsv => ("sanctions", "csv"),
        IntelFormat::ListingsJsonl => ("sanctions", "jsonl"),
        IntelFormat::Tagpack => ("labels", "tagpack"),
        IntelFormat::Explorer => ("labels", "explorer"),
        IntelFormat::LabelsCsv => ("labels", "csv"),
        IntelFormat::LabelsJsonl => ("labels", "jsonl"),
    };
    let mut arguments = vec![
        "ingest".to_owned(),
        what.to_owned(),
        format!("--format={format}"),
        format!("--source={source}"),
    ];
    if let (Some(digest), "sanctions") = (&spec.accept_digest, what) {
        arguments.push(format!("--accept-digest={digest}"));
    }
    arguments.extend(words);
    // What it says is never taken for a flag.
    arguments.extend(["--".to_owned(), spec.location.clone()]);
    let pod = Pod {
        image: &workloads.image,
        pull_secrets: &workloads.image_pull_secrets,
        arguments,
        secrets: vec![file],
        config_map: None,
        egress: &workloads.egress,
        telemetry: &workloads.telemetry,
        restart: Restart::Never,
        grace_seconds: 30,
        requests: ["100m", "256Mi"],
    };
    once(&pod, parent, LONGEST_IMPORT)
}

/// What fetches a list or label set on its schedule, one fetch at a time.
pub(super) fn cron_job(
    source: &str,
    spec: &IntelSourceSpec,
    workloads: &Workloads,
    parent: &Owner,
) -> OwnedObject {
    let schedule =
        Schedule { when: &spec.schedule, latest_start: LATEST_START, is_suspended: spec.suspended };
    let job = import(source, spec, workloads, parent);
    let content = json!({"spec": each_time(&schedule, &job, parent)});
    OwnedObject::new(parent, OwnedKind::CronJob, &name("intel", source), &[], content)
}

/// What fetches it at once, where it was never fetched: until then nothing would be known of it.
pub(super) fn first_job(
    source: &str,
    spec: &IntelSourceSpec,
    workloads: &Workloads,
    parent: &Owner,
) -> OwnedObject {
    let content = json!({"spec": import(source, spec, workloads, parent)});
    let name = format!("{}-first", name("intel", source));
    OwnedObject::new(parent, OwnedKind::Job, &name, &[], content)
}

/// Nobody reaches its pods, and they reach names, the database, the proxies, and what the URL names.
pub(super) fn policy(
    name: &str,
    url: &str,
    database: &BTreeSet<u16>,
    workloads: &Workloads,
    parent: &Owner,
) -> OwnedObject {
    let mut out = ports::of_url(url);
    if url.starts_with("http://") {
        // Who is asked so may send elsewhere.
        out.extend(ports::of_url("https://elsewhere"));
    }
    out.extend(database);
    out.extend(egress::ports(&workloads.egress));
    out.extend(ports::of_collector(&workloads.telemetry));
    let port = |protocol: &str, port: u16| json!({"protocol": protocol, "port": port});
    let out: Vec<Value> = out.into_iter().map(|number| port("TCP", number)).collect();
    let names = json!({
        "to": [{"namespaceSelector": {}}],
        "ports": [port("UDP", 53), port("TCP", 53)],
    });
    let content = json!({"spec": {
        "podSelector": {"matchLabels": parent.selector()},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [names, {"ports": out}],
    }});
    OwnedObject::new(parent, OwnedKind::NetworkPolicy, name, &[], content)
}

/// What follows a chain: never two at once, because a chain has one writer.
pub(super) fn follower(
    source: &str,
    spec: &ChainSourceSpec,
    workloads: &Workloads,
    parent: &Owner,
) -> OwnedObject {
    let (file, words) = database(workloads);
    let mut secrets = vec![file];
    let endpoint = match spec.protocol {
        ChainProtocol::Rpc => "rpc",
        ChainProtocol::Esplora => "esplora",
    };
    let mut arguments = vec![
        "ingest".to_owned(),
        "chain".to_owned(),
        spec.chain.clone(),
        format!("--{endpoint}={}", spec.endpoint),
        format!("--from={}", spec.start_height),
        "--follow".to_owned(),
    ];
    if let (Some(key), ChainProtocol::Rpc) = (&spec.credentials_secret, spec.protocol) {
        let credentials = SecretFile::new("credentials", key);
        arguments.push(format!("--cookie={}", credentials.path()));
        secrets.push(credentials);
    }
    if spec.test_network {
        arguments.push("--test-network".to_owned());
    }
    arguments.extend(words);
    let pod = Pod {
        image: &workloads.image,
        pull_secrets: &workloads.image_pull_secrets,
        arguments,
        secrets,
        config_map: None,
        egress: &workloads.egress,
        telemetry: &workloads.telemetry,
        restart: Restart::Always,
        // A batch of blocks is one transaction; what was not committed is read again.
        grace_seconds: 30,
        requests: ["250m", "512Mi"],
    };
    let content = json!({"spec": {
        "replicas": i32::from(!spec.suspended),
        "revisionHistoryLimit": 2,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": parent.selector()},
        "template": {
            "metadata": {"labels": parent.labels},
            "spec": pod.spec(json!({}), json!({})),
        },
    }});
    OwnedObject::new(parent, OwnedKind::Deployment, &name("chain", source), &[], content)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;
    use crate::golden::assert_objects;

    fn workloads() -> Workloads {
        Workloads {
            image: "assay:1".into(),
            image_pull_secrets: vec![],
            database_secret: serde_json::from_value(json!({"name": "store"})).unwrap(),
            egress: serde_json::from_value(json!({"httpsProxy": "http://proxy:3128"})).unwrap(),
            telemetry: serde_json::from_value(json!({"otlpEndpoint": "http://otel:4318"})).unwrap(),
        }
    }

    fn parent() -> Owner {
        Owner::new(OwnerReference::default(), "system", "own", "intel")
    }

    fn arguments(pod: &Value) -> Vec<String> {
        let arguments = pod["containers"][0]["args"].clone();
        serde_json::from_value(arguments).unwrap()
    }

    #[test]
    fn a_list_is_fetched_on_its_schedule_one_fetch_at_a_time() {
        let spec = json!({
            "location": "https://lists.example/own.csv", "format": "listings-csv",
            "schedule": "17 * * * *", "acceptDigest": "ab".repeat(32),
        });
        let spec: IntelSourceSpec = serde_json::from_value(spec).unwrap();
        let owned = cron_job("own", &spec, &workloads(), &parent());
        let job = &owned.body()["spec"];
        assert_eq!(owned.name, "intel-own");
        assert_eq!((&job["schedule"], &job["timeZone"]), (&json!("17 * * * *"), &json!("Etc/UTC")));
        assert_eq!((&job["concurrencyPolicy"], &job["suspend"]), (&json!("Forbid"), &json!(false)));
        let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
        assert_eq!(
            arguments(pod),
            [
                "ingest",
                "sanctions",
                "--format=csv",
                "--source=own",
                &format!("--accept-digest={}", "ab".repeat(32)),
                "--data-dir=/var/lib/assay",
                "--database-url-file=/run/secrets/assay/database/value",
                "--",
                "https://lists.example/own.csv",
            ]
        );
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        let labels = IntelSourceSpec { format: IntelFormat::Tagpack, suspended: true, ..spec };
        let owned = cron_job("own", &labels, &workloads(), &parent());
        assert_eq!(owned.body()["spec"]["suspend"], true);
        let pod = &owned.body()["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        assert_eq!(arguments(pod)[..4], ["ingest", "labels", "--format=tagpack", "--source=own"]);
        assert!(!arguments(pod).iter().any(|word| word.starts_with("--accept-digest")));
    }

    #[test]
    fn a_chain_has_one_follower_with_the_nodes_credentials_as_a_file() {
        let spec = json!({
            "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
            "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
        });
        let spec: ChainSourceSpec = serde_json::from_value(spec).unwrap();
        let owned = follower("bitcoin", &spec, &workloads(), &parent());
        let deployment = &owned.body()["spec"];
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
        let left_alone = ChainSourceSpec { suspended: true, ..spec };
        let owned = follower("bitcoin", &left_alone, &workloads(), &parent());
        assert_eq!(owned.body()["spec"]["replicas"], 0);
    }

    #[test]
    fn workloads_reach_what_they_are_for_and_nobody_reaches_them() {
        let database = BTreeSet::from([5433]);
        let ports = |url: &str| {
            let owned = policy("intel-own", url, &database, &workloads(), &parent());
            let spec = owned.body()["spec"].clone();
            assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
            assert!(spec.get("ingress").is_none(), "nobody is let in");
            assert_eq!(spec["podSelector"]["matchLabels"], parent().selector());
            assert_eq!(spec["egress"][0]["ports"][0]["port"], 53);
            let ports = spec["egress"][1]["ports"].as_array().unwrap().iter();
            ports.map(|port| port["port"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ports("https://lists.example/own.csv"), [443, 3128, 4318, 5433]);
        assert_eq!(ports("http://lists.example/own.csv"), [80, 443, 3128, 4318, 5433]);
        assert_eq!(ports("http://node:8332"), [443, 3128, 4318, 5433, 8332]);
    }

    #[test]
    fn the_objects_are_those_of_the_files() {
        let owner = OwnerReference {
            api_version: "assay.dev/v1alpha1".into(),
            kind: "IntelSource".into(),
            name: "own".into(),
            uid: "me".into(),
            controller: Some(true),
            ..OwnerReference::default()
        };
        let parent = |component| Owner::new(owner.clone(), "system", "own", component);
        let database = BTreeSet::from([5433]);
        let egress = json!({
            "httpsProxy": "http://proxy:3128", "noProxy": [".svc"],
            "caBundle": {"configMap": "authorities"},
        });
        let full = Workloads {
            egress: serde_json::from_value(egress).unwrap(),
            image_pull_secrets: vec!["registry".parse().unwrap()],
            ..workloads()
        };
        let bare = Workloads {
            egress: assay_crds::EgressSpec::default(),
            telemetry: assay_crds::TelemetrySpec::default(),
            ..workloads()
        };
        let formats = ["listings-csv", "tagpack"];
        for format in formats {
            let spec = json!({
                "location": "http://lists.example/own", "format": format, "schedule": "17 * * * *",
                "acceptDigest": "ab".repeat(32),
            });
            let spec: IntelSourceSpec = serde_json::from_value(spec).unwrap();
            let (parent, name) = (parent("intel"), name("intel", "own"));
            let objects = [
                policy(&name, &spec.location, &database, &full, &parent),
                cron_job("own", &spec, &full, &parent),
                first_job("own", &spec, &full, &parent),
            ];
            let bodies = objects.map(|owned| owned.body().clone());
            assert_objects(&format!("intel-{format}"), bodies);
        }
        let spec = json!({
            "location": "https://lists.example/own", "format": "tagpack", "schedule": "17 * * * *",
            "suspended": true,
        });
        let spec: IntelSourceSpec = serde_json::from_value(spec).unwrap();
        let objects = [
            policy("intel-own", &spec.location, &database, &bare, &parent("intel")),
            cron_job("own", &spec, &bare, &parent("intel")),
        ];
        assert_objects("intel-suspended", objects.map(|owned| owned.body().clone()));
        for (case, spec, workloads) in [
            (
                "chain-rpc",
                json!({
                    "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
                    "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
                    "testNetwork": true,
                }),
                &full,
            ),
            (
                "chain-esplora",
                json!({
                    "chain": "btc", "mode": "follow", "protocol": "esplora",
                    "endpoint": "https://esplora.example/api", "suspended": true,
                }),
                &bare,
            ),
        ] {
            let spec: ChainSourceSpec = serde_json::from_value(spec).unwrap();
            let objects = [
                policy("chain-own", &spec.endpoint, &database, workloads, &parent("chain")),
                follower("own", &spec, workloads, &parent("chain")),
            ];
            assert_objects(case, objects.map(|owned| owned.body().clone()));
        }
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let [one, two] = ["a", "b"].map(|end| name("intel", &format!("{}{end}", "x".repeat(60))));
        assert_eq!((one.len(), two.len()), (LONGEST_NAME, LONGEST_NAME));
        assert_ne!(one, two);
    }
}
