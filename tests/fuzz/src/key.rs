//! Any text as an API key: no panic; an accepted key has the written form of the text.

use assay_tenancy::key::ApiKey;

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(text: &str) {
    if let Ok(key) = text.parse::<ApiKey>() {
        assert_eq!(key.expose(), text);
        assert!(text.contains(key.id().as_str()));
    }
}
