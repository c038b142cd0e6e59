//! Code that OFAC's formats share: limits, names of lists and entities, and the conversion of parties to a publication.
//! The same facts give the same entries in every format.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
    sync::Arc,
};

use assay_address::AssetScope;
use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use jiff::civil::Date;

use super::{MAX_ENTRIES, MAX_KEPT_BYTES, Publication, Rejected};
use crate::xml::{Elements, XmlError};

/// Default source of OFAC's lists.
pub(crate) const SOURCE: &str = "ofac-sdn";

/// Largest party or entry, in bytes. The largest party of OFAC's lists has a hundredth of this size.
pub(crate) const MAX_PARTY_BYTES: usize = 8 * 1024 * 1024;

/// Name of a legal basis that OFAC does not state.
const UNKNOWN_BASIS: &str = "Unknown";

/// The address of OFAC's page about the party with an identifier.
pub(crate) fn official_link(party: &str) -> Option<String> {
    let is_number = !party.is_empty() && party.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("https://sanctionssearch.ofac.treas.gov/Details.aspx?id={party}"))
}

/// Text of a document that identifies a party; `None` without a number.
pub(crate) fn identifier(kind: &str, number: &str) -> Option<String> {
    let number = number.trim();
    (!number.is_empty()).then(|| format!("{} {number}", kind.trim()).trim().to_owned())
}

/// Beginning of the name of a feature that holds a crypto address; the asset code follows after a dash.
const ADDRESS_FEATURE: &str = "digital currency address";

/// The asset code in the name of a feature, in any spelling of its beginning; `None` if such features hold no crypto
/// addresses.
pub(crate) fn asset_code(feature: &str) -> Option<&str> {
    let feature = feature.trim();
    let start = feature.get(..ADDRESS_FEATURE.len())?;
    let code = feature.get(ADDRESS_FEATURE.len()..)?;
    if !start.eq_ignore_ascii_case(ADDRESS_FEATURE) {
        return None;
    }
    let code = code.trim_start_matches(|character: char| !character.is_alphanumeric()).trim();
    Some(if code.is_empty() { AssetScope::UNSTATED } else { code })
}

/// Party with crypto addresses.
pub(crate) struct OfacParty {
    pub(crate) entity: ListedEntity,
    pub(crate) addresses: Addresses,
    pub(crate) listed: Vec<ListEntry>,
}

/// Entry of a party on one list.
#[derive(Clone, Debug)]
pub(crate) struct ListEntry {
    list: ListId,
    list_name: String,
    pub(crate) since: Option<Date>,
    pub(crate) programs: Vec<String>,
    /// Laws and orders that the entry rests on.
    bases: Vec<String>,
}

impl ListEntry {
    /// An entry on the list with a title; `None` if the title gives no identifier.
    pub(crate) fn from_title(title: &str) -> Option<Self> {
        let list = list_id(title)?;
        let list_name = format!("OFAC {title}");
        Some(Self { list, list_name, since: None, programs: Vec::new(), bases: Vec::new() })
    }

    /// Adds a date of entry. The first of several dates counts.
    pub(crate) fn entered(&mut self, on: Option<Date>) {
        self.since = [self.since, on].into_iter().flatten().min();
    }

    /// Adds a law or order that the entry rests on.
    pub(crate) fn rests_on(&mut self, basis: &str) {
        let basis = basis.trim();
        if !basis.is_empty() && basis != UNKNOWN_BASIS && !self.bases.iter().any(|it| it == basis) {
            self.bases.push(basis.to_owned());
        }
    }

