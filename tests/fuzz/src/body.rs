//! Any bytes as the body of a check, of an address or a transfer, and as a row: no panic; a refused body gives a clear problem,
//! and an accepted one has the fields that a check needs.

use assay_engine::transfer::TransferSelector;
use assay_request::{
    check::CheckRequest,
    row::ScreenRequest,
    transfer::{TransferRequest, TransferSubject},
};

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
    let refused = match CheckRequest::read(bytes) {
        Ok(request) => request.subject().err().map(|problem| (problem, [400, 422].as_slice())),
        Err(problem) => Some((problem, [400].as_slice())),
    };
    if let Some((problem, statuses)) = refused {
        let details = problem.details("/", "id");
        assert!(statuses.contains(&details.status));
        assert!(!details.detail.is_empty() && !details.code.is_empty());
    }
    if let Ok(request) = TransferRequest::read(bytes) {
        match request.subject() {
            // One of them names the output.
            Ok(TransferSubject::Sent(query)) => assert!(
                matches!(query.selector, TransferSelector::OfAccounts(_))
                    || request.output.is_some() != request.address.is_some()
            ),
            Ok(TransferSubject::Planned(planned)) => assert!(planned.amount > 0),
            Err(problem) => assert!([400, 422].contains(&problem.details("/", "id").status)),
        }
    }
    match ScreenRequest::read(bytes) {
        Ok(row) => {
            let reference = row.reference.as_deref().unwrap_or_default();
            assert!(reference.chars().count() <= 128);
        }
        Err(message) => assert!(!message.is_empty()),
    }
}
