//! Pages asked for with the identifiers of another tenant: none shows anything of that tenant.

use assay_sample::{examples, transfer};
use assay_tests::{is_full, sample};
use serde_json::json;

use super::{Person, form_token, path_of};

/// Number of requests; the larger one under `./tests/run --full`.
const PROBES: usize = 1_000;
const PROBES_IN_FULL: usize = 10_000;
/// Checks of the other tenant, each with a reference of its own.
const CHECKS: usize = 6;

/// Identifiers and texts of a tenant, which nobody else may be shown.
struct Secrets {
    checks: Vec<String>,
    references: Vec<String>,
    keys: Vec<String>,
    names_of_keys: Vec<String>,
}

impl Secrets {
    /// The secrets that a text has, other than the one that was asked for and may be repeated.
    fn seen_in<'s>(&'s self, text: &'s str, asked: &str) -> Vec<&'s str> {
        let all = [&self.checks, &self.references, &self.keys, &self.names_of_keys];
        let all = all.into_iter().flatten().map(String::as_str);
        all.filter(|secret| !asked.contains(*secret) && text.contains(*secret)).collect()
    }
}

#[test]
fn pages_show_nothing_of_another_tenant() {
    let (server, business, _) = sample();
    let owner = Person::sign_in(&server, "sample-business");
    // Given a tenant with checks, references and keys...
    let references: Vec<String> =
        (0..CHECKS).map(|it| format!("matter-{it}-of-business")).collect();
    let checks = examples().into_iter().zip(&references).map(|(example, reference)| {
        let (chain, address) = (example.address.chain(), example.address.to_string());
        let body = json!({"blockchain": chain, "address": address, "reference": reference});
        let answer = business.post("/api/v1/check/address", &body.to_string(), &[]);
        answer.json()["check_id"].as_str().unwrap().to_owned()
    });
    let checks: Vec<String> = checks.collect();
    let form = format!(
        "form_token={}&name=till-of-business&check=on",
        form_token(&owner.get("/console/keys").text)
    );
    assert_eq!(owner.post("/console/keys", &form, &[]).status, 200);
    let keys_page = owner.get("/console/keys").text;
    let keys: Vec<String> = keys_page
        .split("/console/keys/")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("/revoke")?.0.to_owned()))
        .collect();
    assert!(!keys.is_empty() && keys_page.contains("till-of-business"), "{keys_page}");
    let names_of_keys = vec!["till-of-business".to_owned()];
    let secrets = Secrets { checks, references, keys, names_of_keys };

    // ...then a person of another tenant, who knows all of these, is shown none.
    let person = Person::sign_in(&server, "sample-enterprise");
    let token = form_token(&person.get("/console/keys").text).to_owned();
    let (transaction, output) = transfer().unwrap();
    let deposit = format!(
        "/console/transfer?blockchain=btc&transaction={}&place={output}&direction=deposit",
        transaction.txid
    );
    let same_address = path_of("on the sample sanctions list");
    let first = [&*same_address, &*deposit].map(str::to_owned);
    let lists = ["", "/checks", "/keys", "/usage", "/policy", "/sources", "/chains", "/transfer"];
    let lists = lists.map(|page| format!("/console{page}"));
    let of_check = |id: &String| {
        ["", "/flows", "/flows.svg", "/flows.png"].map(|part| format!("/console/checks/{id}{part}"))
    };
    let known = secrets.checks.iter().flat_map(of_check);
    let near = secrets.checks.iter().flat_map(|id| neighbors(id));
    let near: Vec<String> = near.collect();
    let near = near.iter().flat_map(of_check);
    let all = secrets.references.iter().chain(&secrets.checks).chain(&secrets.keys);
    let searched =
        all.chain(&secrets.names_of_keys).map(|text| format!("/console/search?q={text}"));
    let once: Vec<String> = first.into_iter().collect();
    let repeated: Vec<String> = known.chain(near).chain(searched).chain(lists).collect();
    let probes = if is_full() { PROBES_IN_FULL } else { PROBES };
    let mut seen = Vec::new();
    for path in once.iter().chain(repeated.iter().cycle()).take(probes) {
        let answer = person.get(path);
        // The search leads from an identifier of a check to the check.
        let names_check = secrets.checks.iter().any(|id| path.ends_with(id.as_str()));
        let is_check = path.starts_with("/console/checks/") || names_check;
        assert_eq!(answer.status, if is_check { 404 } else { 200 }, "{path}: {}", answer.text);
        seen.extend(
            secrets.seen_in(&answer.text, path).into_iter().map(|it| (path, it.to_owned())),
        );
    }
    assert!(seen.is_empty(), "{seen:?}");

    // Forms change nothing of the other tenant's either.
    for key in &secrets.keys {
        let form = format!("form_token={token}");
        let answer = person.post(&format!("/console/keys/{key}/revoke"), &form, &[]);
        assert!(secrets.seen_in(&answer.text, key).is_empty(), "{}", answer.text);
    }
    assert_eq!(owner.get("/console/keys").text.matches("/revoke\"").count(), secrets.keys.len());
    assert_eq!(business.get("/api/v1/checks").status, 200, "the key still works");
}

/// Identifiers that differ from one in a digit.
fn neighbors(id: &str) -> impl Iterator<Item = String> {
    let places = id.char_indices().filter(|(_, digit)| digit.is_ascii_hexdigit());
    let places: Vec<(usize, char)> = places.collect();
    places.into_iter().map(move |(at, digit)| {
        let other = if digit == '0' { '1' } else { '0' };
        format!("{}{other}{}", &id[..at], &id[at + 1..])
    })
}
