//! The formats of intel sources. Generated from the registry in `assay-intel`: run `just generate`.

use super::intel_format::IntelFormat;

pub(super) static FORMATS: [IntelFormat; 20] = [
    IntelFormat::listings("ofac-advanced"),
    IntelFormat::listings("ofac-enhanced"),
    IntelFormat::listings("uk-xml"),
    IntelFormat::listings("eu-xml"),
    IntelFormat::listings("un-xml"),
    IntelFormat::listings("fr-json"),
    IntelFormat::listings("seco-xml"),
    IntelFormat::listings("japan-mof"),
    IntelFormat::listings("nbctf-csv"),
    IntelFormat::listings("listings-csv"),
    IntelFormat::listings("listings-jsonl"),
    IntelFormat::labels("tagpack"),
    IntelFormat::labels("explorer"),
    IntelFormat::labels("ftm-jsonl"),
    IntelFormat::labels("ransomware-json"),
    IntelFormat::labels("phishing-list"),
    IntelFormat::labels("stolen-funds-list"),
    IntelFormat::labels("exchange-csv"),
    IntelFormat::labels("labels-csv"),
    IntelFormat::labels("labels-jsonl"),
];
