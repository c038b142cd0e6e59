//! libFuzzer on [`assay_fuzz::head`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::head::run(bytes));
