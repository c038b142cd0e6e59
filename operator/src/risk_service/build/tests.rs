//! Given a spec, then the objects of a running API.
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

use std::collections::{BTreeMap, BTreeSet};

use assay_crds::{RiskService, RiskServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::*;
use crate::golden::assert_objects;
use crate::{
    owned::Owner,
    risk_service::{demand::Demand, fetch::Held, validate::validate},
};

fn fetched(change: Value) -> Fetched {
    let mut spec = json!({"image": "assay:1", "databaseSecret": {"name": "store"}});
    for (name, value) in change.as_object().unwrap() {
        spec[name] = value.clone();
    }
    let spec: RiskServiceSpec = serde_json::from_value(spec).unwrap();
    let there = |port| Held::There { uid: "1".into(), ports: BTreeSet::from([port]) };
    let cache = spec.cache_secret.as_ref().map(|_| there(6379));
    let owner = OwnerReference { uid: "me".into(), ..OwnerReference::default() };
    Fetched {
        object: RiskService::new("api", spec),
        parent: Owner::new(owner, "ns", "api", SERVER),
        database: there(5433),
        cache,
        live: BTreeMap::new(),
        demand: Some(Demand::default()),
    }
}

fn plan(change: Value) -> Plan {
    build(&validate(&fetched(change)).unwrap())
}

fn body(plan: &Plan, kind: OwnedKind) -> Value {
    let mut all = plan.common.iter().chain(&plan.server);
    all.find(|owned| owned.kind == kind).unwrap().body().clone()
}

fn settings_hash(plan: &Plan) -> Value {
    let deployment = body(plan, OwnedKind::Deployment);
    deployment["spec"]["template"]["metadata"]["annotations"]["assay.dev/settings"].clone()
}

fn bodies(mut fetched: Fetched) -> Vec<Value> {
    fetched.parent.reference = OwnerReference {
        api_version: "assay.dev/v1alpha1".into(),
        kind: "RiskService".into(),
        name: "api".into(),
        uid: "me".into(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    let Plan { common, migration, server, .. } = build(&validate(&fetched).unwrap());
    let all = common.into_iter().chain([migration]).chain(server);
    all.map(|owned| owned.body().clone()).collect()
}

#[test]
fn the_objects_are_those_of_the_files() {
    assert_objects("service-minimal", bodies(fetched(json!({}))));
    assert_objects(
        "service-ingress",
        bodies(fetched(json!({
            "exposure": {"host": "risk.example", "ingress": {}},
            "egress": {"httpProxy": "http://proxy:3128", "caBundle": {"secret": "authorities", "key": "ca.pem"}},
            "imagePullSecrets": ["registry"],
        }))),
    );
    assert_objects(
        "service-ingress-tls",
        bodies(fetched(json!({
            "exposure": {"host": "risk.example", "ingress": {"className": "nginx", "tlsSecret": "cert"}},
        }))),
    );
    assert_objects(
        "service-route",
        bodies(fetched(json!({
            "exposure": {"host": "risk.example", "httpRoute": {"gateway": "public"}},
        }))),
    );
    let mut all = fetched(json!({
        "cacheSecret": {"name": "cache", "key": "redis"},
        "databaseSecret": {"name": "store", "key": "database"},
        "exposure": {"host": "risk.example", "httpRoute": {"gateway": "public", "gatewayNamespace": "edge"}},
        "egress": {
            "httpsProxy": "http://proxy:3128", "noProxy": [".svc", "10.0.0.0/8"],
            "caBundle": {"configMap": "authorities"},
        },
        "telemetry": {"otlpEndpoint": "http://collector:4318"},
        "scaling": {"minReplicas": 3, "maxReplicas": 9, "cpuPercent": 50, "requestsInFlight": 40},
        "imagePullSecrets": ["one", "two"],
    }));
    all.demand.as_mut().unwrap().endpoint_ports.insert(3000);
    assert_objects("service-all", bodies(all));
}

#[test]
fn pods_are_replaced_one_by_one_and_have_time_to_drain() {
    let deployment = body(&plan(json!({})), OwnedKind::Deployment);
    let spec = &deployment["spec"];
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxUnavailable": 0, "maxSurge": 1}));
    assert!(spec.get("replicas").is_none(), "the autoscaler owns it");
    let pod = &spec["template"]["spec"];
    // The drain delay, requests under way, and what is written last.
    assert_eq!(pod["terminationGracePeriodSeconds"], 5 + 30 + 15);
    let container = &pod["containers"][0];
    assert_eq!(container["args"], json!(["serve", "--config=/etc/assay/assay.toml"]));
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(container[probe]["httpGet"]["port"], "admin", "{probe}");
    }
    let spread = &pod["topologySpreadConstraints"];
    assert_eq!(spread[0]["topologyKey"], "topology.kubernetes.io/zone");
    assert_eq!(spread[1]["topologyKey"], "kubernetes.io/hostname");
}

#[test]
fn settings_name_the_files_of_secrets_and_leave_fetching_to_others() {
    let plan = plan(json!({"cacheSecret": {"name": "cache", "key": "redis"}}));
    let settings = body(&plan, OwnedKind::ConfigMap);
    assert_eq!(
        settings["data"]["assay.toml"],
        "listen = \"0.0.0.0:8080\"\nadmin-listen = \"0.0.0.0:9090\"\ndata-dir = \"/var/lib/assay\"\n\
         database-url-file = \"/run/secrets/assay/database/value\"\nfeeds = \"off\"\n\
         log-format = \"json\"\ndrain-delay = \"5s\"\nshutdown-grace = \"30s\"\n\
         redis-url-file = \"/run/secrets/assay/cache/value\"\n"
    );
    let pod = body(&plan, OwnedKind::Deployment)["spec"]["template"]["spec"].clone();
    assert_eq!(pod["volumes"][4]["secret"]["secretName"], "cache");
    assert_eq!(pod["volumes"][4]["secret"]["items"][0]["key"], "redis");
}

#[test]
fn other_settings_make_other_pods_and_the_same_the_same() {
    let with_cache = plan(json!({"cacheSecret": {"name": "cache"}}));
    assert_ne!(settings_hash(&plan(json!({}))), settings_hash(&with_cache));
    let again = plan(json!({}));
    assert_eq!(settings_hash(&plan(json!({}))), settings_hash(&again));
    let deployment = |plan: &Plan| body(plan, OwnedKind::Deployment);
    assert_eq!(deployment(&plan(json!({}))), deployment(&again), "nothing depends on the moment");
}

#[test]
fn each_image_and_database_has_a_migration_of_its_own_before_it() {
    let name = |change| plan(change).migration.name;
    let first = name(json!({}));
    assert!(first.starts_with("api-migrate-") && first.len() <= 63, "{first}");
    assert_eq!(first, name(json!({"scaling": {"maxReplicas": 3}})));
    assert_ne!(first, name(json!({"image": "assay:2"})));
    assert_ne!(first, name(json!({"databaseSecret": {"name": "other"}})));
    let plan = plan(json!({}));
    let job = plan.migration.body();
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["args"][0], "migrate");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let selector = body(&plan, OwnedKind::Service)["spec"]["selector"].clone();
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    let component = "app.kubernetes.io/component";
    assert_ne!(selector[component], labels[component], "nobody is sent to a migration");
}

fn live(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

#[test]
fn what_the_job_and_the_deployment_say_tells_how_far_the_migration_is() {
    let job = |kind: &str| {
        let condition = json!({"type": kind, "status": "True", "message": "why"});
        live(json!({"metadata": {}, "status": {"conditions": [condition]}}))
    };
    let after = |migration: &str| {
        let noted = json!({"assay.dev/migrated-by": migration});
        live(json!({"metadata": {"annotations": noted}}))
    };
    assert_eq!(migration("m", None, None), Migration::Due);
    assert_eq!(migration("m", Some(&after("before")), None), Migration::Due);
    assert_eq!(migration("m", Some(&after("m")), None), Migration::Done, "its Job may be gone");
    assert_eq!(migration("m", None, Some(&job("Complete"))), Migration::Done);
    assert_eq!(migration("m", None, Some(&job("Failed"))), Migration::Failed("why".into()));
    assert_eq!(migration("m", None, Some(&job("Suspended"))), Migration::Running);
}

#[test]
fn pods_are_reached_at_two_ports_and_reach_names_and_what_is_named() {
    let policy = body(&plan(json!({"cacheSecret": {"name": "cache"}})), OwnedKind::NetworkPolicy);
    let port = |number: u16| json!({"protocol": "TCP", "port": number});
    assert_eq!(policy["spec"]["ingress"], json!([{"ports": [port(8080), port(9090)]}]));
    assert_eq!(policy["spec"]["egress"][1], json!({"ports": [port(5433), port(6379)]}));
    assert_eq!(policy["spec"]["egress"][0]["ports"][0], json!({"protocol": "UDP", "port": 53}));
    let chosen = &policy["spec"]["podSelector"];
    let labels = json!({"app.kubernetes.io/name": "assay", "app.kubernetes.io/instance": "api"});
    assert_eq!(chosen["matchLabels"], labels);
    let components = json!(["server", "migration", "purge"]);
    assert_eq!(chosen["matchExpressions"][0]["values"], components);
}

#[test]
fn the_way_out_is_every_pods() {
    let egress = json!({"httpsProxy": "http://proxy:3128", "caBundle": {"secret": "authorities"}});
    let plan = plan(json!({"egress": egress}));
    let deployment = body(&plan, OwnedKind::Deployment)["spec"].clone();
    let purge = body(&plan, OwnedKind::CronJob)["spec"]["jobTemplate"]["spec"].clone();
    let migration = plan.migration.body()["spec"].clone();
    for (name, job) in [("server", deployment), ("purge", purge), ("migration", migration)] {
        let pod = &job["template"]["spec"];
        assert_eq!(pod["containers"][0]["env"][0]["value"], "http://proxy:3128", "{name}");
        let volumes = pod["volumes"].as_array().unwrap();
        assert_eq!(volumes.last().unwrap()["secret"]["secretName"], "authorities", "{name}");
    }
    let policy = body(&plan, OwnedKind::NetworkPolicy);
    assert_eq!(policy["spec"]["egress"][1]["ports"][0]["port"], 3128);
}

#[test]
fn every_pod_knows_the_collector_and_may_reach_it() {
    let plan = plan(json!({"telemetry": {"otlpEndpoint": "http://collector:4318"}}));
    let deployment = body(&plan, OwnedKind::Deployment)["spec"].clone();
    let purge = body(&plan, OwnedKind::CronJob)["spec"]["jobTemplate"]["spec"].clone();
    let migration = plan.migration.body()["spec"].clone();
    let wanted = json!([{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}]);
    for (name, job) in [("server", deployment), ("purge", purge), ("migration", migration)] {
        assert_eq!(job["template"]["spec"]["containers"][0]["env"], wanted, "{name}");
    }
    let policy = body(&plan, OwnedKind::NetworkPolicy);
    assert_eq!(policy["spec"]["egress"][1]["ports"][0]["port"], 4318);
}

#[test]
fn redis_is_believed_by_the_authorities_that_are_named() {
    let bundle = json!({"caBundle": {"configMap": "authorities"}});
    let settings = |spec| {
        let settings = body(&plan(spec), OwnedKind::ConfigMap);
        settings["data"]["assay.toml"].as_str().unwrap().to_owned()
    };
    let line = "redis-ca-file = \"/etc/assay-ca/ca.crt\"";
    let with_cache = settings(json!({"cacheSecret": {"name": "cache"}, "egress": bundle}));
    assert!(with_cache.lines().any(|found| found == line), "{with_cache}");
    assert!(!settings(json!({"egress": bundle})).contains("redis"));
    assert!(!settings(json!({"cacheSecret": {"name": "cache"}})).contains("redis-ca-file"));
}

#[test]
fn what_is_older_than_it_is_kept_is_forgotten_by_a_job_of_its_own() {
    let plan = plan(json!({}));
    let purge = body(&plan, OwnedKind::CronJob);
    assert_eq!(purge["metadata"]["name"], "api-purge");
    assert_eq!(purge["spec"]["concurrencyPolicy"], "Forbid");
    let template = &purge["spec"]["jobTemplate"]["spec"]["template"];
    assert_eq!(template["spec"]["containers"][0]["args"][0], "purge");
    assert_eq!(template["spec"]["securityContext"]["runAsNonRoot"], true);
    let component = "app.kubernetes.io/component";
    assert_eq!(template["metadata"]["labels"][component], "purge", "nobody is sent to it");
}

#[test]
fn the_autoscaler_never_goes_below_the_floor_nor_before_it_is_known() {
    let fewest =
        |plan: &Plan| body(plan, OwnedKind::HorizontalPodAutoscaler)["spec"]["minReplicas"].clone();
    assert_eq!(fewest(&plan(json!({}))), 2);
    let mut unknown = fetched(json!({"scaling": {"minReplicas": 2, "maxReplicas": 9}}));
    unknown.demand = None;
    assert_eq!(fewest(&build(&validate(&unknown).unwrap())), 2);
    let status = json!({"conditions": [], "replicaFloor": 7});
    unknown.object.status = serde_json::from_value(status).unwrap();
    let plan = build(&validate(&unknown).unwrap());
    assert_eq!((fewest(&plan), plan.floor), (7.into(), None));
}

#[test]
fn requests_under_way_count_only_where_they_are_asked_for() {
    let metrics = |scaling: Value| {
        let plan = plan(json!({"scaling": scaling}));
        body(&plan, OwnedKind::HorizontalPodAutoscaler)["spec"]["metrics"].clone()
    };
    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}});
    assert_eq!(metrics(json!({})), json!([{"type": "Resource", "resource": cpu}]));
    let pods = &metrics(json!({"requestsInFlight": 40}))[1]["pods"];
    assert_eq!(pods["metric"]["name"], "assay_http_requests_in_flight");
    assert_eq!(pods["target"], json!({"type": "AverageValue", "averageValue": "40"}));
}

