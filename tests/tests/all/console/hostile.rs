//! Pages and pictures with texts and requests of people who mean harm.

use std::{fmt::Write as _, fs};

use assay_tests::{ManyFlows, Server, assay, production, production_with, sample};

use super::Person;
use crate::support::wait_until;

const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
/// The script of the pages of answers.
const OWN_SCRIPT: &str = "<script src=\"/console/script.js\" defer></script>";

#[test]
fn texts_of_labels_stay_texts() {
    let (server, caller) = production();
    let names = [
        "<script>alert(1)</script>",
        "\"\" onmouseover=\"\"alert(1)",
        "a\u{202e}moc.evil",
        "</title></svg><img src=x>",
    ];
    let mut table = String::from("blockchain,address,category,entity\n");
    for (name, category) in names.into_iter().zip(["scam", "mixer", "gambling", "ransomware"]) {
        writeln!(table, "btc,{ADDRESS},{category},\"{name}\"").unwrap();
    }
    let directory = server.directory();
    fs::write(directory.path().join("hostile.csv"), table).unwrap();
    let import = ["ingest", "labels", "hostile.csv", "--format", "csv", "--source", "hostile"];
    let _ = server.assay(&import).ok();
    wait_until("the labels are read", || {
        !caller.check("btc", ADDRESS).json()["labels"].as_array().unwrap().is_empty()
    });
    let person = Person::sign_in(&server, "acme");
    let page = person.get(&format!("/console/check/btc/{ADDRESS}")).text;
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert_texts_only(&page, "a check");
    let body = format!(
        "{{\"blockchain\":\"btc\",\"address\":\"{ADDRESS}\",\"reference\":\"<script>1</script>\"}}"
    );
    assert_eq!(caller.post("/api/v1/check/address", &body, &[]).status, 200);
    for path in ["/console", "/console/checks", "/console/search?q=%3Cscript%3E1%3C%2Fscript%3E"] {
        let page = person.get(path).text;
        assert!(page.contains("&lt;script&gt;1") && !page.contains("<script"), "{page}");
    }
}

/// Texts that would be harmful if they were not shown as texts.
const PAYLOADS: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></text></svg><iframe src=//evil.example>",
    "]]><svg onload=alert(1)>",
    "javascript:alert(1)",
    "a\u{202e}moc.evil\u{2066}",
    "{{7*7}} ${7*7} <!-- --> &lt;b&gt;",
];

/// Asserts that a page or picture has no element or attribute of a payload.
fn assert_texts_only(text: &str, of: &str) {
    let text = text.replacen(OWN_SCRIPT, "", 1);
    for harmful in
        ["<script", "<img", "<iframe", "<svg onload", "\" onmouseover", "\u{202e}", "\u{2066}"]
    {
        assert!(!text.contains(harmful), "{harmful} of {of} in {text}");
    }
    for attribute in ["href=\"javascript:", "src=\"javascript:", "action=\"javascript:"] {
        assert!(!text.contains(attribute), "{attribute} of {of} in {text}");
    }
}

#[test]
fn names_of_parties_stay_texts_in_flows_and_pictures() {
    let name = |number: u32| {
        let payload = PAYLOADS[usize::try_from(number).unwrap() % PAYLOADS.len()];
        format!("{payload} {number}")
    };
    let flows = ManyFlows { parties: 16, name: &name };
    let (server, _, subject) = production_with(|directory| flows.record(directory));
    let person = Person::sign_in(&server, "acme");
    let page = person.get(&format!("/console/check/btc/{subject}")).text;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert_texts_only(&page, "a check");
    let (_, rest) = page.split_once("href=\"/console/checks/").unwrap();
    let id = rest.split('"').next().unwrap();
    let svg = person.get(&format!("/console/checks/{id}/flows.svg")).text;
    assert!(svg.contains("&lt;/title&gt;&lt;/text&gt;&lt;/svg&gt;"), "{svg}");
    assert_texts_only(&svg, "the flow picture");
    let png = person.get_bytes(&format!("/console/checks/{id}/flows.png"));
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{} bytes", png.len());
}

#[test]
fn paths_forms_and_searches_stay_texts() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    for payload in PAYLOADS {
        let mut encoded = String::new();
        for byte in payload.bytes() {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        for path in [
            format!("/console/search?q={encoded}"),
            format!("/console/check/btc/{encoded}"),
            format!("/console/check/{encoded}/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
            format!("/console/checks/{encoded}"),
            format!("/console/{encoded}"),
            format!("/console/transfer?blockchain={encoded}&to={encoded}"),
            format!("/console/transfer?blockchain=btc&to={encoded}&asset={encoded}&amount=1"),
            format!("/console/transfer?blockchain=btc&transaction={encoded}&place={encoded}"),
            format!("/console/sign-in?token={encoded}"),
        ] {
            let page = person.get(&path);
            assert!(page.status != 500, "{path}: {}", page.text);
            assert_texts_only(&page.text, &path);
        }
    }
}

#[test]
fn errors_of_sources_and_names_of_files_stay_texts() {
    let (server, _, ()) = production_with(|directory| {
        let manifest = "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {name: own}\nspec: \
                        {location: '<script>alert(1)</script>.csv', format: labels-csv, schedule: '* * * * *'}\n";
        fs::write(directory.join("own.yaml"), manifest).unwrap();
        let _ = assay(directory, ["apply", "-f", "own.yaml"]).ok();
    });
    let directory = server.directory();
    drop(server);
    let server = Server::start(directory, &["--feeds", "on"]);
    let person = Person::sign_in(&server, "acme");
    wait_until("the fetch has failed", || {
        person.get("/console/sources").text.contains("last fetch failed")
    });
    let page = person.get("/console/sources").text;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;.csv"), "{page}");
    assert_texts_only(&page, "the page of sources");
}

#[test]
fn pages_forbid_foreign_scripts_frames_and_origins() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, "sample-business");
    for path in [
        "/console",
        "/console/sources",
        "/console/chains",
        "/console/checks",
        "/console/keys",
        "/console/usage",
        "/console/policy",
        "/console/nothing",
    ] {
        let page = person.get(path);
        let policy = page.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "style-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cache-control"), "no-store");
        for asked in page.text.split(['"', '\'']).filter(|text| text.contains("://")) {
            assert!(asked == "http://www.w3.org/2000/svg", "{path} names {asked}");
        }
        assert!(!page.text.contains(" style="), "{}", page.text);
    }
    // The page of an answer has the console's own script, which asks this server alone.
    let page = person.get(&format!("/console/check/btc/{ADDRESS}"));
    assert_eq!(page.text.matches("<script").count(), 1, "{}", page.text);
    assert!(page.text.contains(OWN_SCRIPT), "{}", page.text);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; "), "{policy}");
    assert!(policy.ends_with("; script-src 'self'; connect-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let script = person.get("/console/script.js");
    assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(script.header("x-content-type-options"), "nosniff");
}

#[test]
fn a_link_of_another_site_checks_nothing() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, "sample-business");
    let path = format!("/console/check/btc/{ADDRESS}");
    for fields in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-purpose", "prefetch"),
    ] {
        let page = person.get_with(&path, &[fields]);
        assert!(page.text.contains("Check this address?"), "{}", page.text);
    }
    assert!(business.get("/api/v1/checks").json()["checks"].as_array().unwrap().is_empty());
    assert!(person.get_with(&path, &[("sec-fetch-site", "same-origin")]).text.contains("of 100"));
}
