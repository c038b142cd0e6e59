//! The examples of `docs/risk-policy.md` equal the program's output about the demo data set.

use std::fs;

use assay_address::{CanonicalAddress, ChainId};
use assay_tests::{Server, sample};

use super::{path, section};

const PAGE: &str = "docs/risk-policy.md";

fn example(what: &str) -> CanonicalAddress {
    let examples = assay_sample::examples();
    let found = examples.into_iter().find(|example| example.description == what);
    found.unwrap_or_else(|| panic!("no example `{what}`")).address
}

/// A command and its output, up to the reasons.
fn answer(server: &Server, address: &CanonicalAddress, options: &str) -> String {
    let chain: ChainId = address.chain();
    let command = format!("check --sample {options}{chain} {address}");
    let arguments: Vec<_> = command.split(' ').collect();
    let printed = server.assay(&arguments).ok().stdout;
    let (head, rest) = printed.split_once("\n\nWhy\n").unwrap();
    let (reasons, _) = rest.split_once("\n\n").unwrap();
    format!("$ assay {command}\n{head}\n\nWhy\n{reasons}\n  …\n")
}

/// Text of a block of code.
fn block(lines: &[String]) -> String {
    format!("```\n{}```\n", lines.join("\n"))
}

/// The manifest with a name on the page.
fn manifest(name: &str) -> String {
    let page = fs::read_to_string(path(PAGE)).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- manifest: {name} -->\n\n```yaml\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn examples_for_readers_of_the_rules() {
    let (server, ..) = sample();
    let of = |what: &str, options: &str| answer(&server, &example(what), options);
    for (mark, what, options) in [
        ("block", "half its money went to a listed party", ""),
        ("distance", "paid by ransomware over two hops", ""),
        ("review", "paid directly by a listed party", ""),
        ("unknown", "a customer of an exchange", "--as-of 2026-02-20 "),
        ("delisted", "taken off the list again", ""),
    ] {
        section(PAGE, mark, &block(&[of(what, options)]));
    }

    let mixer = example("a mixer, by community reports");
    let before = answer(&server, &mixer, "");
    let words = ["--source", "sample-labels", "--author", "Ann", "--reason", "proved to be a shop"];
    let suppress = ["labels", "suppress", "--sample", "eth", mixer.as_str()];
    let withdrawn = server.assay(&[&suppress[..], &words].concat()).ok().stdout;
    let command = format!(
        "$ assay labels suppress --sample eth {mixer} --source sample-labels \\\n    \
         --author Ann --reason 'proved to be a shop'\n{withdrawn}"
    );
    section(PAGE, "withdrawn", &block(&[before, command, answer(&server, &mixer, "")]));

    fs::write(server.directory().path().join("no-mixing.yaml"), manifest("no-mixing")).unwrap();
    let _ = server.assay(&["apply", "--sample", "-f", "no-mixing.yaml"]).ok();
    let customer = "nearly all its money went to a mixer";
    let answers = [of(customer, ""), of(customer, "--policy no-mixing ")];
    section(PAGE, "policy", &block(&answers));
}
