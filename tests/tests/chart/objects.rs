//! Given values, then the cluster has these objects.

use std::process::Command;

use assay_tests::{Helm, binary};
use serde_json::{Value, json};

use crate::{
    chart,
    rendered::{
        EVERYTHING, NAMESPACES, PRODUCTION, documents, generated_texts, objects, of_kind, one, pods,
    },
    text,
};

#[test]
#[ignore = "needs Helm"]
fn helm_finds_nothing_to_complain_about() {
    let helm = Helm::find();
    for arguments in [&[], EVERYTHING, NAMESPACES, PRODUCTION] {
        let _ = helm.run(&[&["lint", "--strict", &chart()], arguments].concat()).ok();
    }
}

/// The rules of the first object of a kind in a file of the operator.
fn wanted_rules(name: &str, kind: &str) -> Value {
    let wanted = documents(&text(&format!("operator/{name}.yaml")));
    of_kind(&wanted, kind)[0]["rules"].clone()
}

/// Asserts that the binding of a role names the operator's account.
fn is_bound(binding: &Value, kind: &str, role: &str) {
    let subject = json!({"kind": "ServiceAccount", "name": "assay-operator", "namespace": "assay"});
    assert_eq!(binding["subjects"], json!([subject]));
    assert_eq!(
        (&binding["roleRef"]["kind"], &binding["roleRef"]["name"]),
        (&kind.into(), &role.into())
    );
}

#[test]
#[ignore = "needs Helm"]
fn the_operator_has_exactly_the_documented_rights() {
    let helm = Helm::find();
    for (values, name) in [(&[][..], "rights"), (NAMESPACES, "rights-namespaced")] {
        let rendered = objects(&helm, values);
        for kind in ["ClusterRole", "Role"] {
            let rules = &one(&rendered, kind, "assay-operator")["rules"];
            assert_eq!(*rules, wanted_rules(name, kind));
            assert!(!rules.to_string().contains('*'), "no wildcards");
            let binding = one(&rendered, &format!("{kind}Binding"), "assay-operator");
            is_bound(binding, kind, "assay-operator");
        }
        assert_eq!(rendered.len(), rendered_names(&rendered).len(), "no name twice");
        let bound = of_kind(&rendered, "ClusterRoleBinding");
        assert_eq!(bound.len(), 1, "nothing else is bound in the cluster");
    }
    let rendered = objects(&helm, NAMESPACES);
    let mut namespaces = Vec::new();
    for kind in ["Role", "RoleBinding"] {
        for object in of_kind(&rendered, kind) {
            if object["metadata"]["name"] == "assay-operator-keys" {
                namespaces.push(object["metadata"]["namespace"].as_str().unwrap());
                if kind == "Role" {
                    assert_eq!(object["rules"], wanted_rules("rights-tenant", "Role"));
                } else {
                    is_bound(object, "Role", "assay-operator-keys");
                }
            }
        }
    }
    assert_eq!(namespaces, ["assay", "payments", "assay", "payments"]);
    let pod = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
    let given = pod["containers"][0]["args"].as_array().unwrap();
    assert!(given.contains(&json!("--watch-namespaces=assay,payments")), "{given:?}");
}

