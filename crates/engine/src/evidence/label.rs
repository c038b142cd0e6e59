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

/// A claim that an address belongs to a category, and in most cases to a named entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Category that the label claims.
    pub category: Category,
    /// The entity's name, where one is given.
    pub entity: Option<Arc<str>>,
    /// The strength of the evidence; at most [`Tier::OnChainProof`].
    pub tier: Tier,
    /// Confidence of the claim.
    pub confidence: Confidence,
    /// The source from which the label was imported.
    pub source: SourceId,
    /// First publisher of the claim. Labels that repeat a claim of one upstream count once.
    pub upstream: Arc<str>,
    /// Author of the label, if known.
    pub author: Option<Arc<str>>,
    /// The source's own word for the category.
    pub term: Option<Arc<str>>,
    /// The sanctions list that the claim cites, if any: the label then has the status of that listing.
    pub cites_list: Option<ListId>,
    /// Reason for the claim, where known.
    pub reason: Option<Arc<str>>,
    /// Reference for the claim, mostly a URL.
    pub reference: Option<Arc<str>>,
    /// First day on which the label is valid; `None` if it has no beginning.
    pub valid_from: Option<Date>,
    /// First day on which the label is no longer valid; `None` if it has no end.
    pub valid_until: Option<Date>,
}

impl Label {
    /// True if the label is valid on `day`.
    #[must_use]
    pub fn in_force(&self, day: Date) -> bool {
        self.valid_from.is_none_or(|from| from <= day)
            && self.valid_until.is_none_or(|until| day < until)
    }
}

/// A label with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressLabel {
    /// The address.
    pub address: CanonicalAddress,
    /// The label.
    pub label: Label,
}
