//! OFAC's real list: exactly its addresses are imported, history is kept, and every written form is blocked.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_tests::{Finished, TestData, assay, production};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{generated::section, support::wait_until};

fn import(directory: &Path, list: &Path, more: &[&str]) -> Finished {
    let list = list.display().to_string();
    let base = ["ingest", "sanctions", list.as_str(), "--format", "ofac-advanced", "--json"];
    assay(directory, base.iter().chain(more))
}

fn exported(directory: &Path) -> Vec<Value> {
    let run = assay(directory, ["export", "listings", "--format", "jsonl"]).ok();
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asset code and address as published.
fn pairs(rows: &[Value]) -> BTreeSet<(String, String)> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(row, "asset_code"), text(row, "address_as_published"))).collect()
}

fn directory() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

#[test]
#[ignore = "needs test data"]
fn every_pair_of_2024_09_26_is_found_and_nothing_else() {
    let data = TestData::find();
    let directory = directory();
    let report = import(directory.path(), &data.ofac("2024-09-26"), &[]).ok().json();
    // Given the addresses as another extractor reads the same list.
    let mut expected = BTreeSet::new();
    for entry in fs::read_dir(data.path("sanctions/ofac-expected-2024-09-26")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let code = name.rsplit('_').next().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        expected.extend(text.split_whitespace().map(|address| (code.clone(), address.to_owned())));
    }
    let rows = exported(directory.path());
    let found = pairs(&rows);
    assert_eq!(found.difference(&expected).collect::<Vec<_>>(), Vec::<&_>::new());
    assert_eq!(expected.difference(&found).collect::<Vec<_>>(), Vec::<&_>::new());
    assert_eq!(found.len(), 654);

    // 656 entries are 654 pairs: two addresses are printed for two entities each. A third is printed
    // twice for one entity and counts once.
    assert_eq!(report["addresses"], 656);
    assert_eq!(report["report"]["added"].as_array().unwrap().len(), 656);
    assert_eq!(report["report"]["rejected"], json!([]));
    assert_eq!(report["published_on"], "2024-09-26");

    // One address is printed under the wrong code: kept, marked and reported, and found where it is
    // valid. Another one is no address at all but a payment id.
    let invalid = report["report"]["invalid"].as_array().unwrap();
    let invalid: Vec<_> =
        invalid.iter().map(|entry| (&entry["address"], &entry["reason"])).collect();
    assert_eq!(
        invalid,
        [
            (
                &json!("5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320"),
                &json!("this is 32 bytes in hexadecimal: a transaction id or a private key")
            ),
            (
                &json!("TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq"),
                &json!("this is a TRX address (`trx`): ask for that blockchain")
            ),
        ]
    );
    let marked = rows.iter().filter(|row| row["valid"] == false);
    let marked: Vec<_> = marked.map(|row| row["blockchain"].as_str().unwrap()).collect();
    assert_eq!(marked, ["other", "xmr", "trx"]);

    // Every asset code of the list names a chain that is read.
    assert_eq!(report["report"]["unknown_codes"], json!({}));
    assert_eq!(report["report"]["unmatched"], json!({"xmr": 1}));
    assert!(rows.iter().all(|row| !row["valid"].is_null()));
    let first = rows
        .iter()
        .find(|row| row["address_as_published"] == "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h")
        .unwrap();
    assert_eq!((&first["entity"], &first["entity_id"]), (&json!("YAN, Xiaobing"), &json!("25308")));
    assert_eq!((&first["programs"], &first["list"]), (&json!(["SDNTK"]), &json!("ofac-sdn")));
}

