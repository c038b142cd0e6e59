//! Given the scenario of the demo data set, then a check of each transfer agrees with it; requests without a valid
//! transfer are refused with the reason.

mod deposits;
mod files;

use std::collections::BTreeMap;

use assay_engine::utxo::{ScriptOwner, Transaction, TransactionKind};
use assay_tests::{
    Answer, Caller, Finished, assay,
    block_builder::{Block, Network},
    esplora::Esplora,
    production, sample,
    scenario::{
        Moment, Scenario, address as scenario_address, blocks::BlockTimes, files::Files,
        reorganization_arguments,
    },
    tenant,
};
use serde_json::{Value, json};

use crate::support::wait_until;
use deposits::{ANCHOR, DEPOSITS, address, paid_to, scenario_transactions};

const PATH: &str = "/api/v1/check/transfer";

fn check(caller: &Caller, fields: &Value) -> Answer {
    caller.post(PATH, &fields.to_string(), &[])
}

fn by_output(transaction: &Transaction, output: usize, direction: &str) -> Value {
    let txid = transaction.txid.to_string();
    json!({"blockchain": "btc", "transaction": txid, "output": output, "direction": direction})
}

fn answered(caller: &Caller, fields: &Value) -> Value {
    let answer = check(caller, fields);
    assert_eq!(answer.status, 200, "{fields}: {}", answer.text);
    answer.json()
}

/// The names of the parties at which the money of a deposit began, sorted.
fn origins(answer: &Value) -> Vec<&str> {
    let lines = answer["exposure"].as_array().unwrap().iter();
    let mut names: Vec<&str> = lines
        .inspect(|line| assert_eq!(line["direction"], "source", "no payments of the receiver"))
        .map(|line| line["entity"].as_str().or(line["endpoint_type"].as_str()).unwrap())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Sums the base units of lines of exposure.
fn sum<'a>(lines: impl IntoIterator<Item = &'a Value>) -> u64 {
    let amount = |line: &Value| line["amount"]["value"].as_str().unwrap().parse::<u64>().unwrap();
    lines.into_iter().map(amount).sum()
}

fn contributions_add_up(answer: &Value) {
    let tenths = |score: &Value| (score.as_f64().unwrap() * 10.0).round();
    let components = answer["scoring_components"].as_array().unwrap().iter();
    let contributions: f64 = components.map(|component| tenths(&component["contribution"])).sum();
    assert!((contributions - tenths(&answer["risk_score"])).abs() < 0.5, "{answer:#}");
}

#[test]
fn every_deposit_of_the_story_is_judged_by_its_own_money() {
    let (_server, _, caller) = sample();
    let scenario = scenario_transactions();
    let mut seen = 0;
    let mut of_day: BTreeMap<(&str, &str, u8), usize> = BTreeMap::new();
    for (day, (party, index), verdict, score, expected) in DEPOSITS {
        let receiver = address(party, *index);
        let payees = scenario[*day].iter().flat_map(|paid| payees(paid, &scenario));
        // A party may be paid several times on one day.
        let earlier = of_day.entry((day, party, *index)).or_default();
        let paid = payees.into_iter().filter(|(_, _, payee)| *payee == receiver).nth(*earlier);
        *earlier += 1;
        let (paid, output, _) = paid.unwrap_or_else(|| panic!("{day}: {party}"));
        let answer = answered(&caller, &by_output(paid, output, "deposit"));
        let what = format!("{day}, {party}: {answer:#}");
        assert_eq!(answer["verdict"], *verdict, "{what}");
        if let Some(score) = score {
            assert_eq!(answer["risk_score"].as_f64(), Some(*score), "{what}");
        }
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(origins(&answer), expected, "{what}");
        assert_eq!(answer["complete"], true, "{what}");
        assert_eq!(answer["address"], receiver.as_str(), "{what}");
        assert!(answer["labels"].as_array().unwrap().is_empty(), "{what}");
        contributions_add_up(&answer);
        // Nothing else than this output.
        let value = paid.outputs[output].value;
        assert_eq!(sum(answer["exposure"].as_array().unwrap()), value, "{what}");
        let transfer = &answer["transfer"];
        assert_eq!(transfer["transaction"], paid.txid.to_string());
        assert_eq!(transfer["amount"]["value"], value.to_string());
        assert_eq!(transfer["outputs"][0]["index"], output);
        assert_eq!(transfer["block_time"], format!("{day}T12:00:00Z"));
        assert_eq!(
            (&transfer["basis"], &transfer["status"]),
            (&json!("origins"), &json!("confirmed"))
        );
        seen += 1;
    }
    let payees = scenario.values().flatten().map(|paid| payees(paid, &scenario).len());
    assert_eq!(seen, payees.sum::<usize>(), "every output of the story is expected");
}

