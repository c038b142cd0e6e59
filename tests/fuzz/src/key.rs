//! Any text as an API key: no panic; an accepted key has the written form of the text.

use assay_tenancy::key::ApiKey;

/// Checks what the module promises.
///
/// # Panics
///
/// Panics if it does not hold.
pub fn run(text: &str) {
    if let Ok(key) = text.parse::<ApiKey>() {
        assert_eq!(key.expose(), text);
        assert!(text.contains(key.id().as_str()));
    }
}
