//! Any bytes as a list of the UK, the EU, the UN, Switzerland or France: no panic; every address that is found
//! in a text is whole, has its sentence, and comes once.

use std::{collections::HashSet, io::BufReader};

use assay_intel::formats::{eu_xml, fr_json, seco_xml, uk_xml, un_xml};

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
    let input = || BufReader::with_capacity(64, bytes);
    let publications = [
        uk_xml::read(input()),
        eu_xml::read(input()),
        un_xml::read(input()),
        seco_xml::read(input()),
        fr_json::read(input()),
    ];
    for publication in publications.into_iter().flatten() {
        let mut seen = HashSet::new();
        for entry in &publication.entries {
            let address = &entry.address_as_published;
            assert!(entry.address_remarks.as_ref().is_some_and(|text| !text.is_empty()));
            assert!(seen.insert((&entry.entity.id, &entry.asset_code, address)));
            let _ = entry.addresses();
        }
    }
}
