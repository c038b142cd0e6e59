//! The console in a real browser: clicked through with and without scripts on a chain of each kind, every page audited by
//! axe in light and dark and in three widths, without a request to another host and without an error.
//!
//! `PICTURES` names a folder that gets a picture of every page, and `DOCS` one that gets those of `docs/console`. The times of a check with 2,000 flows are printed.

use std::{env, path::Path, process::Command};

use assay_sample::transfer;
use assay_tests::{Generators, ManyFlows, Server, production_with, run, sample};
use serde_json::Value;

use super::{issuer::World, newest_link, path_of};

/// Addresses whose checks are looked at: first one on a chain with unspent outputs, on Ethereum and on TRON; then those
/// that show listings, patterns, labels, a chain without a source, and nothing.
const CHECKS: [&str; 9] = [
    "half stolen money, half bought at an exchange",
    "sold a boat for stolen ether",
    "a quarter of its dollars are a fraud's",
    "on the sample sanctions list",
    "pays in portions just below a threshold",
    "at the end of a long peel chain",
    "an exchange",
    "the key of a listed ETH account, on another chain",
    "nothing known",
];
/// Number of the first checks, one for each kind of chain.
const KINDS: usize = 3;
/// Pages in each color and width beside the checks.
const PAGES: usize = 11;

#[test]
#[ignore = "needs browser"]
fn every_page_is_clicked_through_and_audited() {
    let (server, ..) = sample();
    let paths = CHECKS.map(path_of);
    let (transaction, output) = transfer().unwrap();
    let flows = ManyFlows { parties: 1_000, name: &|number| format!("Party {number:04}") };
    let (large, _, subject) = production_with(|directory| flows.record(directory));
    let link =
        |server: &Server, tenant| format!("http://{}{}", server.api, newest_link(server, tenant));
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/console.mjs");
    let mut node = Command::new("node");
    node.arg(program)
        .env("MODULES", Generators::browser_modules())
        .env("CHROMIUM", "/usr/bin/chromium")
        .env("LINK", link(&server, "sample-enterprise"))
        .env("ADDRESSES", paths.join("\n"))
        .env("KINDS", KINDS.to_string())
        .env("DEPOSIT", format!("btc {} {output}", transaction.txid))
        .env("LARGE", format!("{} /console/check/btc/{subject}", link(&large, "acme")))
        .env("PICTURES", env::var_os("PICTURES").unwrap_or_default())
        .env("DOCS", env::var_os("DOCS").unwrap_or_default());
    let report: Value = serde_json::from_str(&run(&mut node).stdout).unwrap();
    eprintln!("a check with 2,000 flows, in ms: {}", report["times"]);
    assert_eq!(report["wrong"], serde_json::json!([]), "{report:#}");
    // In two colors and three widths, and two pages of the check with very many flows.
    assert_eq!(report["pages"], (PAGES + CHECKS.len()) * 6 + 2, "{report:#}");
}

#[test]
fn pictures_of_the_documentation_are_small() {
    /// Largest size of all pictures together.
    const MOST_BYTES: u64 = 600_000;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/console");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    let bytes: u64 = files.sum();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}

#[test]
#[ignore = "needs browser, OpenID Connect issuer"]
fn a_person_signs_in_at_the_issuer() {
    let world = World::new();
    world.issuer.expect(Some("ada"));
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/sign_in.mjs");
    let mut node = Command::new("node");
    node.arg(program)
        .env("MODULES", Generators::browser_modules())
        .env("CHROMIUM", "/usr/bin/chromium")
        .env("CONSOLE", format!("{}/console/policy", world.base))
        .env("NAME", "ada@business.example, admin");
    let report: Value = serde_json::from_str(&run(&mut node).stdout).unwrap();
    assert_eq!(report["wrong"], serde_json::json!([]), "{report:#}");
}
