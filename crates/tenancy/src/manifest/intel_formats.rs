//! The formats of intel sources. Generated from the registry in `assay-intel`: run `just generate`.

pub(super) static LISTINGS: [&str; 11] = [
    "ofac-advanced",
    "ofac-enhanced",
    "uk-xml",
    "eu-xml",
    "un-xml",
    "fr-json",
    "seco-xml",
    "japan-mof",
    "nbctf-csv",
    "listings-csv",
    "listings-jsonl",
];

pub(super) static LABELS: [&str; 9] = [
    "tagpack",
    "explorer",
    "ftm-jsonl",
    "ransomware-json",
    "phishing-list",
    "stolen-funds-list",
    "exchange-csv",
    "labels-csv",
    "labels-jsonl",
];

pub(super) static PRICES: [&str; 3] = ["prices-csv", "prices-jsonl", "defillama-json"];