#[test]
#[ignore = "needs test data"]
fn an_entry_dropped_by_a_later_list_ends_and_stays_in_force_as_of_before() {
    let data = TestData::find();
    let directory = directory();
    let (before, after) = (data.ofac_unpacked("2025-03-04"), data.ofac_unpacked("2025-03-21"));
    let first = import(directory.path(), &before, &[]).ok();
    assert_eq!(first.json()["addresses"], 716);
    let of_before = pairs(&exported(directory.path()));
    let report = import(directory.path(), &after, &[]).ok().json();

    // Exactly the dropped addresses end: 90 of Tornado Cash, all ETH.
    let removed = report["report"]["removed"].as_array().unwrap();
    assert_eq!((removed.len(), report["report"]["added"].as_array().unwrap().len()), (90, 0));
    assert!(removed.iter().all(|entry| entry["asset_code"] == "ETH"));
    assert!(removed.iter().all(|entry| entry["entity"] == "TORNADO CASH"));
    let rows = exported(directory.path());
    let ended: Vec<_> = rows.iter().filter(|row| !row["delisted_on"].is_null()).collect();
    assert_eq!(ended.len(), 90);
    assert!(ended.iter().all(|row| row["delisted_on"] == "2025-03-21"));
    assert_eq!(pairs(&rows), of_before, "history stays");

    let dropped = removed[0]["address"].as_str().unwrap();
    let check = |more: &[&str]| {
        let base = ["check", "eth", dropped, "--json"];
        assay(directory.path(), base.iter().chain(more)).ok().json()
    };
    let now = check(&[]);
    assert_eq!((&now["risk_score"], &now["verdict"]), (&json!(0), &json!("allow")));
    assert_eq!(now["sanctions"][0]["ended_reason"], "delisted");
    let as_of = check(&["--as-of", "2025-03-20"]);
    assert_eq!((&as_of["risk_score"], &as_of["verdict"]), (&json!(100), &json!("block")));
    assert_eq!(check(&["--as-of", "2025-03-21"])["verdict"], "allow");

    // The older file is refused by default, and filed in the past on request.
    let again = import(directory.path(), &before, &[]);
    assert_eq!(again.code, 4);
    assert!(again.stderr.contains("older than that of 2025-03-21"), "{}", again.stderr);
    let filed =
        import(directory.path(), &data.ofac_unpacked("2024-09-26"), &["--history"]).ok().json();
    assert_eq!(filed["history"], true);
    assert_eq!(check(&[])["verdict"], "allow", "the past decides nothing today");
    let rows = exported(directory.path());
    let new = rows.iter().filter(|row| row["listed_on"] == "2025-03-04").count();
    assert_eq!(new, 60, "now it is known which were new on 2025-03-04");

    // The newest file again changes nothing and counts as verified.
    let same = import(directory.path(), &after, &[]).ok().json();
    assert_eq!((&same["outcome"], &same["verified"]), (&json!("unchanged"), &json!(true)));
}

#[test]
#[ignore = "needs test data"]
fn a_day_of_which_nothing_is_known_is_not_clean() {
    let data = TestData::find();
    let directory = directory();
    let _ = import(directory.path(), &data.ofac_unpacked("2025-05-29"), &[]).ok();
    let check = |chain: &str, address: &str, day: &str| {
        assay(directory.path(), ["check", chain, address, "--json", "--as-of", day]).ok().json()
    };
    // Tornado Cash, listed until 2025-03-21, and so not in the one list that is known.
    let delisted = "0x8589427373D6D84E98730D7795D8f6f8731FDA16";
    let before = check("eth", delisted, "2025-03-01");
    assert_eq!(
        (&before["verdict"], &before["complete"], &before["reasons"][0]["code"]),
        (&json!("indeterminate"), &json!(false), &json!("source_missing"))
    );
    assert_eq!(before["sources"][0]["published_at"], Value::Null);
    assert_eq!(check("eth", delisted, "2025-05-29")["verdict"], "allow");
    // A listing whose date precedes that day counts, although a later list is its source.
    let listed = check("btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", "2023-01-01");
    assert_eq!((&listed["verdict"], &listed["complete"]), (&json!("block"), &json!(false)));

    // Between two lists that are known, what the later one added may have been listed or not.
    let report =
        import(directory.path(), &data.ofac_unpacked("2024-09-26"), &["--history"]).ok().json();
    assert_eq!(report["outcome"], "imported");
    let rows = exported(directory.path());
    let added = rows
        .iter()
        .find(|row| row["listed_on"] == "2025-05-29" && row["blockchain"] == "trx")
        .unwrap();
    let added = added["address"].as_str().unwrap();
    let between = check("trx", added, "2025-01-01");
    assert_eq!(
        (&between["verdict"], &between["reasons"][0]["code"]),
        (&json!("indeterminate"), &json!("history_gap"))
    );
    assert_eq!(between["sources"][0]["published_at"], "2024-09-26");
    assert_eq!(check("trx", added, "2024-09-26")["verdict"], "allow");
    assert_eq!(check("trx", added, "2025-05-29")["verdict"], "block");
}

