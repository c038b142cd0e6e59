use super::*;

const ADDRESS: &str = "0x098b716b8aaf21512996dc57eb0615e2383e2f96";
const CHECKSUMMED: &str = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96";

fn read_json(json: &str) -> Result<LabelSet, String> {
    let etherscan = Explorer::of_file("etherscan.json").unwrap();
    read(json.as_bytes(), "etherscan.json", &"tags".parse().unwrap(), &etherscan)
        .map_err(|error| error.to_string())
}

/// Category, term and confidence of each label of an address with `words`.
fn labels_from_tags(words: &[&str]) -> Vec<(&'static str, String, u8)> {
    let words = serde_json::to_string(words).unwrap();
    let set = read_json(&format!(r#"{{"{ADDRESS}": {{"name": "X", "labels": {words}}}}}"#));
    set.unwrap()
        .labels
        .into_iter()
        .map(|entry| {
            let label = entry.label;
            let term = label.term.unwrap_or_default().to_string();
            (label.category.as_str(), term, label.confidence.percent())
        })
        .collect()
}

#[test]
fn the_file_names_the_chain_and_the_author() {
    for (file, chain, host) in [
        ("etherscan.json", "eth", "etherscan.io"),
        ("/data/BscScan.json", "bsc", "bscscan.com"),
        ("optimistic.etherscan.json", "optimism", "optimistic.etherscan.io"),
    ] {
        let explorer = Explorer::of_file(file).unwrap();
        assert_eq!((explorer.chain.as_str(), explorer.host.as_str()), (chain, host));
    }
    assert_eq!(Explorer::of_file("labels.json"), None);
    for (stem, chain, _) in Explorer::known() {
        assert_eq!(Explorer::of_file(stem).unwrap().chain.as_str(), chain, "{stem}");
    }
}

#[test]
fn a_name_tag_becomes_a_label() {
    let json = format!(r#"{{"{ADDRESS}": {{"name": "KuCoin 2", "labels": ["kucoin"]}}}}"#);
    let set = read_json(&json).unwrap();
    let [entry] = &*set.labels else { panic!("{} labels", set.labels.len()) };
    assert_eq!(entry.address.as_str(), CHECKSUMMED);
    let label = &entry.label;
    assert_eq!(label.category, Category::Exchange);
    assert_eq!(label.entity.as_deref(), Some("KuCoin 2"));
    assert_eq!(label.tier, Tier::Investigation);
    assert_eq!(&*label.upstream, "etherscan.io");
    assert_eq!(label.source.as_str(), "tags");
    assert_eq!(set.published_on, None);
}

#[test]
fn the_riskiest_term_decides() {
    let one = |category, term: &str, percent| vec![(category, term.to_owned(), percent)];
    for (words, expected) in [
        (&["exchange", "phish-hack", "dex"][..], one("phishing_drainer", "phish-hack", 85)),
        (&["contract-deployer", "kucoin"], one("exchange", "kucoin", 90)),
        (&["meme", "gaming"], one("uncategorized", "meme", 90)),
        (&["meme", "old-contract"], one("uncategorized", "old-contract", 90)),
        (&["heist", "exploit"], one("stolen_funds", "heist", 85)),
    ] {
        assert_eq!(labels_from_tags(words), expected, "{words:?}");
    }
    assert_eq!(labels_from_tags(&[]), one("uncategorized", "", 90));
}

#[test]
fn a_cited_list_does_not_hide_the_category() {
    let words = ["ofac-sanctions-lists", "tornado-cash"];
    let labels = labels_from_tags(&words);
    let categories: Vec<_> = labels.iter().map(|(category, ..)| *category).collect();
    assert_eq!(categories, ["sanctions", "mixer"]);

    let json =
        format!(r#"{{"{ADDRESS}": {{"name": "", "labels": ["ofac-sanctions-lists", "burn"]}}}}"#);
    let set = read_json(&json).unwrap();
    assert_eq!(set.labels.len(), 1, "a word that says nothing adds nothing");
    assert_eq!(set.labels[0].label.cites_list.as_ref().unwrap().as_str(), "ofac-sdn");
    assert_eq!(set.labels[0].label.entity, None);
}

#[test]
fn a_frozen_balance_does_not_hide_a_contract() {
    let categories = |name: &str, words: &[&str]| -> Vec<String> {
        let entry = serde_json::json!({ ADDRESS: {"name": name, "labels": words} });
        let set = read_json(&entry.to_string()).unwrap();
        set.labels.iter().map(|entry| entry.label.category.to_string()).collect()
    };
    assert_eq!(
        categories("Curve.fi: CRV Token", &["blocked", "curve-fi"]),
        ["issuer_frozen", "dex"]
    );
    for name in ["Golem Token", "Linear Token (LINA)"] {
        assert_eq!(categories(name, &["blocked"]), ["issuer_frozen", "token_contract"], "{name}");
    }
    assert_eq!(categories("Loom Token (LOOM)", &["healthcare"]), ["token_contract"]);
    // Other owners, and what is worse than frozen, are as before.
    assert_eq!(categories("Yearn (yDai) Exploiter", &["blocked"]), ["issuer_frozen"]);
    assert_eq!(categories("KuCoin 2", &["blocked", "kucoin"]), ["issuer_frozen"]);
    assert_eq!(categories("Fake Token", &["blocked", "heist"]), ["stolen_funds"]);
    assert_eq!(categories("A token (of mine)", &["meme"]), ["uncategorized"]);
}

#[test]
fn an_address_in_two_spellings_is_one() {
    let json = format!(
        r#"{{"{ADDRESS}": {{"name": "", "labels": ["meme"]}},
            "{CHECKSUMMED}": {{"name": "X", "labels": ["token-contract"]}}}}"#
    );
    let set = read_json(&json).unwrap();
    assert_eq!(set.labels.len(), 1);
    assert_eq!(set.labels[0].label.category, Category::TokenContract);
    assert_eq!(set.labels[0].label.entity.as_deref(), Some("X"));
    assert_eq!(set.unknown_terms.len(), 0, "a known word decided");
}

#[test]
fn keys_that_are_no_addresses_are_rejected_and_unknown_terms_counted() {
    let json = format!(
        r#"{{"": {{"name": "Sum", "labels": ["burn"]}},
            "genesis": {{"name": "", "labels": []}},
            "{ADDRESS}": {{"name": "", "labels": ["meme", "gaming"]}}}}"#
    );
    let set = read_json(&json).unwrap();
    assert_eq!(set.rejected[0].position, "etherscan.json, entry 1");
    assert_eq!(set.rejected[0].reason, "no address of eth: the address is empty");
    assert_eq!(set.rejected[1].position, "etherscan.json, entry 2");
    assert_eq!(set.labels.len(), 1);
    let words: Vec<_> = set.unknown_terms.keys().map(String::as_str).collect();
    assert_eq!(words, ["gaming", "meme"]);
}

#[test]
fn anything_else_is_refused_with_the_line() {
    for (json, line) in [
        ("", 1),
        ("[]", 1),
        ("{\n\"a\": {\"name\": 5, \"labels\": []}}", 2),
        ("{\n\"a\": {\"name\": \"\"}}", 2),
        ("{\n\"a\": {\"name\": \"\", \"labels\": [], \"more\": 1}}", 2),
        ("{\"a\": {\"name\": \"\", \"labels\": [[]]}}", 1),
        ("{}\n{}", 2),
        ("{", 1),
    ] {
        let error = read_json(json).unwrap_err();
        let told = format!("line {line} cannot be read as an explorer's labels");
        assert!(error.starts_with(&told) && !error.contains(" column "), "{json}: {error}");
    }
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(read_json(&deep).unwrap_err().contains("cannot be read"));
    assert!(read_json("{}\0").unwrap_err().contains("a NUL byte"));
    assert!(read_json("\u{feff}{}").is_ok(), "a byte order mark is allowed");
}
