//! libFuzzer on [`assay_fuzz::address`].
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| assay_fuzz::address::run(text));
