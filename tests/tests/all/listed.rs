//! An address that a blocking list names is blocked, however the list writes it; a text that no check can match is
//! counted, and checks of its chain are incomplete.

use std::{fs, path::Path};

use assay_tests::{Finished, WallClock, assay, production, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

const HEADER: &str = "list,entity_id,entity,asset_code,address";
const ACCOUNT: &str = "0x85abc7701c01fc724c1dd92ba836493d48b123b2";
const TRON: &str = "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq";
const BITCOIN: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
const UNLISTED: [(&str, &str); 4] = [
    ("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    ("eth", "0x00000000219ab540356cBB839Cbe05303d7705Fa"),
    ("trx", "TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF"),
    ("other", "k:85abc7701c01fc72"),
];

/// Imports rows of OFAC's list; each is an asset code and an address.
fn import(directory: &Path, rows: &[(&str, &str)], more: &[&str]) -> Finished {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows = rows.iter().enumerate().map(|(number, (code, address))| {
        format!("ofac-sdn,{number},DOE,{},{}\n", quoted(code), quoted(address))
    });
    let path = directory.join("list.csv");
    fs::write(&path, format!("{HEADER}\n{}", rows.collect::<String>())).unwrap();
    let path = path.display().to_string();
    let base = ["ingest", "sanctions", &path, "--format", "csv", "--source", "ofac-sdn", "--json"];
    assay(directory, base.iter().chain(more))
}

fn listed(rows: &[(&str, &str)]) -> (TempDir, Value) {
    let directory = tempfile::tempdir().unwrap();
    let report = import(directory.path(), rows, &[]).ok().json();
    (directory, report)
}

fn check(directory: &Path, chain: &str, address: &str) -> Value {
    assay(directory, ["check", chain, address, "--json"]).ok().json()
}

/// The verdict and completeness of an address.
fn verdict(directory: &Path, chain: &str, address: &str) -> (String, bool) {
    let answer = check(directory, chain, address);
    (answer["verdict"].as_str().unwrap().to_owned(), answer["complete"].as_bool().unwrap())
}

fn is(verdict: &str, complete: bool) -> (String, bool) {
    (verdict.to_owned(), complete)
}

#[test]
fn a_listed_address_is_blocked_however_the_list_writes_its_code_and_form() {
    let bare = ACCOUNT.trim_start_matches("0x");
    for (code, address, chain, asked) in [
        ("eth", ACCOUNT, "eth", ACCOUNT),
        ("Ethereum", ACCOUNT, "eth", ACCOUNT),
        ("ERC-20", ACCOUNT, "eth", ACCOUNT),
        ("DAI", ACCOUNT, "eth", ACCOUNT),
        ("DAI", ACCOUNT, "arbitrum", ACCOUNT),
        ("ETH", bare, "eth", ACCOUNT),
        ("usdt", bare, "bsc", ACCOUNT),
        ("USDT-TRC20", TRON, "trx", TRON),
        ("trc20", TRON, "trx", TRON),
        ("btc", BITCOIN, "btc", BITCOIN),
        ("bitcoin", &format!("bitcoin:{BITCOIN}?amount=0.1"), "btc", BITCOIN),
        ("XBT", &format!("{BITCOIN}; 3LtcaPbCj87CwJHnRX3vh7c2y9RZQqeSy8"), "btc", BITCOIN),
        ("ETH", &format!("{ACCOUNT}\n{TRON}"), "trx", TRON),
        ("KDA", "k:85abc7701c01fc724c1d", "other", "k:85abc7701c01fc724c1d"),
        (
            "WAVES",
            "3P2uzAzX9XTu1t32GkWw68YFFLwtapWvds6",
            "other",
            "3P2uzAzX9XTu1t32GkWw68YFFLwtapWvds6",
        ),
        ("USDT", "wallet-77", "other", "wallet-77"),
    ] {
        let (directory, report) = listed(&[(code, address)]);
        assert_eq!(report["report"]["unmatched"], json!({}), "{code} {address}");
        let answer = verdict(directory.path(), chain, asked);
        assert_eq!(answer, is("block", true), "{code} {address} as {chain} {asked}");
        // Others are not blocked by it.
        for (chain, address) in UNLISTED {
            assert_eq!(verdict(directory.path(), chain, address), is("allow", true));
        }
    }
}

#[test]
fn what_else_is_wrong_with_a_row_does_not_hide_its_address() {
    for row in [
        format!("ofac-sdn,,,ETH,{ACCOUNT},"),
        format!(",7,DOE,ETH,{ACCOUNT},"),
        format!("ofac-sdn,7,DOE,,{ACCOUNT},"),
        format!("ofac-sdn,7,DOE,ETH,{ACCOUNT},31/12/2020"),
        // Of two ends the later counts.
        format!("ofac-sdn,7,DOE,ETH,{ACCOUNT},2020-12-31\nofac-sdn,7,DOE,ETH,{ACCOUNT},"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list.csv");
        fs::write(&path, format!("{HEADER},expires_on\n{row}\n")).unwrap();
        let path = path.display().to_string();
        let base = ["ingest", "sanctions", &path, "--format", "csv", "--source", "ofac-sdn"];
        let told = assay(directory.path(), base).ok().stdout;
        assert_eq!(verdict(directory.path(), "eth", ACCOUNT), is("block", true), "{row}");
        assert!(told.contains("kept line 2: ") || row.contains('\n'), "{told}");
    }
}

#[test]
fn a_text_that_no_check_can_match_is_counted_and_makes_checks_of_its_chain_incomplete() {
    // Given a payment id, a mistyped address and an address that lost its letter case, beside a good one.
    let payment_id = "5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320";
    for (code, text, chain, clean) in [
        (
            "XMR",
            payment_id,
            "xmr",
            "4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge",
        ),
        ("ETH", "0x85abc7701c01fc724c1dd92ba836493d48b123b", "eth", UNLISTED[1].1),
        ("XBT", "1kuczsr49wpwckudoujlybjurytvif5hfm", "btc", UNLISTED[0].1),
        ("KDA", "字字字", "other", UNLISTED[3].1),
    ] {
        let (directory, report) =
            listed(&[(code, text), ("LTC", "LTpYZG19YmfvY2bBDYtCKpunVRw7nVgRHW")]);
        // Then the import's answer, the sources and a check of that chain tell it,
        assert_eq!(report["report"]["unmatched"], json!({chain: 1}), "{text}");
        assert_eq!(report["report"]["invalid"][0]["address"], text);
        let sources = assay(directory.path(), ["sources", "--json"]).ok().json();
        assert_eq!(sources[0]["unmatched"], json!({chain: 1}));
        let shown = assay(directory.path(), ["sources"]).ok().stdout;
        assert!(shown.contains(&format!("1 unmatched on {chain}")), "{shown}");
        let answer = check(directory.path(), chain, clean);
        assert_eq!(
            (&answer["verdict"], &answer["complete"]),
            (&json!("indeterminate"), &json!(false))
        );
        assert_eq!(answer["reasons"][0]["code"], "listing_unmatched");
        assert_eq!(answer["coverage"]["sanctions"]["status"], "partial");
        // checks of other chains are complete,
        for (other, address) in UNLISTED.into_iter().filter(|(other, _)| *other != chain) {
            assert_eq!(verdict(directory.path(), other, address), is("allow", true), "{text}");
        }
        // and a policy that accepts the text makes those of its chain complete.
        let policy = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata:\n  name: examined\nspec:\n  \
             acceptedTexts: [\"{text}\"]\n"
        );
        fs::write(directory.path().join("policy.yaml"), policy).unwrap();
        let file = directory.path().join("policy.yaml").display().to_string();
        let _ = assay(directory.path(), ["apply", "-f", &file]).ok();
        let answer =
            assay(directory.path(), ["check", chain, clean, "--policy", "examined", "--json"]);
        assert_eq!(answer.ok().json()["complete"], true);
    }
    // The text itself is found where it is asked for as it stands.
    let (directory, _) = listed(&[("XMR", payment_id)]);
    assert_eq!(verdict(directory.path(), "other", payment_id).0, "block");
}

#[test]
fn a_metric_counts_the_texts_that_no_check_can_match() {
    let (server, caller) = production();
    let _ = import(server.directory().path(), &[("XMR", "payment"), ("ETH", ACCOUNT)], &[]).ok();
    wait_until("the listing shows", || caller.check("eth", ACCOUNT).json()["verdict"] == "block");
    let metric = "assay_unmatched_listings{source=\"ofac-sdn\",blockchain=\"xmr\"} 1";
    assert!(server.metrics().contains(metric), "{}", server.metrics());
    let sources = caller.get("/api/v1/sources").json();
    assert_eq!(sources["sources"][0]["unmatched"], json!({"xmr": 1}));
}

#[test]
fn an_advisory_list_withholds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("list.csv");
    let rows = format!("{HEADER}\nown-list,1,DOE,ETH,0x123\nofac-sdn,2,DOE,XBT,{BITCOIN}\n");
    fs::write(&path, rows).unwrap();
    let path = path.display().to_string();
    let base = ["ingest", "sanctions", &path, "--format", "csv", "--source", "ofac-sdn", "--json"];
    let report = assay(directory.path(), base).ok().json();
    assert_eq!(report["report"]["unmatched"], json!({"eth": 1}));
    let (chain, address) = UNLISTED[1];
    assert_eq!(verdict(directory.path(), chain, address), is("allow", true));
}

#[test]
#[ignore = "needs faketime"]
fn the_newest_publication_decides_although_the_clock_is_behind() {
    const DAY: i64 = 24 * 3600;
    // Given the publication of yesterday without an address, and that of today with it.
    let clock = WallClock::new();
    let directory = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the programs go by the system's clock")]
    let now = jiff::Timestamp::now();
    let day = |ahead: i64| (now + jiff::SignedDuration::from_secs(ahead)).to_string();
    let on = |ahead: i64| format!("--published-on={}", &day(ahead)[..10]);
    let base = [("XBT", BITCOIN)];
    let _ = import(directory.path(), &base, &[&on(-DAY)]).ok();
    let _ = import(directory.path(), &[("XBT", BITCOIN), ("ETH", ACCOUNT)], &[&on(0)]).ok();
    // When the clock is a day back,
    clock.set_ahead(-DAY);
    let check = |chain: &str, address: &str| {
        clock.assay(directory.path(), &["check", chain, address, "--json"]).ok().json()
    };
    // then the address is listed,
    assert_eq!(check("eth", ACCOUNT)["verdict"], "block");
    // no other is allowed, and the answer says that the clock is behind.
    let (chain, address) = UNLISTED[1];
    let answer = check(chain, address);
    assert_eq!((&answer["verdict"], &answer["complete"]), (&json!("indeterminate"), &json!(false)));
    assert_eq!(answer["reasons"][0]["code"], "clock_behind");
    // A clock that is four minutes behind is as good as that of another server.
    clock.set_ahead(-240);
    assert_eq!(check(chain, address)["verdict"], "allow");
    assert_eq!(check("eth", ACCOUNT)["verdict"], "block");
    // A question about yesterday is answered by what was published then.
    let yesterday = day(-DAY)[..10].to_owned();
    let asked = ["check", "eth", ACCOUNT, "--as-of", &yesterday, "--json"];
    assert_eq!(assay(directory.path(), asked).ok().json()["verdict"], "allow");
    // A publication that is dated tomorrow, where the day began already, is in force.
    let _ = import(directory.path(), &[("XBT", BITCOIN), ("TRX", TRON)], &[&on(DAY)]).ok();
    clock.set_ahead(0);
    assert_eq!(check("trx", TRON)["verdict"], "block");
    assert_eq!(check("eth", ACCOUNT)["verdict"], "allow", "it is no longer listed");
}
