//! Tests that manifests give a directory, or every problem with its field.
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{
    directory::Tenant,
    manifest::{OnTokenStoreLoss, Per},
};

/// A stand-in for a risk policy: a number from 0 to 9. Each mandatory source adds ten to the number.
fn compile(spec: Value, mandatory: &[RequiredSource]) -> Result<u64, Vec<FieldProblem>> {
    match spec["level"].as_u64() {
        Some(level) if level < 10 => Ok(level + 10 * mandatory.len() as u64),
        _ => Err(vec![FieldProblem::invalid("level", "must be from 0 to 9")]),
    }
}

fn document(kind: &str, name: &str, spec: Value) -> Document {
    let content = json!({
        "apiVersion": "assay.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "labels": {"team": "risk"}}, "spec": spec,
    });
    Document { origin: format!("{kind}-{name}.yaml"), content }
}

fn plan() -> Document {
    let limits = json!([
        {"name": "burst", "requests": 10, "window": "1s", "counts": "requests", "ceiling": 50},
        {"name": "daily", "requests": 1000, "window": "24h", "counts": "checks"},
    ]);
    document(
        "Plan",
        "business",
        json!({"displayName": "Business", "apiAccess": true, "limits": limits}),
    )
}

fn policy() -> Document {
    document("RiskPolicy", "default", json!({"level": 3}))
}

fn tenant() -> Document {
    document(
        "Tenant",
        "acme",
        json!({"displayName": "Acme", "plan": "business", "policy": "default"}),
    )
}

fn limit(name: &str, spec: Value) -> Document {
    document("RateLimit", name, spec)
}

fn problems_of(documents: &[Document]) -> Vec<String> {
    match resolve(documents, compile) {
        Ok(_) => vec![],
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn resolved(documents: &[Document]) -> Directory<u64> {
    resolve(documents, compile).unwrap_or_else(|problems| panic!("{problems:?}")).directory
}

fn numbers(tenant: &Tenant<u64>, now: &str) -> Vec<u64> {
    let now: Timestamp = now.parse().unwrap();
    tenant.limits(now).iter().map(|limit| limit.requests).collect()
}

#[test]
fn manifests_become_tenants_with_plan_policy_and_limits() {
    let directory = resolved(&[tenant(), plan(), policy()]);
    let acme = &directory.tenants["acme"];
    assert_eq!((acme.plan.name.as_str(), *acme.policy), ("business", 3));
    assert_eq!(acme.plan.cache_lifetime.seconds(), 300);
    assert_eq!(numbers(acme, "2026-01-01T00:00:00Z"), [10, 1000]);
}

#[test]
fn a_limit_of_the_tenant_overrides_the_plan_and_a_temporary_one_a_permanent_one() {
    let directory = resolved(&[
        plan(),
        policy(),
        tenant(),
        limit(
            "all",
            json!({"target": {"plan": "business"}, "limits": [{"name": "burst", "requests": 20}]}),
        ),
        limit(
            "acme",
            json!({"target": {"tenant": "acme"}, "limits": [{"name": "burst", "requests": 30}]}),
        ),
        limit(
            "sale",
            json!({"target": {"tenant": "acme"}, "until": "2026-12-01T00:00:00Z", "limits": [{"name": "burst", "requests": 40}]}),
        ),
    ]);
    let acme = &directory.tenants["acme"];
    assert_eq!(numbers(acme, "2026-11-30T23:59:59Z"), [40, 1000]);
    assert_eq!(numbers(acme, "2026-12-01T00:00:00Z"), [30, 1000]);
}

#[test]
fn limits_are_per_tenant_with_a_fallback_of_a_tenth_by_default() {
    let directory = resolved(&[plan()]);
    let business = &directory.plans["business"];
    assert_eq!(business.limits[0].per, Per::Tenant);
    assert_eq!(
        (business.on_token_store_loss, business.fallback_share),
        (OnTokenStoreLoss::Fallback, 10)
    );
}

#[test]
fn a_plan_may_have_a_narrow_and_a_wide_limit_of_the_same_window() {
    let limits = json!([
        {"name": "key", "requests": 5, "window": "1s", "counts": "requests", "per": "key"},
        {"name": "tenant", "requests": 10, "window": "1s", "counts": "requests"},
        // Together the tenants of a plan may ask more in a second than one of them in a minute.
        {"name": "all", "requests": 100, "window": "1s", "counts": "requests", "per": "plan"},
        {"name": "minute", "requests": 60, "window": "1m", "counts": "requests"},
    ]);
    let spec = json!({"displayName": "P", "apiAccess": true, "limits": limits});
    assert_eq!(problems_of(&[document("Plan", "p", spec)]), Vec::<String>::new());
}

#[test]
fn every_problem_is_reported_at_once_with_its_manifest() {
    let broken_plan =
        document("Plan", "broken", json!({"displayName": "B", "apiAccess": true, "limits": []}));
    let orphan =
        document("Tenant", "orphan", json!({"displayName": "O", "plan": "gold", "policy": "none"}));
    let bad_policy = document("RiskPolicy", "wild", json!({"level": 11}));
    let unknown = Document {
        origin: "x.yaml".into(),
        content: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}),
    };
    assert_eq!(
        problems_of(&[orphan, plan(), bad_policy, broken_plan, unknown]),
        [
            "Tenant-orphan.yaml: Tenant orphan: spec.plan: there is no Plan `gold`",
            "Tenant-orphan.yaml: Tenant orphan: spec.policy: there is no RiskPolicy `none`",
            "RiskPolicy-wild.yaml: RiskPolicy wild: spec.level: must be from 0 to 9",
            "Plan-broken.yaml: Plan broken: spec.limits: a plan with API access needs at least one limit",
            "x.yaml: apiVersion: `v1` is unknown; expected `assay.dev/v1alpha1`",
        ]
    );
}

