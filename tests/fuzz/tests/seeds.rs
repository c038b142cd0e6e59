//! Every fuzz target on its seeds, and on each of them cut short or changed in one byte.

use std::{fs, path::Path};

use assay_fuzz::{address, body, head, key, limiter_answer, ofac_xml, official_list, raw_block};

/// Bytes that replace a byte of a seed: ends of ranges, and separators of texts.
const REPLACEMENTS: [u8; 10] = *b"\0\x01\x7f\x80\xff\n\":<{";

/// Number of bytes of a seed that are changed: all of them, except in long seeds.
const PLACES: usize = 300;

/// Runs a target on the seeds in its folder; libFuzzer's findings become seeds, too.
fn run(target: &str, run: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(&folder).expect("a folder of seeds") {
        let seed = fs::read(entry.expect("a seed").path()).expect("a seed");
        run(&seed);
        for place in (0..seed.len()).step_by(seed.len() / PLACES + 1) {
            run(&seed[..place]);
            let mut changed = seed.clone();
            for replacement in REPLACEMENTS {
                changed[place] = replacement;
                run(&changed);
            }
        }
        seeds += 1;
    }
    assert!(seeds > 0, "no seeds in {}", folder.display());
}

/// Runs a target that takes text on those of its inputs that are text.
fn run_on_text(target: &str, check: impl Fn(&str)) {
    run(target, |bytes| {
        if let Ok(text) = str::from_utf8(bytes) {
            check(text);
        }
    });
}

#[test]
fn addresses() {
    run_on_text("address", address::run);
}

#[test]
fn bodies() {
    run("body", body::run);
}

#[test]
fn heads() {
    run("head", head::run);
}

#[test]
fn keys() {
    run_on_text("key", key::run);
}

#[test]
fn answers_of_the_limiter() {
    run("limiter_answer", limiter_answer::run);
}

#[test]
fn sanctions_lists() {
    run("ofac_xml", ofac_xml::run);
    run("official_list", official_list::run);
}

#[test]
fn raw_blocks() {
    run("raw_block", raw_block::run);
}
