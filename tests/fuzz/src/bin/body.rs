//! libFuzzer on [`assay_fuzz::body`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::body::run(bytes));
