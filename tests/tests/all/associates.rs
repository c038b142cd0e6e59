//! Checks use the addresses of the same owner, and name the addresses that are associated with the subject.

use std::{fs, path::Path, sync::Arc};

use assay_tests::{Server, assay, tenant};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    chain_tools::{address_of, ingested, line, printed, txid},
    clusters::spend,
    support::wait_until,
};

/// A chain on which Ann spends her first two addresses together twice, and her third one with the second once.
/// On Bitcoin today, one co-spend may be a `PayJoin`.
fn owners() -> TempDir {
    let paid = [("ann-1", 10), ("ann-2", 20), ("ann-3", 5), ("bob", 7), ("ann-2", 4), ("ann-1", 6)];
    ingested(&[
        line(0, 1, &json!([]), &[&paid[..], &[("ann-2", 8)]].concat()),
        line(1, 2, &json!([spend(1, 0), spend(1, 1)]), &[("shop", 30)]),
        line(2, 3, &json!([spend(1, 3)]), &[("shop", 7)]),
        line(3, 4, &json!([spend(1, 4), spend(1, 2)]), &[("shop", 6), ("ann-4", 3)]),
        line(4, 5, &json!([spend(1, 5), spend(1, 6)]), &[("shop", 14)]),
    ])
}

fn label(directory: &Path, source: &str, rows: &[(&str, &str, &str)]) {
    let rows = rows.iter().map(|(person, category, entity)| {
        format!("btc,{},{category},{entity},90,investigation,police\n", address_of(person))
    });
    let header = "blockchain,address,category,entity,confidence,tier,author\n";
    let text = std::iter::once(header.to_owned()).chain(rows).collect::<String>();
    fs::write(directory.join("labels.csv"), text).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", source];
    let _ = assay(directory, import).ok();
}

fn list(directory: &Path, person: &str) {
    let text = format!(
        "list,entity_id,entity,asset_code,address\nown-list,7,Villain,XBT,{}\n",
        address_of(person)
    );
    fs::write(directory.join("list.csv"), text).unwrap();
    let import = ["ingest", "sanctions", "list.csv", "--format", "csv", "--source", "own-list"];
    let day = ["--published-on", "2026-01-01"];
    let _ = assay(directory, import.iter().chain(&day)).ok();
}

fn check(directory: &Path, person: &str) -> Value {
    serde_json::from_str(&printed(directory, &["check", "btc", &address_of(person), "--json"]))
        .unwrap()
}

/// The only component of a kind.
fn component<'a>(answer: &'a Value, kind: &str) -> &'a Value {
    let components = answer["scoring_components"].as_array().unwrap();
    let found: Vec<&Value> = components.iter().filter(|it| it["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{answer:#}");
    found[0]
}

fn has_reason(answer: &Value, code: &str) -> bool {
    answer["reasons"].as_array().unwrap().iter().any(|reason| reason["code"] == code)
}

fn transactions(component: &Value) -> Vec<&str> {
    let evidence = component["evidence"].as_array().unwrap().iter();
    let transactions = evidence.filter(|it| it["kind"] == "transaction");
    transactions.map(|it| it["reference"].as_str().unwrap()).collect()
}

#[test]
fn a_listed_address_of_the_same_owner_leads_to_review() {
    let directory = owners();
    list(directory.path(), "ann-1");
    let answer = check(directory.path(), "ann-2");
    assert_eq!(answer["verdict"], "review", "{answer:#}");
    assert!(has_reason(&answer, "cluster_listed"));
    let rule = component(&answer, "minimum_score_rule");
    assert!(rule["detail"].as_str().unwrap().contains("Villain"));
    assert_eq!(transactions(rule), [txid(2), txid(5)]);
    let wallet = &answer["associated_wallets"][0];
    assert_eq!(
        (&wallet["relation"], &wallet["address"], &wallet["listed"], &wallet["heuristic"]),
        (&json!("same_owner"), &json!(address_of("ann-1")), &json!(true), &json!("co_spend"))
    );
    assert_eq!(
        (&wallet["transactions"], &wallet["confidence"]),
        (&json!([txid(2), txid(5)]), &json!(90))
    );
    // Nobody else is concerned.
    assert_eq!(check(directory.path(), "bob")["reasons"][0]["code"], "source_missing");
    let text = printed(directory.path(), &["check", "btc", &address_of("ann-2")]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("co spend, listed: Villain"), "{text}");
}

