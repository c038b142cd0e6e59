//! Labels: claims by sources about an address. A label is never a listing.

use std::sync::Arc;

use assay_address::CanonicalAddress;
use jiff::civil::Date;

use crate::{
    evidence::Tier,
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};

/// A claim that an address belongs to a category, and mostly to a named entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Category that is claimed.
    pub category: Category,
    /// The entity's name, where one is given.
    pub entity: Option<Arc<str>>,
    /// The strength of the evidence; at most [`Tier::OnChainProof`].
    pub tier: Tier,
    /// Confidence of the claim.
    pub confidence: Confidence,
    /// The source it was imported from.
    pub source: SourceId,
    /// First party that made the claim. Claims repeated from one upstream count once.
    pub upstream: Arc<str>,
    /// Author of the label, if known.
    pub author: Option<Arc<str>>,
    /// The source's own word for the category.
    pub term: Option<Arc<str>>,
    /// The sanctions list that the claim rests on, if any: it then follows that list's own status.
    pub cites_list: Option<ListId>,
    /// Why the claim is made, where known.
    pub reason: Option<Arc<str>>,
    /// Reference for the claim, mostly a URL.
    pub reference: Option<Arc<str>>,
    /// First day on which it holds; `None` for ever before.
    pub valid_from: Option<Date>,
    /// First day on which it no longer holds; `None` for ever after.
    pub valid_until: Option<Date>,
}

impl Label {
    /// True if the label holds on `day`.
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
    /// The label.
    pub label: Label,
}
