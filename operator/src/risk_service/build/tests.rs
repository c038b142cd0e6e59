//! Tests of the objects of a `RiskService`.
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

use std::collections::BTreeSet;

use assay_crds::{RiskService, RiskServiceSpec};
use serde_json::{Value, json};

use super::*;
use crate::{
    conditions::ReadyState,
    destinations,
    golden::{self, assert_objects},
    network_policy::EgressNetworks,
    owned::{LiveObjects, OwnedKind, document},
    risk_service::{
        demand::{OnDemandSource, ServerDemand},
        fetch::Inputs,
        validate::validate,
    },
    secret_state::SecretState,
};

fn inputs(change: Value) -> Inputs {
    let mut spec = json!({"image": "assay:1", "databaseSecret": {"name": "store"}});
    for (name, value) in change.as_object().unwrap() {
        spec[name] = value.clone();
    }
    let spec: RiskServiceSpec = serde_json::from_value(spec).unwrap();
    let present =
        |url| SecretState::Present { uid: "1".into(), destinations: destinations::of_url(url) };
    let cache = spec.cache_secret.as_ref().map(|_| present("redis://cache.example.org"));
    let chain_token = spec
        .chain_token_secret
        .as_ref()
        .map(|_| SecretState::Present { uid: "2".into(), destinations: BTreeSet::new() });
    let client = spec.console.as_ref().and_then(|console| console.client_secret.as_ref());
    let console_client =
        client.map(|_| SecretState::Present { uid: "3".into(), destinations: BTreeSet::new() });
    Inputs {
        object: RiskService::new("api", spec),
        owner: golden::owner("RiskService", "api", "ns", "api", SERVER),
        database: present("postgres://db.example.org:5433/assay"),
        cache,
        chain_token,
        console_client,
        live: LiveObjects::default(),
        source_secrets: vec![],
        demand: Some(ServerDemand::default()),
        networks: Some(EgressNetworks { public: true, private: vec!["10.20.0.0/16".into()] }),
    }
}

fn built(inputs: &Inputs) -> ServiceObjects {
    build(&validate(inputs).unwrap())
}

fn objects(change: Value) -> ServiceObjects {
    built(&inputs(change))
}

#[test]
fn the_settings_of_connections_are_those_of_the_server() {
    let text = |change: Value| {
        let settings = objects(change).settings;
        settings.data.unwrap()["assay.toml"].clone()
    };
    let connections = json!({
        "backlog": 512, "max": 2000, "maxPerPeer": 100,
        "trustedProxies": ["10.0.0.0/8", "fd00::/8"], "proxyProtocol": true,
    });
    let said = text(json!({"connections": connections}));
    for line in [
        "listen-backlog = \"512\"",
        "max-connections = \"2000\"",
        "max-connections-per-peer = \"100\"",
        "trusted-proxies = \"10.0.0.0/8,fd00::/8\"",
        "proxy-protocol = \"on\"",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!text(json!({})).contains("connections"), "the defaults are the server's");
}

#[test]
fn people_sign_in_at_the_issuer_of_the_spec() {
    let console = json!({
        "issuer": "https://id.idp.svc:8443/realms/staff",
        "clientId": "assay",
        "clientSecret": {"name": "console"},
        "roleMapping": [
            {"claim": "groups", "value": "\u{dc}n\u{200b}\u{7f}\"x\"", "tenantClaim": "org", "role": "admin"},
            {"claim": "email", "value": "a@b.example", "tenant": "acme", "role": "viewer"},
        ],
    });
    let exposure = json!({"host": "risk.example", "ingress": {}});
    let made = objects(json!({"console": console, "exposure": exposure}));
    let text = made.settings.clone().data.unwrap()["assay.toml"].clone();
    let read: Value = toml::from_str(&text).unwrap();
    assert_eq!(read["console-url"], "https://risk.example");
    assert_eq!(read["oidc-issuer"], "https://id.idp.svc:8443/realms/staff");
    assert_eq!(read["oidc-client-id"], "assay");
    assert_eq!(read["oidc-scopes"], "profile email");
    let rules: Value = serde_json::from_str(read["oidc-role-mapping"].as_str().unwrap()).unwrap();
    assert_eq!(rules["rules"], console["roleMapping"], "every rule as it is written");
    // The client's secret is a file of the servers alone, and the issuer may be asked.
    let deployment = body(&made, "Deployment").to_string();
    assert_eq!(read["oidc-client-secret-file"], "/run/secrets/assay/console-client/value");
    assert!(deployment.contains("\"secretName\":\"console\""), "{deployment}");
    assert!(!body(&made, "Job").to_string().contains("console"), "the migration needs none");
    let policy = body(&made, "NetworkPolicy").to_string();
    assert!(policy.contains("\"port\":8443") && policy.contains("\"idp\""), "{policy}");

    let url = json!({"console": console, "exposure": exposure});
    let other = |url_of_people: &str| {
        let mut change = url.clone();
        change["console"]["url"] = url_of_people.into();
        let text = objects(change).settings.data.unwrap()["assay.toml"].clone();
        text.contains(&format!("console-url = \"{url_of_people}\""))
    };
    assert!(other("https://people.example"), "another URL of people");
    assert!(validate(&inputs(json!({"console": console}))).is_err(), "nobody says where people go");
    let mut lacking = inputs(url);
    lacking.console_client = Some(SecretState::NoSecret);
    assert!(matches!(validate(&lacking), Err(ReadyState::Waiting(..))), "the Secret is missing");
}

