//! `assay cluster` and `assay export clusters` name the addresses of one owner, and the transactions that
//! show it.

use std::path::Path;

use assay_tests::assay;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chain_tools::{address_of, ingested, line, printed, txid};

/// An input that spends an output of the transaction with this number.
pub(crate) fn spend(number: u8, index: u32) -> Value {
    json!({"txid": txid(number), "index": index})
}

/// A chain on which Ann spends three addresses together, two at a time, and Bob spends one address alone. Ann's last
/// payment has change, so that this payment may be a `PayJoin`.
fn owners() -> TempDir {
    let paid = [("ann-1", 10), ("ann-2", 20), ("ann-3", 5), ("bob", 7), ("ann-2", 4)];
    ingested(&[
        line(0, 1, &json!([]), &paid),
        line(1, 2, &json!([spend(1, 0), spend(1, 1)]), &[("shop", 30)]),
        line(2, 3, &json!([spend(1, 3)]), &[("shop", 7)]),
        line(3, 4, &json!([spend(1, 4), spend(1, 2)]), &[("shop", 6), ("ann-4", 3)]),
    ])
}

fn cluster(directory: &Path, address: &str) -> Value {
    serde_json::from_str(&printed(directory, &["cluster", "btc", address, "--json"])).unwrap()
}

#[test]
fn the_cluster_of_an_address_has_its_members_and_the_transactions_that_show_it() {
    let directory = owners();
    for person in ["ann-1", "ann-2", "ann-3"] {
        let found = cluster(directory.path(), &address_of(person));
        assert_eq!(found["address"], address_of(person));
        assert_eq!((&found["cluster"], &found["size"]), (&address_of("ann-1").into(), &3.into()));
        assert_eq!(
            found["members"][0],
            json!({
                "address": address_of("ann-1"),
                "first_seen": "2026-05-28T20:26:40Z",
                "last_seen": "2026-05-28T20:36:40Z",
                "evidence": null,
            })
        );
        let evidence = |person: &str| {
            let members = found["members"].as_array().unwrap();
            let member =
                members.iter().find(|member| member["address"] == address_of(person)).unwrap();
            member["evidence"].clone()
        };
        let second = evidence("ann-2");
        assert_eq!(second["transaction"], txid(2));
        assert_eq!(second["spent"], json!([address_of("ann-2"), address_of("ann-1")]));
        assert_eq!(second["height"], 1);
        // The third address was joined to the cluster by another member than the first.
        let third = evidence("ann-3");
        assert_eq!(third["spent"], json!([address_of("ann-3"), address_of("ann-2")]));
        assert_eq!((&third["conclusive"], &third["confirmed_by"]), (&false.into(), &Value::Null));
    }
    let text = printed(directory.path(), &["cluster", "btc", &address_of("ann-3")]);
    assert!(text.contains("3 addresses  first seen 2026-05-28  last seen 2026-05-28"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("may have two parties, such as a PayJoin; not confirmed"), "{text}");
    let text = printed(directory.path(), &["cluster", "btc", &address_of("ann-3"), "--most", "1"]);
    assert!(text.contains("1 more: raise --most to show them"), "{text}");
    assert!(text.contains(&address_of("ann-3")), "the address itself is shown: {text}");
}

#[test]
fn an_address_that_is_never_spent_with_others_is_a_cluster_of_its_own() {
    let directory = owners();
    for person in ["bob", "shop", "ann-4"] {
        let found = cluster(directory.path(), &address_of(person));
        assert_eq!((&found["cluster"], &found["size"]), (&address_of(person).into(), &1.into()));
    }
}

#[test]
fn listings_and_labels_of_members_are_shown_with_their_conflict() {
    let directory = owners();
    let labels = format!(
        "blockchain,address,category,entity\nbtc,{},exchange,North\nbtc,{},scam,Fake shop\n",
        address_of("ann-1"),
        address_of("ann-3")
    );
    std::fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "police"];
    let _ = assay(directory.path(), import).ok();
    let found = cluster(directory.path(), &address_of("ann-2"));
    assert_eq!(found["conflicts"], json!(["Fake shop (scam)", "North (exchange)"]));
    let claims = found["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    let text = printed(directory.path(), &["cluster", "btc", &address_of("ann-2")]);
    assert!(text.contains("Conflict: members are attributed to different owners"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("labelled scam, Fake shop (police)"), "{text}");
}

#[test]
fn every_address_that_shares_its_cluster_is_exported() {
    let directory = owners();
    let rows = ["ann-1", "ann-2", "ann-3"];
    let csv = printed(directory.path(), &["export", "clusters", "--blockchain", "btc"]);
    let lines = rows.map(|person| format!("btc,{},{}\n", address_of(person), address_of("ann-1")));
    assert_eq!(csv, format!("blockchain,address,cluster\n{}", lines.concat()));
    let jsonl = ["export", "clusters", "--blockchain", "btc", "--format", "jsonl"];
    let jsonl = printed(directory.path(), &jsonl);
    let values: Vec<Value> =
        jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = rows
        .map(|person| json!({"blockchain": "btc", "address": address_of(person), "cluster": address_of("ann-1")}));
    assert_eq!(values, expected);
}

#[test]
fn an_address_or_chain_without_clusters_is_an_error() {
    let directory = owners();
    let unseen = address_of("nobody");
    for (arguments, code, expected) in [
        (["cluster", "btc", &unseen], 3, "does not appear on the btc chain"),
        (["cluster", "btc", "1abc"], 3, "wrong length"),
        (["cluster", "ltc", "LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9"], 1, "ltc chain is not ingested"),
        (
            ["cluster", "eth", "0x8589427373d6d84e98730d7795d8f6f8731fda16"],
            1,
            "no transfers of the eth chain are recorded: run `assay ingest chain eth --transfers FILE`",
        ),
    ] {
        let ended = assay(directory.path(), arguments);
        assert_eq!(ended.code, code, "{}", ended.stderr);
        let stderr = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(expected), "{stderr}");
    }
}
