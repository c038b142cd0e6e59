//! Many addresses in one request, and an account on every EVM chain.

use std::fs;

use assay_tests::{Answer, Caller, assay, production, sample, tenant};
use serde_json::{Value, json};

use crate::support::{wait_until, without_volatile_fields};

const PATH: &str = "/api/v1/check/addresses";
const ONE: &str = "/api/v1/check/address";
const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const ACCOUNT: &str = "0x52908400098527886E0F7030069857D2E4169EE7";

fn ask(caller: &Caller, checks: &[Value]) -> Answer {
    caller.post(PATH, &json!({ "checks": checks }).to_string(), &[])
}

fn btc(address: &str) -> Value {
    json!({"blockchain": "btc", "address": address, "reference": address})
}

fn total(caller: &Caller) -> Value {
    caller.get("/api/v1/usage").json()["total"].clone()
}

/// An answer without what differs between two requests.
fn content(answer: &Value) -> Value {
    let mut answer = without_volatile_fields(answer.clone());
    answer["cached"] = json!("[cached]");
    answer["instance"] = json!("[instance]");
    answer
}

#[test]
fn each_result_is_that_of_a_check_of_its_own_in_the_same_order() {
    let (_server, caller) = production();
    let checks = [
        btc(GENESIS),
        btc("nonsense"),
        json!({"blockchain": "eth", "address": ACCOUNT, "direction": "withdrawal"}),
        json!({"blockchain": "btc", "adress": GENESIS}),
        json!({"blockchain": "nochain", "address": GENESIS}),
        btc(GENESIS),
        json!({"blockchain": "evm", "address": ACCOUNT}),
    ];
    let answer = ask(&caller, &checks);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), checks.len());
    wait_until("each answer is charged", || total(&caller) == json!(4));
    for (result, check) in results.iter().zip(&checks) {
        let alone = caller.post(ONE, &check.to_string(), &[]);
        assert_eq!(content(result), content(&alone.json()), "{check}");
        assert_eq!(result["check_id"].is_string(), alone.status == 200);
        if let Some(id) = result["check_id"].as_str() {
            let path = format!("/api/v1/checks/{id}");
            assert_eq!(caller.get(&path).json(), *result, "each answer is kept");
        } else {
            assert_eq!(result["instance"], PATH);
            assert_eq!(result["status"], alone.status);
        }
    }
}

#[test]
fn a_request_without_checks_or_with_too_many_is_refused() {
    let (_server, caller) = production();
    let many = vec![btc(GENESIS); 101];
    for checks in [&many[..0], &many] {
        assert_eq!(ask(&caller, checks).problem(), (400, "invalid_request".into()));
    }
    assert_eq!(ask(&caller, &many[..100]).status, 200);
    let wrong = ask(&caller, &[btc("x"), btc("y")]);
    assert_eq!(wrong.json()["results"].as_array().unwrap().len(), 2, "and none is charged");
    let large = vec![json!({"blockchain": "btc", "address": "1".repeat(1_000)}); 70];
    assert_eq!(ask(&caller, &large).problem(), (413, "body_too_large".into()));
    assert_eq!(total(&caller), json!(100));
}

#[test]
fn all_checks_are_admitted_or_none() {
    let (server, caller) = production();
    let plan = "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {name: tight}\n\
                spec:\n  displayName: Tight\n  apiAccess: true\n  limits:\n  \
                - {name: quota, requests: 5, window: 1d, counts: checks}\n---\n";
    let manifest = format!("{plan}{}", tenant("acme", "tight"));
    fs::write(server.directory().path().join("tight.yaml"), manifest).unwrap();
    let _ = server.assay(&["apply", "-f", "tight.yaml"]).ok();
    let policy = || caller.get("/api/v1/sources").header("ratelimit-policy").to_owned();
    wait_until("the plan holds", || policy() == "\"quota\";q=5;w=86400");
    let left =
        |answer: &Answer| answer.header("ratelimit").split(";r=").nth(1).unwrap()[..1].to_owned();
    // Given room for five checks, of which three are answered; wrong ones take none.
    let checks = [btc(GENESIS), btc("x"), btc(GENESIS), btc(GENESIS)];
    assert_eq!(left(&ask(&caller, &checks)), "2");
    // When more are asked for than remain, then none is answered or charged, and the refusal says what remains.
    let refused = ask(&caller, &checks);
    assert_eq!(refused.problem(), (429, "quota_exceeded".into()));
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("needs 3 checks, and 2 remain"), "{detail}");
    assert_eq!(left(&refused), "2");
    assert_eq!(left(&ask(&caller, &checks[1..3])), "1");
    assert_eq!(left(&ask(&caller, &checks[..2])), "0");
    assert_eq!(ask(&caller, &checks[1..2]).status, 200, "nothing is to be charged");
    assert_eq!(total(&caller), json!(5));
}