fn documents(objects: &ServiceObjects) -> Vec<Value> {
    let route = objects.route.as_ref().map(|route| match route {
        RouteObject::HttpRoute(route) => document(&**route),
        RouteObject::Ingress(ingress) => document(&**ingress),
    });
    let all = [
        document(&objects.service),
        document(objects.network_policy.as_ref().unwrap()),
        document(&objects.disruption_budget),
        document(&objects.autoscaler),
        document(&objects.migration),
        document(&objects.settings),
        document(&objects.deployment),
        document(&objects.purge),
    ];
    all.into_iter().chain(route).map(Result::unwrap).collect()
}

/// The object of a kind.
fn body(objects: &ServiceObjects, kind: &str) -> Value {
    documents(objects).into_iter().find(|object| object["kind"] == kind).unwrap()
}

fn settings_digest(objects: &ServiceObjects) -> Value {
    let deployment = body(objects, "Deployment");
    deployment["spec"]["template"]["metadata"]["annotations"]["assay.dev/settings"].clone()
}

#[test]
fn objects_equal_the_files() {
    assert_objects("service-minimal", documents(&objects(json!({}))));
    assert_objects(
        "service-ingress",
        documents(&objects(json!({
            "exposure": {"host": "risk.example", "ingress": {}},
            "egress": {"httpProxy": "http://proxy:3128", "caBundle": {"secret": "authorities", "key": "ca.pem"}},
            "imagePullSecrets": ["registry"],
        }))),
    );
    assert_objects(
        "service-ingress-tls",
        documents(&objects(json!({
            "exposure": {"host": "risk.example", "ingress": {"className": "nginx", "tlsSecret": "cert"}},
        }))),
    );
    assert_objects(
        "service-route",
        documents(&objects(json!({
            "exposure": {"host": "risk.example", "httpRoute": {"gateway": "public"}},
        }))),
    );
    let mut all = inputs(json!({
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
        "chainTokenSecret": {"name": "chains", "key": "token"},
        "imagePullPolicy": "Always",
        "pods": golden::pods(),
    }));
    all.demand = Some(followed());
    let endpoint = destinations::of_url("http://10.0.0.7:3000/api");
    all.demand.as_mut().unwrap().endpoints.extend(endpoint);
    assert_objects("service-all", documents(&built(&all)));
}

/// The demand of a cluster with two followed chains.
fn followed() -> ServerDemand {
    let chains =
        ["ltc", "btc"].map(|chain| (chain.into(), format!("http://chain-{chain}.sys.svc:8080")));
    let mut demand = ServerDemand::default();
    demand.chain_servers.extend(chains);
    demand
}

/// The inputs of a service in a cluster with a source that is read on demand, and the Secret of its key.
fn with_explorer(endpoint: &str, secret: Option<Value>) -> Inputs {
    let source = OnDemandSource {
        name: "etherscan-eth".into(),
        chain: "eth".into(),
        endpoint: endpoint.into(),
        secret: serde_json::from_value(json!({"name": "explorer", "key": "key"})).unwrap(),
    };
    let mut demand = ServerDemand::default();
    demand.on_demand.push(source.clone());
    let secret = secret.map(|metadata| {
        let data = json!({"key": "YQ=="});
        serde_json::from_value(json!({"metadata": metadata, "data": data})).unwrap()
    });
    Inputs { demand: Some(demand), source_secrets: vec![(source, secret)], ..inputs(json!({})) }
}