#[test]
fn the_way_in_is_the_one_that_is_named_and_no_other() {
    let none = plan(json!({}));
    assert_eq!(none.unwanted, [OwnedKind::Ingress, OwnedKind::HttpRoute]);
    let exposure = |way: Value| {
        let mut exposure = json!({"host": "risk.example"});
        exposure.as_object_mut().unwrap().extend(way.as_object().unwrap().clone());
        plan(json!({"exposure": exposure}))
    };
    let ingress = exposure(json!({"ingress": {"className": "nginx", "tlsSecret": "cert"}}));
    assert_eq!(ingress.unwanted, [OwnedKind::HttpRoute]);
    let spec = body(&ingress, OwnedKind::Ingress)["spec"].clone();
    assert_eq!(spec["ingressClassName"], "nginx");
    assert_eq!(spec["tls"], json!([{"hosts": ["risk.example"], "secretName": "cert"}]));
    assert_eq!(spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], "api");
    let route = exposure(json!({"httpRoute": {"gateway": "public", "gatewayNamespace": "edge"}}));
    let spec = body(&route, OwnedKind::HttpRoute)["spec"].clone();
    assert_eq!(spec["parentRefs"], json!([{"name": "public", "namespace": "edge"}]));
    assert_eq!(spec["rules"][0]["backendRefs"], json!([{"name": "api", "port": 80}]));
}

#[test]
fn somebody_elses_object_of_the_name_is_left_alone_unless_nothing_is_wanted_there() {
    let foreign = || live(json!({"metadata": {"name": "api"}}));
    let mut taken = fetched(json!({}));
    taken.live.insert(OwnedKind::Service, foreign());
    let refused = validate(&taken).unwrap_err();
    assert_eq!(refused.reason().as_str(), "NameTaken");
    assert!(refused.message().starts_with("a Service `api` is there"), "{}", refused.message());
    let mut beside = fetched(json!({}));
    beside.live.insert(OwnedKind::Ingress, foreign());
    assert!(validate(&beside).is_ok());
    let mut missing = fetched(json!({}));
    missing.database = Held::NoKey;
    let refused = validate(&missing).unwrap_err();
    assert_eq!(refused.message(), "the Secret `store` has no key `url`");
}
