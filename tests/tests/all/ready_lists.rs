//! Ready-made official lists: enabled by name, imported immediately, and answers with the facts for a report.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assay_tests::assay;
use serde_json::Value;
use tempfile::TempDir;

const ON_THREE_LISTS: &str = "0x189f40034bE7a199F1fa9891668EE3AB6049F82D";
const IN_A_SENTENCE: &str = "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM";
const DELISTED: &str = "TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF";
const EXPIRED: &str = "TWpJHKMjKEAWNgA6irA6pzt7EoLFUpoo1g";

fn uk(day: &str, more: &str) -> String {
    format!(
        "<Designations><DateGenerated>{day}</DateGenerated><Designation>
         <DateDesignated>25/01/2023</DateDesignated><UniqueID>RUS9999</UniqueID>
         <Names><Name><Name6>EXAMPLE EXCHANGE</Name6><NameType>Primary Name</NameType></Name></Names>
         <RegimeName>The Russia (Sanctions) (EU Exit) Regulations 2019</RegimeName>
         <OtherInformation>Known wallet (ETH): {ON_THREE_LISTS}. It also paid from the Bitcoin address \
         {IN_A_SENTENCE} in 2024. {more}</OtherInformation></Designation></Designations>"
    )
}

fn eu() -> String {
    format!(
        "<export xmlns=\"http://eu.europa.ec/fpi/fsd/export\" generationDate=\"2026-07-28T11:43:32+02:00\">
         <sanctionEntity logicalId=\"1\" euReferenceNumber=\"EU.9999.11\"><remark>ETH: {ON_THREE_LISTS}</remark>
         <regulation publicationDate=\"2024-02-23\" entryIntoForceDate=\"2024-02-24\" numberTitle=\"2024/745\" \
         programme=\"UKR\"><publicationUrl>https://eur-lex.europa.eu/x</publicationUrl></regulation>
         <nameAlias wholeName=\"Example Exchange\" strong=\"true\"/></sanctionEntity></export>"
    )
}

fn fr() -> String {
    format!(
        r#"{{"Publications": {{"DatePublication": "2026-05-06", "PublicationDetail": [{{"IdRegistre": 5100,
        "Nature": "Personne morale", "Nom": "EXAMPLE EXCHANGE", "RegistreDetail": [{{"TypeChamp":
        "IDENTIFICATION", "Valeur": [{{"Identification": "{ON_THREE_LISTS}", "Commentaire": "ETH"}}]}}]}}]}}}}"#
    )
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    assay(directory, arguments).ok().stdout
}

/// The folder of files that sources may name.
fn files(directory: &Path) -> PathBuf {
    directory.join("sources")
}

fn check(directory: &Path, chain: &str, address: &str) -> Value {
    assay(directory, ["check", chain, address, "--json"]).ok().json()
}

/// An installation in a folder with the files of four enabled lists.
fn installation_with_lists() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    fs::create_dir_all(files(directory).join("nbctf")).unwrap();
    let write = |name: &str, text: &str| fs::write(files(directory).join(name), text).unwrap();
    write("uk.xml", &uk("06/07/2026", &format!("USDT (TRC20): {DELISTED}")));
    write("eu.xml", &eu());
    write("fr.json", &fr());
    write(
        "nbctf/orders.csv",
        "File Type,Last Updated,Validity of Issue\nSeizure order (ASO 7/23),4.4.2023,04.04.2025\n",
    );
    write(
        "nbctf/wallets.csv",
        &format!(
            "Order ID,Full name,Virtual currency address / User ID,Currency\nASO 7/23,JANE,{EXPIRED},\n"
        ),
    );

    for (name, location) in
        [("uk", "uk.xml"), ("eu", "eu.xml"), ("fr-gels", "fr.json"), ("il-nbctf", "nbctf")]
    {
        let enabled = run(directory, &["sources", "enable", name, "--location", location]);
        assert!(enabled.starts_with(&format!("IntelSource {name} created")), "{enabled}");
    }
    // No test asks OFAC's server.
    let ofac = run(directory, &["sources", "enable", "ofac-sdn", "--location", "missing.xml"]);
    assert!(ofac.starts_with("IntelSource ofac-sdn configured"), "{ofac}");
    folder
}