#[test]
fn every_rule_names_the_correct_value() {
    let planned = |spec: Value| vec![document("Plan", "p", spec)];
    let limited =
        |limits: Value| planned(json!({"displayName": "P", "apiAccess": true, "limits": limits}));
    let without_access = |field: &str, value: Value| {
        planned(json!({"displayName": "P", "apiAccess": false, "limits": [], field: value}))
    };
    let one = |name: &str, requests: u64, window: &str| json!({"name": name, "requests": requests, "window": window, "counts": "checks"});
    let with = |more: Document| vec![plan(), policy(), tenant(), more];
    let limit_of = |target: Value, limits: Value| {
        with(limit("r", json!({"target": target, "limits": limits})))
    };
    let raise = |requests: u64| {
        limit_of(json!({"tenant": "acme"}), json!([{"name": "burst", "requests": requests}]))
    };
    let per_key =
        json!({"name": "a", "requests": 9, "window": "1s", "counts": "checks", "per": "key"});
    let mut shared = per_key.clone();
    shared["per"] = json!("plan");
    let tenant_of_it = json!({"displayName": "One", "plan": "p", "policy": "default"});
    let raised = json!({"target": {"tenant": "one"}, "limits": [{"name": "a", "requests": 1}]});
    let beside =
        vec![policy(), document("Tenant", "one", tenant_of_it), document("RateLimit", "r", raised)];
    let cases = [
        (limited(json!([one("a", 0, "1s")])), "spec.limits[0].requests: 0 is not from 1 to"),
        (limited(json!([one("a", 1, "0s")])), "spec.limits[0].window: 0s is not from 1s to 31d"),
        (limited(json!([one("a", 1, "32d")])), "spec.limits[0].window: 32d is not from 1s to 31d"),
        (
            limited(json!([one("a", 1, "soon")])),
            "spec.limits[0].window: `soon` is not a length of time",
        ),
        (
            limited(json!([one("a", 1, "1s"), one("a", 2, "1m")])),
            "spec.limits[1].name: `a` is named twice",
        ),
        (
            limited(json!([one("a", 9, "1s"), one("b", 2, "1m")])),
            "spec.limits: `a` allows 9 in 1s, but `b` only 2 in 1m",
        ),
        (
            limited(json!([one("a", 9, "1m"), one("b", 9, "60s")])),
            "spec.limits: `a` and `b` count the same in the same window",
        ),
        (
            limited(json!([per_key, one("b", 8, "1s")])),
            "spec.limits: `a` allows 9 in 1s, but `b` only 8 in 1s",
        ),
        (
            limited(json!([one("A", 1, "1s")])),
            "spec.limits[0].name: a limit's name has 1 to 32 lowercase",
        ),
        (without_access("colour", json!(1)), "spec.colour: unknown field `colour`"),
        (
            without_access("fallbackShare", json!(51)),
            "spec.fallbackShare: 51 is not from 0 to 50 percent",
        ),
        (
            without_access("onTokenStoreLoss", json!("open")),
            "spec.onTokenStoreLoss: unknown variant `open`",
        ),
        (planned(json!({"apiAccess": true, "limits": []})), "spec: missing field `displayName`"),
        (vec![document("Plan", "P!", json!({}))], "metadata.name: `P!` is not a name"),
        (
            vec![document("Plans", "p", json!({}))],
            "kind: `Plans` is unknown; expected one of Plan, IntelSource, ChainSource, RiskPolicy, Tenant, RateLimit",
        ),
        (
            [limited(json!([shared])), beside].concat(),
            "spec.limits[0].name: `a` counts all tenants of plan `p` together: set it for the plan",
        ),
        (raise(51), "spec.limits[0].requests: 51 is above the ceiling of plan `business` (50)"),
        (raise(0), "spec.limits[0].requests: 0 is not from 1 to"),
        (
            limit_of(json!({"tenant": "nobody"}), json!([])),
            "spec.target.tenant: there is no tenant `nobody`",
        ),
        (limit_of(json!({"plan": "gold"}), json!([])), "spec.target.plan: there is no plan `gold`"),
        (
            limit_of(json!({"tenant": "acme"}), json!([{"name": "hourly", "requests": 1}])),
            "spec.limits[0].name: plan `business` has no limit `hourly`",
        ),
        (with(tenant()), "metadata.name: also defined in Tenant-acme.yaml"),
    ];
    for (documents, expected) in cases {
        let complaints = problems_of(&documents);
        assert!(
            complaints.iter().any(|complaint| complaint.contains(expected)),
            "{expected}: {complaints:?}"
        );
    }
    let mut twice = raise(20);
    twice.push(limit(
        "s",
        json!({"target": {"tenant": "acme"}, "limits": [{"name": "burst", "requests": 30}]}),
    ));
    assert_eq!(
        problems_of(&twice),
        [
            "RateLimit-s.yaml: RateLimit s: spec.limits[0].name: `burst` is set twice for the same target, also by RateLimit r (RateLimit-r.yaml)"
        ]
    );
}