#[test]
#[ignore = "needs Helm"]
fn the_operators_requests_are_subject_to_policies_where_the_cluster_has_them() {
    let helm = Helm::find();
    let rendered = objects(&helm, &[]);
    let wanted = documents(&text("operator/admission.yaml"));
    for name in ["assay-operator-pods", "assay-operator-objects"] {
        let policy = &one(&rendered, "ValidatingAdmissionPolicy", name)["spec"];
        let documented_values = &one(&wanted, "ValidatingAdmissionPolicy", name)["spec"];
        assert_eq!(policy["validations"], documented_values["validations"]);
        assert_eq!(policy["failurePolicy"], "Fail");
        let account = "request.userInfo.username == 'system:serviceaccount:assay:assay-operator'";
        assert_eq!(policy["matchConditions"][0]["expression"], account);
        let binding = &one(&rendered, "ValidatingAdmissionPolicyBinding", name)["spec"];
        assert_eq!(*binding, json!({"policyName": name, "validationActions": ["Deny"]}));
    }
    let permitted = |values: &[&str]| {
        let rendered = objects(&helm, values);
        let policy =
            one(&rendered, "ValidatingAdmissionPolicy", "assay-operator-pods")["spec"].clone();
        let variables = policy["variables"].as_array().unwrap().clone();
        let named = variables.into_iter().find(|variable| variable["name"] == "permitted");
        named.unwrap()["expression"].clone()
    };
    assert_eq!(permitted(&[]), "[]");
    let labels = "operator.allowedPodLabels={team,example.com/costs}";
    assert_eq!(permitted(&["--set", labels]), "[\"team\",\"example.com/costs\"]");
    let plans = documents(&text("operator/admission-plans.yaml"));
    let name = "assay-operator-plans";
    for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] {
        assert_eq!(one(&rendered, kind, name)["spec"], one(&plans, kind, name)["spec"]);
    }
    let staging = objects(&helm, &["--set", "instance=staging"]);
    let policy = &one(&staging, "ValidatingAdmissionPolicy", name)["spec"];
    let wanted =
        "oldObject.metadata.?labels[?'assay.dev/instance'].orValue('staging') == 'staging'";
    assert_eq!(policy["matchConditions"][0]["expression"], wanted);
    let off = objects(&helm, &["--set", "operator.admissionPolicy=false"]);
    assert!(of_kind(&off, "ValidatingAdmissionPolicy").is_empty());
    let chart = chart();
    let without = helm.run(&["template", "assay", &chart, "--kube-version", "1.33.0"]).ok().stdout;
    assert!(!without.contains("ValidatingAdmissionPolicy"), "the cluster is not known to have it");
}

#[test]
#[ignore = "needs Helm"]
fn users_of_a_namespace_get_rights_on_the_kinds_of_tenants_alone() {
    let helm = Helm::find();
    let rendered = objects(&helm, &[]);
    let role = |name: &str| one(&rendered, "ClusterRole", name);
    for (name, roles) in [("view", &["view"][..]), ("edit", &["edit", "admin"])] {
        let role = role(&format!("assay-tenant-{name}"));
        for aggregated in ["view", "edit", "admin"] {
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregated}");
            let is_labelled = role["metadata"]["labels"][label] == "true";
            assert_eq!(is_labelled, roles.contains(&aggregated), "{name} {aggregated}");
        }
        let resources = role["rules"].as_array().unwrap().iter().map(|rule| {
            assert_eq!(rule["apiGroups"], json!(["assay.dev"]));
            rule["resources"].clone()
        });
        let wanted =
            [json!(["apikeys", "riskservices"]), json!(["apikeys/status", "riskservices/status"])];
        assert_eq!(resources.collect::<Vec<_>>(), wanted, "{name}");
    }
    let verbs = role("assay-tenant-view")["rules"][0]["verbs"].clone();
    assert_eq!(verbs, json!(["get", "list", "watch"]));
}

#[test]
#[ignore = "needs Helm"]
fn the_operator_knows_every_flag_of_its_deployment() {
    let helm = Helm::find();
    let printed = Command::new(binary().with_file_name("assay-operator")).arg("--help").output();
    let usage = String::from_utf8(printed.unwrap().stdout).unwrap();
    for arguments in [&[], EVERYTHING, NAMESPACES, PRODUCTION] {
        let rendered = objects(&helm, arguments);
        let pods = pods(&rendered);
        let (_, pod) = pods.iter().find(|(name, _)| name == "assay-operator").unwrap();
        let given = pod["containers"][0]["args"].as_array().unwrap();
        assert!(given.len() >= 4, "{given:?}");
        for argument in given {
            let (flag, _) = argument.as_str().unwrap().split_once('=').unwrap();
            assert!(usage.contains(&format!("{flag} <")), "{flag} is not in {usage}");
        }
    }
}

fn rendered_names(objects: &[Value]) -> std::collections::BTreeSet<String> {
    objects
        .iter()
        .map(|object| {
            let of = &object["metadata"];
            format!("{}/{}/{}", object["kind"], of["namespace"], of["name"])
        })
        .collect()
}

