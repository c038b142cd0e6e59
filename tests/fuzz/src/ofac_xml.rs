//! Any bytes as a sanctions list: no panic; entries are complete and none occurs twice.

use std::{collections::HashSet, io::BufReader};

use assay_intel::formats::ofac_advanced;

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
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
}
