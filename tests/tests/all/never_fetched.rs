//! Sources that were enabled and could never be fetched: they are named wherever sources are, and no answer looks complete without them.

use std::{fs, sync::Arc};

use assay_tests::{Server, assay, tenant};
use serde_json::{Value, json};

use crate::{imports::web_server, support::wait_until};

#[test]
fn a_source_that_was_never_fetched_is_named_everywhere() {
    // Given an imported list, and two enabled ones behind a server that has neither, one of them mandatory...
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let (absent, _) = web_server(Vec::new(), "404 Not Found");
    let manifest = |name: &str, mandatory: bool| {
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: {name}}}\nspec: {{location: \
             'http://{}/{name}.csv', format: listings-csv, schedule: '* * * * *', lists: [{name}], \
             mandatory: {mandatory}}}\n---\n",
            absent.address()
        )
    };
    let own = "list,entity_id,entity,asset_code,address\nofac-sdn,1,Somebody,XBT,12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h\n";
    fs::write(directory.path().join("own.csv"), own).unwrap();
    let import = ["ingest", "sanctions", "own.csv", "--format", "csv", "--source", "own"];
    let _ = assay(directory.path(), import).ok();
    let apply = |mandatory: bool| {
        let text = manifest("first", false) + &manifest("second", mandatory);
        let text = text + &tenant("acme", "enterprise");
        fs::write(directory.path().join("sources.yaml"), text).unwrap();
        let _ = assay(directory.path(), ["apply", "-f", "sources.yaml"]).ok();
    };
    apply(false);
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    let caller = server.caller(key.trim());
    wait_until("both fail", || {
        let shown = server.assay(&["sources"]).ok().stdout;
        ["first", "second"].iter().all(|name| shown.contains(&format!("{name}: fetching failed")))
    });
    // ...then both are among the sources of the API and of the command line...
    let named = |sources: &Value| {
        let sources = sources.as_array().unwrap().iter();
        let absent = sources.filter(|source| source["never_fetched"] == true);
        absent.map(|source| source["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(&caller.get("/api/v1/sources").json()["sources"]), ["first", "second"]);
    assert_eq!(named(&server.assay(&["sources", "--json"]).ok().json()), ["first", "second"]);
    let shown = server.assay(&["sources"]).ok().stdout;
    assert_eq!(shown.matches("never fetched").count(), 2, "{shown}");
    // ...and an answer says that they were not searched.
    let clean = json!({"blockchain": "btc", "address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"});
    let check = || {
        let no_cache = [("cache-control", "no-cache")];
        caller.post("/api/v1/check/address", &clean.to_string(), &no_cache).json()
    };
    let answer = check();
    assert_eq!(answer["verdict"], "allow", "{answer:#}");
    assert_eq!(answer["coverage"]["sanctions"]["status"], "partial", "{answer:#}");
    let detail = answer["coverage"]["sanctions"]["detail"].as_str().unwrap();
    assert!(detail.contains("never fetched: first, second"), "{detail}");
    assert_eq!(named(&answer["sources"]), ["first", "second"]);
    let text = server.assay(&["check", "btc", clean["address"].as_str().unwrap(), "--all"]).ok();
    assert!(text.stdout.contains("first (never fetched)"), "{}", text.stdout);
    // When one of them is mandatory, then nothing is allowed without it.
    apply(true);
    wait_until("it is mandatory", || {
        let answer = check();
        let reasons = answer["reasons"].to_string();
        let is_told = reasons.contains("the mandatory source second was never imported");
        is_told && answer["verdict"] == "indeterminate"
    });
}