#[test]
#[ignore = "needs Helm"]
fn every_pod_is_restricted_and_only_clients_of_the_api_server_have_a_token() {
    let helm = Helm::find();
    for arguments in [&[], EVERYTHING, NAMESPACES, PRODUCTION] {
        let rendered = objects(&helm, arguments);
        let pods = pods(&rendered);
        assert!(pods.iter().any(|(name, _)| name == "assay-operator"));
        for (name, pod) in pods {
            let account = pod["automountServiceAccountToken"].as_bool();
            let is_client = ["assay-operator", "assay-secrets"].contains(&name.as_str());
            assert_eq!(account, Some(is_client), "{name}");
            assert_eq!(
                pod["enableServiceLinks"], false,
                "{name}: variables that look like settings"
            );
            let security = &pod["securityContext"];
            assert_eq!(security["runAsNonRoot"], true, "{name}");
            assert!(security["runAsUser"].as_u64() > Some(0), "{name}");
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault", "{name}");
            for container in pod["containers"].as_array().unwrap() {
                let security = &container["securityContext"];
                assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
                assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
                assert_eq!(security["capabilities"]["drop"], json!(["ALL"]), "{name}");
                assert!(container["resources"]["limits"]["memory"].is_string(), "{name}");
                assert!(
                    !container.to_string().contains("secretKeyRef"),
                    "{name}: secrets are files"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs Helm"]
fn egress_settings_reach_the_api_and_the_objects_of_the_operator() {
    let helm = Helm::find();
    let egress_of = |values: &str| {
        let rendered = objects(&helm, &["--set", values]);
        let pod = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
        let given = pod["containers"][0]["args"].as_array().unwrap().iter();
        let given: Vec<String> = given.map(|word| word.as_str().unwrap().to_owned()).collect();
        (one(&rendered, "RiskService", "assay")["spec"]["egress"].clone(), given)
    };
    let (egress, given) = egress_of(
        "proxy.https=http://proxy:3128,proxy.http=http://plain:3128,proxy.bypass={.svc,10.0.0.0/8},\
         caBundle.secret=authorities",
    );
    let wanted = json!({
        "httpsProxy": "http://proxy:3128", "httpProxy": "http://plain:3128",
        "noProxy": [".svc", "10.0.0.0/8"], "caBundle": {"secret": "authorities", "key": "ca.crt"},
    });
    assert_eq!(egress, wanted);
    for word in [
        "--https-proxy=http://proxy:3128",
        "--http-proxy=http://plain:3128",
        "--no-proxy=.svc,10.0.0.0/8",
        "--ca-bundle=secret/authorities/ca.crt",
    ] {
        assert!(given.iter().any(|given| given == word), "{word} is not in {given:?}");
    }
    let (egress, given) = egress_of("caBundle.configMap=authorities,caBundle.key=bundle.pem");
    assert_eq!(egress, json!({"caBundle": {"configMap": "authorities", "key": "bundle.pem"}}));
    assert_eq!(given.last().unwrap(), "--ca-bundle=configmap/authorities/bundle.pem");
    let (egress, given) = egress_of("mode=evaluation");
    assert!(egress.is_null() && !given.iter().any(|word| word.contains("proxy")), "{given:?}");
}

#[test]
#[ignore = "needs Helm"]
fn the_api_and_the_operator_get_the_address_of_the_collector() {
    let helm = Helm::find();
    let endpoint = "http://collector.otel:4318";
    let rendered = objects(&helm, &["--set", &format!("telemetry.otlpEndpoint={endpoint}")]);
    let service = one(&rendered, "RiskService", "assay");
    assert_eq!(service["spec"]["telemetry"], json!({"otlpEndpoint": endpoint}));
    let pod = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
    let given = pod["containers"][0]["args"].as_array().unwrap();
    assert!(given.contains(&json!(format!("--otlp-endpoint={endpoint}"))), "{given:?}");
    let reaches = |rendered: &[Value], port: u16| {
        let only = json!([{"protocol": "TCP", "port": port}]);
        let policy = one(rendered, "NetworkPolicy", "assay-operator");
        policy["spec"]["egress"].as_array().unwrap().iter().any(|rule| rule["ports"] == only)
    };
    assert!(reaches(&rendered, 4318));
    let without_port = "telemetry.otlpEndpoint=https://10.20.30.40/otlp";
    assert!(reaches(&objects(&helm, &["--set", without_port]), 443));
    let rendered = objects(&helm, &[]);
    assert!(one(&rendered, "RiskService", "assay")["spec"]["telemetry"].is_null());
}

#[test]
#[ignore = "needs Helm"]
fn default_plans_and_policies_are_installed_and_outlive_the_release() {
    let helm = Helm::find();
    let rendered = objects(&helm, &[]);
    for name in ["plans", "policy", "feeds"] {
        for wanted in documents(&text(&format!("crates/service/manifests/{name}.yaml"))) {
            let (kind, object) = (&wanted["kind"], &wanted["metadata"]["name"]);
            let found = one(&rendered, kind.as_str().unwrap(), object.as_str().unwrap());
            assert_eq!(found["spec"], wanted["spec"], "{kind} {object}");
            let annotations = &found["metadata"]["annotations"];
            assert_eq!(annotations["helm.sh/resource-policy"], "keep", "{kind} {object}");
        }
    }
    let rendered = objects(&helm, &["--set", "defaults.sources={uk,eu}"]);
    let mut sources: Vec<_> = of_kind(&rendered, "IntelSource")
        .iter()
        .map(|source| source["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    sources.sort();
    assert_eq!(sources, ["eu", "ofac-sdn", "uk"], "ready-made sources by name");
    let explorers = [
        "--set=defaults.chainSources.etherscan-eth.name=explorer",
        "--set=defaults.chainSources.etherscan-eth.key=key",
        "--set-json=defaults.chainSources.routescan-avalanche={}",
    ];
    let rendered = objects(&helm, &explorers);
    let source = one(&rendered, "ChainSource", "etherscan-eth");
    assert_eq!(source["spec"]["credentialsSecret"], json!({"name": "explorer", "key": "key"}));
    let source = one(&rendered, "ChainSource", "routescan-avalanche");
    assert_eq!(source["spec"].get("credentialsSecret"), None);
    assert_eq!(of_kind(&rendered, "ChainSource").len(), 2);
    let none = "defaults.plans=false,defaults.policy=false,defaults.feeds=false";
    let rendered = objects(&helm, &["--set", none]);
    for kind in ["Plan", "RiskPolicy", "IntelSource"] {
        assert!(of_kind(&rendered, kind).is_empty(), "{kind}");
    }
}

#[test]
#[ignore = "needs Helm"]
fn an_evaluation_is_marked_and_production_has_no_part_of_it() {
    let helm = Helm::find();
    let evaluation = objects(&helm, &[]);
    for object in &evaluation {
        assert_eq!(object["metadata"]["labels"]["assay.dev/mode"], "evaluation", "{object}");
    }
    let service = one(&evaluation, "RiskService", "assay");
    let secret = one(&evaluation, "Secret", "assay-evaluation");
    assert_eq!((secret.get("data"), secret.get("stringData")), (None, None));
    let texts = generated_texts(&evaluation, "assay-evaluation", "word");
    let password = objects(&helm, &["--set", "evaluation.password=word0123456789ab"]);
    let given = &one(&password, "Secret", "assay-evaluation")["stringData"];
    for (field, key) in [("databaseSecret", "database-url"), ("cacheSecret", "redis-url")] {
        assert_eq!(service["spec"][field], json!({"name": "assay-evaluation", "key": key}));
        assert_eq!(texts[key].replace("word", "word0123456789ab"), given[key], "{key}");
    }

    let production = objects(&helm, PRODUCTION);
    let service = one(&production, "RiskService", "assay");
    assert_eq!(service["spec"]["databaseSecret"], json!({"name": "database", "key": "url"}));
    assert_eq!(service["spec"]["cacheSecret"], json!({"name": "cache", "key": "url"}));
    assert!(of_kind(&production, "PersistentVolumeClaim").is_empty());
    let secrets = of_kind(&production, "Secret");
    assert!(secrets.iter().all(|secret| secret["metadata"]["name"] == "assay-chain-token"));
    assert_eq!(pods(&production).len(), 3, "the operator, its Secret and the test");
    let without = [PRODUCTION, &["--set", "chains.tokenSecret.name=ours"]].concat();
    let without = objects(&helm, &without);
    assert!(of_kind(&without, "Secret").is_empty());
    assert_eq!(pods(&without).len(), 2, "the operator and the test");
}

#[test]
#[ignore = "needs Helm"]
fn each_program_reads_the_secret_that_is_its_own() {
    let helm = Helm::find();
    let more = "database.operatorSecret.name=control,database.ingestSecret.name=ingest,\
                database.ingestSecret.key=uri";
    let rendered = objects(&helm, &[PRODUCTION, &["--set", more]].concat());
    let pod = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], "control");
    let arguments = pod["containers"][0]["args"].to_string();
    assert!(arguments.contains("--database-secret=ingest/uri"), "{arguments}");
}

#[test]
#[ignore = "needs Helm"]
fn the_api_and_the_operator_have_one_token_for_chain_servers() {
    let helm = Helm::find();
    let of = |rendered: &[Value]| {
        let pod = &one(rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
        let arguments = pod["containers"][0]["args"].as_array().unwrap().iter();
        let flag = arguments
            .filter_map(|argument| argument.as_str()?.strip_prefix("--chain-token-secret="));
        let service = &one(rendered, "RiskService", "assay")["spec"]["chainTokenSecret"];
        (flag.collect::<Vec<_>>().join(" "), service.clone())
    };
    for values in [&[], PRODUCTION] {
        let rendered = objects(&helm, values);
        let own = json!({"name": "assay-chain-token", "key": "token"});
        assert_eq!(of(&rendered), ("assay-chain-token/token".to_owned(), own));
        let _ = one(&rendered, "Secret", "assay-chain-token");
        let texts = generated_texts(&rendered, "assay-chain-token", "word");
        assert_eq!(texts.into_iter().collect::<Vec<_>>(), [("token".into(), "word".into())]);
    }
    let given = ["--set", "chains.tokenSecret.name=ours,chains.tokenSecret.key=word"];
    let rendered = objects(&helm, &given);
    assert_eq!(of(&rendered), ("ours/word".to_owned(), json!({"name": "ours", "key": "word"})));
    let secrets = of_kind(&rendered, "Secret");
    assert!(secrets.iter().all(|secret| secret["metadata"]["name"] != "assay-chain-token"));
    assert!(generated_texts(&rendered, "assay-chain-token", "word").is_empty());
}

/// Tools that render without a cluster, such as Argo CD, compare what they render with what they applied.
#[test]
#[ignore = "needs Helm"]
fn the_same_values_render_the_same_text_and_no_secret_text() {
    let helm = Helm::find();
    for arguments in [&[], EVERYTHING, NAMESPACES, PRODUCTION] {
        let chart = chart();
        let all = [&["template", "assay", &chart, "--include-crds"], arguments].concat();
        let render = || helm.run(&all).ok().stdout;
        let first = render();
        assert!(first == render(), "{arguments:?}");
        for secret in of_kind(&documents(&first), "Secret") {
            assert_eq!((secret.get("data"), secret.get("stringData")), (None, None), "{secret}");
        }
    }
}

#[test]
#[ignore = "needs Helm"]
fn the_generation_of_secrets_has_rights_on_these_secrets_alone() {
    let rendered = objects(&Helm::find(), &[]);
    let rules = &one(&rendered, "Role", "assay-secrets")["rules"];
    let names = json!(["assay-chain-token", "assay-evaluation"]);
    let wanted = json!([{
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": names,
        "verbs": ["get", "patch"],
    }]);
    assert_eq!(*rules, wanted);
    let binding = one(&rendered, "RoleBinding", "assay-secrets");
    assert_eq!(binding["roleRef"]["name"], "assay-secrets");
    assert_eq!(binding["subjects"][0]["name"], "assay-secrets");
}

#[test]
#[ignore = "needs Helm"]
fn a_mirror_stands_before_every_image() {
    let helm = Helm::find();
    let digest = format!("sha256:{}", "ab".repeat(32));
    let values = format!("imageRegistry=mirror.example/copies/,operator.image.digest={digest}");
    let rendered = objects(&helm, &["--set", &values, "--set", "imagePullSecrets={mirror}"]);
    for (name, pod) in pods(&rendered) {
        let image = pod["containers"][0]["image"].as_str().unwrap();
        assert!(image.starts_with("mirror.example/copies/"), "{name}: {image}");
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "mirror"}]), "{name}");
    }
    let operator = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"]["spec"];
    let image = format!("mirror.example/copies/assay/assay-operator@{digest}");
    assert_eq!(operator["containers"][0]["image"], image);
    let arguments = operator["containers"][0]["args"].to_string();
    assert!(arguments.contains("--image-pull-secret=mirror"), "{arguments}");
    let service = one(&rendered, "RiskService", "assay");
    assert_eq!(service["spec"]["imagePullSecrets"], json!(["mirror"]));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(service["spec"]["image"], format!("mirror.example/copies/assay/assay:{version}"));
}

#[test]
#[ignore = "needs Helm"]
fn only_named_destinations_are_reachable() {
    let helm = Helm::find();
    let values =
        "networkPolicy.allowedPrivateCidrs={10.20.0.0/16},networkPolicy.publicEgress=false";
    let rule =
        json!([{"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "ports": [{"port": 8332}]}]);
    let rule = format!("networkPolicy.egress={rule}");
    let arguments = [PRODUCTION, &["--set", values, "--set-json", &rule]].concat();
    let rendered = objects(&helm, &arguments);
    let deny = &one(&rendered, "NetworkPolicy", "assay-default-deny")["spec"];
    assert_eq!(deny["policyTypes"], json!(["Ingress", "Egress"]));
    assert!(deny.get("ingress").is_none() && deny.get("egress").is_none());
    let labels = |object: &Value| object["spec"]["template"]["metadata"]["labels"].clone();
    for deployment in of_kind(&rendered, "Deployment") {
        assert_eq!(
            labels(deployment)["app.kubernetes.io/part-of"],
            "assay",
            "the policy chooses it"
        );
    }
    let egress = |name: &str| one(&rendered, "NetworkPolicy", name)["spec"]["egress"].to_string();
    let block = |cidr: &str| format!(r#"{{"ipBlock":{{"cidr":"{cidr}"}}}}"#);
    let operator = egress("assay-operator");
    for cidr in ["10.20.0.0/16", "203.0.113.7/32"] {
        assert!(operator.contains(&block(cidr)), "{operator}");
    }
    assert!(operator.contains(r#""app.kubernetes.io/component":"chain""#), "{operator}");
    // The operator's own policies allow workloads what is configured: the chart's add nothing but names and this rule.
    let workloads = egress("assay-workloads");
    assert!(workloads.contains(&block("203.0.113.7/32")), "{workloads}");
    assert_eq!(workloads.matches("ports").count(), 2, "{workloads}");
    let plain = objects(&helm, &[]);
    let plain = &one(&plain, "NetworkPolicy", "assay-workloads")["spec"]["egress"];
    assert_eq!(plain.as_array().unwrap().len(), 1, "{plain}");
    assert_eq!(plain[0]["ports"][0]["port"], 53, "{plain}");
    let off = objects(&helm, &["--set", "networkPolicy.enabled=false"]);
    assert!(of_kind(&off, "NetworkPolicy").is_empty());
}

/// Peers to which a policy allows connections on a port: null for any, `None` without a rule.
fn peers_on(policy: &Value, port: u16) -> Option<Value> {
    let mut rules = policy["spec"]["egress"].as_array().unwrap().iter();
    let has = |rule: &&Value| rule["ports"].as_array().unwrap().iter().any(|it| it["port"] == port);
    rules.find(has).map(|rule| rule["to"].clone())
}

/// A peer: a network.
fn network(cidr: &str) -> Value {
    json!({"ipBlock": {"cidr": cidr}})
}

/// A peer: the pods of a namespace.
fn pods_of(namespace: &str) -> Value {
    json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}})
}

/// Public addresses in the policy of the operator for an API.
fn public_networks() -> Vec<Value> {
    let golden: Value =
        serde_json::from_str(&text("operator/tests/objects/service-all.json")).unwrap();
    let rules = golden["NetworkPolicy api"]["spec"]["egress"].as_array().unwrap().iter();
    let mut peers = rules.filter_map(|rule| rule["to"].as_array());
    let is_public = |peer: &&Value| peer["ipBlock"]["except"].is_array();
    let public = peers.find(|peers| peers.iter().any(|peer| is_public(&peer))).unwrap();
    public.iter().filter(is_public).cloned().collect()
}

#[test]
#[ignore = "needs Helm"]
fn the_operator_reaches_the_api_server_and_its_database_alone() {
    // Given values of networks, when the chart is rendered, then the operator reaches these peers on these ports.
    let helm = Helm::find();
    let policies = |name: &str, arguments: &[&str]| {
        one(&objects(&helm, arguments), "NetworkPolicy", name).clone()
    };
    let peers =
        |arguments: &[&str], port: u16| peers_on(&policies("assay-operator", arguments), port);
    let own = json!([{"podSelector": {"matchLabels": {
        "app.kubernetes.io/name": "assay", "app.kubernetes.io/instance": "assay",
        "app.kubernetes.io/component": "postgresql",
    }}}]);
    assert_eq!(peers(&[], 5432), Some(own), "the database of an evaluation");
    let any = json!({"namespaceSelector": {}});
    let with = |values: &'static str| [PRODUCTION, &["--set", values]].concat();
    assert_eq!(peers(PRODUCTION, 5432), Some(json!([any])), "the URL is in a Secret");
    let private = "networkPolicy.allowedPrivateCidrs={10.20.0.0/16}";
    let wanted = json!([any, network("10.20.0.0/16")]);
    assert_eq!(peers(&with(private), 5432), Some(wanted));
    let named = with(
        "networkPolicy.allowedPrivateCidrs={10.20.0.0/16},networkPolicy.database.ports={6432},\
         networkPolicy.database.cidrs={10.20.0.5/32},networkPolicy.database.namespaces={stores}",
    );
    let wanted = json!([network("10.20.0.5/32"), pods_of("stores")]);
    assert_eq!((peers(&named, 6432), peers(&named, 5432)), (Some(wanted), None));

    // Its address is not known, unless it is named.
    let any = Some(Value::Null);
    assert_eq!((peers(&[], 443), peers(&[], 6443)), (any.clone(), any));
    let named = [
        "--set",
        "networkPolicy.apiServer.cidrs={10.0.0.11/32},networkPolicy.apiServer.ports={6443}",
    ];
    for name in ["assay-operator", "assay-secrets"] {
        let policy = policies(name, &named);
        assert_eq!(peers_on(&policy, 6443), Some(json!([network("10.0.0.11/32")])), "{name}");
        assert_eq!(peers_on(&policy, 443), None, "{name}");
    }
    for rule in policies("assay-operator", EVERYTHING)["spec"]["egress"].as_array().unwrap() {
        let ports = rule["ports"].as_array().unwrap();
        assert!(!ports.is_empty() && rule["to"] != json!([]), "{rule}");
    }
}

#[test]
#[ignore = "needs Helm"]
fn the_operator_reaches_the_collector_by_its_address_or_its_namespace() {
    // Given the URL of a collector, when the chart is rendered, then the operator reaches the hosts that it may mean.
    let helm = Helm::find();
    let networks = [public_networks(), vec![network("10.20.0.0/16")]].concat();
    let with_networks = |peer: Value| [vec![peer], networks.clone()].concat();
    for (host, wanted) in [
        ("10.20.30.40", vec![network("10.20.30.40/32")]),
        ("[2001:db8::1]", vec![network("2001:db8::1/128")]),
        ("collector", vec![json!({"podSelector": {}}), network("10.20.0.0/16")]),
        ("collector.otel.svc", vec![pods_of("otel"), network("10.20.0.0/16")]),
        ("collector.otel.svc.cluster.local", vec![pods_of("otel"), network("10.20.0.0/16")]),
        ("collector.otel.svc.corp.example", with_networks(pods_of("otel"))),
        ("collector.otel", with_networks(pods_of("otel"))),
        ("otlp.corp.example", networks.clone()),
    ] {
        let url = format!(
            "telemetry.otlpEndpoint=http://{host}:4318,networkPolicy.allowedPrivateCidrs={{10.20.0.0/16}}"
        );
        let rendered = objects(&helm, &["--set", &url]);
        let policy = one(&rendered, "NetworkPolicy", "assay-operator");
        assert_eq!(peers_on(policy, 4318), Some(json!(wanted)), "{host}");
    }
    let nowhere =
        "telemetry.otlpEndpoint=http://otlp.corp.example:4318,networkPolicy.publicEgress=false";
    let rendered = objects(&helm, &["--set", nowhere]);
    let policy = one(&rendered, "NetworkPolicy", "assay-operator");
    assert_eq!(peers_on(policy, 4318), None, "no rule, for one without peers would allow all");
}

#[test]
#[ignore = "needs Helm"]
fn values_shape_the_pods_of_the_operator_and_of_the_api() {
    let helm = Helm::find();
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }]);
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}],
    }}});
    let env = json!([{"name": "ASSAY_LOG", "value": "debug"}]);
    let volumes = json!([{"name": "extra", "configMap": {"name": "extra"}}]);
    let mounts = json!([{"name": "extra", "mountPath": "/extra"}]);
    let operator = json!({
        "affinity": affinity, "topologySpreadConstraints": spread, "priorityClassName": "high",
        "podAnnotations": {"example.com/team": "risk"}, "podLabels": {"team": "risk"},
        "extraEnv": env, "volumes": volumes, "volumeMounts": mounts,
        "serviceAccount": {"annotations": {"example.com/role": "reader"}},
    });
    let pods = json!({
        "affinity": affinity, "priorityClassName": "high", "env": env, "volumes": volumes,
        "volumeMounts": mounts, "resources": {"requests": {"cpu": "1"}},
    });
    let values = [format!("operator={operator}"), format!("api.pods={pods}")];
    let values = ["--set-json", &values[0], "--set-json", &values[1]];
    let rendered = objects(&helm, &values);
    let template = &one(&rendered, "Deployment", "assay-operator")["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"], json!({"example.com/team": "risk"}));
    assert_eq!(template["metadata"]["labels"]["team"], "risk");
    let pod = &template["spec"];
    for (field, wanted) in [
        ("affinity", affinity),
        ("topologySpreadConstraints", spread),
        ("priorityClassName", json!("high")),
    ] {
        assert_eq!(pod[field], wanted, "{field}");
    }
    let container = &pod["containers"][0];
    for (list, wanted) in [
        (&container["env"], &env),
        (&container["volumeMounts"], &mounts),
        (&pod["volumes"], &volumes),
    ] {
        assert_eq!(list.as_array().unwrap().last(), wanted.as_array().unwrap().last());
    }
    let account = one(&rendered, "ServiceAccount", "assay-operator");
    assert_eq!(account["metadata"]["annotations"], json!({"example.com/role": "reader"}));
    assert_eq!(one(&rendered, "RiskService", "assay")["spec"]["pods"], pods);
}

