//! Screening agrees with checks: no row is allowed that a check would not allow, and full rows equal checks.

use std::{collections::BTreeSet, fs, path::Path};

use assay_tests::{Caller, Server, assay, plan_with_tenant, production, sample};
use serde_json::{Value, json};

use crate::{chain_tools::printed, support::wait_until};

const LINES: &str = "application/x-ndjson";

/// Every address of the demo data set: of its chain, its lists and its labels.
fn sample_addresses(directory: &Path) -> BTreeSet<(String, String)> {
    let exports: [&[&str]; 3] = [
        &["export", "exposures", "--sample", "--blockchain", "btc", "--format", "jsonl"],
        &["export", "listings", "--sample", "--format", "jsonl"],
        &["export", "labels", "--sample", "--format", "jsonl"],
    ];
    let mut addresses = BTreeSet::new();
    for export in exports {
        for line in printed(directory, export).lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if let (Some(chain), Some(address)) =
                (row["blockchain"].as_str(), row["address"].as_str())
            {
                addresses.insert((chain.to_owned(), address.to_owned()));
            }
        }
    }
    addresses
}

/// Waits until the compositions of all transactions are complete.
fn wait_for_compositions(server: &Server) {
    let behind = "assay_composition_transactions_behind{chain=\"btc\"}";
    wait_until("compositions are complete", || server.metric_if_any::<u64>(behind) == Some(0));
}

fn rows(addresses: &BTreeSet<(String, String)>) -> String {
    let row = |(chain, address): &(String, String)| {
        json!({"blockchain": chain, "address": address}).to_string() + "\n"
    };
    addresses.iter().map(row).collect()
}

fn screened(caller: &Caller, path: &str, body: &str) -> Vec<Value> {
    let answer = caller.post(path, body, &[("content-type", LINES)]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_of_the_demo_data_set_agree_with_checks() {
    let (server, _, caller) = sample();
    wait_for_compositions(&server);
    let addresses = sample_addresses(server.directory().path());
    assert!(addresses.len() >= 60, "{}", addresses.len());
    let body = rows(&addresses);
    let by_lists = screened(&caller, "/api/v1/screen", &body);
    let in_full = screened(&caller, "/api/v1/screen?scope=full", &body);
    assert_eq!((by_lists.len(), in_full.len()), (addresses.len(), addresses.len()));
    let (mut allowed, mut with_flows, mut untraced) = (0, 0, 0);
    for (((chain, address), by_lists), in_full) in addresses.iter().zip(&by_lists).zip(&in_full) {
        let check = caller.check(chain, address).json();
        // Without flows, nothing is allowed that a check would not allow.
        assert_eq!(by_lists["scope"], "lists_and_labels");
        if by_lists["verdict"] == "allow" {
            allowed += 1;
            assert_eq!(check["verdict"], "allow", "{by_lists} {check}");
        }
        if chain == "btc" {
            assert_ne!(by_lists["verdict"], "allow", "{by_lists}");
        }
        // In full, a row is what a check says.
        assert_eq!((&in_full["verdict"], &in_full["scope"]), (&check["verdict"], &check["scope"]));
        let score = |answer: &Value| answer["risk_score"].as_f64().unwrap();
        if in_full["decided_by"] == "compositions" {
            untraced += 1;
            assert_eq!(in_full["verdict"], "allow");
            // Patterns add to the score of a check.
            let patterns = check["transaction_patterns"].as_array().unwrap().iter();
            let added: f64 = patterns.map(|it| it["contribution"].as_f64().unwrap()).sum();
            assert!(score(in_full) >= score(&check) - added - 0.01, "{in_full} {check}");
        } else {
            assert!((score(in_full) - score(&check)).abs() < 0.01, "{in_full} {check}");
            assert_eq!(in_full["reason"], check["reasons"][0]["message"]);
        }
        with_flows += usize::from(in_full["scope"] == "full");
    }
    eprintln!("{allowed} allowed by lists, {with_flows} with flows, of these {untraced} untraced");
    assert!(allowed > 0 && with_flows > 30 && untraced > 5, "{allowed} {with_flows} {untraced}");
}

#[test]
fn the_command_line_screens_in_full_as_the_api_does() {
    let (server, _, caller) = sample();
    wait_for_compositions(&server);
    let directory = server.directory();
    let directory = directory.path();
    let addresses = sample_addresses(directory);
    let body = rows(&addresses) + "{\"blockchain\":\"btc\",\"address\":\"x\"}\n";
    fs::write(directory.join("rows.jsonl"), &body).unwrap();
    for scope in ["full", "lists_and_labels"] {
        let arguments = ["screen", "--sample", "rows.jsonl", "--scope", scope];
        let printed = assay(directory, arguments).ok().stdout;
        let own: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of_api = screened(&caller, &format!("/api/v1/screen?scope={scope}"), &body);
        assert_eq!(own.len(), of_api.len());
        for (own, of_api) in own.iter().zip(&of_api) {
            for field in ["risk_score", "verdict", "categories", "reason", "error", "decided_by"] {
                assert_eq!(own[field], of_api[field], "{own} {of_api}");
            }
        }
    }
}

#[test]
fn a_scope_that_is_none_is_refused_with_those_that_are() {
    let (_server, caller, _) = sample();
    for (query, hint) in [("scope=all", "`lists_and_labels`"), ("depth=3", "`scope`")] {
        let refused =
            caller.post(&format!("/api/v1/screen?{query}"), "{}", &[("content-type", LINES)]);
        assert_eq!(refused.problem(), (400, "invalid_request".into()));
        assert!(refused.text.contains(hint), "{}", refused.text);
    }
}

#[test]
fn rows_with_flows_have_a_limit_of_their_own() {
    let (server, _) = production();
    let limit = "{name: daily, requests: 1000, window: 1d, counts: checks}";
    let manifests =
        plan_with_tenant("small", limit).replace("  limits:", "  maxFullScreenRows: 2\n  limits:");
    fs::write(server.directory().path().join("small.yaml"), manifests).unwrap();
    let _ = server.assay(&["apply", "-f", "small.yaml"]).ok();
    let key = server.assay(&["keys", "create", "--tenant", "acme", "--json"]).ok().json();
    let caller = server.caller(key["key"].as_str().unwrap());
    let body =
        "{\"blockchain\":\"btc\",\"address\":\"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}\n".repeat(3);
    wait_until("the key is known", || caller.get("/api/v1/sources").status == 200);
    let in_full = screened(&caller, "/api/v1/screen?scope=full", &body);
    let error = "more than 2 rows with flows: the plan allows at most 2 in one request";
    assert_eq!(in_full[2]["error"], error);
    assert!(screened(&caller, "/api/v1/screen", &body)[2]["error"].is_null());
}
