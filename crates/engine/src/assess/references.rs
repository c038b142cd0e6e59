//! References to evidence.

use assay_address::CanonicalAddress;

use crate::assessment::{EvidenceKind, EvidenceReference};

pub(super) fn transaction_reference(txid: &str) -> EvidenceReference {
    EvidenceReference { kind: EvidenceKind::Transaction, reference: txid.to_owned() }
}

pub(super) fn address_reference(address: &CanonicalAddress) -> EvidenceReference {
    EvidenceReference {
        kind: EvidenceKind::Address,
        reference: format!("{} {address}", address.chain()),
    }
}