#[test]
#[ignore = "needs test data"]
fn only_the_list_itself_satisfies_the_demand_for_it() {
    let data = TestData::find();
    let directory = directory();
    let unpacked = fs::read_to_string(data.ofac_unpacked("2025-05-29")).unwrap();
    // Given OFAC's other list, in the same format and under the same source's name.
    let other = unpacked.replace(">SDN List<", ">Consolidated List<");
    let file = directory.path().join("consolidated.xml");
    fs::write(&file, &other).unwrap();
    let _ = import(directory.path(), &file, &[]).ok();
    let check = |address: &str| {
        let answer = assay(directory.path(), ["check", "btc", address, "--json"]).ok().json();
        (answer["verdict"].clone(), answer["complete"].clone())
    };
    assert_eq!(check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), (json!("indeterminate"), json!(false)));
    assert_eq!(check("12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"), (json!("review"), json!(false)));
}

#[test]
#[ignore = "needs test data"]
fn two_installations_fed_the_same_give_the_same_digest() {
    let data = TestData::find();
    let digest = || {
        let directory = directory();
        let _ = import(directory.path(), &data.ofac_unpacked("2025-05-29"), &[]).ok();
        let answer = assay(
            directory.path(),
            ["check", "btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h", "--json"],
        );
        let answer = answer.ok().json();
        (answer["assessment_digest"].clone(), answer["data_revision"].clone())
    };
    assert_eq!(digest(), digest());
}

#[test]
#[ignore = "needs test data"]
fn the_readme_shows_a_real_answer() {
    let data = TestData::find();
    let directory = directory();
    let list = data.ofac_unpacked("2025-05-29").display().to_string();
    let import = ["ingest", "sanctions", list.as_str(), "--format", "ofac-advanced"];
    let report = assay(directory.path(), import).ok().stdout;
    let first: Vec<_> = report.lines().take(2).collect();
    let check = ["check", "btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"];
    let answer = assay(directory.path(), check).ok().stdout;
    // Times and identifiers differ with each check.
    let lines = answer.trim().lines().map(|line| match line.split_once("verified ") {
        _ if line.starts_with("assessed ") => "assessed …  check …".to_owned(),
        Some((before, _)) => format!("{before}verified …"),
        None => line.to_owned(),
    });
    let answer = lines.collect::<Vec<_>>().join("\n");
    let shown = format!(
        "```\n$ assay ingest sanctions sdn_advanced_2025-05-29.xml.bz2 --format ofac-advanced\n\
         {}\n  …\n\n$ assay {}\n{}\n```\n",
        first.join("\n"),
        check.join(" "),
        answer
    );
    section("README.md", "answer", &shown);
}

/// Every form in which a listed address may be written.
fn written_forms(address: &CanonicalAddress) -> Vec<String> {
    let text = address.as_str().to_owned();
    match address.chain() {
        ChainId::ETH => {
            let digits = text.trim_start_matches("0x");
            vec![text.to_lowercase(), format!("0x{}", digits.to_uppercase()), text]
        }
        ChainId::TRX => {
            let account = CanonicalAddress::from_payload(ChainId::ETH, payload(address)).unwrap();
            let digits = account.as_str().trim_start_matches("0x").to_owned();
            vec![
                text,
                format!("41{}", digits.to_lowercase()),
                format!("41{}", digits.to_uppercase()),
                format!("0x41{digits}"),
            ]
        }
        _ if text.starts_with("bc1") => vec![text.to_uppercase(), text],
        _ => vec![text],
    }
}

/// The account behind a TRON address.
fn payload(address: &CanonicalAddress) -> Payload {
    match address.key_identities().first() {
        Some(assay_address::KeyIdentity::Account(account)) => Payload::Account(*account),
        other => panic!("not an account: {other:?}"),
    }
}

