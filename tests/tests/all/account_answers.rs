//! Answers about account chains: amounts in the units of their assets, and checks of one transfer.

use std::{fmt::Write, fs, path::Path, sync::Arc};

use assay_tests::{Finished, Server, assay, sample, tenant};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::wait_until;

const USDT: &str = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
/// One ETH in base units.
const ETHER: u128 = 1_000_000_000_000_000_000;

/// The address of a person.
pub(crate) fn address(person: &str) -> String {
    let bytes: Vec<u8> = person.bytes().chain(std::iter::repeat(0x11)).take(20).collect();
    format!("0x{}", bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}

/// The identifier of a transaction.
fn txid(number: u64) -> String {
    format!("0x{number:064x}")
}

/// A row of a file of transfers, in a transaction that its payer sent.
pub(crate) fn row(
    transaction: u64,
    index: u32,
    asset: &str,
    from: &str,
    to: &str,
    amount: u128,
) -> String {
    row_by(from, transaction, index, asset, (from, to), amount)
}

/// A row of a file of transfers, in a transaction that an initiator sent.
fn row_by(
    initiator: &str,
    transaction: u64,
    index: u32,
    asset: &str,
    (from, to): (&str, &str),
    amount: u128,
) -> String {
    let (block, time) = (20_000_000 + transaction, 1_700_000_000 + 12 * transaction);
    let (txid, initiator) = (txid(transaction), address(initiator));
    let (from, to) = (address(from), address(to));
    format!("{block},{time},{txid},{index},{asset},{from},{to},{amount},{initiator},transfer,,")
}

pub(crate) const HEADER: &str =
    "block,time,txid,index,asset,from,to,amount,initiator,kind,log_index,trace_index";

/// A data directory with the transfers of rows, and labels: person, category, entity.
pub(crate) fn recorded(rows: &[String], labels: &[(&str, &str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    if !labels.is_empty() {
        let mut text = "blockchain,address,category,tier,confidence,entity\n".to_owned();
        for (person, category, entity) in labels {
            writeln!(text, "eth,{},{category},investigation,95,{entity}", address(person)).unwrap();
        }
        fs::write(directory.path().join("labels.csv"), text).unwrap();
        let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "own"];
        let _ = assay(directory.path(), import).ok();
    }
    if !rows.is_empty() {
        ingest(directory.path(), rows);
    }
    directory
}

pub(crate) fn ingest(directory: &Path, rows: &[String]) {
    fs::write(directory.join("transfers.csv"), format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap();
    let _ = assay(directory, ["ingest", "chain", "eth", "--transfers", "transfers.csv"]).ok();
}

/// A thief's ETH that reaches Ann over Bob, and the USDT for which Ann sells a part of it.
pub(crate) fn swap() -> TempDir {
    recorded(
        &[
            row(1, 0, "native", "exchange", "cid", 2 * ETHER),
            row(2, 0, USDT, "exchange", "cid", 40_000_000_000),
            row(3, 0, "native", "thief", "bob", 100 * ETHER),
            row(4, 0, "native", "bob", "ann", 50 * ETHER),
            row(5, 0, "native", "ann", "pool", 40 * ETHER),
            row_by("ann", 5, 1, USDT, ("pool", "ann"), 100_000_500_000),
            row(6, 0, USDT, "ann", "dan", 100_000_500_000),
        ],
        &[("exchange", "exchange", "Example Exchange"), ("thief", "stolen_funds", "Example theft")],
    )
}

/// The standard output of a command, in one line.
fn printed(directory: &Path, arguments: &[&str]) -> String {
    let text = assay(directory, arguments).ok().stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json_of(directory: &Path, arguments: &[&str]) -> Value {
    assay(directory, arguments.iter().chain(&["--json"])).ok().json()
}

#[test]
fn each_unit_of_an_answer_is_drawn_by_itself_with_its_own_decimals() {
    let directory = swap();
    for all in [&[][..], &["--all"]] {
        let check = ["check", "eth", &address("ann")];
        let text = printed(directory.path(), &[&check[..], all].concat());
        for expected in [
            "Source of funds USD 100,000.50",
            "Source of funds 50 ETH",
            "Destination of funds USD 100,000.50",
            "Destination of funds 40 ETH",
            "10 ETH",
            "50 ETH, 100,000.5 USDT in 2 transactions",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}

#[test]
fn amounts_of_an_exposure_are_base_units_like_all_others() {
    let directory = swap();
    let answer = json_of(directory.path(), &["check", "eth", &address("ann")]);
    let exposure = answer["exposure"].as_array().unwrap();
    let stolen = exposure.iter().find(|line| line["category"] == "stolen_funds").unwrap();
    let whole = json!((50 * ETHER).to_string());
    assert_eq!(stolen["amount"], json!({"value": whole, "asset": "ETH", "usd": null}));
    assert_eq!(stolen["parts"][0]["amount"], whole);
    assert_eq!(stolen["paths"][0]["amount"]["value"], whole);
    assert_eq!(stolen["paths"][0]["steps"][0]["amount"], whole);
    let dollars = exposure.iter().find(|line| line["amount"]["asset"] == "USD").unwrap();
    assert_eq!(
        (&dollars["amount"]["value"], &dollars["amount"]["usd"]),
        (&json!("10000050"), &json!("100000.50"))
    );
    // The rules of a policy measure the same funds in a recorded answer.
    fs::write(directory.path().join("answer.json"), answer.to_string()).unwrap();
    let tested = json_of(directory.path(), &["policy", "test", "answer.json"]);
    assert_eq!(tested["before"], tested["after"], "{tested:#}");
}

#[test]
fn a_trace_shows_each_unit_with_paths_by_asset_and_place() {
    let mut rows = vec![row(1, 0, USDT, "thief", "bob", 7_000_000)];
    rows.push(row(2, 0, USDT, "bob", "ann", 6_500_000).replace("transfer,,", "transfer,12,"));
    rows.push(row(3, 0, "native", "exchange", "ann", ETHER));
    let labels = [("thief", "stolen_funds", "Example theft"), ("exchange", "exchange", "X")];
    let directory = recorded(&rows, &labels);
    let ann = address("ann");
    let text = printed(directory.path(), &["trace", "eth", &ann]);
    for expected in [
        "Source of funds USD 6.50",
        "path of USD 6.50",
        "6.5 USDT, log 12",
        "7 USDT; Example theft (stolen_funds)",
        "Source of funds 1 ETH",
        "2023-11-14",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let answer = json_of(directory.path(), &["trace", "eth", &ann, "--direction", "source"]);
    let units: Vec<&Value> =
        answer["directions"].as_array().unwrap().iter().map(|it| &it["asset"]).collect();
    assert_eq!(units, ["USD", "ETH"]);
    assert_eq!(answer["directions"][1]["total_amount"], ETHER.to_string());
    let dot = printed(directory.path(), &["trace", "eth", &ann, "--dot"]);
    assert!(dot.contains("USD 6.50"), "{dot}");
    // Hops are a bound of traces on chains of outputs.
    let refused = assay(directory.path(), ["trace", "eth", &ann, "--hops", "3"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("leave the flag out"), "{}", refused.stderr);
}

/// A transfer check as the command line prints it.
fn check_transfer(directory: &Path, transaction: u64, further: &[&str]) -> Finished {
    let txid = txid(transaction);
    let start = ["check-transfer", "eth", &txid];
    assay(directory, start.iter().chain(further))
}

const DEPOSIT: [&str; 2] = ["--direction", "deposit"];
const WITHDRAWAL: [&str; 2] = ["--direction", "withdrawal"];

#[test]
fn a_deposit_is_assessed_by_the_origins_of_its_own_money() {
    // Given an exchange's wallet with clean money, and a thief's deposit of one part of it.
    let mut rows = vec![
        row(1, 0, "native", "exchange", "wallet", 900 * ETHER),
        row(2, 0, "native", "thief", "bob", 60 * ETHER),
        row(3, 0, "native", "exchange", "bob", 40 * ETHER),
    ];
    rows.push(row(4, 0, "native", "bob", "wallet", 50 * ETHER));
    let labels =
        [("thief", "stolen_funds", "Example theft"), ("exchange", "exchange", "Other Exchange")];
    let directory = recorded(&rows, &labels);
    // When the deposit is checked, without naming the only transfer of its transaction.
    let json = [&DEPOSIT[..], &["--json"]].concat();
    let answer = check_transfer(directory.path(), 4, &json).ok().json();
    // Then its money counts, and not the wallet's.
    assert_eq!((&answer["verdict"], &answer["direction"]), (&json!("review"), &json!("deposit")));
    let stolen = answer["exposure"].as_array().unwrap().iter();
    let stolen = stolen.clone().find(|line| line["category"] == "stolen_funds").unwrap().clone();
    assert_eq!(stolen["share"], "0.600000", "{answer:#}");
    assert_eq!(stolen["amount"]["value"], (30 * ETHER).to_string());
    assert_eq!(stolen["paths"][0]["steps"][1]["label"]["entity"], "Example theft");
    let transfer = &answer["transfer"];
    assert_eq!(
        (&transfer["transaction"], &transfer["amount"]["value"], &transfer["amount"]["asset"]),
        (&json!(txid(4)), &json!((50 * ETHER).to_string()), &json!("ETH"))
    );
    let account = &transfer["account"];
    assert_eq!(account["asset"], "native");
    assert_eq!(account["place"], "index 0");
    let lower = |value: &Value| value.as_str().unwrap().to_lowercase();
    assert_eq!(
        (lower(&account["from"]), lower(&account["to"])),
        (address("bob"), address("wallet"))
    );
    assert_eq!(lower(&account["initiator"]), address("bob"));
    assert_eq!((&transfer["basis"], &transfer["outputs"]), (&json!("origins"), &json!([])));
    assert_eq!(lower(&transfer["senders"][0]["address"]), address("bob"));
    assert_eq!(answer["activity"]["counts"], json!({"transfers_in": 1, "transfers_out": 0}));
    let text = check_transfer(directory.path(), 4, &DEPOSIT).ok().stdout;
    for expected in ["deposit of 50 ETH", "index 0", "native", "the origins of this money"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The same transfer without the prefix of its identifier.
    let bare = &txid(4)[2..];
    let same = ["check-transfer", "eth", bare, "--direction", "deposit", "--json"];
    let same = assay(directory.path(), same).ok().json();
    assert_eq!(same["assessment_digest"], answer["assessment_digest"]);
}

#[test]
fn money_that_a_payer_only_passes_on_is_that_of_the_accounts_before_it() {
    // Given a contract that pays a deposit with a thief's money and a little of its own, in one transaction.
    let rows = [
        row(1, 0, "native", "exchange", "contract", 10 * ETHER),
        row(2, 0, "native", "thief", "contract", 90 * ETHER),
        row_by("thief", 2, 1, "native", ("contract", "wallet"), 10 * ETHER),
        row_by("thief", 2, 2, "native", ("contract", "wallet"), 90 * ETHER),
    ];
    let labels = [("thief", "stolen_funds", "Example theft"), ("exchange", "exchange", "X")];
    let directory = recorded(&rows, &labels);
    // When either transfer is checked.
    for (index, amount) in [("1", 10), ("2", 90)] {
        let arguments = [&DEPOSIT[..], &["--log-index", index, "--json"]].concat();
        let answer = check_transfer(directory.path(), 2, &arguments).ok().json();
        // Then nine tenths of it are stolen, whichever the thief would have had checked.
        let exposure = answer["exposure"].as_array().unwrap();
        let stolen = exposure.iter().find(|line| line["category"] == "stolen_funds").unwrap();
        assert_eq!(stolen["share"], "0.900000", "{answer:#}");
        assert_eq!(stolen["amount"]["value"], (amount * ETHER * 9 / 10).to_string());
    }
}

#[test]
fn a_deposit_that_a_contract_forwards_at_once_is_assessed_all_the_same() {
    let rows = [
        row(1, 0, USDT, "thief", "bob", 5_000_000_000),
        row(2, 0, USDT, "bob", "forwarder", 5_000_000_000),
        row_by("bob", 2, 1, USDT, ("forwarder", "hot"), 5_000_000_000),
    ];
    let directory = recorded(&rows, &[("thief", "stolen_funds", "Example theft")]);
    let forwarder = address("forwarder");
    let arguments = [&DEPOSIT[..], &["--address", &forwarder, "--json"]].concat();
    let answer = check_transfer(directory.path(), 2, &arguments).ok().json();
    let line = &answer["exposure"][0];
    assert_eq!((&line["category"], &line["share"]), (&json!("stolen_funds"), &json!("1.000000")));
    assert_eq!(answer["transfer"]["amount"]["value"], "5000000000");
}

#[test]
fn a_withdrawal_is_assessed_by_the_receiver_and_by_where_its_own_money_went() {
    let rows = [
        row(1, 0, "native", "exchange", "ann", 10 * ETHER),
        row(2, 0, "native", "ann", "scam", 10 * ETHER),
        row(3, 0, "native", "exchange", "ann", 2 * ETHER),
    ];
    let labels = [("scam", "scam", "Example scam"), ("exchange", "exchange", "X")];
    let directory = recorded(&rows, &labels);
    let answer = |transaction| {
        let arguments = [&WITHDRAWAL[..], &["--json"]].concat();
        check_transfer(directory.path(), transaction, &arguments).ok().json()
    };
    // When the money that went to the scam is checked.
    let first = answer(1);
    let destination = &first["transfer"]["destinations"][0];
    assert_eq!(
        (&destination["category"], &destination["share"], &destination["hops"]),
        (&json!("scam"), &json!("0.833333"), &json!(1)),
        "{first:#}"
    );
    // Then the later money, which is still there, has its own destination; the receiver's history counts for both.
    let second = answer(3);
    let own = &second["transfer"]["destinations"];
    assert_eq!(
        (&own[0]["endpoint_type"], own.as_array().unwrap().len()),
        (&json!("unspent_by_subject"), 1),
        "{own:#}"
    );
    assert_eq!(second["verdict"], first["verdict"]);
    assert_eq!(second["transfer"]["basis"], "receiver");
}

#[test]
fn a_transfer_that_cannot_be_assessed_is_refused_with_the_reason() {
    let junk = address("junk-token");
    let rows = [
        row(1, 0, "native", "ann", "bob", 3 * ETHER),
        row_by("ann", 1, 1, USDT, ("ann", "cid"), 2_500_000).replace("transfer,,", "transfer,17,"),
        row(2, 0, &junk, "ann", "bob", 5),
        row(3, 0, USDT, "ann", "bob", 0),
        row(4, 0, USDT, "ann", "bob", 1).replace("transfer,,", "transfer,3,"),
        row(5, 0, "native", "ann", "bob", ETHER),
        row_by("ann", 5, 1, "native", ("bob", "ann"), ETHER),
    ];
    let directory = recorded(&rows, &[]);
    let refused = |transaction, further: &[&str]| {
        let failed = check_transfer(directory.path(), transaction, &[&DEPOSIT, further].concat());
        assert_ne!(failed.code, 0, "{}", failed.stdout);
        failed.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let several = refused(1, &[]);
    for listed in ["index 0: 3 ETH from 0x", "log 17: 2.5 USDT from 0x", "has several transfers"] {
        assert!(several.contains(listed), "{listed}: {several}");
    }
    assert!(
        refused(1, &["--log-index", "9"]).contains("no transfer at log 9; it has: index 0: 3 ETH")
    );
    assert!(refused(1, &["--address", &address("eve")]).contains("no transfer to 0x"));
    assert!(refused(1, &["--output", "0"]).contains("have no outputs"));
    assert!(refused(2, &[]).contains("its money is not followed"));
    assert!(refused(3, &[]).contains("moves nothing"));
    assert!(refused(5, &["--address", &address("bob")]).contains("gives back"));
    assert!(refused(9, &[]).contains("there is no transaction"));
    let trace = refused(4, &["--trace-index", "0,1"]);
    assert!(trace.contains("no transfer at trace 0,1; it has: log 3: 0.000001 USDT"), "{trace}");
    // The place that is right is accepted.
    let _ =
        check_transfer(directory.path(), 1, &[&DEPOSIT[..], &["--log-index", "17"]].concat()).ok();
}

#[test]
fn transfers_that_are_recorded_while_a_server_runs_end_its_kept_answers() {
    // Given a server without transfers of the chain.
    let directory = Arc::new(recorded(&[], &[("thief", "stolen_funds", "Example theft")]));
    fs::write(directory.path().join("tenant.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "tenant.yaml"]).ok();
    let key = ["keys", "create", "--tenant", "acme", "--name", "tests", "--scopes", "check"];
    let key = assay(directory.path(), key).ok().stdout;
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let received = || {
        let answer = caller.check("eth", &address("bob")).json();
        answer["activity"]["in"][0]["value"].as_str().map(str::to_owned)
    };
    assert_eq!(received(), None);
    // When transfers are recorded, and then more of them.
    let mut rows = vec![row(1, 0, "native", "thief", "bob", ETHER)];
    ingest(directory.path(), &rows);
    // Then the server answers with them, although it keeps answers.
    wait_until("the first transfers are read", || received() == Some(ETHER.to_string()));
    rows = vec![row(2, 0, "native", "thief", "bob", 2 * ETHER)];
    ingest(directory.path(), &rows);
    wait_until("the next transfers are read", || received() == Some((3 * ETHER).to_string()));
}

#[test]
fn transfers_of_account_chains_are_checked_over_the_api() {
    // Given a server over recorded transfers.
    let rows = [
        row(1, 0, "native", "thief", "ann", 5 * ETHER),
        row(2, 0, "native", "ann", "bob", 2 * ETHER).replace("transfer,,", "transfer,,\"0,1\""),
        row_by("ann", 2, 1, USDT, ("cid", "bob"), 7).replace("transfer,,", "transfer,8,"),
    ];
    let directory = Arc::new(recorded(&rows, &[("thief", "stolen_funds", "Example theft")]));
    fs::write(directory.path().join("tenant.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "tenant.yaml"]).ok();
    let key = ["keys", "create", "--tenant", "acme", "--name", "tests", "--scopes", "check"];
    let key = assay(directory.path(), key).ok().stdout;
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let ask = |fields: Value| {
        let mut body = json!({"blockchain": "eth", "transaction": txid(2), "direction": "deposit"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        caller.post("/api/v1/check/transfer", &body.to_string(), &[])
    };
    // Decimals of the assets are told.
    let chains = caller.get("/api/v1/chains").json();
    let eth =
        chains["chains"].as_array().unwrap().iter().find(|it| it["blockchain"] == "eth").unwrap();
    assert_eq!(eth["assets"][0], json!({"asset": "native", "ticker": "ETH", "decimals": 18}));
    let usdt = json!({"asset": USDT, "ticker": "USDT", "decimals": 6});
    assert!(eth["assets"].as_array().unwrap().contains(&usdt), "{eth:#}");
    // When transfers are checked by their places.
    let by_trace = ask(json!({"trace_index": "0,1"})).json();
    let by_log = ask(json!({"log_index": 8})).json();
    // Then each has an answer of its own, also from the cache.
    assert_eq!(by_trace["transfer"]["account"]["place"], "trace 0,1", "{by_trace:#}");
    assert_eq!(by_trace["exposure"][0]["category"], "stolen_funds");
    assert_eq!(by_log["transfer"]["account"]["place"], "log 8", "{by_log:#}");
    assert_eq!(by_log["transfer"]["amount"]["asset"], "USDT");
    let again = ask(json!({"trace_index": "0,1"})).json();
    assert_eq!(
        (&again["cached"], &again["assessment_digest"]),
        (&json!(true), &by_trace["assessment_digest"])
    );
    // And requests that name none or the wrong one are told the fields that would be right.
    let several = ask(json!({}));
    assert_eq!(several.problem(), (400, "invalid_request".into()));
    assert!(several.json()["detail"].as_str().unwrap().contains("trace 0,1: 2 ETH"));
    assert_eq!(ask(json!({"log_index": 9})).problem(), (404, "output_not_found".into()));
    assert_eq!(ask(json!({"output": 0})).problem(), (400, "invalid_request".into()));
}

#[test]
fn a_transaction_is_shown_with_its_transfers_and_the_payments_to_which_they_amount() {
    // Given a payment through a router, with a worthless token.
    let junk = address("junk-token");
    let rows = [
        row(1, 0, "native", "exchange", "ann", 5 * ETHER),
        row(2, 0, USDT, "ann", "router", 7_500_000).replace("transfer,,", "transfer,4,"),
        row_by("ann", 2, 1, USDT, ("router", "thief"), 7_500_000),
        row_by("ann", 2, 2, &junk, ("router", "ann"), 12),
    ];
    let directory = recorded(&rows, &[("thief", "stolen_funds", "Example theft")]);
    // When it is shown.
    let text = printed(directory.path(), &["tx", "eth", &txid(2)]);
    // Then both the transfers and what was netted are there.
    for expected in [
        "block 20000002 2023-11-14T22:13:44Z sent by 0x616E6E",
        "3 transfers",
        "log 4 7.5 USDT from",
        "index 1 7.5 USDT from",
        "12 base units of 0x6A756E6B",
        "Example theft (stolen_funds)",
        "Payments to which the transfers amount 7.5 USDT from 0x616E6E",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let answer = json_of(directory.path(), &["tx", "eth", &txid(2)[2..]]);
    let payments = answer["payments"].as_array().unwrap();
    assert_eq!((payments.len(), &payments[0]["ticker"]), (1, &json!("USDT")), "{answer:#}");
    assert_eq!(payments[0]["to"]["entity"], "Example theft");
    assert_eq!(answer["transfers"][2]["ticker"], Value::Null);
    let missing = assay(directory.path(), ["tx", "eth", &txid(9)]);
    assert!(missing.stderr.contains(&format!("there is no transaction {} on eth", txid(9))));
}

#[test]
fn exported_transfers_can_be_ingested_again() {
    // Given transfers with places, a mint, a fee, a huge amount of an unlisted token, and an event.
    let zero = format!("0x{}", "0".repeat(40));
    let mut rows = vec![
        row(1, 0, "native", "exchange", "ann", 5 * ETHER),
        row(2, 0, "native", "ann", "bob", ETHER).replace("transfer,,", "transfer,,\"0,1\""),
        row(2, 1, "native", "ann", "builder", 9).replace("transfer,,", "fee,,"),
        row(3, 0, USDT, "ann", "bob", 7).replace("transfer,,", "transfer,31,"),
    ];
    rows.push(
        row_by("ann", 3, 1, USDT, ("mint", "ann"), 8)
            .replace(&address("mint"), &zero)
            .replace("transfer,,", "mint,,"),
    );
    rows.push(
        row_by("ann", 3, 2, &address("junk"), ("ann", "bob"), u128::MAX)
            .replace(&u128::MAX.to_string(), &format!("{}0", u128::MAX)),
    );
    // An event names Bob as the owner of what a contract got.
    let named = row_by("ann", 3, 3, "", ("vault", "bob"), 0);
    for kind in ["beneficiary,,", "holder,,"] {
        rows.push(named.replace("transfer,,", kind));
    }
    rows.push(named.replace("transfer,,", "code,,").replace(&address("bob"), ""));
    let directory = recorded(&rows, &[("exchange", "exchange", "X")]);
    let checked = json_of(directory.path(), &["check", "eth", &address("bob")]);
    for format in ["csv", "jsonl"] {
        // When they are exported and ingested elsewhere.
        let file = format!("copy.{format}");
        let export = ["export", "transfers", "eth", "--format", format, "-o", &file];
        let _ = assay(directory.path(), export).ok();
        let copy = recorded(&[], &[("exchange", "exchange", "X")]);
        fs::copy(directory.path().join(&file), copy.path().join(&file)).unwrap();
        let _ = assay(copy.path(), ["ingest", "chain", "eth", "--transfers", &file]).ok();
        // Then the copy gives the same answers.
        let again = json_of(copy.path(), &["check", "eth", &address("bob")]);
        assert_eq!(again["assessment_digest"], checked["assessment_digest"], "{format}");
    }
    // The transfers of one account and of some blocks can be exported alone.
    let of_bob = ["export", "transfers", "eth", "--address", &address("bob"), "--from", "20000003"];
    let text = assay(directory.path(), of_bob).ok().stdout;
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(
        text.contains(",0,") && text.contains(",beneficiary,") && text.contains(",holder,"),
        "{text}"
    );
}

/// The rows of `assay export exposures` of an account: of each asset the origins with their columns.
fn exposures(text: &str, address: &str) -> Vec<Value> {
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["address"].as_str().unwrap().eq_ignore_ascii_case(address)).collect()
}

const EXPOSURES: [&str; 4] = ["export", "exposures", "--blockchain", "eth"];

#[test]
fn exported_exposures_are_the_origins_of_received_and_of_held_money_by_asset() {
    // Given Ann, who swaps 40 of a thief's 50 ETH and passes the dollars on to Dan.
    let directory = swap();
    // When exposures are exported.
    let lines = [&EXPOSURES[..], &["--format", "jsonl"]].concat();
    let text = assay(directory.path(), lines).ok().stdout;
    // Then what came in exchange is a conversion, which she no longer has,
    let rows = exposures(&text, &address("ann"));
    let of = |asset: &str| rows.iter().find(|row| row["asset"] == asset).unwrap();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    let dollars = of(USDT);
    assert_eq!(dollars["origin"], "conversion");
    let is = |row: &Value, received: &str, share: f64, balance: &str, held: f64| {
        assert_eq!((&row["received"], &row["share"]), (&json!(received), &json!(share)), "{row}");
        assert_eq!(
            (&row["balance"], &row["balance_share"]),
            (&json!(balance), &json!(held)),
            "{row}"
        );
    };
    is(dollars, "100000500000", 1.0, "0", 0.0);
    // her ETH is the thief's over one account,
    let ether = of("native");
    assert_eq!((&ether["origin"], &ether["hops"]), (&json!("stolen_funds"), &json!(2)));
    is(ether, &(50 * ETHER).to_string(), 1.0, &(10 * ETHER).to_string(), 1.0);
    assert_eq!(ether["decayed_share"], json!(0.485_765_971));
    // Cid's money is an exchange's, directly,
    for row in exposures(&text, &address("cid")) {
        assert_eq!((&row["origin"], &row["hops"]), (&json!("exchange"), &json!(1)), "{row}");
        assert_eq!(row["decayed_share"], json!(1.0), "{row}");
    }
    // and money of parties at which it ends is not followed.
    assert_eq!(exposures(&text, &address("thief")), [] as [Value; 0]);
    let csv = assay(directory.path(), EXPOSURES).ok().stdout;
    let header = "blockchain,address,asset,received,origin,listing_period,share,decayed_share,hops,\
                  balance,balance_share\n";
    assert!(csv.starts_with(header), "{csv}");
    assert_eq!(csv.lines().count(), text.lines().count() + 1);
    let row = format!("native,{},stolen_funds,,1.0,0.485765971,2,{},1.0", 50 * ETHER, 10 * ETHER);
    assert!(csv.lines().any(|line| line.ends_with(&row)), "{csv}");
}

#[test]
fn exported_exposures_change_with_labels_and_weigh_by_amounts() {
    // Given Ann, with 3 ETH of an exchange and 1 ETH of a thief, of which she spent half.
    let rows = [
        row(1, 0, "native", "exchange", "ann", 3 * ETHER),
        row(2, 0, "native", "thief", "ann", ETHER),
        row(3, 0, "native", "ann", "shop", 2 * ETHER),
        row(4, 0, "native", "nobody", "shop", 2 * ETHER),
    ];
    let directory = recorded(&rows, &[("exchange", "exchange", "Example Exchange")]);
    let lines = [&EXPOSURES[..], &["--format", "jsonl"]].concat();
    let of = |person: &str| -> Vec<(String, f64, Value)> {
        let text = assay(directory.path(), lines.clone()).ok().stdout;
        let own = exposures(&text, &address(person)).into_iter();
        own.map(|row| {
            let origin = row["origin"].as_str().unwrap().to_owned();
            (origin, row["share"].as_f64().unwrap(), row["balance_share"].clone())
        })
        .collect()
    };
    let row = |origin: &str, share: f64| (origin.to_owned(), share, json!(share));
    assert_eq!(of("ann"), [row("exchange", 0.75), row("unknown", 0.25)]);
    // When the thief is labelled, then the same transfers tell a theft.
    let header = "blockchain,address,category,tier,confidence,entity\n";
    let label = format!("eth,{},stolen_funds,investigation,95,Example theft\n", address("thief"));
    fs::write(directory.path().join("more.csv"), format!("{header}{label}")).unwrap();
    let import = ["ingest", "labels", "more.csv", "--format", "csv", "--source", "more"];
    let _ = assay(directory.path(), import).ok();
    assert_eq!(of("ann"), [row("stolen_funds", 0.25), row("exchange", 0.75)]);
    assert_eq!(
        of("shop"),
        [row("stolen_funds", 0.125), row("exchange", 0.375), row("unknown", 0.5)]
    );
    // A chain without transfers is refused with what to do.
    let refused = assay(directory.path(), ["export", "exposures", "--blockchain", "trx"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("assay ingest chain trx --transfers"), "{}", refused.stderr);
}

#[test]
fn exported_exposures_of_the_demo_agree_with_its_story() {
    // Given the demo's Ethereum story.
    let (server, ..) = sample();
    let lines = [&EXPOSURES[..], &["--sample", "--format", "jsonl"]].concat();
    let text = server.assay(&lines).ok().stdout;
    let examples = assay_sample::examples();
    let of = |what: &str| {
        let found = examples.iter().find(|example| example.description.contains(what)).unwrap();
        exposures(&text, found.address.as_str())
    };
    // Then a hundredth of Pavel's salary is the thief's, over Mole and the studio.
    let pavel = of("a hundredth of its salary");
    let share = |category: &str| {
        let row = pavel.iter().find(|row| row["origin"] == category).unwrap();
        (row["share"].as_f64().unwrap(), row["hops"].as_u64().unwrap())
    };
    assert_eq!(share("exchange"), (0.99, 2), "{pavel:#?}");
    assert_eq!(share("stolen_funds"), (0.01, 3), "{pavel:#?}");
}

/// A token that no table knows.
const FALSE_TOKEN: &str = "0x00000000000000000000000000000000000fa15e";

/// The message of the warning about look-alikes of counterparties.
fn lookalike_warning(directory: &Path, person: &str) -> Option<String> {
    let answer = json_of(directory, &["check", "eth", &address(person)]);
    let warnings = answer["warnings"].as_array().unwrap().iter();
    let mut messages = warnings.filter(|warning| warning["code"] == "lookalike_account");
    messages.next().map(|warning| warning["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_look_alike_of_a_counterparty_that_sends_worthless_transfers_is_warned_of() {
    // Given Ann, who paid Bob. Bog looks like Bob: their first five and last digits are the same.
    let paid = [
        row(1, 0, USDT, "exchange", "ann", 9_000_000_000),
        row(2, 0, USDT, "ann", "bob", 500_000_000),
    ];
    for worthless in [
        // When Bog sends dust, nothing, a false token, or has a payment logged in Ann's name,
        row(3, 0, USDT, "bog", "ann", 500_000),
        row(3, 0, USDT, "bog", "ann", 0),
        row(3, 0, FALSE_TOKEN, "bog", "ann", 500_000_000),
        row_by("poisoner", 3, 0, USDT, ("ann", "bog"), 0),
        row_by("poisoner", 3, 0, FALSE_TOKEN, ("ann", "bog"), 500_000_000),
    ] {
        let rows = [&paid[..], std::slice::from_ref(&worthless)].concat();
        let directory = recorded(&rows, &[]);
        // then Ann is warned, by both addresses and the transaction,
        let message = lookalike_warning(directory.path(), "ann").expect("a warning");
        let message = message.to_lowercase();
        for expected in [address("bob"), address("bog"), txid(3)] {
            assert!(message.contains(&expected), "{worthless}: {message}");
        }
        assert!(!message.contains("by mistake"), "{message}");
        // and Bob and Bog are not.
        assert_eq!(lookalike_warning(directory.path(), "bob"), None);
        assert_eq!(lookalike_warning(directory.path(), "bog"), None);
        // When Ann falls for it, she is told.
        ingest(directory.path(), &[row(4, 0, USDT, "ann", "bog", 500_000_000)]);
        let message = lookalike_warning(directory.path(), "ann").expect("a warning");
        assert!(message.contains("by mistake for"), "{message}");
    }
}

#[test]
fn friends_with_alike_addresses_are_not_warned_of() {
    let paid = [
        row(1, 0, USDT, "exchange", "ann", 9_000_000_000),
        row(2, 0, USDT, "ann", "bob", 500_000_000),
    ];
    for others in [
        // A second address of the friend, which pays.
        vec![row(3, 0, USDT, "bog", "ann", 500_000), row(4, 0, USDT, "bog", "ann", 90_000_000)],
        // An address that is not alike.
        vec![row(3, 0, USDT, "dog", "ann", 0)],
        // The friend itself sends dust, nothing and a token.
        vec![
            row(3, 0, USDT, "bob", "ann", 500_000),
            row(4, 0, USDT, "bob", "ann", 0),
            row(5, 0, FALSE_TOKEN, "bob", "ann", 1),
        ],
        // An alike address that Ann pays, which sent her nothing.
        vec![row(3, 0, USDT, "ann", "bog", 90_000_000)],
    ] {
        let directory = recorded(&[&paid[..], &others].concat(), &[]);
        assert_eq!(lookalike_warning(directory.path(), "ann"), None, "{others:?}");
    }
}
