//! Any bytes as a sanctions list: no panic; entries are whole and none comes twice.
#![no_main]

use std::{collections::HashSet, io::BufReader};

use assay_intel::sanctions::ofac_advanced;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(publication) = ofac_advanced::read(BufReader::with_capacity(64, bytes)) {
        let mut seen = HashSet::new();
        for entry in &publication.entries {
            assert!(!entry.address_as_published.trim().is_empty());
            let key =
                (&entry.list, &entry.entity.id, &entry.asset_code, &entry.address_as_published);
            assert!(seen.insert(key));
            let _ = entry.addresses();
        }
    }
});
