//! Objects that the API server refuses by itself, each with a message that describes a valid value,
//! beside objects that it accepts.

use assay_tests::Cluster;
use serde_json::{Value, json};

use crate::cluster;

/// A rule: a valid value, an invalid one, and the message.
struct Rule {
    kind: &'static str,
    right: Value,
    wrong: Value,
    sentence: &'static str,
}

fn rule(kind: &'static str, right: Value, wrong: Value, sentence: &'static str) -> Rule {
    Rule { kind, right, wrong, sentence }
}

/// `base` with what `change` says instead.
fn with(base: &Value, change: Value) -> Value {
    let mut spec = base.clone();
    for (name, value) in change.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

fn plan_rules() -> Vec<Rule> {
    let limit = json!({"name": "daily", "requests": 5, "window": "1d", "counts": "checks"});
    let plan = json!({"displayName": "P", "apiAccess": true, "limits": [limit]});
    let plan_with = |change| with(&plan, change);
    let limit_with = |change| plan_with(json!({"limits": [with(&limit, change)]}));
    vec![
        rule(
            "Plan",
            plan_with(json!({"apiAccess": false, "limits": []})),
            plan_with(json!({"limits": []})),
            "a plan with API access needs at least one limit",
        ),
        rule(
            "Plan",
            plan_with(json!({"cacheLifetime": "24h"})),
            plan_with(json!({"cacheLifetime": "25h"})),
            "must be from 0s to 1d",
        ),
        rule(
            "Plan",
            plan_with(json!({"cacheLifetime": "0s"})),
            plan_with(json!({"cacheLifetime": "5 min"})),
            "write a whole number of at most nine digits and s, m, h or d, such as 30s or 24h",
        ),
        rule(
            "Plan",
            plan_with(json!({"retention": {"usage": "3660d"}})),
            plan_with(json!({"retention": {"usage": "3661d"}})),
            "must be from 0s to 3660d",
        ),
        rule(
            "Plan",
            plan_with(json!({"fallbackShare": 50})),
            plan_with(json!({"fallbackShare": 51})),
            "should be less than or equal to 50",
        ),
        rule(
            "Plan",
            limit_with(json!({"window": "31d"})),
            limit_with(json!({"window": "32d"})),
            "must be from 1s to 31d",
        ),
        rule(
            "Plan",
            limit_with(json!({"ceiling": 5})),
            limit_with(json!({"ceiling": 4})),
            "must be at least `requests`",
        ),
        rule(
            "Plan",
            limit_with(json!({"name": "per-day-2"})),
            limit_with(json!({"name": "Daily"})),
            "a limit's name has 1 to 32 lowercase letters, digits and hyphens",
        ),
        rule(
            "Plan",
            limit_with(json!({"counts": "requests"})),
            limit_with(json!({"counts": "answers"})),
            "supported values: \"requests\", \"checks\"",
        ),
    ]
}

fn tenant_rules() -> Vec<Rule> {
    let tenant = json!({"displayName": "T", "plan": "p", "policy": "q"});
    let numbers = json!([{"name": "daily", "requests": 5}]);
    let target = |target: Value| json!({"target": target, "limits": numbers});
    let sentence = "name either a plan or a tenant";
    vec![
        rule(
            "Tenant",
            with(&tenant, json!({"plan": "plan-2"})),
            with(&tenant, json!({"plan": "Plan 2"})),
            "use 1 to 63 lowercase letters, digits and hyphens, with a letter or digit first and last",
        ),
        rule("RateLimit", target(json!({"plan": "p"})), target(json!({})), sentence),
        rule(
            "RateLimit",
            target(json!({"tenant": "t"})),
            target(json!({"plan": "p", "tenant": "t"})),
            sentence,
        ),
        rule(
            "ApiKey",
            json!({"tenant": "t", "rotation": {"every": "90d", "overlap": "1d"}}),
            json!({"tenant": "t", "rotation": {"every": "24h", "overlap": "1d"}}),
            "must be from 1h to 3660d and longer than the overlap",
        ),
        rule(
            "ApiKey",
            json!({"tenant": "t", "scopes": ["check", "admin:read"]}),
            json!({"tenant": "t", "scopes": ["write"]}),
            "supported values: \"check\", \"screen\", \"usage\", \"admin:read\"",
        ),
    ]
}

fn minimum_score_rules() -> Vec<Rule> {
    let policy = |right: Value, wrong: Value, sentence| rule("RiskPolicy", right, wrong, sentence);
    let rule_of = |change: Value| json!({"rules": [with(&json!({"id": "own", "description": "Own rule"}), change)]});
    let rules = |change: Value| {
        let rule = json!({"id": "own", "description": "Own rule", "categories": ["mixer"]});
        json!({"rules": [with(&rule, change)]})
    };
    vec![
        policy(
            rules(json!({"shareFrom": "2.5%"})),
            rules(json!({"shareFrom": "0%"})),
            "write a percentage above 0% and up to 100%, such as 10% or 2.5%",
        ),
        policy(
            rules(json!({})),
            rules(json!({"categories": ["mixers"]})),
            "Unsupported value: \"mixers\"",
        ),
        policy(
            rules(json!({"hopsUpTo": 2})),
            rules(json!({"hopsUpTo": 2, "direct": true})),
            "contradicts `hopsUpTo`: use one of both",
        ),
        policy(
            rules(json!({"id": "own_rule_2"})),
            rules(json!({"id": "Own"})),
            "an id has 1 to 63 lowercase letters, digits and underscores, a letter first",
        ),
        policy(
            rules(json!({"id": "direct_mixing", "enabled": false})),
            rules(json!({"id": "cluster_listed"})),
            "is the id of a rule that every policy has: choose another",
        ),
        policy(
            rule_of(json!({"anyOf": [{"severityFrom": 90}]})),
            rule_of(json!({"anyOf": [{"direct": true}]})),
            "selects no funds: name `categories`",
        ),
        policy(
            rules(json!({"anyOf": [{"direct": true}, {"shareFrom": "10%"}]})),
            rules(json!({"shareFrom": "10%", "anyOf": [{"shareFrom": "20%"}]})),
            "repeats or contradicts a condition of the rule",
        ),
        policy(
            rules(json!({"anyOf": [{"direct": true}]})),
            rules(json!({"anyOf": [{}]})),
            "a group needs a condition",
        ),
        policy(
            rules(json!({"role": "possible_victim", "direction": "destination"})),
            rules(json!({"role": "possible_victim", "direction": "source"})),
            "a possible victim sent the funds",
        ),
        policy(
            rules(json!({"verdict": "block", "tierFrom": "investigation"})),
            rules(json!({"verdict": "block", "tierFrom": "community"})),
            "`block` needs evidence of the tier `investigation` or stronger",
        ),
        policy(
            rules(json!({"description": "x"})),
            rules(json!({"description": ""})),
            "needs a sentence: answers give it as the reason",
        ),
        policy(
            rules(json!({})),
            json!({"rules": [{"id": "a", "enabled": false}, {"id": "a", "enabled": false}]}),
            "Duplicate value",
        ),
    ]
}

fn policy_rules() -> Vec<Rule> {
    let policy = |right: Value, wrong: Value, sentence| rule("RiskPolicy", right, wrong, sentence);
    let thresholds = |change: Value| json!({"thresholds": change});
    let amounts =
        |curve: Value| json!({"amounts": {"EUR": {"curve": curve, "unsolicitedUpTo": 1}}});
    let caps = |change: Value| json!({"tierCaps": change});
    vec![
        policy(
            thresholds(json!({"high": 50.5})),
            thresholds(json!({"high": 25})),
            "must be above medium: thresholds rise strictly",
        ),
        policy(
            thresholds(json!({"severe": 60})),
            thresholds(json!({"severe": 50})),
            "must be above high: thresholds rise strictly",
        ),
        policy(
            thresholds(json!({"block": 90})),
            thresholds(json!({"block": 90.1})),
            "must be at most 90.0, which the same key as a listed address scores",
        ),
        policy(
            thresholds(json!({"medium": 33.3})),
            thresholds(json!({"medium": 33.33})),
            "has at most one decimal",
        ),
        policy(
            thresholds(json!({"medium": 0.1})),
            thresholds(json!({"medium": 0})),
            "must be above zero: thresholds rise strictly",
        ),
        policy(
            thresholds(json!({"review": 74.9})),
            thresholds(json!({"review": 75})),
            "must be above review: thresholds rise strictly",
        ),
        policy(
            caps(json!({"community": 74})),
            caps(json!({"community": 75})),
            "must be below the block threshold: such evidence never blocks",
        ),
        policy(
            caps(json!({"heuristic": 69.9})),
            caps(json!({"heuristic": 70})),
            "must not exceed that of community, which is stronger evidence",
        ),
        policy(
            caps(json!({"behavior": 10})),
            caps(json!({"behavior": 50})),
            "must be below the review threshold: behaviour alone never reaches review",
        ),
        policy(
            json!({"lists": {"ofac-sdn": "blocking", "il-nbctf": "advisory"}}),
            json!({"lists": {"ofac-sdn": "advisory"}}),
            "OFAC SDN, UK, EU and UN are blocking and cannot be weakened",
        ),
        policy(
            json!({"severities": {"mixer": 90}}),
            json!({"severities": {"mixers": 90}}),
            "names no category; `GET /api/v1/signals` lists them",
        ),
        policy(
            json!({"severities": {"mixer": 100}}),
            json!({"severities": {"mixer": 101}}),
            "should be less than or equal to 100",
        ),
        policy(
            json!({"mandatorySources": [{"name": "ofac-sdn"}]}),
            json!({"mandatorySources": []}),
            "should have at least 1 items",
        ),
        policy(
            amounts(json!([{"amount": "0.1", "score": 25}, {"amount": 1, "score": 50}])),
            amounts(json!([{"amount": 1, "score": 25}, {"amount": "0.1", "score": 50}])),
            "amounts rise strictly from point to point",
        ),
        policy(
            amounts(json!([{"amount": 1, "score": 25}])),
            amounts(json!([{"amount": 1, "score": 25}, {"amount": 2, "score": 25}])),
            "scores rise strictly from point to point",
        ),
        policy(
            amounts(json!([{"amount": "2.5", "score": 25}])),
            amounts(json!([{"amount": "2,5", "score": 25}])),
            "write digits with at most eight decimals, such as 1000 or \"0.01\"",
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn source_rules() -> Vec<Rule> {
    let intel = json!({
        "location": "https://example.org/list.xml", "format": "ofac-advanced",
        "schedule": "17 */6 * * *",
    });
    let chain = json!({
        "chain": "btc", "mode": "follow", "protocol": "rpc", "endpoint": "http://node:8332",
    });
    let (intel_with, chain_with) = (|change| with(&intel, change), |change| with(&chain, change));
    vec![
        rule(
            "IntelSource",
            intel_with(json!({"location": "/lists/own.csv"})),
            intel_with(json!({"location": "ftp://example.org/list"})),
            "only http and https URLs, and files, can be fetched",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"location": "https://example.org/list?mail=a@b"})),
            intel_with(json!({"location": "https://user:hush@example.org/list"})),
            "must not hold a password",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"credentialsSecret": {"name": "list", "key": "token"}})),
            intel_with(json!({
                "credentialsSecret": {"name": "list", "key": "token"}, "credentialsFile": "token",
            })),
            "the credentials are in credentialsFile already",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"schedule": " 0 4 * * MON "})),
            intel_with(json!({"schedule": "hourly"})),
            "write the five fields of a crontab line, such as 17 */6 * * *",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"acceptDigest": "ab".repeat(32)})),
            intel_with(json!({"acceptDigest": "ab"})),
            "a SHA-256 digest has 64 hexadecimal digits",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"mandatory": true, "lists": ["ofac-sdn"]})),
            intel_with(json!({"mandatory": true})),
            "name the lists that are mandatory, such as `ofac-sdn`",
        ),
        rule(
            "IntelSource",
            intel_with(json!({"maximumAge": "1h"})),
            intel_with(json!({"maximumAge": "59m"})),
            "must be from 1h to 90d",
        ),
        rule(
            "ChainSource",
            chain.clone(),
            chain_with(json!({"chain": "BTC!"})),
            "write a chain's identifier, such as btc",
        ),
        rule(
            "ChainSource",
            chain.clone(),
            chain_with(json!({"endpoint": "node:8332"})),
            "write an http or https URL",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"endpoint": "http://node/a@b"})),
            chain_with(json!({"endpoint": "http://user:word@node"})),
            "must not hold a password",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"mode": "on_demand", "protocol": "esplora"})),
            chain_with(json!({"mode": "on_demand"})),
            "on_demand needs `esplora`",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"startHeight": 7})),
            chain_with(json!({"mode": "on_demand", "protocol": "esplora", "startHeight": 7})),
            "histories fetched on demand begin with an address's first transaction",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"credentialsSecret": {"name": "node", "key": "cookie"}})),
            chain_with(
                json!({"credentialsSecret": {"name": "node"}, "credentialsFile": "/cookie"}),
            ),
            "the credentials are in credentialsFile already",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"replicas": 16})),
            chain_with(json!({"replicas": 17})),
            "should be less than or equal to 16",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"volume": {"size": "2Ti", "storageClass": "fast.v2"}})),
            chain_with(json!({"volume": {"size": "1.5Ti"}})),
            "write a whole number of at most nine digits and a unit",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"volume": {"size": "1Gi"}})),
            chain_with(json!({"volume": {"size": "1023Mi"}})),
            "must be at least 1Gi",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"volume": {"storageClass": "a"}})),
            chain_with(json!({"volume": {"storageClass": "A"}})),
            "use lowercase letters, digits, hyphens and dots",
        ),
        rule(
            "ChainSource",
            chain_with(
                json!({"pods": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2000m"}}}}),
            ),
            chain_with(
                json!({"pods": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}}),
            ),
            "must not be smaller than the request",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"pods": {"tolerations": [{"key": "a", "effect": "NoExecute"}]}})),
            chain_with(json!({"pods": {"tolerations": [{"key": "a", "effect": "Never"}]}})),
            "Unsupported value: \"Never\"",
        ),
        rule(
            "ChainSource",
            chain_with(json!({"fetchTimeout": "60s"})),
            chain_with(json!({"fetchTimeout": "61s"})),
            "must be from 1s to 1m",
        ),
    ]
}

