//! Evaluation of the address's own entries on official lists.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use assay_address::{AssetScope, CanonicalAddress};
use jiff::civil::Date;

use super::{
    MinimumScore, Rank, Term, TermEvidence, Warnings,
    bounds::{MOST_SHOWN, Room, Shown},
};
use crate::{
    assessment::{
        AssessedListing, ComponentKind, Entity, EvidenceKind, EvidenceReference, ScoringComponent,
        VerdictReason, Warning,
    },
    evidence::{EndedReason, Listing, ListingStatus, Tier},
    facts::Facts,
    fixed::Fraction,
    names::ListId,
    policy::{LISTED_ADVISORY, LISTING_RECENTLY_EXPIRED, ListEffect, Policy},
    score::{Confidence, Score},
    taxonomy::Category,
};

/// Bytes of the texts of the listings that an answer shows.
const LISTING_TEXTS: usize = 64 * 1024;

/// Bytes of the texts of the reasons that ended listings give.
const REASON_TEXTS: usize = 16 * 1024;

pub(super) struct Findings {
    pub(super) views: Shown<AssessedListing>,
    pub(super) terms: Vec<Term<'static>>,
    pub(super) minimum_scores: Vec<MinimumScore>,
    pub(super) reasons: Vec<VerdictReason>,
    pub(super) entity: Option<Entity>,
    pub(super) warnings: Warnings,
}

impl Findings {
    /// Keeps what is shown, and drops what decides: for an address that nobody controls.
    pub(super) fn decide_nothing(&mut self) {
        self.terms.clear();
        self.minimum_scores.clear();
        self.reasons.clear();
        self.entity = None;
    }
}

pub(super) fn assess(
    subject: &CanonicalAddress,
    facts: &Facts,
    policy: &Policy,
    today: Date,
) -> Findings {
    let mut assessed: Vec<(ListingStatus, &Listing)> = facts
        .listings
        .iter()
        .map(|listing| (listing.status(today), listing))
        .filter(|(status, _)| *status != ListingStatus::NotYetListed)
        .collect();
    assessed.sort_by(|(a_status, a), (b_status, b)| {
        fn key<'l>(
            policy: &Policy,
            status: ListingStatus,
            listing: &'l Listing,
        ) -> (ListingStatus, bool, &'l ListId, &'l str) {
            let informs = policy.effect(&listing.entry.list) == ListEffect::Advisory;
            (status, informs, &listing.entry.list, &listing.entry.entity.id)
        }
        key(policy, *a_status, a)
            .cmp(&key(policy, *b_status, b))
            .then_with(|| a.entry.asset_code.cmp(&b.entry.asset_code))
            .then_with(|| a.source.cmp(&b.source))
            .then_with(|| a.entry.address_as_published.cmp(&b.entry.address_as_published))
    });

    // One component, minimum score and reason per list, for any number of its entries that name the address.
    let mut binding: BTreeMap<_, Vec<&Listing>> = BTreeMap::new();
    let mut reviewed: BTreeMap<_, Vec<&Listing>> = BTreeMap::new();
    let mut ended: Vec<(ListingStatus, &Listing)> = Vec::new();
    let in_force: HashSet<_> = assessed
        .iter()
        .filter(|(status, _)| *status == ListingStatus::Active)
        .map(|(_, listing)| entry_of(listing))
        .collect();
    let is_renewed = |status: ListingStatus, listing: &Listing| {
        status != ListingStatus::Active && in_force.contains(&entry_of(listing))
    };
    for (status, listing) in &assessed {
        if is_renewed(*status, listing) {
            continue;
        }
        match (status, policy.effect(&listing.entry.list)) {
            (ListingStatus::Active, ListEffect::Blocking) => {
                binding.entry(&listing.entry.list).or_default().push(listing);
            }
            (ListingStatus::Active, ListEffect::Advisory) | (ListingStatus::RecentlyExpired, _) => {
                reviewed.entry((&listing.entry.list, *status)).or_default().push(listing);
            }
            (ListingStatus::Delisted | ListingStatus::Expired, _) => {
                ended.push((*status, listing));
            }
            (ListingStatus::NotYetListed, _) => {}
        }
    }
    let terms = binding.values().filter_map(|listings| term(listings)).collect();
    let minimum_scores = reviewed
        .iter()
        .filter_map(|((_, status), listings)| minimum_score(*status, listings, policy))
        .collect();
    let mut first: Vec<VerdictReason> = binding
        .values()
        .filter_map(|listings| listings.first())
        .map(|listing| VerdictReason {
            code: "listed",
            message: format!(
                "listed on {}: {}",
                listing.entry.list_name,
                entity_and_programs(listing)
            ),
        })
        .collect();
    first.append(&mut ended_reasons(&ended));
    let shown = Room::for_texts(LISTING_TEXTS).first(assessed.iter(), |(_, it)| text_bytes(it));

    Findings {
        warnings: misfiled(subject, &assessed),
        views: Shown {
            items: shown
                .items
                .into_iter()
                .map(|(status, listing)| {
                    let renewed = is_renewed(*status, listing);
                    let ended =
                        if renewed { Some(EndedReason::Renewed) } else { status.ended_reason() };
                    view(*status, ended, listing, policy)
                })
                .collect(),
            further: shown.further,
        },
        terms,
        minimum_scores,
        reasons: first,
        entity: assessed
            .iter()
            .find(|(status, _)| *status == ListingStatus::Active)
            .map(|(_, listing)| entity(listing)),
    }
}

