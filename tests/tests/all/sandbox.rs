//! Keys of the sandbox: the address or transaction of a check chooses its answer, and no data is read, written or charged.

use std::{collections::BTreeMap, fs, sync::Arc};

use assay_tests::{Answer, Caller, Postgres, Server, assay, plan_with_tenant, production, sample};
use serde_json::{Value, json};

use crate::support::wait_until;

const ADDRESS: &str = "/api/v1/check/address";
const ADDRESSES: &str = "/api/v1/check/addresses";
const TRANSFER: &str = "/api/v1/check/transfer";
const SCREEN: &str = "/api/v1/screen";
const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const EVERY_SCOPE: &str = "check,screen,usage,admin:read";

/// A caller with a key of the sandbox of `acme`.
fn sandbox_of(server: &Server) -> Caller {
    let create = ["keys", "create", "--tenant", "acme", "--sandbox", "--scopes", EVERY_SCOPE];
    let key = server.assay(&create).ok().stdout;
    assert!(key.starts_with("assay_sandbox_"), "{key}");
    let caller = server.caller(key.trim());
    wait_until("the key is known", || caller.get("/api/v1/sources").status == 200);
    caller
}

/// A server with a tenant that has three checks a day, and the tenant's callers: with live data, and of the sandbox.
fn with_three_checks() -> (Server, Caller, Caller) {
    let (server, live) = production();
    // Without a limit of a short window, the sandbox would have one of its own.
    let quota_of_a_day = "{name: quota, requests: 3, window: 1d, counts: checks}";
    let burst = "{name: burst, requests: 100000, window: 1s, counts: requests}";
    let limits = format!("{quota_of_a_day}\n  - {burst}");
    let plan = plan_with_tenant("tight", &limits);
    fs::write(server.directory().path().join("tight.yaml"), plan).unwrap();
    let _ = server.assay(&["apply", "-f", "tight.yaml"]).ok();
    wait_until("the plan holds", || quota(&live).contains(";r=3"));
    let sandbox = sandbox_of(&server);
    (server, live, sandbox)
}

fn quota(caller: &Caller) -> String {
    caller.get("/api/v1/sources").header("ratelimit").to_owned()
}

/// The outcomes of a chain, as the API lists them.
fn outcomes(caller: &Caller, chain: &str) -> Vec<Value> {
    let listed = caller.get(&format!("/api/v1/sandbox/addresses?blockchain={chain}"));
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.json()["outcomes"].as_array().unwrap().clone()
}

fn chains(caller: &Caller) -> Vec<String> {
    let chains = caller.get("/api/v1/chains").json()["chains"].as_array().unwrap().clone();
    let id = |chain: &Value| chain["blockchain"].as_str().unwrap().to_owned();
    assert!(chains.len() > 90);
    chains.iter().map(id).collect()
}

/// The verdict of the outcomes with status 200.
fn verdict(outcome: &Value) -> &str {
    match outcome["outcome"].as_str().unwrap() {
        "slow" => "allow",
        "stale" => "indeterminate",
        verdict => verdict,
    }
}

