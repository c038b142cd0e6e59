//! libFuzzer on [`assay_fuzz::official_list`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::official_list::run(bytes));