const EXPLORER: &str = "https://api.etherscan.io/v2/api";

#[test]
fn servers_get_the_keys_of_explorers_whose_owners_permit_it() {
    let permitted = || {
        Some(json!({
            "name": "explorer", "labels": {"assay.dev/source-credentials": "true"},
            "annotations": {"assay.dev/source-hosts": "api.etherscan.io:443"},
        }))
    };
    let text = |inputs: &Inputs| built(inputs).settings.data.unwrap()["assay.toml"].clone();
    let reported = |inputs: &Inputs| {
        let state = validate(inputs).unwrap().chains_configured.unwrap();
        (state.holds, state.reason.as_str(), state.message)
    };
    // Given a Secret for the API's server, then servers have its file, and know for which server it is.
    let known = with_explorer(EXPLORER, permitted());
    let setting = "source-credentials = \"etherscan-eth=/run/secrets/assay/histories-eth/value@api.etherscan.io:443\"\n";
    assert!(text(&known).contains(setting), "{}", text(&known));
    let pod = body(&built(&known), "Deployment")["spec"]["template"]["spec"].clone();
    let volumes = pod["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "histories-eth").unwrap();
    assert_eq!(volume["secret"]["secretName"], "explorer");
    assert_eq!(volume["secret"]["items"], json!([{"key": "key", "path": "value"}]));
    assert_eq!(volume["secret"]["optional"], true, "servers start without it");
    let (holds, reason, _) = reported(&known);
    assert_eq!((holds, reason), (true, "ChainServersKnown"));
    // Given none, one without the key, or another server, then they have no file, and the service says what to do.
    let mut without_key = with_explorer(EXPLORER, permitted());
    if let Some((_, Some(secret))) = without_key.source_secrets.first_mut() {
        secret.data = None;
    }
    for refused in [
        with_explorer(EXPLORER, None),
        with_explorer("https://evil.example/api", permitted()),
        with_explorer("http://api.etherscan.io:443/v2/api", permitted()),
        without_key,
    ] {
        assert!(!text(&refused).contains("source-credentials"));
        let pod = body(&built(&refused), "Deployment")["spec"]["template"]["spec"].to_string();
        assert!(!pod.contains("explorer"), "{pod}");
        let (holds, reason, message) = reported(&refused);
        assert_eq!((holds, reason), (false, "CredentialsNotAllowed"));
        assert!(message.contains("`explorer`"), "{message}");
    }
    // Until the sources are known, the last files stay.
    let (applied, mut live) = (built(&known), LiveObjects::default());
    for (kind, object) in [
        (OwnedKind::ConfigMap, document(&applied.settings)),
        (OwnedKind::Deployment, document(&applied.deployment)),
    ] {
        live.insert(kind, serde_json::from_value(object.unwrap()).unwrap());
    }
    let unknown = Inputs { demand: None, source_secrets: vec![], live, ..inputs(json!({})) };
    assert_eq!(text(&unknown), text(&known));
    assert_eq!(settings_digest(&built(&unknown)), settings_digest(&built(&known)));
}

#[test]
fn servers_know_the_chain_servers_of_followed_chains_and_their_token() {
    let token = json!({"chainTokenSecret": {"name": "chains", "key": "token"}});
    let with = |change: Value, demand: Option<ServerDemand>| Inputs { demand, ..inputs(change) };
    let text = |inputs: &Inputs| built(inputs).settings.data.unwrap()["assay.toml"].clone();
    let known = with(token.clone(), Some(followed()));
    let lines = "chain-servers = \"btc=http://chain-btc.sys.svc:8080,ltc=http://chain-ltc.sys.svc:8080\"\n\
                 chain-token-file = \"/run/secrets/assay/chain-token/value\"\n";
    assert!(text(&known).contains(lines), "{}", text(&known));
    let pod = body(&built(&known), "Deployment")["spec"]["template"]["spec"].clone();
    assert_eq!(pod["volumes"][4]["secret"]["secretName"], "chains");
    let policy = body(&built(&known), "NetworkPolicy")["spec"]["egress"][2].clone();
    assert_eq!(policy["ports"], json!([{"protocol": "TCP", "port": 8080}]));
    let labels = &policy["to"][0]["podSelector"]["matchLabels"];
    assert_eq!(labels["app.kubernetes.io/component"], "chain");

    let reported = |inputs: &Inputs| {
        let state = validate(inputs).unwrap().chains_configured?;
        Some((state.holds, state.reason.as_str(), state.message))
    };
    let (holds, reason, _) = reported(&known).unwrap();
    assert_eq!((holds, reason), (true, "ChainServersKnown"));
    let missing = with(json!({}), Some(followed()));
    let (holds, reason, message) = reported(&missing).unwrap();
    assert_eq!((holds, reason), (false, "ChainTokenMissing"));
    assert!(
        message.contains("chain servers of btc, ltc") && message.contains("spec.chainTokenSecret")
    );
    assert!(!text(&missing).contains("chain"), "they need the token");
    let none = with(token.clone(), Some(ServerDemand::default()));
    assert!(!text(&none).contains("chain"), "no chain is followed");
    assert!(body(&built(&none), "NetworkPolicy")["spec"]["egress"].get(2).is_none());

    // An operator that starts must not replace pods before it knows the chains.
    let mut unknown = with(token, None);
    assert!(!text(&unknown).contains("chain"));
    let applied = document(&built(&known).settings).unwrap();
    unknown.live.insert(OwnedKind::ConfigMap, serde_json::from_value(applied).unwrap());
    assert_eq!(text(&unknown), text(&known));
    assert_eq!(reported(&unknown), None);

    let absent = Inputs { chain_token: Some(SecretState::NoKey), ..known };
    let refused = validate(&absent).unwrap_err();
    assert_eq!(
        refused.message(),
        "Secret `chains` has no key `token`: add it with the token as its value"
    );
}

#[test]
fn pods_are_replaced_one_by_one_and_have_time_to_drain() {
    let deployment = body(&objects(json!({})), "Deployment");
    let spec = &deployment["spec"];
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxUnavailable": 0, "maxSurge": 1}));
    assert!(spec.get("replicas").is_none(), "the autoscaler owns it");
    let pod = &spec["template"]["spec"];
    // The drain delay, requests in flight, and the last writes.
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
fn settings_name_the_files_of_secrets_and_turn_feeds_off() {
    let objects = objects(json!({"cacheSecret": {"name": "cache", "key": "redis"}}));
    let settings = body(&objects, "ConfigMap");
    assert_eq!(
        settings["data"]["assay.toml"],
        "listen = \"0.0.0.0:8080\"\nadmin-listen = \"0.0.0.0:9090\"\ndata-dir = \"/var/lib/assay\"\n\
         database-url-file = \"/run/secrets/assay/database/value\"\nfeeds = \"off\"\n\
         log-format = \"json\"\ndrain-delay = \"5s\"\nshutdown-grace = \"30s\"\n\
         redis-url-file = \"/run/secrets/assay/cache/value\"\n"
    );
    let pod = body(&objects, "Deployment")["spec"]["template"]["spec"].clone();
    assert_eq!(pod["volumes"][4]["secret"]["secretName"], "cache");
    assert_eq!(pod["volumes"][4]["secret"]["items"][0]["key"], "redis");
}

#[test]
fn changed_settings_replace_pods_and_equal_ones_do_not() {
    let with_cache = objects(json!({"cacheSecret": {"name": "cache"}}));
    assert_ne!(settings_digest(&objects(json!({}))), settings_digest(&with_cache));
    let again = objects(json!({}));
    assert_eq!(settings_digest(&objects(json!({}))), settings_digest(&again));
    let deployment = |objects: &ServiceObjects| body(objects, "Deployment");
    assert_eq!(
        deployment(&objects(json!({}))),
        deployment(&again),
        "nothing depends on the moment"
    );
}

#[test]
fn each_image_and_database_has_its_own_migration() {
    let name = |change| objects(change).migration.metadata.name.unwrap();
    let first = name(json!({}));
    assert!(first.starts_with("api-migrate-") && first.len() <= 63, "{first}");
    assert_eq!(first, name(json!({"scaling": {"maxReplicas": 3}})));
    assert_ne!(first, name(json!({"image": "assay:2"})));
    assert_ne!(first, name(json!({"databaseSecret": {"name": "other"}})));
    let objects = objects(json!({}));
    let job = body(&objects, "Job");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["args"][0], "migrate");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let selector = body(&objects, "Service")["spec"]["selector"].clone();
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    let component = "app.kubernetes.io/component";
    assert_ne!(selector[component], labels[component], "the Service does not select it");
}

#[test]
fn an_operator_without_network_policies_builds_none() {
    let without = Inputs { networks: None, ..inputs(json!({})) };
    assert!(built(&without).network_policy.is_none());
}

#[test]
fn network_policies_allow_two_ports_in_and_dns_and_named_ports_out() {
    let policy = body(&objects(json!({"cacheSecret": {"name": "cache"}})), "NetworkPolicy");
    let port = |number: u16| json!({"protocol": "TCP", "port": number});
    assert_eq!(policy["spec"]["ingress"], json!([{"ports": [port(8080), port(9090)]}]));
    let named = &policy["spec"]["egress"][1];
    assert_eq!(named["ports"], json!([port(5433), port(6379)]));
    assert_eq!(named["to"][0]["ipBlock"]["except"][1], "10.0.0.0/8");
    assert_eq!(named["to"][2], json!({"ipBlock": {"cidr": "10.20.0.0/16"}}));
    assert!(policy["spec"]["egress"].get(2).is_none(), "nothing else");
    assert_eq!(policy["spec"]["egress"][0]["ports"][0], json!({"protocol": "UDP", "port": 53}));
    let chosen = &policy["spec"]["podSelector"];
    let labels = json!({"app.kubernetes.io/name": "assay", "app.kubernetes.io/instance": "api"});
    assert_eq!(chosen["matchLabels"], labels);
    let components = json!(["server", "migration", "purge"]);
    assert_eq!(chosen["matchExpressions"][0]["values"], components);
}

#[test]
fn every_pod_has_the_egress_settings_and_the_collector_with_their_ports() {
    let objects = objects(json!({
        "egress": {"httpsProxy": "http://proxy:3128", "caBundle": {"secret": "authorities"}},
        "telemetry": {"otlpEndpoint": "http://collector:4318"},
    }));
    let deployment = body(&objects, "Deployment")["spec"].clone();
    let purge = body(&objects, "CronJob")["spec"]["jobTemplate"]["spec"].clone();
    let migration = json!(objects.migration)["spec"].clone();
    let variable = |name: &str, value: &str| json!({"name": name, "value": value});
    let wanted = [
        variable("HTTPS_PROXY", "http://proxy:3128"),
        variable("SSL_CERT_FILE", "/etc/assay-ca/ca.crt"),
        variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
    ];
    for (name, job) in [("server", deployment), ("purge", purge), ("migration", migration)] {
        let pod = &job["template"]["spec"];
        assert_eq!(pod["containers"][0]["env"], json!(wanted), "{name}");
        let volumes = pod["volumes"].as_array().unwrap();
        assert_eq!(volumes.last().unwrap()["secret"]["secretName"], "authorities", "{name}");
    }
    let policy = body(&objects, "NetworkPolicy");
    let rules = policy["spec"]["egress"].as_array().unwrap()[1..].iter();
    let ports = rules.flat_map(|rule| rule["ports"].as_array().unwrap());
    let ports: BTreeSet<u64> = ports.map(|port| port["port"].as_u64().unwrap()).collect();
    assert_eq!(ports, BTreeSet::from([3128, 4318, 5433]));
}

#[test]
fn the_ca_bundle_applies_to_redis() {
    let bundle = json!({"caBundle": {"configMap": "authorities"}});
    let settings = |spec| {
        let settings = body(&objects(spec), "ConfigMap");
        settings["data"]["assay.toml"].as_str().unwrap().to_owned()
    };
    let line = "redis-ca-file = \"/etc/assay-ca/ca.crt\"";
    let with_cache = settings(json!({"cacheSecret": {"name": "cache"}, "egress": bundle}));
    assert!(with_cache.lines().any(|found| found == line), "{with_cache}");
    assert!(!settings(json!({"egress": bundle})).contains("redis"));
    assert!(!settings(json!({"cacheSecret": {"name": "cache"}})).contains("redis-ca-file"));
}

#[test]
fn expired_records_are_purged_by_a_cron_job() {
    let objects = objects(json!({}));
    let purge = body(&objects, "CronJob");
    assert_eq!(purge["metadata"]["name"], "api-purge");
    assert_eq!(purge["spec"]["concurrencyPolicy"], "Forbid");
    let template = &purge["spec"]["jobTemplate"]["spec"]["template"];
    assert_eq!(template["spec"]["containers"][0]["args"][0], "purge");
    assert_eq!(template["spec"]["securityContext"]["runAsNonRoot"], true);
    let component = "app.kubernetes.io/component";
    assert_eq!(
        template["metadata"]["labels"][component], "purge",
        "the Service does not select its pods"
    );
}

#[test]
fn the_autoscaler_keeps_the_required_replicas_while_the_demand_is_unknown() {
    let min = |inputs: &Inputs| {
        body(&built(inputs), "HorizontalPodAutoscaler")["spec"]["minReplicas"].clone()
    };
    assert_eq!(min(&inputs(json!({}))), 2);
    let mut unknown = inputs(json!({"scaling": {"minReplicas": 2, "maxReplicas": 9}}));
    unknown.demand = None;
    assert_eq!(min(&unknown), 2);
    let status = json!({"conditions": [], "requiredReplicas": 7});
    unknown.object.status = serde_json::from_value(status).unwrap();
    assert_eq!(min(&unknown), 7, "the last reported number stays in force");
    assert_eq!(validate(&unknown).unwrap().required_replicas, None);
}

#[test]
fn requests_in_flight_count_only_if_the_spec_sets_a_target() {
    let metrics = |scaling: Value| {
        let objects = objects(json!({"scaling": scaling}));
        body(&objects, "HorizontalPodAutoscaler")["spec"]["metrics"].clone()
    };
    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}});
    assert_eq!(metrics(json!({})), json!([{"type": "Resource", "resource": cpu}]));
    let pods = &metrics(json!({"requestsInFlight": 40}))[1]["pods"];
    assert_eq!(pods["metric"]["name"], "assay_http_requests_in_flight");
    assert_eq!(pods["target"], json!({"type": "AverageValue", "averageValue": "40"}));
}