#[test]
fn a_label_is_inherited_as_far_as_co_spends_prove_it() {
    let directory = owners();
    label(directory.path(), "police", &[("ann-1", "stolen_funds", "Thief")]);
    let answer = check(directory.path(), "ann-2");
    let inherited = component(&answer, "association");
    assert_eq!(
        (&inherited["tier"], &inherited["confidence"], &inherited["entity"]),
        (&json!("heuristic"), &json!(90), &json!("Thief"))
    );
    assert_eq!(answer["verdict"], "review", "an inherited label blocks nobody");
    assert_eq!(transactions(inherited), [txid(2), txid(5)]);
    // The third address is connected by a transaction that may be a PayJoin.
    let answer = check(directory.path(), "ann-3");
    let inherited = component(&answer, "association");
    assert_eq!((&inherited["tier"], &inherited["confidence"]), (&json!("heuristic"), &json!(60)));
    assert_eq!(transactions(inherited), [txid(4), txid(2), txid(5)]);
    assert_eq!(answer["verdict"], "review");
    assert!(has_reason(&answer, "cluster_labeled"));
    assert_eq!(answer["coverage"]["association"]["status"], "assessed");
}

#[test]
fn labels_of_different_owners_in_a_cluster_conflict() {
    let directory = owners();
    let rows = [("ann-1", "exchange", "North"), ("ann-3", "exchange", "South")];
    label(directory.path(), "police", &rows);
    let answer = check(directory.path(), "ann-2");
    assert_eq!(answer["warnings"], json!([]), "a doubtful connection contradicts nothing");
    label(directory.path(), "forum", &[("ann-1", "scam", "Fake shop")]);
    let answer = check(directory.path(), "ann-2");
    assert_eq!(answer["warnings"][0]["code"], "cluster_conflict");
    assert_eq!(answer["entity"]["category"], "scam", "different owners pass no service on");
    let inherited = component(&answer, "association");
    assert_eq!(
        (&inherited["category"], &inherited["tier"], &answer["verdict"]),
        (&json!("scam"), &json!("heuristic"), &json!("review"))
    );
}

#[test]
fn counterparties_and_funders_are_shown_with_amounts_and_transactions() {
    let directory = owners();
    label(directory.path(), "police", &[("bob", "exchange", "North")]);
    let answer = check(directory.path(), "shop");
    let wallets = answer["associated_wallets"].as_array().unwrap();
    let row = |wallet: &Value| {
        (
            wallet["relation"].as_str().unwrap().to_owned(),
            wallet["address"].as_str().unwrap().to_owned(),
            wallet["received"][0]["value"].as_str().unwrap().to_owned(),
        )
    };
    let expected = |relation: &str, person: &str, amount: &str| {
        (relation.to_owned(), address_of(person), amount.to_owned())
    };
    let shares = ["1600000000", "3066666666", "700000000", "333333333"];
    assert_eq!(
        wallets.iter().map(row).collect::<Vec<_>>(),
        [
            expected("funder", "ann-2", shares[1]),
            expected("funder", "ann-1", shares[0]),
            expected("counterparty", "bob", shares[2]),
            expected("counterparty", "ann-3", shares[3]),
        ]
    );
    assert_eq!(wallets[0]["transactions"], json!([txid(2), txid(5), txid(4)]));
    assert_eq!(wallets[0]["first_seen"], "2026-05-28T20:36:40Z");
    assert_eq!(wallets[0]["last_seen"], "2026-05-28T21:06:40Z");
    assert_eq!(wallets[0]["sent"], json!([]));
    assert_eq!(wallets[2]["categories"], json!(["exchange"]));
    let detail = answer["coverage"]["association"]["detail"].as_str().unwrap();
    assert!(detail.ends_with("counterparties shown: 4 of 4"), "{detail}");
    // The funders of change are those who paid.
    let answer = check(directory.path(), "ann-4");
    let relations = answer["associated_wallets"].as_array().unwrap().iter();
    assert!(relations.clone().all(|wallet| wallet["relation"] == "funder"), "{answer:#}");
    assert_eq!(relations.count(), 2);
}

