//! Lists and labels that a server fetches on a schedule.

use std::sync::{Arc, atomic::Ordering};

use assay_tests::{Server, assay};
use serde_json::Value;

use crate::{
    imports::{SMALL, web_server},
    support::wait_until,
};

#[test]
fn a_list_is_fetched_when_the_server_starts_and_a_label_set_when_it_is_applied() {
    let (list, sent) = web_server(SMALL.into(), "200 OK");
    let labels =
        "blockchain,address,category,entity\nbtc,1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,scam,Nobody\n";
    let (more, _) = web_server(labels.into(), "200 OK");
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let write =
        |name: &str, text: String| std::fs::write(directory.path().join(name), text).unwrap();
    write(
        "list.yaml",
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: ofac-sdn}}\nspec:\n  \
             location: http://{list}/sdn.xml\n  format: ofac-advanced\n  schedule: '0 0 1 1 *'\n",
            list = list.address()
        ),
    );
    write(
        "labels.yaml",
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: own}}\nspec:\n  \
             location: http://{more}/labels.csv\n  format: labels-csv\n  schedule: '* * * * *'\n  \
             mandatory: true\n",
            more = more.address()
        ),
    );
    let _ = assay(directory.path(), ["apply", "-f", "list.yaml"]).ok();
    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    let sources = || -> Value { server.assay(&["sources", "--json"]).ok().json() };
    let has_entries = |at: usize| sources()[at]["entries"].as_u64() > Some(0);
    wait_until("the list is fetched", || has_entries(0));
    assert_eq!(sources()[0]["id"], "ofac-sdn");
    assert_eq!(sent.load(Ordering::Relaxed), 1);

    // Once labels are mandatory nothing is allowed without them, until they are there.
    let _ = server.assay(&["apply", "-f", "labels.yaml"]).ok();
    let check = || -> Value {
        let address = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2";
        server.assay(&["check", "btc", address, "--json"]).ok().json()
    };
    wait_until("the labels are fetched", || has_entries(1));
    assert_eq!(check()["verdict"], "allow");
    assert!(sources()[1]["mandatory"] == true && sources()[1]["stale"] == false);
    let labelled = server.assay(&["check", "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "--json"]);
    assert_eq!(labelled.ok().json()["labels"][0]["category"], "scam");
    assert!(!server.log().contains("failed to fetch"), "{}", server.log());
}

#[test]
fn a_mandatory_source_that_was_never_fetched_allows_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {name: own}\nspec: \
                    {location: own.csv, format: labels-csv, schedule: '0 0 * * *', mandatory: true}\n";
    std::fs::write(directory.path().join("own.yaml"), manifest).unwrap();
    std::fs::write(directory.path().join("small.xml"), SMALL).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok();
    let _ = run(&["ingest", "sanctions", "small.xml", "--format", "ofac-advanced"]);
    let check = || {
        let answer = run(&["check", "btc", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "--json"]).json();
        (answer["verdict"].clone(), answer["reasons"][0]["message"].clone())
    };
    assert_eq!(check().0, "allow");
    let _ = run(&["apply", "-f", "own.yaml"]);
    let (verdict, why) = check();
    assert_eq!(verdict, "indeterminate");
    assert_eq!(why, "the mandatory source own was never imported");
}
