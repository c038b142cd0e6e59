//! Any text as an API key: no panic; what is accepted is the key it says it is.
#![no_main]

use assay_tenancy::key::ApiKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(key) = text.parse::<ApiKey>() {
        assert_eq!(key.expose(), text);
        assert!(text.contains(key.id().as_str()));
    }
});