#[test]
fn a_likely_change_address_is_shown_and_not_scored() {
    // Given Ann, who pays a shop where others bought before, and gets an uneven rest at a new address,
    let mut payment: Value =
        serde_json::from_str(&line(1, 2, &json!([spend(1, 0)]), &[("shop", 3), ("ann-2", 6)]))
            .unwrap();
    payment["outputs"][1]["value"] = json!(699_987_654);
    let directory = ingested(&[
        line(0, 1, &json!([]), &[("ann-1", 10), ("shop", 1)]),
        format!("{payment}\n"),
        line(2, 3, &json!([spend(1, 1)]), &[("supplier", 1)]),
    ]);
    label(directory.path(), "police", &[("ann-1", "scam", "Villain")]);
    let linked = |person| {
        let answer = check(directory.path(), person);
        let wallets = answer["associated_wallets"].as_array().unwrap().iter();
        let linked = wallets.filter(|wallet| wallet["relation"] == "possible_owner");
        (linked.cloned().collect::<Vec<_>>(), answer)
    };
    // when her new address is checked, then her old one is shown as one of the same owner, perhaps,
    let (found, answer) = linked("ann-2");
    let [old] = &found[..] else { panic!("{answer:#}") };
    assert_eq!(
        (&old["address"], &old["heuristic"]),
        (&json!(address_of("ann-1")), &json!("change"))
    );
    assert_eq!((&old["confidence"], &old["categories"]), (&json!(75), &json!(["scam"])));
    assert_eq!(old["transactions"], json!([txid(2)]));
    // and that gives no score: the money does.
    let components = answer["scoring_components"].as_array().unwrap();
    assert!(components.iter().all(|it| it["kind"] != "association"), "{components:#?}");
    // The other way round too, and nobody else.
    assert_eq!(linked("ann-1").0[0]["address"], address_of("ann-2"));
    assert_eq!(linked("shop").0, [] as [Value; 0]);
}

#[test]
fn a_listed_counterparty_is_shown_however_little_it_paid() {
    // Given a wallet whom twenty people paid, a listed one the least,
    let people: Vec<String> = (0..20_u32).map(|number| format!("payer-{number}")).collect();
    let paid: Vec<(&str, u64)> = (1..).zip(&people).map(|(coins, name)| (&**name, coins)).collect();
    let payments = (0..20_u8).map(|payer| {
        let spent = json!([spend(1, payer.into())]);
        line(payer + 1, payer + 2, &spent, &[("shop", u64::from(payer) + 1)])
    });
    let blocks: Vec<String> =
        std::iter::once(line(0, 1, &json!([]), &paid)).chain(payments).collect();
    let directory = ingested(&blocks);
    list(directory.path(), "payer-1");
    // when it is checked,
    let answer = check(directory.path(), "shop");
    // then the listed one is named besides the first and the ten who paid most.
    let wallets = answer["associated_wallets"].as_array().unwrap();
    let shown: Vec<(&Value, &Value)> =
        wallets.iter().map(|wallet| (&wallet["address"], &wallet["listed"])).collect();
    assert_eq!(shown.len(), 12);
    assert_eq!(shown[11], (&json!(address_of("payer-1")), &json!(true)));
    assert!(shown[..11].iter().all(|(_, listed)| **listed == json!(false)));
    let detail = answer["coverage"]["association"]["detail"].as_str().unwrap();
    assert!(detail.ends_with("counterparties shown: 12 of 20"), "{detail}");
}