/// The outputs of a payment except change, with their addresses.
fn payees<'a>(
    paid: &'a Transaction,
    scenario: &BTreeMap<String, Vec<Transaction>>,
) -> Vec<(&'a Transaction, usize, String)> {
    if paid.kind == TransactionKind::Coinbase {
        return vec![];
    }
    let payers = payers(paid, scenario);
    let outputs = paid.outputs.iter().enumerate();
    let others = outputs.filter(|(_, output)| !payers.contains(&output.owner));
    others.map(|(index, output)| (paid, index, paid_to(&output.owner))).collect()
}

/// The owners of the inputs of a payment.
fn payers(paid: &Transaction, scenario: &BTreeMap<String, Vec<Transaction>>) -> Vec<ScriptOwner> {
    let made = |txid| scenario.values().flatten().find(|made| made.txid == txid).unwrap();
    let spent = paid.inputs.iter().map(|input| {
        let index = usize::try_from(input.outpoint.index).unwrap();
        made(input.outpoint.txid).outputs[index].owner.clone()
    });
    spent.collect()
}

/// True if the last output returns to a payer.
fn has_change(paid: &Transaction, scenario: &BTreeMap<String, Vec<Transaction>>) -> bool {
    payers(paid, scenario).contains(&paid.outputs.last().unwrap().owner)
}

