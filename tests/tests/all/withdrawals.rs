//! Withdrawals that are not sent yet: judged by their receiver and by rules about the amount, with a warning about
//! receivers of earlier checks that look alike.

use std::{fs, sync::Arc};

use assay_tests::{Answer, Caller, Postgres, Server, assay, production, tenant};
use serde_json::{Value, json};

use crate::support::wait_until;

const PATH: &str = "/api/v1/check/transfer";
const ONE: &str = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";
/// An account with the ends of [`ONE`].
const FAKE: &str = "0x189f00000000000000000000000000000000f82d";
/// An account that differs from [`ONE`] by a digit in the middle.
const MISTYPED: &str = "0x189f40034be7a199f1fa9890668ee3ab6049f82d";

fn withdrawal(chain: &str, to: &str, further: &Value) -> Value {
    let mut body = json!({
        "blockchain": chain, "direction": "withdrawal", "to": to, "asset": "native", "amount": "1000",
    });
    for (field, value) in further.as_object().into_iter().flatten() {
        body[field] = value.clone();
    }
    body
}

fn ask(caller: &Caller, body: &Value) -> Answer {
    caller.post(PATH, &body.to_string(), &[])
}

fn answered(caller: &Caller, body: &Value) -> Value {
    let answer = ask(caller, body);
    assert_eq!(answer.status, 200, "{body}: {}", answer.text);
    answer.json()
}

/// The message of a warning; `None` if an answer has no such warning.
fn warning(answer: &Value, code: &str) -> Option<String> {
    let mut warnings = answer["warnings"].as_array().unwrap().iter();
    let found = warnings.find(|warning| warning["code"] == code)?;
    Some(found["message"].as_str().unwrap().to_owned())
}

fn imitated(caller: &Caller, chain: &str, to: &str) -> Option<String> {
    warning(&answered(caller, &withdrawal(chain, to, &json!({}))), "look_alike_receiver")
}

/// Two servers on one new PostgreSQL database, with a caller of each tenant at both.
fn two_servers() -> (Vec<Server>, Vec<[Caller; 2]>) {
    let database = Postgres::shared(None);
    let directory = || {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        database.connect_directory(directory.path());
        directory
    };
    let here = directory();
    let run = |arguments: &[&str]| assay(here.path(), arguments).ok();
    let _ = run(&["migrate"]);
    let keys = ["acme", "other"].map(|name| {
        fs::write(here.path().join("tenant.yaml"), tenant(name, "enterprise")).unwrap();
        let _ = run(&["apply", "-f", "tenant.yaml"]);
        run(&["keys", "create", "--tenant", name]).stdout.trim().to_owned()
    });
    let servers = [here.clone(), directory()].map(|directory| Server::start(directory, &[]));
    let callers = keys.map(|key| servers.each_ref().map(|server| server.caller(&key)));
    (servers.into(), callers.into())
}

#[test]
fn a_receiver_that_imitates_an_earlier_one_is_warned_of() {
    let (mut server, caller) = production();
    // Given a receiver that was checked once, on another EVM chain.
    assert_eq!(imitated(&caller, "polygon", ONE), None);
    // When others that look like it are about to be paid, then the answer names it, at once.
    for other in [FAKE, MISTYPED] {
        let message = imitated(&caller, "eth", other).expect(other);
        assert!(message.to_lowercase().contains(ONE), "{message}");
    }
    // The one that was checked first is no imitation, and the others stay imitations.
    assert_eq!(imitated(&caller, "eth", ONE), None);
    assert!(imitated(&caller, "eth", FAKE).is_some());
    // Then a restart forgets none of it, and a deposit's address is no receiver.
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    let server = Server::start(server.directory(), &[]);
    let caller = server.caller(&caller.key);
    assert!(imitated(&caller, "eth", FAKE).is_some());
    assert_eq!(imitated(&caller, "eth", ONE), None);
}

#[test]
fn receivers_are_known_to_all_servers_and_to_their_tenant_only() {
    let (_servers, callers) = two_servers();
    let [[here, there], [_, other]] = &callers[..] else { panic!("two tenants") };
    // Given a receiver of a check of its address at one server.
    let body = json!({"blockchain": "eth", "address": ONE, "direction": "withdrawal"});
    assert_eq!(here.post("/api/v1/check/address", &body.to_string(), &[]).status, 200);
    let deposit = json!({"blockchain": "btc", "address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "direction": "deposit"});
    assert_eq!(here.post("/api/v1/check/address", &deposit.to_string(), &[]).status, 200);
    // When a look-alike is checked at the other one, then it is warned of once the receiver is written.
    wait_until("the receiver is written", || imitated(there, "eth", FAKE).is_some());
    // Then no other tenant learns of it.
    assert_eq!(imitated(other, "eth", FAKE), None);
    // An address of a deposit is no receiver.
    assert_eq!(imitated(there, "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), None);
}

#[test]
fn a_withdrawal_is_judged_as_a_check_of_its_receiver_and_charged_as_one() {
    let (_server, caller) = production();
    let receiver = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    let further = json!({"amount": "150000000", "reference": "payout 7"});
    let answer = answered(&caller, &withdrawal("btc", receiver, &further));
    let checked = caller.check("btc", receiver).json();
    for field in ["verdict", "risk_score", "reasons", "coverage", "sources", "address"] {
        assert_eq!(answer[field], checked[field], "{field}");
    }
    assert_eq!(
        (&answer["direction"], &answer["reference"]),
        (&json!("withdrawal"), &json!("payout 7"))
    );
    assert_eq!(answer["address_submitted"], receiver);
    let transfer = &answer["transfer"];
    assert_eq!(transfer["amount"]["value"], "150000000");
    assert_eq!((&transfer["status"], &transfer["basis"]), (&json!("planned"), &json!("receiver")));
    assert_eq!(transfer["planned"], json!({"asset": "native", "from": null, "to": receiver}));
    for field in ["transaction", "block_height", "block_time"] {
        assert_eq!(transfer[field], json!(null), "{field}");
    }
    wait_until("both are charged as checks", || {
        caller.get("/api/v1/usage").json()["total"] == json!(2)
    });
    let path = format!("/api/v1/checks/{}", answer["check_id"].as_str().unwrap());
    assert_eq!(caller.get(&path).json(), answer);
    // A token that is not known has no rules by amount, and the answer says so.
    let token = json!({"asset": "0x52908400098527886E0F7030069857D2E4169EE7"});
    let answer = answered(&caller, &withdrawal("eth", ONE, &token));
    assert!(warning(&answer, "amount_not_assessed").is_some());
}

#[test]
fn a_request_without_what_a_withdrawal_needs_is_refused_with_the_field() {
    let (_server, caller) = production();
    let refused = |body: Value| {
        let problem = ask(&caller, &body).json();
        (problem["status"].clone(), problem["errors"][0]["field"].clone())
    };
    for (further, field) in [
        (json!({"amount": 1000}), "amount"),
        (json!({"amount": "0"}), "amount"),
        (json!({"amount": null}), "amount"),
        (json!({"asset": null}), "asset"),
        (json!({"asset": "USDC.x"}), "asset"),
        (json!({"to": null}), "to"),
        (json!({"direction": "deposit"}), "transaction"),
        (json!({"output": 0}), "output"),
    ] {
        let found = refused(withdrawal("eth", ONE, &further));
        assert_eq!(found, (json!(400), json!(field)), "{further}");
    }
    let wrong = refused(withdrawal("btc", ONE, &json!({})));
    assert_eq!(wrong, (json!(422), json!("to")));
}