/// Number of addresses of a cluster, more than a check reads.
const MANY: usize = 1_203;

/// A chain with a large cluster, of which one address is labelled as a thief's.
fn many() -> Vec<String> {
    let people: Vec<String> = (0..MANY).map(|number| format!("member-{number}")).collect();
    let paid: Vec<(&str, u64)> = people
        .iter()
        .map(|name| (name.as_str(), 1))
        .chain([("mule", 3), ("member-9", 2)])
        .collect();
    let spent: Vec<Value> =
        (0..u32::try_from(MANY).unwrap()).map(|index| spend(1, index)).collect();
    vec![
        line(0, 1, &json!([]), &paid),
        line(1, 2, &json!(spent), &[("shop", u64::try_from(MANY).unwrap())]),
    ]
}

#[test]
fn a_cluster_of_any_size_is_searched() {
    let directory = ingested(&many());
    let exchange: Vec<String> = (0..900).map(|number| format!("member-{number}")).collect();
    let mut rows: Vec<_> =
        exchange.iter().map(|name| (name.as_str(), "exchange", "North")).collect();
    rows.push(("member-1100", "stolen_funds", "Thief"));
    label(directory.path(), "police", &rows);
    list(directory.path(), "member-1101");
    let answer = &check(directory.path(), "member-1200");
    assert_eq!(
        answer["coverage"]["association"]["detail"],
        "the same key on other chains; a co-spend cluster of 1203 addresses (listed or labelled \
         others: 902, shown: 20 of 1202); counterparties shown: 1 of 1"
    );
    let wallets = answer["associated_wallets"].as_array().unwrap();
    let members = wallets.iter().filter(|wallet| wallet["relation"] == "same_owner");
    assert_eq!(members.count(), 20);
    assert_eq!(
        (&wallets[0]["address"], &wallets[1]["address"]),
        (&json!(address_of("member-1101")), &json!(address_of("member-1100"))),
        "the listed ones, then the riskiest"
    );
    assert!(has_reason(answer, "cluster_listed") && has_reason(answer, "cluster_labeled"));
    let components = answer["scoring_components"].as_array().unwrap().iter();
    let inherited = components.filter(|it| it["kind"] == "association");
    let categories: Vec<&Value> = inherited.map(|it| &it["category"]).collect();
    assert_eq!(categories, ["stolen_funds", "exchange"], "over doubtful connections");
}

#[test]
fn no_answer_is_repeated_after_a_block_or_a_label_changes_the_cluster() {
    let directory = Arc::new(ingested(&many()));
    fs::write(directory.path().join("acme.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "acme.yaml"]).ok();
    label(directory.path(), "police", &[("mule", "stolen_funds", "Thief")]);
    let key = ["keys", "create", "--tenant", "acme"];
    let key = assay(directory.path(), key).ok().stdout.trim().to_owned();
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(&key);
    let ask = || caller.check("btc", &address_of("member-1200")).json();
    let is_stolen = |answer: &Value| has_reason(answer, "cluster_labeled");
    // An answer is repeated as long as nothing changes.
    wait_until("the answer is cached", || ask()["cached"] == true);
    assert!(!is_stolen(&ask()));
    // A block spends the thief's address with another one of the cluster.
    let joined = line(2, 3, &json!([spend(1, 1203), spend(1, 1204)]), &[("shop", 5)]);
    let lines = [many(), vec![joined]].concat();
    fs::write(directory.path().join("chain.jsonl"), lines.concat()).unwrap();
    let ingest = ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"];
    let _ = assay(directory.path(), ingest).ok();
    wait_until("the cluster has grown", || is_stolen(&ask()));
    let answer = ask();
    let shown = transactions(component(&answer, "association")).len();
    assert_eq!(shown, 2, "the thief's transaction, and that of the cluster");
    // A listing of one address concerns all.
    wait_until("the answer is cached", || ask()["cached"] == true);
    list(directory.path(), "member-7");
    wait_until("the listing counts", || has_reason(&ask(), "cluster_listed"));
}
