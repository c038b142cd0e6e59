//! Any text as an API key: no panic; what is accepted is the key it says it is.

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