#[test]
#[ignore = "needs test data"]
fn every_listed_address_is_blocked_in_every_written_form() {
    let data = TestData::find();
    let (server, caller) = production();
    let clean = caller.check("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").json();
    assert_eq!((&clean["verdict"], &clean["complete"]), (&json!("indeterminate"), &json!(false)));
    assert_eq!((&clean["risk_score"], &clean["risk_level"]), (&json!(50), &json!("unknown")));

    let list = data.ofac_unpacked("2024-09-26").display().to_string();
    let _ = server.assay(&["ingest", "sanctions", &list, "--format", "ofac-advanced"]).ok();
    let took = wait_until("the listing shows", || {
        caller.check("btc", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h").json()["verdict"] == "block"
    });
    eprintln!("an import showed in the running server after {} ms", took.as_millis());
    let clean = caller.check("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").json();
    assert_eq!((&clean["verdict"], &clean["complete"]), (&json!("allow"), &json!(true)));

    let rows = exported(server.directory().path());
    let mut forms = 0;
    let mut kinds = BTreeSet::new();
    for chain in [ChainId::BTC, ChainId::ETH, ChainId::TRX] {
        let of_chain: Vec<_> =
            rows.iter().filter(|row| row["blockchain"] == chain.as_str()).collect();
        // One in seven of each kind: enough, and quick.
        for row in of_chain.iter().step_by(7) {
            let text = row["address"].as_str().unwrap();
            let address = CanonicalAddress::parse(chain, text).unwrap();
            kinds.insert((chain.as_str(), address.kind().as_str()));
            for form in written_forms(&address) {
                let answer = caller.check(chain.as_str(), &form).json();
                assert_eq!(answer["risk_score"], 100, "{form}");
                assert_eq!(
                    (&answer["verdict"], &answer["risk_level"]),
                    (&json!("block"), &json!("severe"))
                );
                let listing = answer["sanctions"].as_array().unwrap().iter().find(|listing| {
                    listing["entity_id"] == row["entity_id"]
                        && listing["asset_code"] == row["asset_code"]
                });
                let listing = listing.unwrap_or_else(|| panic!("{form}: {answer}"));
                assert_eq!(
                    (&listing["entity"], &listing["programs"]),
                    (&row["entity"], &row["programs"])
                );
                assert_eq!(
                    (&listing["list"], &listing["status"]),
                    (&json!("ofac-sdn"), &json!("active"))
                );
                assert!(!listing["programs"].as_array().unwrap().is_empty());
                forms += 1;
            }
        }
    }
    assert!(forms > 150, "{forms} forms");
    let expected = [
        ("btc", "p2pkh"),
        ("btc", "p2sh"),
        ("btc", "p2wpkh"),
        ("eth", "account"),
        ("trx", "account"),
    ];
    assert!(expected.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
#[ignore = "needs test data"]
fn a_truncated_or_shrunken_list_changes_nothing() {
    let data = TestData::find();
    let directory = directory();
    let path = data.ofac("2025-05-29");
    let _ = import(directory.path(), &path, &[]).ok();
    let before = exported(directory.path());

    let whole = fs::read(&path).unwrap();
    for length in [whole.len() / 3, whole.len() - 1] {
        let cut = directory.path().join("cut.xml.bz2");
        fs::write(&cut, &whole[..length]).unwrap();
        let run = import(directory.path(), &cut, &[]);
        assert_eq!(run.code, 3, "{}", run.stderr);
    }
    // Given the same list, unpacked, of a later day and without most of its addresses.
    let same = data.ofac_unpacked("2025-05-29");
    let later = fs::read_to_string(&same).unwrap().replacen("<Day>29</Day>", "<Day>30</Day>", 1);
    assert_eq!(
        import(directory.path(), &same, &[]).ok().json()["outcome"],
        "unchanged",
        "packed or not"
    );
    let shrunken = later.replace("Digital Currency Address - XBT", "Something Else");
    let file = directory.path().join("shrunken.xml");
    fs::write(&file, &shrunken).unwrap();
    let refused = import(directory.path(), &file, &[]);
    assert_eq!(refused.code, 4);
    assert!(refused.stderr.contains("implausible"), "{}", refused.stderr);
    assert_eq!(exported(directory.path()), before, "nothing changed");

    // The message ends with the command that accepts the file.
    let digest = refused.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    let wrong = import(directory.path(), &file, &["--accept-digest", &"0".repeat(64)]);
    assert_eq!(wrong.code, 4, "another file's digest accepts nothing");
    let accepted = import(directory.path(), &file, &["--accept-digest", &digest]).ok().json();
    assert_eq!(accepted["report"]["removed"].as_array().unwrap().len(), 484);
}
