//! libFuzzer on [`assay_fuzz::raw_block`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::raw_block::run(bytes));