fn feed(name: &str, more: Value) -> Document {
    let mut spec = json!({
        "location": "https://example.org/list.xml", "format": "ofac-advanced",
        "schedule": "17 */6 * * *", "lists": ["ofac-sdn"],
    });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    document("IntelSource", name, spec)
}

#[test]
fn a_mandatory_source_applies_to_every_policy() {
    let labels = json!({"format": "tagpack", "mandatory": true});
    let documents = [
        feed("sdn", json!({"mandatory": true})),
        feed("tags", labels),
        feed("more", json!({})),
        policy(),
    ];
    let directory = resolved(&documents);
    assert_eq!(*directory.policies[&"default".parse::<Name>().unwrap()], 23);
    assert_eq!(directory.feeds.len(), 3);
}

#[test]
fn errors_of_an_intel_source_are_named() {
    let wrong = feed(
        "sdn",
        json!({
            "location": "ftp://example.org/x", "schedule": "hourly", "maximumAge": "1m",
            "acceptDigest": "abc", "mandatory": true, "lists": [],
        }),
    );
    let complaints = problems_of(&[wrong]).join("\n");
    for part in [
        "IntelSource sdn: spec.location: only http and https URLs, and files, can be fetched",
        "spec.schedule: `hourly` has not the five fields of a crontab line",
        "spec.maximumAge: 1m is not from 1h to 90d",
        "spec.acceptDigest: a SHA-256 digest has 64 hexadecimal digits",
        "spec.lists: name the lists that are mandatory",
    ] {
        assert!(complaints.contains(part), "{part}: {complaints}");
    }
    let spec = json!({"location": "prices.csv", "format": "prices-csv", "mandatory": true});
    let complaints = problems_of(&[feed("prices", spec)]);
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].contains("spec.mandatory: prices cannot be mandatory"), "{complaints:?}");
    let secret = feed(
        "sdn",
        json!({
            "location": "https://user:hush@example.org/x?a=b@c", "credentialsFile": "token",
            "credentialsSecret": {"name": "list", "key": "token"},
        }),
    );
    let complaints = self::problems_of(&[secret]);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].contains("name it in credentialsFile"), "{complaints:?}");
    assert!(complaints[1].contains("spec.credentialsSecret: "), "{complaints:?}");
    assert!(!complaints.join("").contains("hush"), "{complaints:?}");
    let plain = feed("sdn", json!({"location": "https://example.org/x?mail=a@b"}));
    assert_eq!(self::problems_of(&[plain]), Vec::<String>::new());
}