fn service_rules() -> Vec<Rule> {
    let service = json!({"image": "assay:1", "databaseSecret": {"name": "database"}});
    let service_with = |change| with(&service, change);
    let (route, ingress) = (json!({"gateway": "public"}), json!({}));
    vec![
        rule(
            "RiskService",
            service_with(json!({"scaling": {"minReplicas": 3, "maxReplicas": 3}})),
            service_with(json!({"scaling": {"minReplicas": 4, "maxReplicas": 3}})),
            "must not exceed maxReplicas",
        ),
        rule(
            "RiskService",
            service_with(json!({"connections": {
                "proxyProtocol": true, "trustedProxies": ["10.0.0.0/8"],
            }})),
            service_with(json!({"connections": {"proxyProtocol": true}})),
            "needs trustedProxies",
        ),
        rule(
            "RiskService",
            service_with(json!({"exposure": {"host": "risk.example", "httpRoute": route}})),
            service_with(json!({"exposure": {
                "host": "risk.example", "httpRoute": route, "ingress": ingress,
            }})),
            "name either an httpRoute or an ingress",
        ),
        rule(
            "RiskService",
            service_with(json!({"egress": {"httpsProxy": "http://proxy.example:3128"}})),
            service_with(json!({"egress": {"httpsProxy": "proxy.example:3128"}})),
            "write it as http://HOST:PORT",
        ),
        rule(
            "RiskService",
            service_with(json!({"egress": {"httpProxy": "http://proxy.example:3128"}})),
            service_with(json!({"egress": {"httpProxy": "socks5://proxy.example"}})),
            "write it as http://HOST:PORT",
        ),
        rule(
            "RiskService",
            service_with(json!({"egress": {"caBundle": {"secret": "authorities"}}})),
            service_with(json!({"egress": {"caBundle": {"key": "ca.crt"}}})),
            "name either a configMap or a secret",
        ),
        rule(
            "RiskService",
            service_with(json!({"telemetry": {"otlpEndpoint": "http://collector.otel:4318"}})),
            service_with(json!({"telemetry": {"otlpEndpoint": "collector.otel:4318"}})),
            "write it as http://HOST:PORT, without a password",
        ),
    ]
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
    let rules = [
        plan_rules(),
        tenant_rules(),
        policy_rules(),
        minimum_score_rules(),
        source_rules(),
        service_rules(),
    ];
    let mut surprises = Vec::new();
    for Rule { kind, right, wrong, sentence } in rules.into_iter().flatten() {
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
            with(&chain, json!({"chain": "ltc"})),
            "a source stays with its chain",
        ),
        (
            "ChainSource",
            chain.clone(),
            with(&chain, json!({"startHeight": 7})),
            "a chain that was begun stays with its first block",
        ),
        (
            "ChainSource",
            with(&chain, json!({"volume": {"size": "1Ti"}})),
            with(&chain, json!({"volume": {"size": "1023Gi"}})),
            "a volume can grow and never shrink",
        ),
        (
            "ChainSource",
            chain.clone(),
            with(&chain, json!({"volume": {"storageClass": "fast"}})),
            "make another ChainSource for another storage class",
        ),
        ("ApiKey", key.clone(), json!({"tenant": "b"}), "create another ApiKey for another tenant"),
        (
            "ApiKey",
            key.clone(),
            with(&key, json!({"secretName": "other"})),
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
