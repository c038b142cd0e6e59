//! Given faults of the API server or the operator, then the objects and rows are the same as without faults.

use std::{sync::atomic::Ordering, thread, time::Duration};

use assay_tests::{Exporter, Operator, Postgres, is_full};

use crate::{
    flaky::{Faults, FlakyApiServer},
    pages::{GOLD, key, raised, tenant},
    platform::{Platform, wait_until},
};

#[test]
#[ignore = "needs Kubernetes"]
fn operators_that_crash_or_alternate_issue_every_key_once() {
    let mut platform = Platform::start();
    let second = Operator::start(&platform.cluster, &platform.postgres.url(), "second");
    let keys: Vec<String> = (0..20).map(|number| key(&format!("key-{number}"), "acme")).collect();
    let page = [GOLD.to_owned(), tenant("acme", "gold"), keys.concat()].concat();
    platform.cluster.apply(&page);
    platform.operator.kill();
    second.wait_until_it_works();
    for number in 0..20 {
        platform.wait_for_reason(&["apikey", &format!("key-{number}")], "KeyReady");
    }
    let count = platform.postgres.query("SELECT count(*) FROM api_keys");
    assert_eq!(count, "20", "{}", second.log());
    for number in [0, 19] {
        let text = platform.key("default", &format!("key-{number}"));
        platform.wait_for_answer(&text, 200);
    }

    drop(second);
    let mut third = Operator::start(&platform.cluster, &platform.postgres.url(), "third");
    third.wait_until_it_works();
    assert_eq!(third.stop(), Some(0));
    let holder = ["get", "lease", "assay-operator", "-o", "jsonpath={.spec.holderIdentity}"];
    assert_eq!(platform.cluster.kubectl(&holder), "", "it gave the Lease back");
}

