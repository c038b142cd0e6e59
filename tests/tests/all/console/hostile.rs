//! Pages and pictures with texts and requests of people who mean harm.

use std::{fmt::Write as _, fs};

use assay_tests::{production, sample};

use super::Person;
use crate::support::wait_until;

const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

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
    for harmful in ["<script", "<img", "\" onmouseover", "\u{202e}"] {
        assert!(!page.contains(harmful), "{harmful} in {page}");
    }
    let body = format!(
        "{{\"blockchain\":\"btc\",\"address\":\"{ADDRESS}\",\"reference\":\"<script>1</script>\"}}"
    );
    assert_eq!(caller.post("/api/v1/check/address", &body, &[]).status, 200);
    for path in ["/console", "/console/checks", "/console/search?q=%3Cscript%3E1%3C%2Fscript%3E"] {
        let page = person.get(path).text;
        assert!(page.contains("&lt;script&gt;1") && !page.contains("<script"), "{page}");
    }
}

#[test]
fn pages_forbid_scripts_frames_and_other_origins() {
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