#[test]
fn lists_are_enabled_by_name_and_imported_at_once() {
    let folder = installation_with_lists();
    let directory = folder.path();

    // Given what comes ready-made, of which the commercial source is off.
    let available = run(directory, &["sources", "available"]);
    assert!(available.contains("UK Foreign, Commonwealth & Development Office"), "{available}");
    assert!(available.contains("off: needs a licence"), "{available}");
    let refused = assay(directory, ["sources", "enable", "opensanctions"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("needs a licence"), "{}", refused.stderr);

    // When all lists are imported, of which OFAC's cannot be read.
    let imported = assay(directory, ["ingest", "sanctions", "--all", "--json"]);
    assert_eq!(imported.code, 1);
    assert!(imported.stderr.contains("1 of 5 lists failed: ofac-sdn"), "{}", imported.stderr);
    let report: Value = serde_json::from_str(&imported.stdout).unwrap();
    let outcomes: Vec<_> = report
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["source"].as_str().unwrap(), one["outcome"].as_str(), &one["addresses"]))
        .map(|(source, outcome, addresses)| format!("{source} {outcome:?} {addresses}"))
        .collect();
    assert_eq!(
        outcomes,
        [
            "eu Some(\"imported\") 1",
            "fr-gels Some(\"imported\") 1",
            "il-nbctf Some(\"imported\") 1",
            "ofac-sdn None null",
            "uk Some(\"imported\") 3",
        ]
    );
    // The same again changes nothing.
    let again = assay(directory, ["ingest", "sanctions", "--all", "--json"]).stdout;
    let again: Value = serde_json::from_str(&again).unwrap();
    let unchanged = again.as_array().unwrap().iter().filter(|one| one["outcome"] == "unchanged");
    assert_eq!(unchanged.count(), 4);
}

#[test]
fn a_report_can_be_filed_from_each_answer() {
    let folder = installation_with_lists();
    let directory = folder.path();
    let _ = assay(directory, ["ingest", "sanctions", "--all"]);

    // Then an address on three lists has one answer that names each, with order, basis and link.
    let answer = check(directory, "eth", ON_THREE_LISTS);
    assert_eq!((&answer["verdict"], &answer["risk_score"]), (&"block".into(), &100.into()));
    let listings = answer["sanctions"].as_array().unwrap();
    let lists: Vec<_> = listings.iter().map(|listing| listing["list"].as_str().unwrap()).collect();
    assert_eq!(lists, ["eu", "uk", "fr-gels"]);
    assert_eq!(listings[0]["order_number"], "EU.9999.11");
    assert_eq!(listings[0]["legal_basis"], "2024/745");
    assert_eq!(listings[0]["official_link"], "https://eur-lex.europa.eu/x");
    assert_eq!(listings[1]["entity_listed_on"], "2023-01-25");

    // One that stands in a sentence only: the sentence is shown.
    let answer = check(directory, "btc", IN_A_SENTENCE);
    assert_eq!(answer["verdict"], "block");
    let remarks = answer["sanctions"][0]["remarks"].as_str().unwrap();
    assert!(
        remarks.contains(&format!("It also paid from the Bitcoin address {IN_A_SENTENCE} in 2024"))
    );

    assert_eq!(remarks.matches(IN_A_SENTENCE).count(), 1, "{remarks}");

    // One that expired long ago: shown, without effect on the score.
    let answer = check(directory, "trx", EXPIRED);
    let listing = &answer["sanctions"][0];
    assert_eq!(
        (&listing["status"], &listing["expires_on"]),
        (&"expired".into(), &"2025-04-04".into())
    );
    assert_eq!(
        (&listing["order_number"], &listing["ended_reason"]),
        (&"ASO 7/23".into(), &"expired".into())
    );

    // One that a later publication dropped: delisted on that day.
    fs::write(files(directory).join("uk.xml"), uk("07/07/2026", "")).unwrap();
    let _ = assay(directory, ["ingest", "sanctions", "--all"]);
    let answer = check(directory, "trx", DELISTED);
    let listing = &answer["sanctions"][0];
    assert_eq!(
        (&listing["status"], &listing["delisted_on"]),
        (&"delisted".into(), &"2026-07-07".into())
    );
}

#[test]
fn parties_are_found_by_name_and_look_alikes_by_their_ends() {
    let folder = installation_with_lists();
    let directory = folder.path();
    let _ = assay(directory, ["ingest", "sanctions", "--all"]);

    // Parties are found by name, with their addresses.
    let found: Value = assay(directory, ["entity", "exchange exampel", "--json"]).ok().json();
    let names: Vec<_> =
        found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{found}");
    assert!(names.iter().all(|name| name.eq_ignore_ascii_case("example exchange")));
    assert!(run(directory, &["entity", "nobody of that name"]).starts_with("no listed party"));

    // An address with the same ends is a look-alike, and an answer about it warns.
    let twin = "0x189f000000000000000000000000000000000082d".replacen("0000000", "000000", 1);
    let near: Value = assay(directory, ["address", "eth", &twin, "--near", "--json"]).ok().json();
    assert_eq!(near["near"], serde_json::json!([]), "the last four characters differ: {twin}");
    let twin = format!("0x189f{}f82d", "0".repeat(32));
    let near: Value =
        assay(directory, ["address", "polygon", &twin, "--near", "--json"]).ok().json();
    assert_eq!(near["near"][0]["address"], ON_THREE_LISTS);
    let answer = check(directory, "eth", &twin);
    let warning = &answer["warnings"][0];
    assert_eq!(warning["code"], "look_alike");
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!(
            "shares its first 4 and last 4 characters with {ON_THREE_LISTS}"
        ))
    );
}