/// Kills the operator five times, with `--full` a hundred times.
#[test]
#[ignore = "needs Kubernetes"]
fn an_operator_killed_at_any_point_makes_every_key_once() {
    let mut platform = Platform::start();
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    let name = |number: usize| format!("key-{number}");
    let first: Vec<String> = (0..10).map(|number| key(&name(number), "acme")).collect();
    platform.cluster.apply(&first.concat());
    for number in 0..10 {
        platform.wait_for_reason(&["apikey", &name(number)], "KeyReady");
    }
    let kills: usize = if is_full() { 100 } else { 5 };
    let asked = ".status.rotationRequest";
    // While keys are made and replaced, it is killed: earlier and later each time.
    for round in 0..kills {
        let page = [10 + 2 * round, 11 + 2 * round].map(|number| key(&name(number), "acme"));
        platform.cluster.apply(&page.concat());
        let replaced = name(round % 10);
        if let Some(before) = round.checked_sub(10) {
            platform.wait_for(&["apikey", &replaced], asked, &format!("round-{before}"));
        }
        let rotate = format!("assay.dev/rotate=round-{round}");
        platform.cluster.kubectl(&["annotate", "--overwrite", "apikey", &replaced, &rotate]);
        // It is killed at any point.
        thread::sleep(Duration::from_millis(u64::try_from(round * 7919 % 400).unwrap()));
        platform.operator.kill();
        let url = platform.postgres.url();
        // By the same name it need not wait for its own Lease.
        platform.operator = Operator::start(&platform.cluster, &url, "first");
        platform.operator.wait_until_it_works();
    }
    let keys = 10 + 2 * kills;
    for number in 0..keys {
        platform.wait_for_reason(&["apikey", &name(number)], "KeyReady");
    }
    for round in kills.saturating_sub(10)..kills {
        platform.wait_for(&["apikey", &name(round % 10)], asked, &format!("round-{round}"));
    }
    let count = |rows: &str| platform.postgres.query(&format!("SELECT count(*) FROM {rows}"));
    let good = "api_keys WHERE expires_at IS NULL AND revoked_at IS NULL";
    let made = (count("api_keys"), count(good));
    assert_eq!(
        made,
        ((keys + kills).to_string(), keys.to_string()),
        "one each, and one a rotation"
    );
    let order = "SELECT string_agg(id, ' ' ORDER BY id COLLATE \"C\")";
    let stored = platform.postgres.query(&format!("{order} FROM {good}"));
    let path = "jsonpath={.items[*].status.keyId}";
    let told = platform.cluster.kubectl(&["get", "apikeys", "-o", path]);
    let mut told: Vec<&str> = told.split_whitespace().collect();
    told.sort_unstable();
    assert_eq!(stored, told.join(" "));
    for number in [0, 9, keys - 1] {
        platform.wait_for_answer(&platform.key("default", &name(number)), 200);
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_api_serves_on_without_operator_and_without_api_server() {
    let (mut platform, text) = Platform::with_key(GOLD, "");

    platform.cluster.kill_server();
    wait_until("the operator misses the API server", || {
        assert_eq!(platform.check(&text).status, 200);
        platform.operator.log().contains("a watch failed")
    });
    platform.operator.kill();
    assert_eq!(platform.check(&text).status, 200);
    platform.cluster.start_server();
    let url = platform.postgres.url();
    platform.operator = Operator::start(&platform.cluster, &url, "second");
    platform.operator.wait_until_it_works();
    platform.cluster.apply(&raised(7));
    platform.wait_for(&["tenant", "acme"], ".status.effectiveLimits[0].requests", "7");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_database_outage_is_reported_and_survived() {
    let platform = Platform::with_database(Postgres::start());
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold")].concat());
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    platform.postgres.stop();
    platform.cluster.apply(&[tenant("other", "gold"), key("backend", "acme")].concat());
    platform.wait_for_reason(&["tenant", "other"], "StoreUnavailable");
    platform.wait_for_reason(&["apikey", "backend"], "StoreUnavailable");
    platform.wait_for_reason(&["tenant", "acme"], "Published");
    // Alerts and the dashboard show it.
    Exporter::Operator.assert_answers_its_queries(&platform.operator.metrics());
    platform.postgres.start_again();
    platform.wait_for_reason(&["tenant", "other"], "Published");
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
}

/// Continuous faults: refused requests, conflicts, lost answers, interrupted and expired watches.
#[test]
#[ignore = "needs Kubernetes"]
fn an_unreliable_api_server_is_retried_until_everything_is_reconciled() {
    let mut platform = Platform::start();
    platform.operator.stop();
    let flaky = FlakyApiServer::start(&platform.cluster);
    let config = platform.cluster.config_of_account("default", "assay-operator");
    let config = config.replace(&platform.cluster.url(), &flaky.url);
    let url = platform.postgres.url();
    // Long enough for a Lease that is renewed late: losing it is another test's matter.
    platform.operator = Operator::start_by(&config, "default", &url, "unlucky", 60, &[]);
    platform.operator.wait_until_it_works();

    let name = |number: usize| format!("key-{number}");
    let keys: String = (0..20).map(|number| key(&name(number), "acme")).collect();
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold"), &keys].concat());
    for number in 0..20 {
        platform.wait_for_reason(&["apikey", &name(number)], "KeyReady");
    }
    platform.cluster.apply(&raised(7));
    platform.wait_for(&["tenant", "acme"], ".status.effectiveLimits[0].requests", "7");
    for number in 0..10 {
        platform.cluster.kubectl(&["annotate", "apikey", &name(number), "assay.dev/rotate=now"]);
    }
    for number in 0..10 {
        platform.wait_for(&["apikey", &name(number)], ".status.rotationRequest", "now");
    }
    let good = "SELECT count(*) FROM api_keys WHERE expires_at IS NULL AND revoked_at IS NULL";
    assert_eq!(
        platform.postgres.query("SELECT count(*) FROM api_keys"),
        "30",
        "no key is made twice"
    );
    assert_eq!(platform.postgres.query(good), "20");
    for number in [0, 9, 10, 19] {
        platform.wait_for_answer(&platform.key("default", &name(number)), 200);
    }
    platform.cluster.kubectl(&["delete", "apikeys", "--all", "-n", "default"]);
    wait_until("each one is refused", || platform.postgres.query(good) == "0");
    let Faults { refused, lost, gone, conflicts, .. } = &*flaky.faults;
    for (what, count) in [("429", refused), ("lost", lost), ("410", gone), ("409", conflicts)] {
        let count = count.load(Ordering::Relaxed);
        eprintln!("{what}: {count}");
        assert!(count > 0, "{what} never happened");
    }
}
