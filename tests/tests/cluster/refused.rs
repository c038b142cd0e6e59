//! Objects that the API server refuses by the definitions' rules, each with a message that describes a valid value, and
//! objects that it accepts.

use assay_address::{ChainId, LedgerKind};
use assay_tests::Cluster;
use serde_json::{Value, json};

use crate::cluster;

/// A rule: a kind, a valid spec, an invalid one, and the message.
type Rule = (&'static str, Value, Value, &'static str);

/// Parses the rules of a kind from a table: a valid and an invalid value, from which `make` builds specs, and the
/// message.
fn rules(kind: &'static str, make: impl Fn(Value) -> Value, table: &'static str) -> Vec<Rule> {
    let spec = |line: &str| make(serde_json::from_str(line).unwrap());
    let rules = table.trim().split("\n\n").map(|rule| {
        let lines: Vec<&str> = rule.lines().collect();
        let [right, wrong, message] = lines.try_into().unwrap();
        (kind, spec(right), spec(wrong), message)
    });
    rules.collect()
}

/// Merges `change` into `base`.
fn with_change(base: &Value, change: Value) -> Value {
    let mut spec = base.clone();
    for (name, value) in change.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

const PLAN: &str = r#"
{"apiAccess": false, "limits": []}
{"limits": []}
a plan with API access needs at least one limit

{"cacheLifetime": "24h"}
{"cacheLifetime": "25h"}
must be from 0s to 1d

{"cacheLifetime": "0s"}
{"cacheLifetime": "5 min"}
write a whole number of at most nine digits and s, m, h or d, such as 30s or 24h

{"retention": {"usage": "3660d"}}
{"retention": {"usage": "3661d"}}
must be from 0s to 3660d

{"fallbackShare": 50}
{"fallbackShare": 51}
should be less than or equal to 50
"#;

const LIMIT: &str = r#"
{"window": "31d"}
{"window": "32d"}
must be from 1s to 31d

{"ceiling": 5}
{"ceiling": 4}
must be at least `requests`

{"name": "per-day-2"}
{"name": "Daily"}
a limit's name has 1 to 32 lowercase letters, digits and hyphens

{"counts": "requests"}
{"counts": "answers"}
supported values: "requests", "checks"
"#;

const TENANT: &str = r#"
{"plan": "plan-2"}
{"plan": "Plan 2"}
use 1 to 63 lowercase letters, digits and hyphens, with a letter or digit first and last
"#;

const TARGET: &str = r#"
{"plan": "p"}
{}
name either a plan or a tenant

{"tenant": "t"}
{"plan": "p", "tenant": "t"}
name either a plan or a tenant
"#;

const KEY: &str = r#"
{"tenant": "t", "rotation": {"every": "90d", "overlap": "1d"}}
{"tenant": "t", "rotation": {"every": "24h", "overlap": "1d"}}
must be from 1h to 3660d and longer than the overlap

{"tenant": "t", "scopes": ["check", "admin:read"]}
{"tenant": "t", "scopes": ["write"]}
supported values: "check", "screen", "usage", "admin:read"
"#;

const POLICY: &str = r#"
{"rules": [{"id": "own", "description": "Own rule", "categories": ["mixer"]}]}
{"rules": [{"id": "a", "enabled": false}, {"id": "a", "enabled": false}]}
Duplicate value

{"lists": {"ofac-sdn": "blocking", "il-nbctf": "advisory"}}
{"lists": {"ofac-sdn": "advisory"}}
OFAC SDN, UK, EU and UN are blocking and cannot be weakened

{"severities": {"mixer": 90}}
{"severities": {"mixers": 90}}
names no category; `GET /api/v1/signals` lists them

{"severities": {"mixer": 100}}
{"severities": {"mixer": 101}}
should be less than or equal to 100

{"mandatorySources": [{"name": "ofac-sdn"}]}
{"mandatorySources": []}
should have at least 1 items

{"rules": [{"id": "own", "description": "Own rule", "anyOf": [{"severityFrom": 90}]}]}
{"rules": [{"id": "own", "description": "Own rule", "anyOf": [{"direct": true}]}]}
selects no funds: name `categories`
"#;

const THRESHOLDS: &str = r#"
{"high": 50.5}
{"high": 25}
must be above medium: thresholds rise strictly

{"severe": 60}
{"severe": 50}
must be above high: thresholds rise strictly

{"block": 90}
{"block": 90.1}
must be at most 90.0, which the same key as a listed address scores

{"medium": 33.3}
{"medium": 33.33}
has at most one decimal

{"medium": 0.1}
{"medium": 0}
must be above zero: thresholds rise strictly

{"review": 74.9}
{"review": 75}
must be above review: thresholds rise strictly
"#;

const TIER_CAPS: &str = r#"
{"community": 74}
{"community": 75}
must be below the block threshold: such evidence never blocks

{"heuristic": 69.9}
{"heuristic": 70}
must not exceed that of community, which is stronger evidence

{"behavior": 10}
{"behavior": 50}
must be below the review threshold: behaviour alone never reaches review
"#;

const CURVE: &str = r#"
[{"amount": "0.1", "score": 25}, {"amount": 1, "score": 50}]
[{"amount": 1, "score": 25}, {"amount": "0.1", "score": 50}]
amounts rise strictly from point to point

[{"amount": 1, "score": 25}]
[{"amount": 1, "score": 25}, {"amount": 2, "score": 25}]
scores rise strictly from point to point

[{"amount": "2.5", "score": 25}]
[{"amount": "2,5", "score": 25}]
write digits with at most eight decimals, such as 1000 or "0.01"
"#;

const MINIMUM_SCORE_RULE: &str = r#"
{"shareFrom": "2.5%"}
{"shareFrom": "0%"}
write a percentage above 0% and up to 100%, such as 10% or 2.5%

{}
{"categories": ["mixers"]}
Unsupported value: "mixers"

{"hopsUpTo": 2}
{"hopsUpTo": 2, "direct": true}
contradicts `hopsUpTo`: use one of both

{"id": "own_rule_2"}
{"id": "Own"}
an id has 1 to 63 lowercase letters, digits and underscores, a letter first

{"id": "direct_mixing", "enabled": false}
{"id": "cluster_listed"}
is the id of a rule that every policy has: choose another

{"anyOf": [{"direct": true}, {"shareFrom": "10%"}]}
{"shareFrom": "10%", "anyOf": [{"shareFrom": "20%"}]}
repeats or contradicts a condition of the rule

{"anyOf": [{"direct": true}]}
{"anyOf": [{}]}
a group needs a condition

{"verdict": "block", "tierFrom": "investigation"}
{"verdict": "block", "tierFrom": "community"}
`block` needs evidence of the tier `investigation` or stronger

{"description": "x"}
{"description": ""}
needs a sentence: answers give it as the reason
"#;

const INTEL_SOURCE: &str = r#"
{"location": "/lists/own.csv"}
{"location": "ftp://example.org/list"}
only http and https URLs, and files, can be fetched

{"location": "https://[2001:db8::1]:8443/list"}
{"location": "https:///list"}
write it with a host

{"location": "https://example.org/list?mail=a@b"}
{"location": "https://user:hush@example.org/list"}
must not hold a password

{"credentialsSecret": {"name": "list", "key": "token"}}
{"credentialsSecret": {"name": "list", "key": "token"}, "credentialsFile": "token"}
the credentials are in credentialsFile already

{"schedule": " 0 4 * * MON "}
{"schedule": "hourly"}
write the five fields of a crontab line, such as 17 */6 * * *

{"acceptDigest": "abababababababababababababababababababababababababababababababab"}
{"acceptDigest": "ab"}
a SHA-256 digest has 64 hexadecimal digits

{"mandatory": true, "lists": ["ofac-sdn"]}
{"mandatory": true}
name the lists that are mandatory, such as `ofac-sdn`

{"format": "prices-csv"}
{"format": "prices-csv", "mandatory": true}
prices cannot be mandatory

{"maximumAge": "1h"}
{"maximumAge": "59m"}
must be from 1h to 90d
"#;

const CHAIN_SOURCE: &str = r#"
{}
{"chain": "BTC!"}
write a chain's identifier, such as btc

{"chain": "polygon-zkevm", "protocol": "transfers", "endpoint": "file:///transfers/zkevm"}
{"chain": "polygon-"}
write a chain's identifier, such as btc

{"protocol": "transfers", "endpoint": "file:///data/transfers"}
{"protocol": "transfers", "endpoint": "/data/transfers"}
write the folder of the files of transfers, such as file:///transfers/eth

{"protocol": "transfers", "endpoint": "file:///data/transfers..old"}
{"protocol": "transfers", "endpoint": "file:///data/../transfers"}
write the folder of the files of transfers, such as file:///transfers/eth

{"protocol": "transfers", "endpoint": "file:///transfers", "filesClaim": "eth.files"}
{"protocol": "transfers", "endpoint": "file:///data/transfers", "filesClaim": "eth.files"}
the claim of the files is mounted at /transfers

{"protocol": "transfers", "endpoint": "file:///transfers/eth", "filesClaim": "files"}
{"filesClaim": "files"}
a claim holds files of transfers: write protocol `transfers`

{"protocol": "transfers", "endpoint": "file:///transfers/eth", "filesClaim": "files"}
{"protocol": "transfers", "endpoint": "file:///transfers/eth", "filesClaim": "Files"}
use lowercase letters, digits, hyphens and dots

{"protocol": "transfers", "endpoint": "file:///transfers"}
{"protocol": "transfers", "endpoint": "file:///transfers", "mode": "on_demand"}
files of transfers are recorded as they come

{"protocol": "transfers", "endpoint": "file:///transfers"}
{"protocol": "transfers", "endpoint": "file:///transfers", "startHeight": 7}
files of transfers begin with their own first block

{"protocol": "transfers", "endpoint": "file:///transfers"}
{"protocol": "transfers", "endpoint": "file:///transfers", "credentialsFile": "/cookie"}
files of transfers need no credentials

{"acceptBranch": "abababababababababababababababababababababababababababababababab"}
{"protocol": "transfers", "endpoint": "file:///transfers", "acceptBranch": "abababababababababababababababababababababababababababababababab"}
files of transfers have no branches

{}
{"endpoint": "node:8332"}
write an http or https URL

{"endpoint": "http://[::1]:8332"}
{"endpoint": "http://"}
write it with a host

{"endpoint": "http://node/a@b"}
{"endpoint": "http://user:word@node"}
must not hold a password

{"mode": "on_demand", "protocol": "esplora"}
{"mode": "on_demand"}
on_demand needs `esplora`

{"mode": "on_demand", "protocol": "etherscan"}
{"protocol": "etherscan"}
write mode `on_demand`

{"chain": "trx", "mode": "on_demand", "protocol": "trongrid"}
{"mode": "on_demand", "protocol": "trongrid"}
TronGrid has TRON only

{"startHeight": 7}
{"mode": "on_demand", "protocol": "esplora", "startHeight": 7}
histories fetched on demand begin with an address's first transaction

{"credentialsSecret": {"name": "node", "key": "cookie"}}
{"credentialsSecret": {"name": "node"}, "credentialsFile": "/cookie"}
the credentials are in credentialsFile already

{"replicas": 16}
{"replicas": 17}
should be less than or equal to 16

{"volume": {"size": "2Ti", "storageClass": "fast.v2"}}
{"volume": {"size": "1.5Ti"}}
write a whole number of at most nine digits and a unit

{"volume": {"size": "1Gi"}}
{"volume": {"size": "1023Mi"}}
must be at least 1Gi

{"volume": {"storageClass": "a"}}
{"volume": {"storageClass": "A"}}
use lowercase letters, digits, hyphens and dots

{"pods": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2000m"}}}}
{"pods": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}}
must not be smaller than the request

{"pods": {"tolerations": [{"key": "a", "effect": "NoExecute"}]}}
{"pods": {"tolerations": [{"key": "a", "effect": "Never"}]}}
Unsupported value: "Never"

{"pods": {"volumes": [{"name": "a", "emptyDir": {}}]}}
{"pods": {"volumes": [{"name": "data", "emptyDir": {}}]}}
is the name of a volume of the operator

{"pods": {"volumes": [{"name": "a", "emptyDir": {}}]}}
{"pods": {"volumes": [{"name": "a"}]}}
name one of configMap, secret, emptyDir and persistentVolumeClaim

{"pods": {"env": [{"name": "ASSAY_LOG", "value": "debug"}]}}
{"pods": {"env": [{"name": "ASSAY_DATA_DIR", "value": "a"}]}}
of theirs, only ASSAY_LOG is allowed

{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/etc/assay-2"}]}}
{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/etc"}]}}
that neither holds nor is in a folder of Assay, of programs or of certificates

{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/srv"}]}}
{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/usr"}]}}
of Assay, of programs or of certificates: /bin

{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/extra"}]}}
{"pods": {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/etc/ld.so.preload"}]}}
that neither holds nor is in a folder of Assay, of programs or of certificates

{"pods": {"envFrom": [{"prefix": "EXTRA_", "secretRef": {"name": "a"}}]}}
{"pods": {"envFrom": [{"secretRef": {"name": "a"}}]}}
give a prefix with which no name of a setting, proxy or loader begins

{"pods": {"envFrom": [{"prefix": "EXTRA_", "secretRef": {"name": "a"}}]}}
{"pods": {"envFrom": [{"prefix": "LD_PRE", "secretRef": {"name": "a"}}]}}
give a prefix with which no name of a setting, proxy or loader begins

{"pods": {"labels": {"team": "risk", "example.com/a": "b"}}}
{"pods": {"labels": {"team": "risk", "app.kubernetes.io/name": "web"}}}
labels by which the operator and Kubernetes find pods

{"pods": {"annotations": {"example.com/a": "b"}}}
{"pods": {"annotations": {"assay.dev/settings": "b"}}}
annotations of `assay.dev/`

{"fetchTimeout": "60s"}
{"fetchTimeout": "61s"}
must be from 1s to 1m
"#;

const SERVICE: &str = r#"
{"scaling": {"minReplicas": 3, "maxReplicas": 3}}
{"scaling": {"minReplicas": 4, "maxReplicas": 3}}
must not exceed maxReplicas

{"connections": {"proxyProtocol": true, "trustedProxies": ["10.0.0.0/8"]}}
{"connections": {"proxyProtocol": true}}
needs trustedProxies

{"exposure": {"host": "risk.example", "httpRoute": {"gateway": "public"}}}
{"exposure": {"host": "risk.example", "httpRoute": {"gateway": "public"}, "ingress": {}}}
name either an httpRoute or an ingress

{"console": {"issuer": "https://id.example", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "role": "viewer"}]}}
{"console": {"issuer": "https://id.example", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "tenantClaim": "org", "role": "viewer"}]}}
name either a tenant or a tenantClaim

{"console": {"issuer": "https://id.example/realms/staff", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "role": "analyst"}]}}
{"console": {"issuer": "http://id.example", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "role": "analyst"}]}}
should match '^https://