/// Identity of a list's entry, regardless of its validity.
fn entry_of(listing: &Listing) -> (&ListId, &str, &str, &str) {
    let entry = &listing.entry;
    (&entry.list, &entry.entity.id, &entry.asset_code, &entry.address_as_published)
}

/// Warnings about lists that print the address under another chain's asset code.
fn misfiled(subject: &CanonicalAddress, assessed: &[(ListingStatus, &Listing)]) -> Warnings {
    let codes: BTreeSet<_> = assessed
        .iter()
        .map(|(_, listing)| (&listing.entry.list_name, &listing.entry.asset_code))
        .filter(|(_, code)| {
            matches!(AssetScope::for_code(code), AssetScope::Chain(chain) if chain != subject.chain())
        })
        .collect();
    let warning = |(list, code): (&String, &String)| Warning {
        code: "asset_code_mismatch",
        message: format!(
            "{list} prints this address under the asset code {code}, which belongs to another blockchain"
        ),
    };
    codes.into_iter().map(warning).collect()
}

fn term(listings: &[&Listing]) -> Option<Term<'static>> {
    let first = listings.first()?;
    Some(Term {
        rank: Rank::OfficialList,
        standalone_risk: Fraction::ONE,
        claim: None,
        evidence: TermEvidence::from(ScoringComponent {
            kind: ComponentKind::Sanctions,
            standalone_score: Score::MAXIMUM,
            detail: format!("listed on {}: {}", first.entry.list_name, entity_and_programs(first)),
            category: Some(Category::Sanctions),
            entity: Some(first.entry.entity.name.clone()),
            tier: Some(Tier::OfficialList),
            severity: Some(100),
            confidence: Some(Confidence::CERTAIN),
            source: Some(first.source.clone()),
            evidence: references(listings),
            ..ScoringComponent::default()
        }),
    })
}

fn minimum_score(
    status: ListingStatus,
    listings: &[&Listing],
    policy: &Policy,
) -> Option<MinimumScore> {
    let first = listings.first()?;
    let (list, who) = (&first.entry.list_name, entity_and_programs(first));
    let (rule, message) = if status == ListingStatus::Active {
        (LISTED_ADVISORY, format!("listed on {list}: {who}"))
    } else {
        (LISTING_RECENTLY_EXPIRED, format!("listing on {list} expired: {who}"))
    };
    Some(MinimumScore::fixed(rule, message, references(listings), policy))
}

/// The reasons of ended listings, the first ones one by one.
fn ended_reasons(ended: &[(ListingStatus, &Listing)]) -> Vec<VerdictReason> {
    let bytes = |(_, listing): &&(ListingStatus, &Listing)| {
        let entity = &listing.entry.entity;
        let programs = entity.programs.iter().map(String::len);
        listing.entry.list_name.len() + entity.name.len() + programs.sum::<usize>()
    };
    let Shown { items, further } = Room::for_texts(REASON_TEXTS).first(ended, bytes);
    let mut reasons: Vec<VerdictReason> =
        items.into_iter().map(|(status, listing)| ended_reason(*status, listing)).collect();
    if further > 0 {
        let message = format!("further ended listings: {further}");
        reasons.push(VerdictReason { code: "further_listings", message });
    }
    reasons
}

