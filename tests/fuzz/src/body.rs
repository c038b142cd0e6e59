//! Any bytes as the body of a check and as a row: no panic; what is refused is refused by a clear
//! problem, and what is accepted has what a check needs.
#![no_main]

use assay_api::http::reading;
use assay_engine::{address::CanonicalAddress, chain::ChainId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match reading::check(bytes) {
        Ok(request) => {
            if let Ok(chain) = request.blockchain.parse::<ChainId>() {
                let _ = CanonicalAddress::parse(chain, &request.address);
            }
        }
        Err(problem) => {
            let details = problem.details("/", "id");
            assert_eq!(details.status, 400);
            assert!(!details.detail.is_empty() && !details.code.is_empty());
        }
    }
    match reading::row(bytes) {
        Ok(row) => {
            let reference = row.reference.as_deref().unwrap_or_default();
            assert!(reference.chars().count() <= 128);
        }
        Err(message) => assert!(!message.is_empty()),
    }
});
