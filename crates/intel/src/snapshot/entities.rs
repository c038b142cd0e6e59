//! Listed parties by name.

use std::collections::BTreeMap;

use assay_engine::{
    evidence::{ListedEntity, Listing, ListingStatus},
    names::{ListId, SourceId},
};
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::IntelSnapshot;
use crate::names::{FoldedName, NameMatch};

/// Party of a list whose name was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundEntity {
    /// Identifier of the list.
    pub list: ListId,
    /// Name of the list.
    pub list_name: String,
    /// Identifier of the party on the list.
    pub entity_id: String,
    /// Primary name of the party.
    pub name: String,
    /// Name that matches: the primary one or another one.
    pub matched_name: String,
    /// Way in which the name matches.
    #[serde(rename = "match")]
    pub kind: NameMatch,
    /// Likeness of the names, 75 to 100. The score is never part of a risk score.
    pub score: u8,
    /// Sanctions programs under which the party is listed.
    pub programs: Vec<String>,
    /// Number by which the publisher refers to the entry.
    pub order_number: Option<String>,
    /// Law, regulation or decision that the entry rests on.
    pub legal_basis: Option<String>,
    /// Address of the publisher's page or document about the entry.
    pub official_link: Option<String>,
    /// Documents and numbers by which the list identifies the party, such as `Passport 040070827`.
    pub identifiers: Vec<String>,
    /// Remarks of the list on the party.
    pub remarks: Option<String>,
    /// Date on which the party was listed, as the list states it.
    pub listed_on: Option<Date>,
    /// Source that the entry was imported from.
    pub source: SourceId,
    /// Addresses of the party on this list, ended ones included.
    pub addresses: Vec<FoundAddress>,
}

/// Address of a listed party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundAddress {
    /// Blockchains on which the address is listed; empty if Assay does not support its chain.
    pub blockchains: Vec<String>,
    /// Canonical address, else the address as the list prints it.
    pub address: String,
    /// Asset code of the list.
    pub asset_code: String,
    /// Status today.
    pub status: ListingStatus,
    /// Date of the first publication known to hold the address.
    pub listed_on: Option<Date>,
    /// Date of the first publication without the address.
    pub delisted_on: Option<Date>,
    /// First day on which the listing is not valid by its own terms.
    pub expires_on: Option<Date>,
}

impl IntelSnapshot {
    /// The listed parties with addresses whose name, or another name of theirs, is like `name`: the most
    /// alike first, at most `limit`.
    #[must_use]
    pub fn entities_named(&self, name: &str, today: Date, limit: usize) -> Vec<FoundEntity> {
        let wanted = FoldedName::new(name);
        let mut parties: BTreeMap<(&ListId, &str), Vec<&Listing>> = BTreeMap::new();
        for listing in &self.listings {
            let key = (&listing.entry.list, listing.entry.entity.id.as_str());
            parties.entry(key).or_default().push(listing);
        }
        let mut found: Vec<FoundEntity> = parties
            .into_values()
            .filter_map(|listings| {
                // The newest print of the party counts.
                let newest = listings.iter().max_by_key(|listing| listing.delisted_on.is_none())?;
                let (kind, score, matched) = best(&wanted, &newest.entry.entity)?;
                Some(entity(newest, &listings, (kind, score, matched), today))
            })
            .collect();
        found.sort_by(|one, other| {
            let key = |entity: &FoundEntity| (std::cmp::Reverse(entity.score), entity.name.clone());
            key(one).cmp(&key(other)).then_with(|| one.list.cmp(&other.list))
        });
        found.truncate(limit);
        found
    }
}

/// The best match among the names of a party.
fn best(wanted: &FoldedName, entity: &ListedEntity) -> Option<(NameMatch, u8, String)> {
    let aliases = entity.aliases.iter().map(|alias| &alias.name);
    std::iter::once(&entity.name)
        .chain(aliases)
        .filter_map(|name| {
            let (kind, score) = wanted.matches(&FoldedName::new(name))?;
            Some((kind, score, name.clone()))
        })
        .max_by(|one, other| one.1.cmp(&other.1).then_with(|| other.0.cmp(&one.0)))
}

fn entity(
    newest: &Listing,
    listings: &[&Listing],
    (kind, score, matched_name): (NameMatch, u8, String),
    today: Date,
) -> FoundEntity {
    let (entry, party) = (&newest.entry, &newest.entry.entity);
    FoundEntity {
        list: entry.list.clone(),
        list_name: entry.list_name.clone(),
        entity_id: party.id.clone(),
        name: party.name.clone(),
        matched_name,
        kind,
        score,
        programs: party.programs.clone(),
        order_number: party.order_number.clone(),
        legal_basis: party.legal_basis.clone(),
        official_link: party.official_link.clone(),
        identifiers: party.identifiers.clone(),
        remarks: party.remarks.clone(),
        listed_on: party.listed_on,
        source: newest.source.clone(),
        addresses: listings.iter().map(|listing| address(listing, today)).collect(),
    }
}

fn address(listing: &Listing, today: Date) -> FoundAddress {
    let entry = &listing.entry;
    let addresses = entry.addresses().addresses;
    let text = addresses.first().map_or(&*entry.address_as_published, |address| address.as_str());
    FoundAddress {
        address: text.to_owned(),
        blockchains: addresses.iter().map(|address| address.chain().to_string()).collect(),
        asset_code: entry.asset_code.clone(),
        status: listing.status(today),
        listed_on: listing.listed_on,
        delisted_on: listing.delisted_on,
        expires_on: entry.expires_on,
    }
}