/// Asserts that an answer, or the result of one of many checks, is that of an outcome.
fn assert_is(answer: &Value, outcome: &Value, about: &str) {
    if outcome["status"] == 200 {
        assert_eq!(answer["verdict"], verdict(outcome), "{about}: {answer}");
        assert_eq!(answer["environment"], "sandbox", "{about}");
        let warnings = answer["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|warning| warning["code"] == "sandbox"), "{about}");
    } else {
        assert_eq!(answer["code"], outcome["outcome"], "{about}: {answer}");
        assert_eq!(answer["status"], outcome["status"], "{about}: {answer}");
    }
}

fn addresses(outcome: &Value) -> Vec<&str> {
    outcome["addresses"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn every_outcome_of_every_chain_is_answered_beyond_the_quota() {
    let (_server, live, sandbox) = with_three_checks();
    for chain in chains(&sandbox) {
        // Given every address of the chain but the slow ones.
        let outcomes = outcomes(&sandbox, &chain);
        let fast = outcomes.iter().filter(|outcome| outcome["outcome"] != "slow");
        let chosen: Vec<(&Value, &str)> = fast
            .flat_map(|outcome| addresses(outcome).into_iter().map(move |it| (outcome, it)))
            .collect();
        assert!(chosen.len() >= 20, "{chain}");
        // When all are checked, then each chose its answer.
        for some in chosen.chunks(100) {
            let check =
                |(_, address): &(&Value, &str)| json!({"blockchain": chain, "address": address});
            let checks: Vec<Value> = some.iter().map(check).collect();
            let answer = sandbox.post(ADDRESSES, &json!({ "checks": checks }).to_string(), &[]);
            assert_eq!(answer.status, 200, "{}", answer.text);
            let results = answer.json()["results"].as_array().unwrap().clone();
            for (result, (outcome, address)) in results.iter().zip(some) {
                assert_is(result, outcome, &format!("{chain} {address}"));
            }
        }
    }
    assert!(quota(&live).contains(";r=3"), "nothing is charged: {}", quota(&live));
    assert_eq!(live.get("/api/v1/usage").json()["total"], json!(0));
}

#[test]
fn a_single_check_has_the_status_and_the_header_fields_of_its_outcome() {
    let (_server, _live, sandbox) = with_three_checks();
    for outcome in outcomes(&sandbox, "btc") {
        for address in addresses(&outcome).into_iter().take(1) {
            let answer = sandbox.check("btc", address);
            assert_eq!(json!(answer.status), outcome["status"], "{}", answer.text);
            assert_is(&answer.json(), &outcome, address);
            let is_later = matches!(answer.status, 408 | 409 | 429 | 500 | 503);
            assert_eq!(answer.header("retry-after"), if is_later { "1" } else { "" }, "{outcome}");
            assert_eq!(
                !answer.header("www-authenticate").is_empty(),
                answer.status == 401 || answer.text.contains("insufficient_scope")
            );
            assert_eq!(answer.header("cache-status"), "");
        }
    }
    // A stale list is told as stale, and an address that the sandbox does not know is never allowed.
    let stale = sandbox.check("btc", addresses(&outcomes(&sandbox, "btc")[4])[0]).json();
    assert_eq!(stale["sources"][0]["stale"], true, "{stale}");
    let unknown = sandbox.check("btc", GENESIS).json();
    assert_eq!(unknown["verdict"], "indeterminate");
    assert!(unknown["warnings"][0]["message"].as_str().unwrap().contains("/sandbox/addresses"));
    let invalid = sandbox.check("btc", "nonsense");
    assert_eq!(invalid.problem(), (422, "invalid_address".into()));
    // An account on every EVM chain is that of each.
    let block = sandbox.check("evm", addresses(&outcomes(&sandbox, "eth")[2])[0]).json();
    assert_eq!(block["verdict"], "block");
    assert!(block["chains"].as_array().unwrap().iter().all(|chain| chain["verdict"] == "block"));
}

#[test]
fn transfers_are_chosen_by_their_transaction_or_by_their_planned_receiver() {
    let (_server, live, sandbox) = with_three_checks();
    for chain in ["btc", "zec", "eth", "trx"] {
        for outcome in outcomes(&sandbox, chain) {
            if outcome["outcome"] == "slow" {
                continue;
            }
            for direction in ["deposit", "withdrawal"] {
                let mut body = json!({
                    "blockchain": chain, "direction": direction, "transaction": outcome["transaction"],
                });
                if ["btc", "zec"].contains(&chain) {
                    body["output"] = json!(1);
                }
                let answer = sandbox.post(TRANSFER, &body.to_string(), &[]);
                assert_eq!(json!(answer.status), outcome["status"], "{body}: {}", answer.text);
                assert_is(&answer.json(), &outcome, &body.to_string());
                if answer.status == 200 {
                    assert_eq!(answer.json()["transfer"]["direction"], direction);
                }
            }
            for to in addresses(&outcome) {
                let body = json!({
                    "blockchain": chain, "direction": "withdrawal", "to": to, "asset": "native",
                    "amount": "1000",
                });
                let answer = sandbox.post(TRANSFER, &body.to_string(), &[]);
                assert_is(&answer.json(), &outcome, &body.to_string());
            }
        }
    }
    assert!(quota(&live).contains(";r=3"));
}

#[test]
fn rows_are_screened_by_their_addresses() {
    let (_server, live, sandbox) = with_three_checks();
    for scope in ["lists_and_labels", "full"] {
        for chain in ["btc", "sol"] {
            let outcomes: Vec<Value> = outcomes(&sandbox, chain)
                .into_iter()
                .filter(|outcome| !addresses(outcome).is_empty() && outcome["outcome"] != "slow")
                .collect();
            let row = |outcome: &Value| {
                json!({"blockchain": chain, "address": addresses(outcome)[0]}).to_string()
            };
            let body = outcomes.iter().map(row).collect::<Vec<_>>().join("\n");
            let kind = [("content-type", "application/x-ndjson")];
            let answer = sandbox.post(&format!("{SCREEN}?scope={scope}"), &body, &kind);
            let rows: Vec<Value> =
                answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(rows.len(), outcomes.len(), "{}", answer.text);
            for (row, outcome) in rows.iter().zip(&outcomes) {
                if outcome["status"] == 200 {
                    assert_eq!(row["verdict"], verdict(outcome), "{scope}: {row}");
                } else {
                    let error = row["error"].as_str().unwrap();
                    assert!(error.contains(outcome["outcome"].as_str().unwrap()), "{row}");
                }
            }
        }
    }
    assert!(quota(&live).contains(";r=3"));
    assert_eq!(live.get("/api/v1/usage").json()["total"], json!(0));
}

/// The number of rows of each table of a database.
fn rows(database: &Postgres) -> BTreeMap<String, String> {
    let tables = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_stat_user_tables";
    let tables = database.query(tables);
    let count = |table: &str| database.query(&format!("SELECT count(*) FROM {table}"));
    tables.split(' ').map(|table| (table.to_owned(), count(table))).collect()
}

#[test]
fn a_key_of_the_sandbox_reaches_nothing_of_its_tenant() {
    // Given a tenant with an answered check, a receiver, an idempotency key and usage.
    let database = Postgres::shared(None);
    let directory = Arc::new(tempfile::tempdir().unwrap());
    database.connect_directory(directory.path());
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok();
    let _ = run(&["migrate"]);
    fs::write(directory.path().join("acme.yaml"), assay_tests::tenant("acme", "enterprise"))
        .unwrap();
    let _ = run(&["apply", "-f", "acme.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme", "--scopes", EVERY_SCOPE]).stdout;
    let server = Server::start(Arc::clone(&directory), &[]);
    let live = server.caller(key.trim());
    let withdrawal = json!({
        "blockchain": "eth", "direction": "withdrawal", "asset": "native", "amount": "1000",
        "to": "0x189f40034be7a199f1fa9891668ee3ab6049f82d",
    });
    let keyed = [("idempotency-key", "one")];
    let kept = live.post(TRANSFER, &withdrawal.to_string(), &keyed);
    assert_eq!(kept.status, 200, "{}", kept.text);
    let id = kept.json()["check_id"].as_str().unwrap().to_owned();
    let written = || database.query("SELECT count(*) FROM checks") == "1";
    wait_until("the answer is written", || {
        written() && database.query("SELECT count(*) FROM receivers") == "1"
    });
    let sandbox = sandbox_of(&server);
    let before = rows(&database);
    // When its sandbox is asked for everything.
    let block = addresses(&outcomes(&sandbox, "eth")[2])[0].to_owned();
    let is_fine = |answer: &Answer| assert_eq!(answer.status, 200, "{}", answer.text);
    for body in [
        json!({"blockchain": "eth", "address": block, "reference": "r"}),
        json!({"blockchain": "btc", "address": GENESIS, "direction": "withdrawal"}),
    ] {
        is_fine(&sandbox.post(ADDRESS, &body.to_string(), &keyed));
    }
    let mut fake = withdrawal.clone();
    fake["to"] = json!("0x189f00000000000000000000000000000000f82d");
    let imitated = sandbox.post(TRANSFER, &fake.to_string(), &keyed);
    is_fine(&imitated);
    assert!(!imitated.text.contains("look_alike"), "{}", imitated.text);
    // Then it finds nothing that its tenant keeps.
    let find = sandbox.get("/api/v1/checks");
    assert_eq!(find.json(), json!({"checks": [], "next_cursor": null}));
    for id in [&id, "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"] {
        assert_eq!(
            sandbox.get(&format!("/api/v1/checks/{id}")).problem(),
            (404, "not_found".into())
        );
    }
    let usage = sandbox.get("/api/v1/usage").json();
    assert_eq!((&usage["total"], &usage["usage"]), (&json!(0), &json!([])));
    let account = sandbox.get("/api/v1/account").json();
    assert_eq!(
        (&account["tenant"]["name"], &account["keys"]),
        (&json!("sandbox.acme"), &json!([]))
    );
    assert_eq!(account["policy"]["name"], "sandbox");
    assert_eq!(account["plan"]["max_screen_rows"], 100);
    // And nothing was written, also not later.
    is_fine(&live.check("btc", GENESIS));
    wait_until("a later answer is written", || {
        database.query("SELECT count(*) FROM checks") == "2"
    });
    let mut after = rows(&database);
    assert_eq!(database.query("SELECT sum(count) FROM usage"), "2");
    assert_eq!(database.query("SELECT count(DISTINCT tenant) FROM usage"), "1");
    for table in ["checks", "check_summaries", "check_rules", "usage", "usage_writers", "jobs"] {
        after.insert(table.to_owned(), before[table].clone());
    }
    assert_eq!(after, before);
    // Only the live checks are in the metrics.
    let metrics = server.metrics();
    let checks = metrics.lines().filter(|line| line.starts_with("assay_checks_total{"));
    let counts = checks.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    assert!((counts.sum::<f64>() - 2.0).abs() < f64::EPSILON, "{metrics}");
}

#[test]
fn a_key_keeps_its_environment_when_it_is_rotated_and_is_refused_once_revoked() {
    let (server, _, _) = sample();
    let listed = server.assay(&["keys", "list", "--json"]).ok().json();
    let tenant = listed[0]["tenant"].as_str().unwrap();
    let key =
        server.assay(&["keys", "create", "--tenant", tenant, "--sandbox", "--json"]).ok().json();
    assert_eq!(key["environment"], "sandbox");
    let id = key["id"].as_str().unwrap();
    let next = server.assay(&["keys", "rotate", id, "--json"]).ok().json();
    assert_eq!(next["environment"], "sandbox");
    assert!(next["key"].as_str().unwrap().starts_with("assay_sandbox_"));
    let listed = server.assay(&["keys", "list"]).ok().stdout;
    assert!(listed.lines().next().unwrap().contains("ENVIRONMENT"), "{listed}");
    assert!(listed.contains("  sandbox  ") && listed.contains("  sample  "), "{listed}");
    let caller = server.caller(next["key"].as_str().unwrap());
    wait_until("the key is known", || caller.get("/api/v1/sources").status == 200);
    let outcomes = outcomes(&caller, "btc");
    let block = addresses(&outcomes[2])[0];
    assert_eq!(caller.check("btc", block).json()["environment"], "sandbox");
    let _ = server.assay(&["keys", "revoke", next["id"].as_str().unwrap()]).ok();
    wait_until("the key is refused", || caller.check("btc", block).status == 401);
}

#[test]
fn the_command_line_lists_what_the_api_lists() {
    let (server, _live, sandbox) = with_three_checks();
    for chain in ["btc", "eth", "other"] {
        let listed = server.assay(&["sandbox", chain, "--json"]).ok().json();
        assert_eq!(listed["outcomes"], json!(outcomes(&sandbox, chain)));
        let table = server.assay(&["sandbox", chain]).ok().stdout;
        for address in addresses(&outcomes(&sandbox, chain)[0]) {
            assert!(table.contains(address), "{table}");
        }
    }
    let unknown = sandbox.get("/api/v1/sandbox/addresses?blockchain=nochain");
    assert_eq!(unknown.problem(), (422, "unsupported_chain".into()));
    assert_eq!(sandbox.get("/api/v1/sandbox/addresses").problem(), (400, "invalid_request".into()));
}