    pub(crate) fn is_same_list(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

/// The identifier of the list with a title: `ofac-sdn` for `SDN List`.
fn list_id(title: &str) -> Option<ListId> {
    let title = title.trim().strip_suffix("List").unwrap_or(title).trim().to_ascii_lowercase();
    let words: Vec<&str> = title
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("ofac-{}", words.join("-")).parse().ok()
}

/// Crypto address as the file prints it.
struct Address {
    asset_code: String,
    text: String,
    remarks: Option<String>,
}

/// Crypto addresses of a party.
#[derive(Default)]
pub(crate) struct Addresses {
    accepted: Vec<Address>,
    rejected: Vec<Rejected>,
}

impl Addresses {
    pub(crate) fn add(
        &mut self,
        party: &str,
        asset_code: &str,
        text: String,
        remarks: Option<String>,
    ) {
        if text.trim().is_empty() {
            self.rejected.push(Rejected {
                position: format!("party {party}, {asset_code}"),
                reason: "the address is empty".into(),
            });
        } else {
            self.accepted.push(Address { asset_code: asset_code.to_owned(), text, remarks });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.accepted.is_empty() && self.rejected.is_empty()
    }
}

/// Name of a party.
pub(crate) struct PartyName {
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) is_primary: bool,
    pub(crate) weak: bool,
}

/// Sorts names into the primary name and the aliases. The first primary name is the party's.
pub(crate) fn sort_names(names: Vec<PartyName>, primary: &mut String, aliases: &mut Vec<Alias>) {
    let first = names.iter().position(|name| name.is_primary);
    let mut known: HashSet<String> = aliases.iter().map(|alias| alias.name.clone()).collect();
    for (index, name) in names.into_iter().enumerate() {
        if Some(index) == first && primary.is_empty() {
            *primary = name.text;
        } else if !name.text.is_empty() && known.insert(name.text.clone()) {
            aliases.push(Alias { name: name.text, kind: name.kind, weak: name.weak });
        }
    }
}

/// Composes a name from its parts: `LAST, First Middle` if there is a family name, else the parts in their
/// order. The flag of a part marks the family name.
pub(crate) fn compose_name(parts: &[(bool, &str)]) -> String {
    let join = |last: bool| {
        let chosen = parts.iter().filter(|(is_last, _)| *is_last == last);
        chosen.map(|(_, text)| *text).collect::<Vec<_>>().join(" ")
    };
    match (join(true), join(false)) {
        (last, rest) if last.is_empty() => rest,
        (last, rest) if rest.is_empty() => last,
        (last, rest) => format!("{last}, {rest}"),
    }
}

/// Reads the text of the current element without surrounding white space; `None` if it is blank.
pub(crate) fn remark<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<String>, XmlError> {
    let text = elements.text()?;
    let trimmed = text.trim();
    Ok((!trimmed.is_empty()).then(|| trimmed.to_owned()))
}

/// Parties of a file while it is read.
#[derive(Default)]
pub(crate) struct OfacParties {
    /// Number of parties, with and without addresses.
    pub(crate) count: u64,
    with_addresses: Vec<OfacParty>,
    /// Indices of parties by the key with which the file refers to them.
    by_key: HashMap<String, usize>,
    /// Size of the part of the file that is kept, in bytes.
    kept_bytes: usize,
}

impl OfacParties {
    pub(crate) fn add(&mut self, key: String, party: OfacParty) {
        self.by_key.entry(key).or_insert(self.with_addresses.len());
        self.with_addresses.push(party);
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut OfacParty> {
        self.by_key.get(key).and_then(|index| self.with_addresses.get_mut(*index))
    }

    /// Counts the bytes of the part that was read last as kept.
    pub(crate) fn keep<R: BufRead>(&mut self, elements: &Elements<R>) -> Result<(), XmlError> {
        self.kept_bytes += elements.returned_bytes();
        if self.kept_bytes > MAX_KEPT_BYTES {
            return Err(elements.unexpected(format!(
                "parties with crypto addresses hold more than {MAX_KEPT_BYTES} bytes: no real list does"
            )));
        }
        Ok(())
    }

    /// The publication, at the end of the file.
    pub(crate) fn publish<R: BufRead>(
        self,
        elements: Elements<R>,
        published_on: Date,
    ) -> Result<Publication, XmlError> {
        let pairs: usize = self
            .with_addresses
            .iter()
            .map(|party| party.listed.len() * party.addresses.accepted.len())
            .sum();
        if pairs > MAX_ENTRIES {
            return Err(elements.unexpected(format!(
                "{pairs} listed addresses: no real list has more than {MAX_ENTRIES}"
            )));
        }
        elements.finish()?;

        let (mut entries, mut rejected) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for party in self.with_addresses {
            if party.listed.is_empty() {
                rejected.push(Rejected {
                    position: format!("party {}", party.entity.id),
                    reason: "no list in the file names it".into(),
                });
            }
            for listed in &party.listed {
                let mut entity = party.entity.clone();
                entity.programs.clone_from(&listed.programs);
                entity.listed_on = listed.since;
                entity.legal_basis = (!listed.bases.is_empty()).then(|| listed.bases.join("; "));
                let entity = Arc::new(entity);
                for address in &party.addresses.accepted {
                    let key = (
                        listed.list.clone(),
                        party.entity.id.clone(),
                        address.asset_code.clone(),
                        address.text.clone(),
                    );
                    if !seen.insert(key) {
                        continue;
                    }
                    entries.push(ListingEntry {
                        list: listed.list.clone(),
                        list_name: listed.list_name.clone(),
                        entity: Arc::clone(&entity),
                        asset_code: address.asset_code.clone(),
                        address_as_published: address.text.clone(),
                        address_remarks: address.remarks.clone(),
                        expires_on: None,
                    });
                }
            }
            rejected.extend(party.addresses.rejected);
        }
        Ok(Publication {
            published_on,
            entries,
            rejected,
            incomplete: Vec::new(),
            parties: self.count,
            addresses_are_rare: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_named_after_their_titles() {
        for (title, id) in [
            ("SDN List", "ofac-sdn"),
            ("Consolidated List", "ofac-consolidated"),
            (
                "Non-SDN Palestinian Legislative Council List",
                "ofac-non-sdn-palestinian-legislative-council",
            ),
        ] {
            assert_eq!(list_id(title).unwrap().as_str(), id);
        }
        assert!(list_id("— List").is_none());
    }

    #[test]
    fn family_names_come_first() {
        let parts = [(false, "Jane"), (true, "EXAMPLE"), (false, "Q.")];
        assert_eq!(compose_name(&parts), "EXAMPLE, Jane Q.");
        assert_eq!(compose_name(&[(true, "EXAMPLE")]), "EXAMPLE");
        assert_eq!(compose_name(&[(false, "PAPER"), (false, "LANTERN")]), "PAPER LANTERN");
        assert_eq!(compose_name(&[]), "");
    }
}
