//! Alerts and the dashboard use existing metrics, and every alert has a runbook.

use std::{collections::BTreeSet, io::Write, net::TcpStream};

use assay_tests::{Exporter, Helm, Server, platform::Platform, sample, wait_until};
use serde_json::Value;

use crate::{
    rendered::{EVERYTHING, documents, objects, one},
    text,
};

/// A plan that admits one request at a time, and none while limits cannot be counted; and a tenant on it.
const PLAN: &str = "
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: narrow}
spec:
  displayName: Narrow
  apiAccess: true
  maxInFlight: 1
  onTokenStoreLoss: refuse
  limits: [{name: burst, requests: 1000, window: 1s, counts: requests}]
---
apiVersion: assay.dev/v1alpha1
kind: Tenant
metadata: {name: acme}
spec: {displayName: Acme, plan: narrow, policy: default}
";
const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

#[test]
fn servers_return_every_metric_that_alerts_and_the_dashboard_show() {
    // Given a server without lists, with Redis and a chain server,
    let (owner, ..) = sample();
    let chain = Server::start_chain(owner.directory(), &[]);
    let mut platform = Platform::start();
    platform.apply(PLAN);
    let key = platform.key();
    let server = platform.server(&[&format!("--chain-servers=btc=http://{}", chain.api)]);
    let caller = server.caller(&key);
    // when it answers a check twice,
    let [first, second] = [(); 2].map(|()| caller.check("btc", ADDRESS).json());
    assert_eq!((&first["verdict"], &second["cached"]), (&"indeterminate".into(), &true.into()));
    // refuses a request beside another one,
    let admitted = "assay_limiter_decisions_total{outcome=\"admitted\"}";
    let admitted = || server.metric::<u64>(admitted);
    let before = admitted();
    let mut unfinished = TcpStream::connect(server.api).unwrap();
    let head =
        "POST /api/v1/check/address HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    write!(unfinished, "{head}x-api-key: {key}\r\ncontent-length: 99\r\n\r\n{{").unwrap();
    wait_until("the request is in flight", || admitted() > before);
    let chains = || caller.get("/api/v1/chains");
    assert_eq!(chains().problem().1, "too_many_in_flight");
    drop(unfinished);
    // and cannot count a limit any more,
    platform.redis.kill();
    wait_until("limits cannot be counted", || chains().status == 503);
    // then everything that the chart asks of servers is there.
    let metrics = [&server, &chain].map(Server::metrics);
    Exporter::Server.assert_answers_its_queries(&metrics.concat());
}

#[test]
fn every_alert_has_a_runbook_and_existing_reasons() {
    let rules = documents(&text("charts/assay/files/alerts.yaml"));
    let runbooks = text("docs/runbooks.md");
    let reasons = text("operator/src/reason.rs");
    let mut titles: BTreeSet<&str> =
        runbooks.lines().filter_map(|line| line.strip_prefix("## Assay")).collect();
    for alert in rules[0].as_array().unwrap() {
        let (name, query) = (alert["alert"].as_str().unwrap(), alert["expr"].as_str().unwrap());
        for reason in query
            .split("reason=~\"")
            .skip(1)
            .flat_map(|rest| rest.split('"').next().unwrap().split('|'))
        {
            assert!(reasons.contains(&format!("\n    {reason},")), "{name}: no reason {reason}");
        }
        assert!(titles.remove(name.strip_prefix("Assay").unwrap()), "docs/runbooks.md: ## {name}");
    }
    assert!(titles.is_empty(), "docs/runbooks.md: no alert is called Assay{titles:?}");
}

#[test]
#[ignore = "needs Helm"]
fn alerts_name_their_runbook_and_keep_templates_of_prometheus() {
    let helm = Helm::find();
    let rendered = objects(&helm, EVERYTHING);
    let rules = &one(&rendered, "PrometheusRule", "assay")["spec"]["groups"][0]["rules"];
    let written = documents(&text("charts/assay/files/alerts.yaml"));
    assert_eq!(rules.as_array().unwrap().len(), written[0].as_array().unwrap().len());
    for (rule, written) in rules.as_array().unwrap().iter().zip(written[0].as_array().unwrap()) {
        assert_eq!(rule["expr"], written["expr"]);
        assert_eq!(rule["annotations"]["summary"], written["annotations"]["summary"]);
        let page = rule["alert"].as_str().unwrap().to_lowercase();
        assert_eq!(rule["annotations"]["runbook_url"], format!("docs/runbooks.md#{page}"));
    }
    let dashboard = one(&rendered, "ConfigMap", "assay-dashboard")["data"]["assay.json"].clone();
    let dashboard: Value = serde_json::from_str(dashboard.as_str().unwrap()).unwrap();
    assert_eq!(dashboard["uid"], "assay");
}
