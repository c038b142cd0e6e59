//! The formats of intel sources. Generated from the registry in `assay-intel`: run `just generate`.

use super::intel_format::IntelFormat;

pub(super) static FORMATS: [IntelFormat; 8] = [
    IntelFormat::listings("ofac-advanced"),
    IntelFormat::listings("ofac-enhanced"),
    IntelFormat::listings("listings-csv"),
    IntelFormat::listings("listings-jsonl"),
    IntelFormat::labels("tagpack"),
    IntelFormat::labels("explorer"),
    IntelFormat::labels("labels-csv"),
    IntelFormat::labels("labels-jsonl"),
];