/// The change of a payment has the origins of the payment, because all outputs of a transaction hold the same money.
#[test]
fn change_has_the_origins_of_the_payment() {
    let (_server, _, caller) = sample();
    let scenario = scenario_transactions();
    let changed = scenario.values().flatten().filter(|paid| paid.kind == TransactionKind::Payment);
    let mut seen = 0;
    for paid in changed.filter(|paid| has_change(paid, &scenario)) {
        let [payment, change] = [0, paid.outputs.len() - 1]
            .map(|output| answered(&caller, &by_output(paid, output, "deposit")));
        assert_eq!(origins(&payment), origins(&change), "{change:#}");
        let senders = &change["transfer"]["senders"];
        assert_eq!(senders, &payment["transfer"]["senders"]);
        let payers = payers(paid, &scenario);
        let known = senders.as_array().unwrap().iter().map(|sender| sender["address"].clone());
        assert!(
            known.into_iter().all(|sender| payers.iter().any(|payer| sender == paid_to(payer)))
        );
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn every_withdrawal_of_the_story_is_judged_as_its_receiver_or_worse() {
    let (_server, business, enterprise) = sample();
    let scenario = scenario_transactions();
    let payments = scenario.values().flatten().filter(|paid| paid.kind == TransactionKind::Payment);
    let mut checks_by_basis: BTreeMap<String, usize> = BTreeMap::new();
    for paid in payments {
        for (output, paid_out) in paid.outputs.iter().enumerate() {
            let mut answer = answered(&enterprise, &by_output(paid, output, "withdrawal"));
            let transfer = answer["transfer"].take();
            let receiver = paid_to(&paid_out.owner);
            let mut of_address = Value::Null;
            wait_until("the plan admits it", || {
                let answer = business.check("btc", &receiver);
                if answer.status == 200 {
                    of_address = answer.json();
                }
                answer.status == 200
            });
            // Where this money went is shown to the last unit.
            assert_eq!(sum(transfer["destinations"].as_array().unwrap()), paid_out.value);
            let basis = transfer["basis"].as_str().unwrap().to_owned();
            if basis == "receiver" {
                for answer in [&mut answer, &mut of_address] {
                    let fields = answer.as_object_mut().unwrap();
                    for field in [
                        "transfer",
                        "check_id",
                        "direction",
                        "assessed_at",
                        "assessment_digest",
                        "cached",
                        "processing_time_ms",
                    ] {
                        fields.remove(field);
                    }
                }
                assert_eq!(answer, of_address);
            } else {
                let score = |answer: &Value| answer["risk_score"].as_f64().unwrap();
                assert!(score(&answer) > score(&of_address), "{answer:#}");
                contributions_add_up(&answer);
            }
            *checks_by_basis.entry(basis).or_default() += 1;
        }
    }
    assert!(checks_by_basis["receiver"] > 100);
}

/// Bram got 2 and paid half of it to a listed party; the town paid nearly all of its 8.2 as a ransom.
#[test]
fn a_withdrawal_shows_where_its_money_went() {
    let (_server, _, caller) = sample();
    let scenario = scenario_transactions();
    let to = |day: &str, party: &str| {
        let receiver = address(party, 0);
        let fields = json!({
            "blockchain": "btc",
            "transaction": scenario[day]
                .iter()
                .find(|paid| paid.outputs.iter().any(|output| paid_to(&output.owner) == receiver))
                .unwrap()
                .txid
                .to_string(),
            "address": receiver,
            "direction": "withdrawal",
        });
        answered(&caller, &fields)
    };
    let bram = to("2025-01-13", "Bram");
    assert_eq!(bram["verdict"], "block");
    let gone: Vec<_> = bram["transfer"]["destinations"].as_array().unwrap().iter().collect();
    assert_eq!(gone[1]["entity"], ANCHOR);
    assert_eq!(gone[1]["amount"]["value"], "99990000");
    let town = to("2025-01-20", "Town of Eastmere");
    assert_eq!(
        (&town["verdict"], &town["reasons"][0]["code"]),
        (&json!("review"), &json!("severe_category_exposure")),
        "a town that paid a ransom is a victim"
    );
    let ada = to("2024-06-03", "Ada");
    assert_eq!(ada["verdict"], "allow");
    assert_eq!(ada["address_submitted"], address("Ada", 0));
}

/// Jory's address is under review for the gang's money. A deposit from Jory's exchange is not under review; a deposit
/// from the gang is.
#[test]
fn the_history_of_the_receiving_address_does_not_count() {
    let (_server, _, caller) = sample();
    let scenario = scenario_transactions();
    let deposit = |day: &str| {
        let jory = address("Jory", 0);
        let paid =
            |paid: &&Transaction| paid.outputs.iter().any(|output| paid_to(&output.owner) == jory);
        let paid = scenario[day].iter().find(paid).unwrap();
        let by_address = json!({
            "blockchain": "Bitcoin",
            "transaction": paid.txid.to_string().to_uppercase(),
            "address": jory.to_uppercase(),
            "direction": "deposit",
            "reference": "order 4711",
        });
        let answer = answered(&caller, &by_address);
        assert_eq!(answer["address_submitted"], jory.to_uppercase());
        assert_eq!(
            (&answer["reference"], &answer["direction"]),
            (&json!("order 4711"), &json!("deposit"))
        );
        answer
    };
    assert_eq!(caller.check("btc", &address("Jory", 0)).json()["verdict"], "review");
    let (from_exchange, from_gang) = (deposit("2024-12-16"), deposit("2025-02-24"));
    assert_eq!(
        (&from_exchange["verdict"], &from_exchange["risk_score"]),
        (&json!("allow"), &json!(4.7))
    );
    assert_eq!((&from_gang["verdict"], &from_gang["risk_score"]), (&json!("review"), &json!(64)));
    assert_eq!(from_gang["activity"]["counts"]["transfers_in"], 1);
    assert_eq!(from_gang["transfer"]["senders"][0]["address"], address("Sable", 0));
    assert_eq!(from_gang["transfer"]["senders_count"], 1);
}

fn problem(caller: &Caller, fields: &Value) -> (u16, String, String) {
    let answer = check(caller, fields);
    let (status, code) = answer.problem();
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    (status, code, detail)
}

#[test]
fn what_is_no_transfer_is_refused_with_the_reason() {
    // On Enterprise: a loop sends more requests in a second than Business allows.
    let (server, _, caller) = sample();
    let scenario = scenario_transactions();
    let day = &scenario["2024-06-03"];
    let (coinbase, paid) = (&day[0], &day[1]);
    let with = |changed: Value| {
        let mut fields = by_output(paid, 0, "deposit");
        for (name, value) in changed.as_object().unwrap() {
            if value == "absent" {
                fields.as_object_mut().unwrap().remove(name);
            } else {
                fields[name] = value.clone();
            }
        }
        fields
    };
    let (ada, other) = (address("Ada", 0), address("Otto", 0));
    let unknown = "ab".repeat(32);
    let cases = [
        (json!({"transaction": unknown}), 404, "transaction_not_found", "no transaction abab"),
        (
            json!({"transaction": unknown}),
            404,
            "transaction_not_found",
            "block 99, the newest known one",
        ),
        (
            json!({"transaction": unknown}),
            404,
            "transaction_not_found",
            "ask again after the first confirmation",
        ),
        (json!({"output": 2}), 404, "output_not_found", "no output 2: it has 2"),
        (json!({"output": 4_294_967_295_u32}), 404, "output_not_found", "no output 4294967295"),
        (
            json!({"output": "absent", "address": other}),
            404,
            "output_not_found",
            "no output to bc1",
        ),
        (json!({"address": ada}), 400, "invalid_request", "either `output` or `address`"),
        (json!({"output": "absent"}), 400, "invalid_request", "as `output`"),
        (json!({"output": -1}), 400, "invalid_request", "output"),
        (json!({"output": 4_294_967_296_u64}), 400, "invalid_request", "output"),
        (json!({"transaction": "abcd"}), 400, "invalid_request", "64 hexadecimal digits"),
        (json!({"direction": "absent"}), 400, "invalid_request", "direction"),
        (json!({"direction": "sideways"}), 400, "invalid_request", "direction"),
        (json!({"vout": 0}), 400, "invalid_request", "vout"),
        (json!({"reference": "x".repeat(129)}), 400, "invalid_request", "reference"),
        (
            json!({"output": "absent", "address": "0x094b38af1c2b20ce653843e787754cdab7846aa7"}),
            422,
            "invalid_address",
            "not a valid btc address",
        ),
        (json!({"blockchain": "nochain"}), 422, "unsupported_chain", "nochain"),
        (json!({"blockchain": "eth"}), 400, "invalid_request", "eth have no outputs"),
        (
            json!({"blockchain": "bsc", "output": "absent"}),
            422,
            "chain_not_followed",
            "no node or indexer",
        ),
        (json!({"blockchain": "ltc"}), 422, "chain_not_followed", "no node or indexer"),
        (
            json!({"transaction": coinbase.txid.to_string()}),
            422,
            "unsupported_transfer",
            "newly mined",
        ),
    ];
    for (changed, status, code, detail) in cases {
        let found = problem(&caller, &with(changed.clone()));
        assert_eq!((found.0, &*found.1), (status, code), "{changed}: {}", found.2);
        assert!(found.2.contains(detail), "{changed}: {}", found.2);
    }
    // None of them was charged.
    let usage = caller.get("/api/v1/usage");
    assert_eq!(usage.json()["total"], 0, "{}", usage.text);

    // The command line says the same.
    let run = |arguments: &[&str]| -> Finished {
        let command = ["check-transfer", "--sample", "btc"];
        server.assay(&[&command, arguments].concat())
    };
    let (txid, mined) = (paid.txid.to_string(), coinbase.txid.to_string());
    let deposit = ["--direction", "deposit"];
    let refused: [(&[&str], i32, &str); 7] = [
        (&[&unknown, "--output", "0"], 3, "there is no transaction abab"),
        (&[&txid, "--output", "2"], 3, "has no output 2"),
        (&[&txid, "--address", &other], 3, "has no output to"),
        (&[&txid, "--address", "x"], 3, "not a valid btc address"),
        (&[&txid], 2, "--output"),
        (&[&txid, "--output", "0", "--address", &ada], 2, "cannot be used with"),
        (&[&mined, "--output", "0"], 3, "newly mined"),
    ];
    for (arguments, code, text) in refused {
        let finished = run(&[arguments, &deposit].concat());
        assert_eq!(finished.code, code, "{arguments:?}: {}", finished.stderr);
        let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
}

#[test]
fn a_chain_that_cannot_be_read_is_a_problem_and_no_answer() {
    let (server, caller) = production();
    let manifest = "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {name: litecoin}\nspec:\n  \
                    chain: ltc\n  mode: on_demand\n  protocol: esplora\n  endpoint: http://127.0.0.1:9\n";
    let directory = server.directory();
    std::fs::write(directory.path().join("chain.yaml"), manifest).unwrap();
    let _ = server.assay(&["apply", "--file", "chain.yaml"]).ok();
    let fields = json!({
        "blockchain": "ltc", "transaction": "ab".repeat(32), "output": 0, "direction": "deposit",
    });
    wait_until("the chain is known", || problem(&caller, &fields).1 != "chain_not_followed");
    let (status, code, detail) = problem(&caller, &fields);
    assert_eq!((status, &*code), (503, "unavailable"), "{detail}");
    assert!(detail.contains("the transactions of ltc cannot be read"), "{detail}");
}

#[test]
fn a_check_of_a_transfer_counts_is_kept_and_repeated_like_that_of_an_address() {
    let (server, business, enterprise) = sample();
    let scenario = scenario_transactions();
    let paid = &scenario["2024-06-03"][1];
    let fields = by_output(paid, 0, "deposit").to_string();
    let post = |headers: &[(&str, &str)]| business.post(PATH, &fields, headers);
    let status =
        |answer: &Answer| answer.header("cache-status").split("; ttl").next().unwrap().to_owned();
    let first = post(&[]);
    assert_eq!(status(&first), "assay; fwd=miss; stored", "{}", first.text);
    let second = post(&[]);
    assert_eq!(
        (status(&second), second.json()["cached"].clone()),
        ("assay; hit".into(), json!(true))
    );
    assert_eq!(status(&post(&[("cache-control", "no-cache")])), "assay; fwd=request; stored");
    // The address, the other direction, the other output and another tenant have answers of their own.
    let address = business.check("btc", &address("Ada", 0));
    assert_eq!(status(&address), "assay; fwd=miss; stored");
    assert!(address.json().get("transfer").is_none());
    let others = [by_output(paid, 0, "withdrawal"), by_output(paid, 1, "deposit")];
    for other in others {
        assert_eq!(status(&check(&business, &other)), "assay; fwd=miss; stored");
    }
    assert_eq!(status(&enterprise.post(PATH, &fields, &[])), "assay; fwd=miss; stored");
    // Both prefixes.
    let alias = business.post("/v1/check/transfer", &fields, &[]);
    assert_eq!(alias.json()["assessment_digest"], first.json()["assessment_digest"]);

    // The record is the answer, and says which transfer it was.
    let id = first.json()["check_id"].as_str().unwrap().to_owned();
    let kept = business.get(&format!("/api/v1/checks/{id}"));
    assert_eq!(kept.text, first.text);
    assert_eq!(kept.json()["transfer"]["transaction"], paid.txid.to_string());
    assert_eq!(enterprise.get(&format!("/api/v1/checks/{id}")).status, 404);
    let usage = business.get("/api/v1/usage").json();
    assert_eq!(usage["total"], 7, "{usage}");
    let operations = usage["usage"].as_array().unwrap().iter();
    assert!(operations.into_iter().all(|row| row["operation"] == "check"), "{usage}");
    let limits = first.header("ratelimit");
    assert!(limits.contains("\"daily\""), "{limits}");
    assert!(!server.log().contains(&paid.txid.to_string()), "no transaction in the log");

    // The command line gives the same assessment.
    let txid = paid.txid.to_string();
    let run =
        ["check-transfer", "--sample", "btc", &txid, "--output", "0", "--direction", "deposit"];
    let shown = server.assay(&[&run[..], &["--json"]].concat()).ok().json();
    for field in ["assessment_digest", "transfer", "risk_score", "exposure", "direction"] {
        assert_eq!(shown[field], first.json()[field], "{field}");
    }
    let drawn = server.assay(&run).ok().stdout;
    for line in ["deposit of 0.40000000 BTC", "Senders", "judged by   the origins of this money"] {
        assert!(drawn.contains(line), "{drawn}");
    }
    let coded = server.assay(&[&run[..], &["--exit-code"]].concat());
    assert_eq!(coded.code, 0, "{}", coded.stderr);
}

/// Applies a source that is read on demand to a data directory with the scenario's labels.
fn on_demand(scenario: &Scenario, url: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    Files::write(scenario.network.chain(), directory.path()).import(directory.path());
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: bitcoin}}\nspec:\n  \
         chain: btc\n  mode: on_demand\n  protocol: esplora\n  endpoint: {url}\n  allowTestNetwork: true\n  \
         fetchTimeout: 30s\n"
    );
    std::fs::write(directory.path().join("chain.yaml"), manifest).unwrap();
    std::fs::write(directory.path().join("tenant.yaml"), tenant("acme", "business")).unwrap();
    for file in ["tenant.yaml", "chain.yaml"] {
        let _ = assay(directory.path(), ["apply", "--file", file]).ok();
    }
    directory
}