#[test]
#[ignore = "needs Helm"]
fn values_name_and_label_all_objects_and_add_others() {
    let helm = Helm::find();
    let extra = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own-{{ .Release.Name }}"}},
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}",
    ]);
    let extra = format!("extraObjects={extra}");
    let set = "fullnameOverride=risk,commonLabels.team=risk,imagePullPolicy=Always,\
               metrics.podMonitor.enabled=true,imagePullSecrets[0].name=one,imagePullSecrets[1]=two";
    let rendered = objects(&helm, &["--set", set, "--set-json", &extra]);
    let own = |object: &&Value| object["metadata"]["labels"]["app.kubernetes.io/name"] == "assay";
    for object in rendered.iter().filter(own) {
        let metadata = &object["metadata"];
        assert_eq!(metadata["labels"]["team"], "risk", "{object}");
        let is_default = metadata["labels"]["app.kubernetes.io/component"] == "defaults";
        let name = metadata["name"].as_str().unwrap();
        assert!(is_default || name.starts_with("risk"), "{name}");
    }
    for (name, pod) in pods(&rendered) {
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always", "{name}");
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "one"}, {"name": "two"}]), "{name}");
    }
    let service = &one(&rendered, "RiskService", "risk")["spec"];
    assert_eq!(service["imagePullPolicy"], "Always");
    assert_eq!(service["imagePullSecrets"], json!(["one", "two"]));
    assert_eq!(service["databaseSecret"]["name"], "risk-evaluation");
    let arguments = &one(&rendered, "Deployment", "risk-operator")["spec"]["template"]["spec"];
    assert!(arguments["containers"][0]["args"].to_string().contains("--image-pull-policy=Always"));
    let texts = generated_texts(&rendered, "risk-evaluation", "word");
    assert_eq!(texts["redis-url"], "redis://default:word@risk-redis:6379");
    for name in ["own-assay", "text"] {
        let _ = one(&rendered, "ConfigMap", name);
    }
    let monitors = of_kind(&rendered, "PodMonitor");
    assert_eq!(monitors.len(), 3);
    let api = one(&rendered, "PodMonitor", "risk-api");
    assert_eq!(api["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"], "risk");
    let named = objects(&helm, &["--set", "nameOverride=risk"]);
    let _ = one(&named, "RiskService", "assay-risk");
}