fn ended_reason(status: ListingStatus, listing: &Listing) -> VerdictReason {
    let (code, since) = if status == ListingStatus::Delisted {
        ("delisted", listing.delisted_on)
    } else {
        ("listing_expired", listing.entry.expires_on)
    };
    let since = since.map(|day| format!(" since {day}")).unwrap_or_default();
    VerdictReason {
        code,
        message: format!(
            "no longer listed on {}{since}: {}",
            listing.entry.list_name,
            entity_and_programs(listing)
        ),
    }
}

/// The list and the entity's programs, in words.
pub(super) fn list_and_programs(listing: &Listing) -> String {
    let mut words = vec![listing.entry.list_name.as_str()];
    words.extend(listing.entry.entity.programs.iter().map(String::as_str));
    words.join(", ")
}

/// The entity and its programs, in words.
fn entity_and_programs(listing: &Listing) -> String {
    let programs = &listing.entry.entity.programs;
    if programs.is_empty() {
        listing.entry.entity.name.clone()
    } else {
        format!("{} ({})", listing.entry.entity.name, programs.join(", "))
    }
}

/// References to the first entries that list an address.
fn references(listings: &[&Listing]) -> Vec<EvidenceReference> {
    listings.iter().take(MOST_SHOWN).map(|listing| reference(listing)).collect()
}

/// A reference to the entry that lists an address.
pub(super) fn reference(listing: &Listing) -> EvidenceReference {
    EvidenceReference {
        kind: EvidenceKind::ListEntry,
        reference: format!(
            "{} entity {} {} {}",
            listing.entry.list,
            listing.entry.entity.id,
            listing.entry.asset_code,
            listing.entry.address_as_published
        ),
    }
}

fn entity(listing: &Listing) -> Entity {
    Entity {
        id: format!("{}:{}", listing.entry.list, listing.entry.entity.id),
        name: listing.entry.entity.name.clone(),
        category: Category::Sanctions,
        is_vasp: None,
        country: None,
    }
}

fn text_bytes(listing: &Listing) -> usize {
    let (entry, entity) = (&listing.entry, &listing.entry.entity);
    let optional = [
        &entity.remarks,
        &entry.address_remarks,
        &entity.order_number,
        &entity.legal_basis,
        &entity.official_link,
    ];
    let texts = optional.into_iter().flatten().map(String::len);
    let aliases = entity.aliases.iter().map(|alias| alias.name.len());
    let further = entity.programs.iter().chain(&entity.identifiers).map(String::len);
    entry.list_name.len() + entity.name.len() + texts.chain(aliases).chain(further).sum::<usize>()
}

fn view(
    status: ListingStatus,
    ended_reason: Option<EndedReason>,
    listing: &Listing,
    policy: &Policy,
) -> AssessedListing {
    let (entity, address) = (&listing.entry.entity.remarks, &listing.entry.address_remarks);
    let mut remarks: Vec<&str> = entity.as_deref().into_iter().collect();
    // A sentence of the remarks that names the address is not shown twice.
    let is_shown = |text: &&str| remarks.iter().any(|remarks| remarks.contains(*text));
    let sentence = address.as_deref().filter(|text| !is_shown(text));
    remarks.extend(sentence);
    AssessedListing {
        list: listing.entry.list.clone(),
        list_name: listing.entry.list_name.clone(),
        effect: policy.effect(&listing.entry.list),
        status,
        entity_id: listing.entry.entity.id.clone(),
        entity: listing.entry.entity.name.clone(),
        aliases: listing.entry.entity.aliases.clone(),
        programs: listing.entry.entity.programs.clone(),
        order_number: listing.entry.entity.order_number.clone(),
        legal_basis: listing.entry.entity.legal_basis.clone(),
        official_link: listing.entry.entity.official_link.clone(),
        identifiers: listing.entry.entity.identifiers.clone(),
        remarks: (!remarks.is_empty()).then(|| remarks.join(" | ")),
        asset_code: listing.entry.asset_code.clone(),
        address_as_published: listing.entry.address_as_published.clone(),
        entity_listed_on: listing.entry.entity.listed_on,
        listed_on: listing.listed_on,
        delisted_on: listing.delisted_on,
        expires_on: listing.entry.expires_on,
        ended_reason,
        source: listing.source.clone(),
    }
}