/// The chain is ingested and read on demand, before and after a reorganization.
#[test]
fn a_source_on_demand_gives_the_answers_of_the_whole_chain() {
    let scenario = Scenario::new(Network::BitcoinRegtest, BlockTimes::FIXED);
    let blocks = |moment| -> Vec<Block> {
        let first = Block::genesis(scenario.network);
        [first].into_iter().chain(scenario.chain(moment).into_iter().cloned()).collect()
    };
    let esplora = Esplora::start(scenario.network.chain(), blocks(Moment::BeforeReorganisation));
    let read = on_demand(&scenario, &esplora.url());
    let ingested = tempfile::tempdir().unwrap();
    Files::write(scenario.network.chain(), ingested.path()).import(ingested.path());
    let ingest = || {
        let command = ["ingest", "chain", "btc", "--test-network", "--esplora", &esplora.url()];
        let accepting = reorganization_arguments(&scenario);
        let command = command.into_iter().chain(accepting.iter().map(String::as_str));
        let _ = assay(ingested.path(), command).ok();
    };
    let check = |directory: &std::path::Path, payment: &str, further: &[&str]| {
        let txid = scenario.txid(payment).to_string();
        assay(directory, [&["check-transfer", "btc", &txid, "--json"], further].concat())
    };
    let both = |payment: &str, further: &[&str]| {
        let [of_graph, of_source] = [&ingested, &read]
            .map(|directory| check(directory.path(), payment, further).ok().json());
        for field in
            ["exposure", "scoring_components", "reasons", "transfer", "verdict", "activity"]
        {
            assert_eq!(of_graph[field], of_source[field], "{payment} {further:?}: {field}");
        }
        of_graph
    };
    let refused = |payment: &str, further: &[&str], text: &str| {
        for directory in [&ingested, &read] {
            let finished = check(directory.path(), payment, further);
            let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(finished.code, 3, "{said}");
            assert!(said.contains(text), "{said}");
        }
    };
    ingest();
    let north = scenario_address("btc".parse().unwrap(), "north-deposit-alice");
    let deposit = ["--output", "0", "--direction", "deposit"];
    let withdrawal = ["--output", "0", "--direction", "withdrawal"];
    for payment in
        ["deposit-alice", "sweep", "theft", "dust", "pay-dave", "mix", "peel-a", "lost", "again"]
    {
        let _ = both(payment, &deposit);
        let _ = both(payment, &withdrawal);
    }
    let by_address =
        both("deposit-alice", &["--address", north.as_str(), "--direction", "deposit"]);
    assert_eq!(by_address["transfer"]["amount"]["value"], "3100000000");
    // The thief's money, directly and half and half.
    let stolen = both("pay-dave", &deposit);
    assert_eq!(stolen["exposure"][0]["entity"], stolen["transfer"]["senders"][0]["entity"]);
    // A note has no address.
    refused("dust", &["--output", "1", "--direction", "deposit"], "pays no address");

    // When another branch replaces the block, then the transaction is gone.
    esplora.set_blocks(blocks(Moment::End));
    ingest();
    let gone = check(ingested.path(), "lost", &deposit);
    assert_eq!(gone.code, 3, "{}", gone.stderr);
    assert!(gone.stderr.contains("there is no transaction"), "{}", gone.stderr);
    let again = check(ingested.path(), "again", &deposit).ok().json();
    assert_eq!(again["transfer"]["block_height"], 138);
    assert_eq!(again["transfer"]["confirmations"], 146 - 138 + 1);
}
