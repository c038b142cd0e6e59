//! Tests of the objects of a source.
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

use std::collections::BTreeSet;

use assay_crds::{ChainSource, EgressSpec, IntelSource, TelemetrySpec};
use assay_tenancy::{
    Name,
    manifest::{ChainSourceSpec, PodsSpec},
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::{api::DynamicObject, core::PartialObjectMeta};
use serde_json::{Value, json};

use super::*;
use crate::{
    destinations,
    egress::Egress,
    golden::{self, assert_objects},
    network_policy::EgressNetworks,
    owned::{LiveObjects, OwnedKind, Owner, document},
    pod::{PodDefaults, SecretFile},
    secret_state::SecretState,
    source::{
        WorkloadSettings,
        credentials::{HOSTS, LABEL},
        fetch::Inputs,
        kind::Source,
        task::{IdleReason, WorkloadEnd},
        validate::validate,
    },
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
            pull_policy: None,
            shape: PodsSpec::default(),
        },
        database: SecretFile::needed(
            "database",
            serde_json::from_value(json!({"name": "store"})).unwrap(),
        ),
        chain_token: Some(SecretFile::chain_token(
            serde_json::from_value(json!({"name": "chains", "key": "token"})).unwrap(),
        )),
    }
}

fn database() -> SecretState {
    let destinations = destinations::of_url("postgres://db.example.org:5433/assay");
    SecretState::Present { uid: "1".into(), destinations }
}

#[expect(clippy::unnecessary_wraps, reason = "an operator may create no network policies")]
fn networks() -> Option<EgressNetworks> {
    Some(EgressNetworks { public: true, private: vec!["10.20.0.0/16".into()] })
}

fn proxied() -> WorkloadSettings {
    let telemetry = json!({"otlpEndpoint": "http://otel:4318"});
    settings(json!({"httpsProxy": "http://proxy:3128"}), telemetry)
}

fn owner(name: &str, component: &'static str) -> Owner {
    golden::owner("IntelSource", "own", "system", name, component)
}

