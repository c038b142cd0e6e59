//! libFuzzer on [`assay_fuzz::ofac_xml`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzz::ofac_xml::run(bytes));
