//! libFuzzer on [`assay_fuzz::limiter_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::limiter_answer::run(bytes));
