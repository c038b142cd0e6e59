//! libFuzzer on [`assay_fuzz::key`].
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| assay_fuzz::key::run(text));
