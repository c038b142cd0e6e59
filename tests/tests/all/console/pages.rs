//! Contents of pages: the answer of the API, for the own tenant alone.

use std::{collections::BTreeSet, io::Write as _, thread, time::Duration};

use assay_sample::{examples, transfer};
use assay_tests::sample;
use flate2::{Compression, write::GzEncoder};

use super::{Person, path_of};

#[test]
fn every_example_has_a_page_with_its_verdict() {
    let (server, ..) = sample();
    let people = ["sample-business", "sample-enterprise"].map(|it| Person::sign_in(&server, it));
    for (index, example) in examples().into_iter().enumerate() {
        let path = format!("/console/check/{}/{}", example.address.chain(), example.address);
        // Each tenant has a burst of its own.
        let mut page = people[index % 2].get(&path);
        while page.status == 429 {
            // There are more examples than a burst has requests.
            thread::sleep(Duration::from_secs(1));
            page = people[index % 2].get(&path);
        }
        assert_eq!(page.status, 200, "{}: {}", example.description, page.text);
        let verdict = example.verdict.as_str();
        let sentence = format!("<section class=\"answer {verdict}\">");
        assert!(page.text.contains(&sentence), "{}: {}", example.description, page.text);
        assert!(page.text.contains("Demo data set"));
    }
}

#[test]
fn a_check_of_the_console_is_a_check_like_any_other() {
    let (server, business, enterprise) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let path = path_of("half stolen money, half bought at an exchange");
    let page = person.get(&path).text;
    for shown in [
        "61.4 of 100",
        "Copper Vault Hack",
        "class=\"assay-picture\"",
        "Flows of funds",
        "Harbor Lane Exchange",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // It is kept, found and charged,
    let listed = business.get("/api/v1/checks").json();
    let check = &listed["checks"][0];
    assert!(path.ends_with(check["address"].as_str().unwrap()), "{listed}");
    let id = check["check_id"].as_str().unwrap();
    assert!(page.contains(&format!("/console/checks/{id}")));
    let usage = business.get("/api/v1/usage").json();
    assert!(usage.to_string().contains("\"review\""), "{usage}");
    // its link shows the same answer,
    let kept = person.get(&format!("/console/checks/{id}"));
    assert_eq!(kept.status, 200);
    assert!(kept.text.contains("61.4 of 100"));
    // beside the activity of now, which says so,
    assert!(kept.text.contains("<h2>Activity, read on 20"), "{}", kept.text);
    assert!(page.contains("<h2>Activity</h2>"), "{page}");
    let picture = person.get(&format!("/console/checks/{id}/flows.svg"));
    assert_eq!(picture.header("content-type"), "image/svg+xml; charset=utf-8");
    assert!(picture.text.starts_with("<?xml") && picture.text.contains("<style>"));
    // and another tenant sees none of it.
    assert_eq!(enterprise.get("/api/v1/checks").json()["checks"].as_array().unwrap().len(), 0);
    let other = Person::sign_in(&server, "sample-enterprise");
    let pages = ["", "/flows", "/flows.svg", "/flows.png"];
    for path in pages.map(|page| format!("/console/checks/{id}{page}")) {
        assert_eq!(other.get(&path).status, 404, "{path}");
    }
    assert!(!other.get("/console/checks").text.contains(id));
}

#[test]
fn the_picture_of_a_check_is_a_file_of_pixels_too() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let page = person.get(&path_of("half stolen money, half bought at an exchange")).text;
    let (_, rest) = page.split_once("/flows.svg\"").unwrap();
    let (_, rest) = rest.split_once("href=\"").unwrap();
    let drawn = person.get_bytes(rest.split('"').next().unwrap());
    // The command line draws the same flows.
    let address = path_of("half stolen money, half bought at an exchange");
    let address = address.rsplit('/').next().unwrap().to_owned();
    let files = ["--svg", "flows.svg", "--png", "flows.png"];
    let check = ["check", "--sample", "btc", &address];
    let _ = server.assay(&[&check[..], &files[..]].concat()).ok();
    let folder = server.directory().path().to_owned();
    let png = std::fs::read(folder.join("flows.png")).unwrap();
    let svg = std::fs::read_to_string(folder.join("flows.svg")).unwrap();
    assert!(svg.contains("Copper Vault Hack"), "{svg}");
    for file in [&drawn, &png] {
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert!(file.len() > 10_000, "{} bytes", file.len());
        // The width stands at byte 16 of the file: two pixels for each of the picture.
        let width = u32::from_be_bytes(file[16..20].try_into().unwrap());
        assert!(svg.contains(&format!("width=\"{}\"", width / 2)), "{width}");
    }
}