#[test]
fn only_the_route_of_the_spec_exists() {
    assert!(objects(json!({})).route.is_none());
    let exposed = |route: Value| {
        let mut exposure = json!({"host": "risk.example"});
        exposure.as_object_mut().unwrap().extend(route.as_object().unwrap().clone());
        objects(json!({"exposure": exposure}))
    };
    let ingress = exposed(json!({"ingress": {"className": "nginx", "tlsSecret": "cert"}}));
    let spec = body(&ingress, "Ingress")["spec"].clone();
    assert_eq!(spec["ingressClassName"], "nginx");
    assert_eq!(spec["tls"], json!([{"hosts": ["risk.example"], "secretName": "cert"}]));
    assert_eq!(spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], "api");
    let route = exposed(json!({"httpRoute": {"gateway": "public", "gatewayNamespace": "edge"}}));
    let spec = body(&route, "HTTPRoute")["spec"].clone();
    assert_eq!(spec["parentRefs"], json!([{"name": "public", "namespace": "edge"}]));
    assert_eq!(spec["rules"][0]["backendRefs"], json!([{"name": "api", "port": 80}]));
}

#[test]
fn a_foreign_object_blocks_the_service_only_if_its_name_is_needed() {
    let with = |kind| {
        let foreign = serde_json::from_value(json!({"metadata": {"name": "api"}})).unwrap();
        let mut inputs = inputs(json!({}));
        inputs.live.insert(kind, foreign);
        validate(&inputs)
    };
    let refused = with(OwnedKind::Service).unwrap_err();
    assert_eq!(refused.reason().as_str(), "NameTaken");
    let start = "Service `api` was not created for this RiskService: ";
    assert!(refused.message().starts_with(start), "{}", refused.message());
    assert!(with(OwnedKind::Ingress).is_ok());
}

#[test]
fn a_spec_that_cannot_run_is_refused() {
    let mut missing = inputs(json!({}));
    missing.database = SecretState::NoKey;
    let refused = validate(&missing).unwrap_err();
    assert_eq!(
        refused.message(),
        "Secret `store` has no key `url`: add it with a URL as its value"
    );
    for (change, field) in [
        (json!({"exposure": {"host": "risk.example"}}), "spec.exposure"),
        (json!({"egress": {"caBundle": {}}}), "spec.egress.caBundle"),
    ] {
        let refused = validate(&inputs(change)).unwrap_err();
        assert_eq!(refused.reason().as_str(), "Invalid");
        assert!(refused.message().starts_with(field), "{}", refused.message());
    }
}