#[test]
fn a_repeated_request_with_a_key_charges_its_checks_once() {
    let (_server, caller) = production();
    let body = json!({"checks": [btc(GENESIS), btc("x"), btc(GENESIS)]}).to_string();
    let keyed = || caller.post(PATH, &body, &[("idempotency-key", "payroll")]);
    let first = keyed();
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(keyed().text, first.text);
    assert_eq!(total(&caller), json!(2));
}

#[test]
fn an_account_has_the_worst_verdict_of_all_evm_chains_and_is_charged_once() {
    let (_server, _, caller) = sample();
    let on = |chain: &str, address: &str| {
        let body = json!({"blockchain": chain, "address": address});
        let answer = caller.post(ONE, &body.to_string(), &[]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let before = total(&caller).as_u64().unwrap();
    let answer = on("evm", ACCOUNT);
    wait_until("one check is charged", || total(&caller) == json!(before + 1));
    let chains = answer["chains"].as_array().unwrap();
    let rank = |verdict: &Value| {
        let order = ["allow", "indeterminate", "review", "block"];
        order.iter().position(|it| verdict == *it).unwrap()
    };
    // Each chain has the verdict of its own check, and the answer is the worst of them.
    let worst = chains.iter().map(|chain| rank(&chain["verdict"])).max().unwrap();
    assert_eq!(rank(&answer["verdict"]), worst);
    assert!(chains.len() > 40, "{}", chains.len());
    for chain in chains
        .iter()
        .filter(|it| ["eth", "base", "bsc"].contains(&it["blockchain"].as_str().unwrap()))
    {
        let alone = on(chain["blockchain"].as_str().unwrap(), ACCOUNT);
        for field in
            ["verdict", "risk_score", "risk_level", "complete", "scope", "assessment_digest"]
        {
            assert_eq!(chain[field], alone[field], "{chain}");
        }
        for (kind, block) in alone["coverage"].as_object().unwrap() {
            let is_assessed = ["assessed", "partial"].contains(&block["status"].as_str().unwrap());
            let list = if is_assessed { "assessed" } else { "not_assessed" };
            assert!(chain[list].as_array().unwrap().contains(&json!(kind)), "{chain}");
        }
    }
    let named = chains.iter().find(|it| it["blockchain"] == answer["blockchain"]).unwrap();
    assert_eq!(named["risk_score"], answer["risk_score"]);
    assert_eq!(caller.post(ONE, r#"{"blockchain":"evm","address":"x"}"#, &[]).status, 422);
}

#[test]
fn the_command_line_finds_the_chain_by_the_form_of_the_address() {
    let (server, _, _) = sample();
    let run = |arguments: &[&str]| server.assay(&[&["check", "--sample"], arguments].concat());
    let answer = run(&[ACCOUNT, "--json"]).ok().json();
    assert!(answer["chains"].as_array().unwrap().len() > 40);
    let text = run(&[ACCOUNT]).ok().stdout;
    assert!(text.contains("Chains") && text.contains("base"), "{text}");
    let tron = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    assert_eq!(run(&[tron, "--json"]).ok().json()["blockchain"], "trx");
    let several = run(&[GENESIS]);
    assert!(several.code != 0 && several.stderr.contains("is valid on btc"), "{}", several.stderr);
    let none = run(&["nonsense"]);
    assert!(none.code != 0 && none.stderr.contains("name its blockchain"), "{}", none.stderr);
    let chain = run(&["nochain", GENESIS]);
    assert!(chain.code != 0 && chain.stderr.contains("nochain"), "{}", chain.stderr);
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(assay(directory.path(), ["check", "a", "b", "c"]).code, 2);
}