#[test]
fn given_a_chain_source_then_its_chain_has_one_or_every_problem_is_named() {
    let source = |name: &str, spec: Value| document("ChainSource", name, spec);
    let good = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://127.0.0.1:8332",
        "credentialsFile": "/run/secrets/node", "startHeight": 800_000,
    });
    let resolved = resolve(&[source("node", good.clone())], compile).unwrap();
    let feed = &resolved.directory.chains["btc"];
    assert_eq!((feed.name.as_str(), feed.spec.start_height), ("node", 800_000));
    assert_eq!(feed.spec.fetch_timeout.seconds(), 2);

    let wrong = json!({
        "chain": "BTC", "mode": "on_demand", "protocol": "rpc", "fetchTimeout": "5m",
        "endpoint": "https://user:secret@node.example", "startHeight": 1, "acceptBranch": "12",
    });
    let complaints = problems_of(&[source("wrong", wrong)]);
    let fields = ["chain", "endpoint", "protocol", "startHeight", "acceptBranch", "fetchTimeout"];
    assert_eq!(complaints.len(), fields.len(), "{complaints:?}");
    for (complaint, field) in complaints.iter().zip(fields) {
        assert!(complaint.contains(&format!("spec.{field}")), "{complaint}");
        assert!(!complaint.contains("secret"), "{complaint}");
    }
    let twice = self::problems_of(&[source("one", good.clone()), source("two", good.clone())]);
    assert_eq!(twice.len(), 1);
    assert!(twice[0].contains("read by ChainSource one already"), "{twice:?}");
}

