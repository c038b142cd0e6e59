//! Attribution of the parties on a path of funds, by the rules that hold for a subject.

use std::sync::Arc;

use jiff::{Timestamp, civil::Date};

use super::labels::{self, LabelContext};
use crate::{
    account::IssuerFreeze,
    evidence::{AddressLabels, CarriedLabel, ListingStatus, PartyListing, Tier},
    facts::{AccountControl, Facts},
    policy::{ListEffect, Policy},
    score::Confidence,
    taxonomy::Category,
    trace::{AttributedEnd, Attribution},
};

/// Attribution of a counterparty, as far as a trace needs the attribution, by the listings, labels, same keys and
/// cluster in `facts`.
///
/// A listing in force ends a trace; a blocking listing takes precedence over an advisory one. A listing of the same key
/// on another chain or in another address form ends a trace too. Without a listing, labels decide.
#[must_use]
pub fn attribute(facts: &Facts, policy: &Policy, today: Date) -> Attribution {
    let known = LabelContext {
        listings: &facts.listings,
        labels: &facts.labels,
        cluster: facts.cluster.as_ref(),
        sources: &facts.sources,
        is_unowned: false,
    };
    let by_labels = labels::attribute(known, policy, today);
    match listed(facts, policy, today) {
        None => by_labels,
        // Its labels are weaker evidence of the same party: those that are riskier than the listing
        // are carried.
        Some(end) => Attribution { end: Some(end), ..by_labels },
    }
}

/// The label that payments of an account carry because issuers of tokens froze it, with the time from which they do. A freeze ends no
/// trace (`docs/model/accounts.md` B17). `None` if no freeze is in force on the day, or none counts.
#[must_use]
pub fn carried_freeze(
    freezes: &[IssuerFreeze],
    policy: &Policy,
    today: Date,
) -> Option<(Timestamp, CarriedLabel)> {
    let labelled = freezes.iter().filter_map(|freeze| Some((freeze.frozen.time, freeze.label()?)));
    let in_force: Vec<_> = labelled.filter(|(_, label)| label.in_force(today)).collect();
    let since = in_force.iter().map(|(time, _)| *time).min()?;
    let labels: AddressLabels = in_force.into_iter().map(|(_, label)| label).collect();
    let known = LabelContext {
        listings: &[],
        labels: &labels,
        cluster: None,
        sources: &[],
        is_unowned: false,
    };
    let end = labels::attribute(known, policy, today).end?;
    let label = CarriedLabel {
        tier: end.tier,
        category: end.category,
        confidence: end.confidence,
        severity: policy.severity(end.category),
        entity: end.entity,
        coinjoin: None,
    };
    Some((since, label))
}

fn listed(facts: &Facts, policy: &Policy, today: Date) -> Option<AttributedEnd> {
    let own = facts.listings.iter().map(|listing| (Tier::OfficialList, listing));
    let by_key = facts
        .same_key
        .iter()
        .filter(|other| other.control != AccountControl::Contract)
        .flat_map(|other| &other.listings)
        .map(|listing| (Tier::OnChainProof, listing));
    let active =
        own.chain(by_key).filter(|(_, listing)| listing.status(today) == ListingStatus::Active);
    let (tier, listing) = active.min_by_key(|(tier, listing)| {
        let informs = policy.effect(&listing.entry.list) == ListEffect::Advisory;
        (*tier, informs, &listing.entry.list, &listing.entry.entity.id)
    })?;
    let listed_on = listing.listed_on.or(listing.entry.entity.listed_on);
    Some(AttributedEnd {
        category: Category::Sanctions,
        entity: Some(listing.entry.entity.name.as_str().into()),
        tier,
        confidence: Confidence::CERTAIN,
        listed: true,
        listed_by: Some(Arc::new(PartyListing {
            list_name: listing.entry.list_name.clone(),
            list: listing.entry.list.clone(),
            programs: listing.entry.entity.programs.clone(),
            entity_id: listing.entry.entity.id.clone(),
            listed_on,
        })),
        listed_on,
    })
}