{"console": {"issuer": "https://id.example", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "role": "admin"}]}}
{"console": {"issuer": "https://id.example", "clientId": "a", "roleMapping": [{"claim": "groups", "value": "a", "tenant": "acme", "role": "root"}]}}
Unsupported value: "root"

{"egress": {"httpsProxy": "http://proxy.example:3128"}}
{"egress": {"httpsProxy": "proxy.example:3128"}}
write it as http://HOST:PORT

{"egress": {"httpProxy": "http://proxy.example:3128"}}
{"egress": {"httpProxy": "socks5://proxy.example"}}
write it as http://HOST:PORT

{"egress": {"caBundle": {"secret": "authorities"}}}
{"egress": {"caBundle": {"key": "ca.crt"}}}
name either a configMap or a secret

{"telemetry": {"otlpEndpoint": "http://collector.otel:4318"}}
{"telemetry": {"otlpEndpoint": "collector.otel:4318"}}
write it as http://HOST:PORT, without a password
"#;

fn all_rules() -> Vec<Rule> {
    let limit = json!({"name": "daily", "requests": 5, "window": "1d", "counts": "checks"});
    let plan = json!({"displayName": "P", "apiAccess": true, "limits": [limit]});
    let plan_with = |change| with_change(&plan, change);
    let tenant = json!({"displayName": "T", "plan": "p", "policy": "q"});
    let numbers = json!([{"name": "daily", "requests": 5}]);
    let rule = json!({"id": "own", "description": "Own rule", "categories": ["mixer"]});
    let amounts =
        |curve: Value| json!({"amounts": {"EUR": {"curve": curve, "unsolicitedUpTo": 1}}});
    let intel = json!({
        "location": "https://example.org/list.xml", "format": "ofac-advanced",
        "schedule": "17 */6 * * *",
    });
    let chain = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
    });
    let service = json!({"image": "assay:1", "databaseSecret": {"name": "database"}});
    let all = [
        rules("Plan", plan_with, PLAN),
        rules("Plan", |change| plan_with(json!({"limits": [with_change(&limit, change)]})), LIMIT),
        rules("Tenant", |change| with_change(&tenant, change), TENANT),
        rules("RateLimit", |target| json!({"target": target, "limits": numbers}), TARGET),
        rules("ApiKey", |spec| spec, KEY),
        rules("RiskPolicy", |spec| spec, POLICY),
        rules("RiskPolicy", |change| json!({"thresholds": change}), THRESHOLDS),
        rules("RiskPolicy", |change| json!({"tierCaps": change}), TIER_CAPS),
        rules("RiskPolicy", amounts, CURVE),
        rules(
            "RiskPolicy",
            |change| json!({"rules": [with_change(&rule, change)]}),
            MINIMUM_SCORE_RULE,
        ),
        rules("IntelSource", |change| with_change(&intel, change), INTEL_SOURCE),
        rules("ChainSource", |change| with_change(&chain, change), CHAIN_SOURCE),
        rules("RiskService", |change| with_change(&service, change), SERVICE),
    ];
    all.concat()
}

