//! Labels: what somebody says an address is. Never a listing, however official it sounds.

use std::sync::Arc;

use jiff::civil::Date;

use crate::{
    address::CanonicalAddress,
    evidence::Tier,
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};

/// A claim that an address belongs to a category, and mostly to a named entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// What the address is said to be.
    pub category: Category,
    /// The entity's name, where one is given.
    pub entity: Option<Arc<str>>,
    /// The strength of the evidence; at most [`Tier::OnChainProof`].
    pub tier: Tier,
    /// How sure the claim is.
    pub confidence: Confidence,
    /// The source it was imported from.
    pub source: SourceId,
    /// Who first made the claim. Claims repeated from one upstream count once.
    pub upstream: Arc<str>,
    /// Who wrote the label, where known.
    pub author: Option<Arc<str>>,
    /// The source's own word for the category.
    pub term: Option<Arc<str>>,
    /// The sanctions list that the claim rests on, if any: it then follows that list's own status.
    pub cites_list: Option<ListId>,
    /// Why the claim is made, where known.
    pub reason: Option<Arc<str>>,
    /// Where the claim can be looked up, mostly a URL.
    pub reference: Option<Arc<str>>,
    /// First day on which it holds; `None` for ever before.
    pub valid_from: Option<Date>,
    /// First day on which it no longer holds; `None` for ever after.
    pub valid_until: Option<Date>,
}

impl Label {
    /// Whether the label holds on `day`.
    #[must_use]
    pub fn in_force(&self, day: Date) -> bool {
        self.valid_from.is_none_or(|from| from <= day)
            && self.valid_until.is_none_or(|until| day < until)
    }
}

/// A label and the address it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressLabel {
    /// The address.
    pub address: CanonicalAddress,
    /// What is said about it.
    pub label: Label,
}