#[test]
fn given_files_of_transfers_then_their_folder_and_claim_are_checked() {
    let source = |more: Value| {
        let mut spec = json!({
            "chain": "arbitrum-nova", "mode": "follow", "protocol": "transfers",
            "endpoint": "file:///transfers/nova", "filesClaim": "files",
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        document("ChainSource", "files", spec)
    };
    let resolved = resolve(&[source(json!({}))], compile).unwrap();
    let spec = &resolved.directory.chains["arbitrum-nova"].spec;
    assert_eq!(spec.files_folder().unwrap().to_str(), Some("/transfers/nova"));
    let elsewhere = json!({"endpoint": "file:///data/nova", "filesClaim": null});
    assert_eq!(problems_of(&[source(elsewhere)]), Vec::<String>::new());
    for (wrong, said) in [
        (json!({"chain": "arbitrum--nova"}), "spec.chain: `arbitrum--nova` is no chain's"),
        (json!({"chain": "-nova"}), "spec.chain: `-nova` is no chain's"),
        (json!({"endpoint": "http://node"}), "spec.endpoint: write the folder of the files"),
        (json!({"endpoint": "file://transfers"}), "spec.endpoint: write the folder of the files"),
        (json!({"endpoint": "file:///"}), "spec.endpoint: write the folder of the files"),
        (json!({"endpoint": "file:///transfers/../etc"}), "spec.endpoint: write the folder"),
        (json!({"endpoint": "file:///transfersx"}), "spec.endpoint: the claim of the files is"),
        (json!({"filesClaim": "Files"}), "spec.filesClaim: use lowercase letters"),
        (json!({"mode": "on_demand"}), "spec.mode: files of transfers are recorded as they come"),
        (json!({"startHeight": 1}), "spec.startHeight: files of transfers begin with their own"),
        (json!({"credentialsFile": "/a"}), "spec.credentialsSecret: files of transfers need no"),
        (json!({"acceptBranch": "ab".repeat(32)}), "spec.acceptBranch: files of transfers have no"),
        (
            json!({"protocol": "rpc", "endpoint": "http://node"}),
            "spec.filesClaim: a claim holds files of transfers",
        ),
    ] {
        let problems = problems_of(&[source(wrong.clone())]);
        assert_eq!(problems.len(), 1, "{wrong}: {problems:?}");
        assert!(problems[0].contains(said), "{wrong}: {problems:?}");
    }
}

#[test]
fn given_chain_servers_then_their_volumes_and_pods_are_checked() {
    let with = |more: Value| {
        let mut spec = json!({
            "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        document("ChainSource", "node", spec)
    };
    let resolved = resolve(&[with(json!({}))], compile).unwrap();
    let spec = &resolved.directory.chains["btc"].spec;
    assert_eq!((spec.replicas, &*spec.volume.size.to_string()), (1, "20Gi"));
    let pods = json!({
        "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "8Gi"}},
        "nodeSelector": {"disk": "nvme"},
        "tolerations": [{"key": "chains", "effect": "NoSchedule"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname"},
        ]}},
        "env": [{"name": "ASSAY_LOG", "value": "debug"}],
        "volumes": [{"name": "extra", "emptyDir": {"sizeLimit": "1Gi"}}],
        "volumeMounts": [{"name": "extra", "mountPath": "/extra"}],
    });
    let full = json!({"replicas": 16, "volume": {"size": "600Gi", "storageClass": "fast.v2"}, "pods": pods});
    assert_eq!(problems_of(&[with(full)]), Vec::<String>::new());
    for (wrong, said) in [
        (json!({"replicas": 0}), "spec.replicas: 0 is not from 1 to 16"),
        (json!({"replicas": 17}), "spec.replicas: 17 is not from 1 to 16"),
        (json!({"volume": {"size": "900Mi"}}), "spec.volume.size: must be at least 1Gi"),
        (json!({"volume": {"size": "much"}}), "spec.volume.size: `much` is no quantity"),
        (json!({"volume": {"storageClass": "fast."}}), "spec.volume.storageClass: use "),
        (json!({"volume": {"sise": "1Gi"}}), "unknown field `sise`"),
        (
            json!({"pods": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}}}),
            "spec.pods.resources.limits: must not be smaller than the requests",
        ),
        (json!({"pods": {"tolerations": [{"key": "a", "effect": "Never"}]}}), "`Never`"),
    ] {
        let complaints = problems_of(&[with(wrong)]);
        assert!(complaints.len() == 1 && complaints[0].contains(said), "{complaints:?}");
    }
}

#[test]
fn given_pods_then_parts_of_the_operator_and_of_the_node_are_refused() {
    let with = |pods: Value| {
        let spec = json!({
            "location": "https://lists.example/own.csv", "format": "listings-csv",
            "schedule": "0 * * * *", "pods": pods,
        });
        document("IntelSource", "own", spec)
    };
    let mount = |path: &str| {
        json!({
            "volumes": [{"name": "extra", "emptyDir": {}}],
            "volumeMounts": [{"name": "extra", "mountPath": path}],
        })
    };
    assert_eq!(problems_of(&[with(mount("/etc/assay-extra"))]), Vec::<String>::new());
    for (wrong, said) in [
        (json!({"hostNetwork": true}), "unknown field `hostNetwork`"),
        (json!({"securityContext": {}}), "unknown field `securityContext`"),
        (
            json!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}),
            "unknown field `hostPath`",
        ),
        (json!({"volumes": [{"name": "a"}]}), "spec.pods.volumes[0]: name one of configMap, "),
        (
            json!({"volumes": [{"name": "database", "emptyDir": {}}]}),
            "spec.pods.volumes[0].name: is the name of a volume of the operator",
        ),
        (
            json!({"volumes": [{"name": "histories-eth", "emptyDir": {}}]}),
            "spec.pods.volumes[0].name: is the name of a volume of the operator",
        ),
        (
            json!({"volumeMounts": [{"name": "a", "mountPath": "/a"}]}),
            "spec.pods.volumeMounts[0].name: is no volume of `volumes`",
        ),
        (mount("/run"), "spec.pods.volumeMounts[0].mountPath: write an absolute path"),
        (mount("/etc/assay/x"), "spec.pods.volumeMounts[0].mountPath: write an absolute path"),
        (mount("/extra/../tmp"), "spec.pods.volumeMounts[0].mountPath: write an absolute path"),
        (mount("extra"), "spec.pods.volumeMounts[0].mountPath: write an absolute path"),
        (mount("/usr/bin"), "spec.pods.volumeMounts[0].mountPath: write an absolute path"),
        (
            mount("/etc/ld.so.preload"),
            "spec.pods.volumeMounts[0].mountPath: write an absolute path",
        ),
        (
            json!({"env": [{"name": "ASSAY_DATABASE_URL", "value": "a"}]}),
            "spec.pods.env[0].name: the operator sets the settings of programs",
        ),
        (
            json!({"env": [{"name": "LD_PRELOAD", "value": "a"}]}),
            "spec.pods.env[0].name: the operator sets the settings of programs",
        ),
        (
            json!({"env": [{"name": "ALL_PROXY", "value": "a"}]}),
            "spec.pods.env[0].name: the operator sets the settings of programs",
        ),
        (
            json!({"env": [{"name": "PGSSLMODE", "value": "disable"}]}),
            "spec.pods.env[0].name: the operator sets the settings of programs",
        ),
        (json!({"env": [{"name": "A"}]}), "spec.pods.env[0]: give a value or valueFrom"),
        (
            json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
            "spec.pods.env[1].name: is the name of another variable too",
        ),
        (
            json!({"env": [{"name": "A", "valueFrom": {}}]}),
            "spec.pods.env[0].valueFrom: name one of configMapKeyRef, ",
        ),
        (
            json!({"envFrom": [{"prefix": "A_"}]}),
            "spec.pods.envFrom[0]: name either a configMapRef",
        ),
        // A key named `LD_PRELOAD`, `PRELOAD` or `SSAY_LOG` would be a refused variable.
        (
            json!({"envFrom": [{"configMapRef": {"name": "a"}}]}),
            "spec.pods.envFrom[0].prefix: give a prefix with which no name of a setting, ",
        ),
        (
            json!({"envFrom": [{"prefix": "LD_", "configMapRef": {"name": "a"}}]}),
            "spec.pods.envFrom[0].prefix: give a prefix with which no name of a setting, ",
        ),
        (
            json!({"envFrom": [{"prefix": "A", "configMapRef": {"name": "a"}}]}),
            "spec.pods.envFrom[0].prefix: give a prefix with which no name of a setting, ",
        ),
        (
            json!({"annotations": {"assay.dev/settings": "a"}}),
            "spec.pods.annotations: annotations of `assay.dev/`",
        ),
        (
            json!({"tolerations": vec![json!({"key": "a"}); 17]}),
            "spec.pods.tolerations: has more than 16 entries",
        ),
    ] {
        let complaints = problems_of(&[with(wrong)]);
        assert!(complaints.len() == 1 && complaints[0].contains(said), "{said}: {complaints:?}");
    }
}

#[test]
fn given_labels_of_pods_or_folders_of_programs_then_the_refusal_says_which_are_free() {
    let with = |pods: Value| {
        let spec = json!({
            "location": "https://lists.example/own.csv", "format": "listings-csv",
            "schedule": "0 * * * *", "pods": pods,
        });
        document("IntelSource", "own", spec)
    };
    let labels = json!({"labels": {"team": "risk", "example.com/costs": "1.2"}});
    assert_eq!(problems_of(&[with(labels)]), Vec::<String>::new());
    let mount = json!({
        "volumes": [{"name": "extra", "emptyDir": {}}],
        "volumeMounts": [{"name": "extra", "mountPath": "/usr"}],
    });
    for (wrong, said) in [
        (
            json!({"labels": {"app.kubernetes.io/name": "web"}}),
            "spec.pods.labels: labels by which the operator and Kubernetes find pods",
        ),
        (json!({"labels": {"team": "a b"}}), "spec.pods.labels: write names such as `team`"),
        (mount, "a folder of Assay, of programs or of certificates: /bin, /etc/assay, "),
    ] {
        let complaints = problems_of(&[with(wrong)]);
        assert!(complaints.len() == 1 && complaints[0].contains(said), "{said}: {complaints:?}");
    }
}