fn document(kind: &str, spec: &Value) -> String {
    let frame = json!({
        "apiVersion": "assay.dev/v1alpha1", "kind": kind, "metadata": {"name": "rule"}, "spec": spec,
    });
    frame.to_string()
}

/// Response of the API server to a dry run with an object.
fn ask(cluster: &Cluster, kind: &str, spec: &Value) -> (i32, String) {
    let asked = cluster.try_create_dry(&document(kind, spec));
    (asked.code, asked.stderr)
}

#[test]
#[ignore = "needs Kubernetes"]
fn every_rule_accepts_valid_objects_and_names_the_correct_value() {
    let cluster = cluster();
    let mut surprises = Vec::new();
    for (kind, right, wrong, sentence) in all_rules() {
        let (code, said) = ask(&cluster, kind, &right);
        if code != 0 {
            surprises.push(format!("{kind} {right} was refused: {said}"));
        }
        let (code, said) = ask(&cluster, kind, &wrong);
        if code == 0 || !said.contains(sentence) {
            surprises.push(format!("{kind} {wrong}, wanted `{sentence}`: {said}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
#[ignore = "needs Kubernetes"]
fn every_chain_with_a_graph_may_have_a_source() {
    let cluster = cluster();
    for chain in ChainId::all().filter(|chain| chain.info().has_graph()) {
        let is_of_accounts = chain.info().ledger == LedgerKind::Account;
        let (protocol, endpoint) = if is_of_accounts {
            ("transfers", "file:///transfers")
        } else {
            ("rpc", "http://node:8332")
        };
        let spec = json!({
            "chain": chain.info().id, "mode": "follow", "protocol": protocol, "endpoint": endpoint,
        });
        let (code, said) = ask(&cluster, "ChainSource", &spec);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn immutable_fields_name_the_alternative() {
    let cluster = cluster();
    let chain = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
    });
    let key = json!({"tenant": "a"});
    for (kind, before, after, sentence) in [
        (
            "ChainSource",
            chain.clone(),
            with_change(&chain, json!({"chain": "ltc"})),
            "a source stays with its chain",
        ),
        (
            "ChainSource",
            chain.clone(),
            with_change(&chain, json!({"startHeight": 7})),
            "a chain that was begun stays with its first block",
        ),
        (
            "ChainSource",
            with_change(&chain, json!({"volume": {"size": "1Ti"}})),
            with_change(&chain, json!({"volume": {"size": "1023Gi"}})),
            "a volume can grow and never shrink",
        ),
        (
            "ChainSource",
            chain.clone(),
            with_change(&chain, json!({"volume": {"storageClass": "fast"}})),
            "make another ChainSource for another storage class",
        ),
        ("ApiKey", key.clone(), json!({"tenant": "b"}), "create another ApiKey for another tenant"),
        (
            "ApiKey",
            key.clone(),
            with_change(&key, json!({"environment": "sandbox"})),
            "create another ApiKey for another environment",
        ),
        (
            "ApiKey",
            key.clone(),
            with_change(&key, json!({"secretName": "other"})),
            "create another ApiKey for another Secret",
        ),
    ] {
        cluster.apply(&document(kind, &before));
        let refused = cluster.try_apply(&document(kind, &after));
        assert!(refused.code != 0 && refused.stderr.contains(sentence), "{}", refused.stderr);
        cluster.kubectl(&["delete", kind, "rule"]);
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_misspelt_field_is_named() {
    let cluster = cluster();
    let spec = json!({"displayName": "T", "plan": "p", "policy": "q", "suspendet": true});
    let (code, said) = ask(&cluster, "Tenant", &spec);
    assert!(code != 0 && said.contains("unknown field \"spec.suspendet\""), "{said}");
}
