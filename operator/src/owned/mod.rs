//! Objects that the operator creates for another object, their owner. Garbage collection deletes owned objects with
//! their owner.
//!
//! - [`kind`]: the kinds of objects that the operator creates
//! - [`owner`]: the metadata that the objects of an owner share
//! - [`apply`]: server-side apply of objects that are out of date; [`surplus`]: what other clients added to them

mod apply;
mod kind;
mod owner;
mod surplus;

use sha2::{Digest, Sha256};

#[cfg(test)]
pub(crate) use self::apply::document;
pub(crate) use self::{
    apply::{LiveObjects, ObjectApplier},
    kind::{GatewayRouteSpec, HTTPRoute, OwnedKind, OwnedObject},
    owner::{
        MANAGED_BY, Owner, PART_OF, instance_and_component, managed_by_selector, operator_pods,
        pods_of,
    },
};

/// A digest of a list of texts, as 16 hexadecimal digits that may be part of a name.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        // With its length, so that no two lists give the same bytes.
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    let mut digits = hex::encode(digest.finalize());
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_different_lists_differ() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["ab", ""]), digest(&["a", "b"]));
        assert_eq!(digest(&[]).len(), 16);
    }
}