/// A Secret whose credentials are for the server of a URL.
fn marked(url: &str) -> Option<PartialObjectMeta<Secret>> {
    let server = assay_egress::ServerName::of_url(url).unwrap().to_string();
    let metadata = json!({"labels": {LABEL: "true"}, "annotations": {HOSTS: server}});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn validated<K: Source>(
    name: &str,
    spec: Value,
    settings: &WorkloadSettings,
    live: LiveObjects,
) -> Result<ValidatedSource, IdleReason>
where
    K::Spec: serde::de::DeserializeOwned,
{
    validated_with::<K>(name, spec, settings, live, marked)
}

/// A valid source, with a Secret of its credentials for the server of a URL.
fn validated_with<K: Source>(
    name: &str,
    spec: Value,
    settings: &WorkloadSettings,
    live: LiveObjects,
    secret: impl Fn(&str) -> Option<PartialObjectMeta<Secret>>,
) -> Result<ValidatedSource, IdleReason>
where
    K::Spec: serde::de::DeserializeOwned,
{
    let spec: K::Spec = serde_json::from_value(spec).unwrap();
    validate::<K>(&Inputs {
        credentials: K::credentials(&spec).and_then(|requested| secret(requested.url)),
        name: &name.parse().unwrap(),
        spec,
        is_new: Some(true),
        owner: owner(name, K::COMPONENT),
        live,
        claims: vec![],
        database: database(),
        networks: networks(),
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

#[test]
fn chain_servers_of_files_mount_their_claim_and_follow_no_node() {
    let settings = settings(json!({}), json!({}));
    let files = json!({
        "chain": "eth", "protocol": "transfers", "endpoint": "file:///transfers/eth",
    });
    let pod_of = |more: Value| {
        let mut spec = files.clone();
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec_of(&chain(spec, &settings), "StatefulSet")["template"]["spec"].clone()
    };
    let arguments = |pod: &Value| {
        let all = pod["containers"][0]["args"].as_array().unwrap();
        all.iter().map(|it| it.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mounted = |pod: &Value| {
        let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        mounts.iter().find(|it| it["name"] == "transfers").cloned()
    };
    let claimed = pod_of(json!({"filesClaim": "files"}));
    assert_eq!(&arguments(&claimed)[..4], ["chain", "serve", "eth", "--transfers=/transfers/eth"]);
    let mount = json!({"name": "transfers", "mountPath": "/transfers", "readOnly": true});
    assert_eq!(mounted(&claimed), Some(mount));
    let volumes = claimed["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|it| it["name"] == "transfers").unwrap();
    let source = json!({"claimName": "files", "readOnly": true});
    assert_eq!(volume["persistentVolumeClaim"], source);
    // Without a claim, or while suspended, servers answer from what they have.
    for more in [json!({}), json!({"filesClaim": "files", "suspended": true})] {
        let pod = pod_of(more);
        assert!(!arguments(&pod).iter().any(|it| it.starts_with("--transfers")), "{pod}");
        assert!(!arguments(&pod).iter().any(|it| it.starts_with("--rpc")), "{pod}");
        assert_eq!(mounted(&pod), None);
    }
}

fn documents(objects: &SourceObjects) -> Vec<Value> {
    let SourceObjects { network_policy, workload } = objects;
    let mut all = vec![document(network_policy.as_ref().unwrap()).unwrap()];
    match workload {
        Workload::Importer { cron_job, first_job } => {
            all.push(document(&**cron_job).unwrap());
            all.extend(first_job.iter().map(|job| document(&**job).unwrap()));
        }
        Workload::ChainServers { service, disruption_budget, stateful_set, .. } => all.extend([
            document(&**service).unwrap(),
            document(&**disruption_budget).unwrap(),
            document(&**stateful_set).unwrap(),
        ]),
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
            "acceptDigest": "ab".repeat(32), "pods": golden::pods(),
        });
        assert_objects(&format!("intel-{format}"), documents(&intel(spec, &full)));
    }
    let spec = json!({
        "location": "https://lists.example/own", "format": "tagpack", "suspended": true,
    });
    assert_objects("intel-suspended", documents(&intel(spec, &bare)));
    let rpc = json!({
        "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
        "allowTestNetwork": true, "replicas": 2,
        "volume": {"size": "1024Gi", "storageClass": "fast"},
        "pods": golden::pods(),
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
    assert_eq!(arguments(pod)[4], format!("--accept-digest={digest}"));
    let job = spec_of(&intel(json!({"format": "prices-jsonl"}), &proxied()), "CronJob");
    let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(arguments(pod)[..4], ["ingest", "prices", "--format=prices-jsonl", "--source=own"]);
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
fn a_chain_has_servers_that_own_volumes_follow_the_node_and_answer() {
    let change = json!({
        "credentialsSecret": {"name": "node", "key": "cookie"}, "startHeight": 7,
    });
    let objects = chain(change, &proxied());
    let stateful_set = spec_of(&objects, "StatefulSet");
    let pod = &stateful_set["template"]["spec"];
    assert_eq!(
        arguments(pod),
        [
            "chain",
            "serve",
            "btc",
            "--rpc=http://node:8332",
            "--from=7",
            "--cookie=/run/secrets/assay/credentials/value",
            "--credentials-hosts=node:8332",
            "--data-dir=/var/lib/assay",
            "--database-url-file=/run/secrets/assay/database/value",
            "--listen=0.0.0.0:8080",
            "--admin-listen=0.0.0.0:9090",
            "--chain-token-file=/run/secrets/assay/chain-token/value",
            "--neighbors=http://chain-own.system.svc:8080",
            "--log-format=json",
            "--drain-delay=5s",
            "--shutdown-grace=30s",
        ]
    );
    assert_eq!(
        (&stateful_set["replicas"], &stateful_set["serviceName"]),
        (&json!(1), &json!("chain-own"))
    );
    assert_eq!(stateful_set["podManagementPolicy"], "Parallel");
    let kept = &stateful_set["persistentVolumeClaimRetentionPolicy"];
    assert_eq!(*kept, json!({"whenDeleted": "Retain", "whenScaled": "Retain"}));
    let claim = &stateful_set["volumeClaimTemplates"][0];
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
    assert!(claim["spec"].get("storageClassName").is_none(), "the cluster's default");
    let mount = &pod["containers"][0]["volumeMounts"][0];
    assert_eq!(
        (&mount["name"], &mount["mountPath"]),
        (&claim["metadata"]["name"], &json!("/var/lib/assay"))
    );
    let volumes = pod["volumes"].as_array().unwrap();
    assert!(volumes.iter().all(|volume| volume["name"] != mount["name"]), "{volumes:?}");
    let secrets = volumes.iter().filter_map(|volume| volume["secret"]["secretName"].as_str());
    assert_eq!(secrets.collect::<Vec<_>>(), ["store", "chains", "node"]);
    assert_eq!(pod["securityContext"]["fsGroupChangePolicy"], "OnRootMismatch");
    assert_eq!(pod["terminationGracePeriodSeconds"], 5 + 30 + 15);
    let probes = &pod["containers"][0];
    assert_eq!(probes["readinessProbe"]["httpGet"]["path"], "/readyz");
    assert_eq!(probes["livenessProbe"]["httpGet"]["path"], "/healthz", "also while it is filled");
    let service = spec_of(&objects, "Service");
    assert_eq!(service["clusterIP"], "None");
    assert!(
        service.get("publishNotReadyAddresses").is_none(),
        "servers are found once they are ready"
    );
    assert_eq!(service["selector"], stateful_set["selector"]["matchLabels"]);
    assert_eq!(spec_of(&objects, "PodDisruptionBudget")["maxUnavailable"], 1);
}

#[test]
fn suspended_chain_servers_answer_and_know_no_node() {
    let change = json!({
        "credentialsSecret": {"name": "node", "key": "cookie"}, "allowTestNetwork": true,
        "suspended": true, "replicas": 3,
    });
    let stateful_set = spec_of(&chain(change, &proxied()), "StatefulSet");
    let pod = &stateful_set["template"]["spec"];
    assert_eq!(stateful_set["replicas"], 3);
    assert_eq!(arguments(pod)[..4], ["chain", "serve", "btc", "--data-dir=/var/lib/assay"]);
    let text = pod.to_string();
    assert!(!text.contains("node:8332") && !text.contains("cookie") && !text.contains("--test"));
}

#[test]
fn pods_of_chain_servers_have_the_resources_and_nodes_of_the_spec() {
    let pod = |pods: Value| {
        let objects = chain(json!({"pods": pods}), &proxied());
        spec_of(&objects, "StatefulSet")["template"]["spec"].clone()
    };
    let resources =
        |spec: Value| pod(json!({"resources": spec}))["containers"][0]["resources"].clone();
    let usual = json!({"requests": {"cpu": "250m", "memory": "1Gi"}});
    assert_eq!(resources(json!({})), usual);
    let small = resources(json!({"limits": {"cpu": "100m", "memory": "4Gi"}}));
    assert_eq!(
        small["requests"],
        json!({"cpu": "100m", "memory": "1Gi"}),
        "no more than the limit"
    );
    let chosen = resources(json!({"requests": {"cpu": "2", "memory": "2048Mi"}}));
    assert_eq!(chosen, json!({"requests": {"cpu": "2", "memory": "2Gi"}}));
    let placed = pod(json!({"nodeSelector": {"disk": "nvme"}, "tolerations": [{"key": "chains"}]}));
    assert_eq!(placed["nodeSelector"], json!({"disk": "nvme"}));
    assert_eq!(placed["tolerations"], json!([{"key": "chains", "operator": "Exists"}]));
}

#[test]
fn chain_servers_are_reached_by_servers_the_operator_and_each_other() {
    let policy = spec_of(&chain(json!({}), &proxied()), "NetworkPolicy");
    let requests = &policy["ingress"][0];
    assert_eq!(requests["ports"], json!([{"protocol": "TCP", "port": 8080}]));
    let label = |peer: &Value| {
        let labels = &peer["podSelector"]["matchLabels"];
        labels["app.kubernetes.io/component"].as_str().unwrap().to_owned()
    };
    let peers = requests["from"].as_array().unwrap();
    assert_eq!(peers.iter().map(label).collect::<Vec<_>>(), ["server", "operator", "chain"]);
    let in_any_namespace = peers.iter().map(|peer| peer.get("namespaceSelector").is_some());
    assert_eq!(in_any_namespace.collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(policy["ingress"][1], json!({"ports": [{"protocol": "TCP", "port": 9090}]}));
    let neighbors = policy["egress"].as_array().unwrap().last().unwrap();
    assert_eq!(label(&neighbors["to"][0]), "chain");
    assert_eq!(neighbors["ports"], json!([{"protocol": "TCP", "port": 8080}]));
}

#[test]
fn workloads_reach_the_ports_that_they_need_and_nothing_reaches_importers() {
    let ports = |objects: SourceObjects| {
        let spec = spec_of(&objects, "NetworkPolicy");
        assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
        let is_importer = matches!(objects.workload, Workload::Importer { .. });
        assert_eq!(spec.get("ingress").is_none(), is_importer);
        assert_eq!(spec["podSelector"]["matchLabels"]["app.kubernetes.io/instance"], "own");
        assert_eq!(spec["egress"][0]["ports"][0]["port"], 53);
        let rules = spec["egress"].as_array().unwrap()[1..].iter();
        assert!(rules.clone().all(|rule| !rule["to"].as_array().unwrap().is_empty()), "{spec}");
        let is_named = |rule: &&Value| rule["to"][0]["podSelector"]["matchLabels"].is_null();
        let ports = rules.filter(is_named).flat_map(|rule| rule["ports"].as_array().unwrap());
        ports.map(|port| port["port"].as_u64().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(ports(intel(json!({}), &proxied())), BTreeSet::from([443, 3128, 4318, 5433]));
    let plain = json!({"location": "http://lists.example/own.csv"});
    assert_eq!(ports(intel(plain, &proxied())), BTreeSet::from([80, 443, 3128, 4318, 5433]));
    let servers = ports(chain(json!({}), &proxied()));
    assert_eq!(servers, BTreeSet::from([443, 3128, 4318, 5433, 8332]));
}

#[test]
fn credentials_are_mounted_for_the_server_of_the_url_alone() {
    let change = json!({"credentialsSecret": {"name": "list", "key": "token"}});
    let job = spec_of(&intel(change, &proxied()), "CronJob");
    let pod = &job["jobTemplate"]["spec"]["template"]["spec"];
    let of_credentials = |argument: &String| argument.starts_with("--credentials");
    assert_eq!(
        arguments(pod).into_iter().filter(of_credentials).collect::<Vec<_>>(),
        [
            "--credentials-file=/run/secrets/assay/credentials/value",
            "--credentials-hosts=lists.example:443",
        ]
    );
    let volumes = pod["volumes"].as_array().unwrap();
    let secrets = volumes.iter().filter_map(|volume| volume["secret"]["secretName"].as_str());
    assert_eq!(secrets.collect::<Vec<_>>(), ["store", "list"]);
}

#[test]
fn a_source_whose_secret_permits_nothing_or_another_server_has_no_workload() {
    let settings = proxied();
    let secret = json!({"name": "list", "key": "token"});
    let list = json!({
        "location": "https://lists.example/own.csv", "format": "listings-csv",
        "schedule": "17 * * * *", "credentialsSecret": secret,
    });
    let node = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
        "credentialsSecret": secret,
    });
    let live = LiveObjects::default;
    let name: Name = "own".parse().unwrap();
    for permitted in [None, marked("https://lists.example:8443"), marked("http://node:80")] {
        let secret = |_: &str| permitted.clone();
        let (list, node) = (list.clone(), node.clone());
        let list = validated_with::<IntelSource>("own", list, &settings, live(), secret);
        let node = validated_with::<ChainSource>("own", node, &settings, live(), secret);
        for idle in [list.unwrap_err(), node.unwrap_err()] {
            assert!(matches!(idle, IdleReason::CredentialsRefused(_)), "{idle}");
            assert_eq!(idle.workload_end(), WorkloadEnd::DeletedAtOnce);
            assert!(idle.to_string().contains("kubectl annotate secret list -n system "), "{idle}");
        }
    }
    // Chain servers that have volumes go on answering, and know neither the node nor the Secret.
    let owner = owner("own", ChainSource::COMPONENT);
    let spec: ChainSourceSpec = serde_json::from_value(node.clone()).unwrap();
    let inputs = |settings| Inputs {
        credentials: None,
        name: &name,
        spec: spec.clone(),
        is_new: Some(false),
        owner: owner.clone(),
        live: LiveObjects::default(),
        claims: vec![PersistentVolumeClaim::default()],
        database: database(),
        networks: networks(),
        settings,
    };
    let objects = build(&validate::<ChainSource>(&inputs(&settings)).unwrap());
    let pod = spec_of(&objects, "StatefulSet")["template"]["spec"].clone();
    assert_eq!(arguments(&pod)[..4], ["chain", "serve", "btc", "--data-dir=/var/lib/assay"]);
    assert!(!pod.to_string().contains("credentials") && !pod.to_string().contains("node:8332"));
    let Workload::ChainServers { forbidden_volume, .. } = objects.workload else {
        panic!("a chain has servers")
    };
    assert_eq!(forbidden_volume, Some("credentials"), "no pod keeps it");
    let no_token = WorkloadSettings { chain_token: None, ..settings.clone() };
    let idle = validate::<ChainSource>(&inputs(&no_token)).unwrap_err();
    assert_eq!(idle.workload_end(), WorkloadEnd::DeletedAtOnce, "{idle}");
    // A source that needs no credentials needs no Secret.
    for change in [json!({"suspended": true}), json!({"protocol": "esplora"})] {
        let mut node = node.clone();
        node.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let node = validated_with::<ChainSource>("own", node, &settings, live(), |_| None);
        assert!(node.is_ok(), "{change}");
    }
}

#[test]
fn a_source_that_servers_read_has_no_workload() {
    let settings = proxied();
    let file = json!({
        "location": "own.csv", "format": "listings-csv", "schedule": "17 * * * *",
    });
    let idle = validated::<IntelSource>("own", file, &settings, LiveObjects::default());
    assert_eq!(idle.unwrap_err(), IdleReason::File);
    let on_demand = json!({
        "chain": "btc", "mode": "on_demand", "protocol": "esplora",
        "endpoint": "https://esplora.example/api",
    });
    let idle = validated::<ChainSource>("own", on_demand, &settings, LiveObjects::default());
    assert_eq!(idle.unwrap_err(), IdleReason::OnDemand);
    let settings = WorkloadSettings { chain_token: None, ..settings };
    let followed = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
    });
    let idle = validated::<ChainSource>("own", followed, &settings, LiveObjects::default());
    assert_eq!(idle.unwrap_err(), IdleReason::NoChainToken);
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
