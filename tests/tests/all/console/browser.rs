//! The console in a real browser: clicked through with and without scripts, every page audited by axe in light and dark
//! and in three widths, without a request to another host and without an error.

use std::{path::Path, process::Command};

use assay_sample::examples;
use assay_tests::{Generators, run, sample};
use serde_json::Value;

use super::{issuer::World, newest_link};

/// Number of checks whose pages are looked at.
const CHECKS: usize = 4;

#[test]
#[ignore = "needs browser"]
fn every_page_is_clicked_through_and_audited() {
    let (server, ..) = sample();
    let link = format!("http://{}{}", server.api, newest_link(&server, "sample-enterprise"));
    let paths: Vec<String> = examples()
        .iter()
        .take(CHECKS)
        .map(|example| format!("/console/check/{}/{}", example.address.chain(), example.address))
        .collect();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/console.mjs");
    let mut node = Command::new("node");
    node.arg(program)
        .env("MODULES", Generators::browser_modules())
        .env("CHROMIUM", "/usr/bin/chromium")
        .env("LINK", link)
        .env("ADDRESSES", paths.join("\n"));
    let report: Value = serde_json::from_str(&run(&mut node).stdout).unwrap();
    assert_eq!(report["wrong"], serde_json::json!([]), "{report:#}");
    // 10 pages and the checks, in two colors and three widths.
    assert_eq!(report["pages"], (10 + CHECKS) * 6, "{report:#}");
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
