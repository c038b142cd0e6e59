//! Any text for any chain: no panic; an accepted text reads back as itself, and every text that a
//! caller may submit is accepted from a list too.

use assay_address::{CanonicalAddress, ChainId, Payload};

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(text: &str) {
    for chain in ChainId::all() {
        let published = CanonicalAddress::parse_published(chain, text);
        if let Ok(address) = CanonicalAddress::parse(chain, text) {
            let again = CanonicalAddress::parse(chain, address.as_str());
            assert_eq!(again.as_ref(), Ok(&address));
            assert_eq!(published.as_ref(), Ok(&address));
            // A text of its own chain names no key.
            let is_text = matches!(address.payload(), Payload::Text(_));
            assert!(is_text || !address.key_identities().is_empty());
        }
    }
}