#[test]
fn the_search_field_leads_to_what_a_text_names() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, "sample-business");
    // An address leads to its check,
    let address = examples()[0].address.to_string();
    let found = person.get(&format!("/console/search?q=%20{address}"));
    assert!(found.text.contains("<section class=\"answer block\">"), "{}", found.text);
    // a reference to the checks with it,
    let body = format!(
        "{{\"blockchain\":\"btc\",\"address\":\"{address}\",\"reference\":\"order 4711\"}}"
    );
    let id = business.post("/api/v1/check/address", &body, &[]).json()["check_id"].clone();
    let found = person.get("/console/search?q=order%204711");
    assert!(found.text.contains(&format!("/console/checks/{}", id.as_str().unwrap())));
    // a check's id to the answer,
    let found = person.get(&format!("/console/search?q={}", id.as_str().unwrap()));
    assert!(found.text.contains("<section class=\"answer block\">"));
    // a name to the listed party, and nothing to the page itself.
    let found = person.get("/console/search?q=greymarsh");
    assert!(found.text.contains("GREYMARSH, Ilja"), "{}", found.text);
    // whose addresses lead to their checks,
    assert!(found.text.contains("\">Check on Bitcoin</a>"), "{}", found.text);
    assert!(person.get("/console/search?q=").text.contains("Check an address"));
}

#[test]
fn a_transfer_is_assessed_by_its_own_money() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let (transaction, output) = transfer().unwrap();
    // A transaction leads to the form, which names it,
    let form = person.get(&format!("/console/search?q={}", transaction.txid));
    assert!(form.text.contains(&format!("value=\"{}\"", transaction.txid)), "{}", form.text);
    assert!(business.get("/api/v1/checks").json()["checks"].as_array().unwrap().is_empty());
    // and the form to the answer.
    let asked = format!(
        "/console/transfer?blockchain=btc&transaction={}&address=&place={output}&direction=deposit",
        transaction.txid
    );
    let answer = person.get(&asked);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.text.contains("deposit of "), "{}", answer.text);
    // A withdrawal that is not sent yet is assessed by its receiver.
    let to = examples()[0].address.to_string();
    let planned = format!("/console/transfer?blockchain=btc&to={to}&asset=native&amount=1000");
    assert!(person.get(&planned).text.contains("<section class=\"answer block\">"));
    let wrong = person.get("/console/transfer?blockchain=btc&to=x&asset=native&amount=1000");
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    assert_eq!(business.get("/api/v1/checks").json()["checks"].as_array().unwrap().len(), 2);
}

#[test]
fn all_assets_are_small() {
    /// Largest size of all files that pages load, compressed.
    const MOST_BYTES: usize = 150_000;
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let page = person.get(&path_of("an exchange")).text;
    let named = page.split(['"', '\'']).filter(|text| text.starts_with("/console/"));
    let is_asset = |text: &&str| text.contains('.') && !text.contains("/flows.");
    let files: BTreeSet<&str> = named.filter(is_asset).collect();
    let expected = ["/console/icon.svg", "/console/script.js", "/console/style.css"];
    assert_eq!(files, BTreeSet::from(expected));
    let compressed = |path: &&str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(person.get(path).text.as_bytes()).unwrap();
        encoder.finish().unwrap().len()
    };
    let bytes: usize = files.iter().map(compressed).sum();
    assert!(bytes > 1_000 && bytes <= MOST_BYTES, "{bytes} bytes");
}

#[test]
fn a_check_shows_activity_by_week_also_as_a_table() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    for description in [
        "half stolen money, half bought at an exchange",
        "sold a boat for stolen ether",
        "a customer of an exchange on TRON",
    ] {
        let page = person.get(&path_of(description)).text;
        assert!(page.contains("aria-label=\"Activity of "), "{description}: {page}");
        assert!(page.contains("As a table: "), "{description}: {page}");
        assert!(!page.contains("The largest transfers:"), "all are shown: {page}");
    }
    // A chain without a source says so.
    let listed = person.get(&path_of("the key of a listed ETH account, on another chain")).text;
    assert!(listed.contains("No node or indexer is configured for "), "{listed}");
}

#[test]
fn an_address_between_leads_to_its_own_flows() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-enterprise");
    let page = person.get(&path_of("paid by ransomware over two hops")).text;
    let (before, _) = page.split_once("#flows\"").unwrap();
    let path = before.rsplit('"').next().unwrap();
    let followed = person.get(path);
    assert_eq!(followed.status, 200);
    assert!(followed.text.contains("id=\"flows\""), "{}", followed.text);
}

#[test]
fn sources_and_chains_have_pages() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let sources = person.get("/console/sources").text;
    assert!(sources.contains("sample-sanctions") && sources.contains("mandatory"), "{sources}");
    let chains = person.get("/console/chains").text;
    assert!(chains.contains("Bitcoin") && chains.contains("traced"), "{chains}");
}

#[test]
fn a_wrong_address_is_explained_and_not_charged() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let wrong = person.get("/console/check/btc/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb");
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("checksum"), "{}", wrong.text);
    assert_eq!(person.get("/console/check/nochain/x").status, 422);
    assert_eq!(person.get("/console/nothing").status, 404);
    assert!(business.get("/api/v1/checks").json()["checks"].as_array().unwrap().is_empty());
}
