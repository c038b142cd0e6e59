//! What OFAC's formats have in common: limits, how lists and names are written, and how the parties of
//! a file become a publication. Written once, so that the same facts give the same entries whichever
//! format they come in.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
    sync::Arc,
};

use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use jiff::civil::Date;

use super::{MOST_ENTRIES, MOST_KEPT, Publication, Rejected};
use crate::xml::{Elements, XmlError};

/// The most that one party or entry may hold, in bytes; OFAC's largest has a hundredth of it.
pub(super) const LARGEST_PARTY: usize = 8 * 1024 * 1024;

/// How the name of a feature that holds a crypto address begins; the asset code follows.
const ADDRESS_FEATURE: &str = "Digital Currency Address - ";

/// The asset code where a feature of this name holds crypto addresses.
pub(super) fn asset_code(feature: &str) -> Option<&str> {
    feature.trim().strip_prefix(ADDRESS_FEATURE).map(str::trim)
}

/// A party with crypto addresses.
pub(super) struct Party {
    pub(super) entity: ListedEntity,
    pub(super) addresses: Addresses,
    pub(super) listed: Vec<Listed>,
}

/// A party's place on one list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    list: ListId,
    list_name: String,
    pub(super) since: Option<Date>,
    pub(super) programs: Vec<String>,
}

impl Listed {
    /// A place on the list of this title; `None` where no name can be made of it.
    pub(super) fn on(title: &str) -> Option<Self> {
        let list = list_id(title)?;
        let list_name = format!("OFAC {title}");
        Some(Self { list, list_name, since: None, programs: Vec::new() })
    }

    /// A party may be entered on a list several times: the first counts.
    pub(super) fn entered(&mut self, on: Option<Date>) {
        self.since = [self.since, on].into_iter().flatten().min();
    }

    pub(super) fn is_same_list(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

/// `SDN List` becomes `ofac-sdn`, any other list likewise.
fn list_id(title: &str) -> Option<ListId> {
    let title = title.trim().strip_suffix("List").unwrap_or(title).trim().to_ascii_lowercase();
    let words: Vec<&str> = title
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("ofac-{}", words.join("-")).parse().ok()
}

/// A crypto address as the file prints it.
struct Address {
    asset_code: String,
    text: String,
    remarks: Option<String>,
}

/// The crypto addresses of a party.
#[derive(Default)]
pub(super) struct Addresses {
    taken: Vec<Address>,
    rejected: Vec<Rejected>,
}

impl Addresses {
    pub(super) fn add(
        &mut self,
        party: &str,
        asset_code: &str,
        text: String,
        remarks: Option<String>,
    ) {
        if text.trim().is_empty() {
            self.rejected.push(Rejected {
                place: format!("party {party}, {asset_code}"),
                reason: "the address is empty".into(),
            });
        } else {
            self.taken.push(Address { asset_code: asset_code.to_owned(), text, remarks });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.rejected.is_empty()
    }
}

/// A name of a party.
pub(super) struct Name {
    pub(super) written: String,
    pub(super) kind: String,
    pub(super) is_primary: bool,
    pub(super) weak: bool,
}

/// Files names under the primary one and the aliases: the first primary name is the party's.
pub(super) fn file_names(names: Vec<Name>, primary: &mut String, aliases: &mut Vec<Alias>) {
    let first = names.iter().position(|name| name.is_primary);
    let mut known: HashSet<String> = aliases.iter().map(|alias| alias.name.clone()).collect();
    for (index, name) in names.into_iter().enumerate() {
        if Some(index) == first && primary.is_empty() {
            *primary = name.written;
        } else if !name.written.is_empty() && known.insert(name.written.clone()) {
            aliases.push(Alias { name: name.written, kind: name.kind, weak: name.weak });
        }
    }
}

/// `LAST, First Middle` where there is a family name; the parts in their order otherwise. Each part
/// says whether it is one of the family name.
pub(super) fn write_name(parts: &[(bool, &str)]) -> String {
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

/// The text of the current element without surrounding white space; `None` where nothing is left.
pub(super) fn remark<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<String>, XmlError> {
    let text = elements.text()?;
    let trimmed = text.trim();
    Ok((!trimmed.is_empty()).then(|| trimmed.to_owned()))
}

/// The parties with crypto addresses that a file holds.
#[derive(Default)]
pub(super) struct Parties {
    /// How many the file lists, with and without addresses.
    pub(super) counted: u64,
    with_addresses: Vec<Party>,
    /// Places in it by the key under which the file names a party again.
    by_key: HashMap<String, usize>,
    /// How much of the file is kept, in bytes.
    kept: usize,
}

impl Parties {
    pub(super) fn add(&mut self, key: String, party: Party) {
        self.by_key.entry(key).or_insert(self.with_addresses.len());
        self.with_addresses.push(party);
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Party> {
        self.by_key.get(key).and_then(|place| self.with_addresses.get_mut(*place))
    }

    /// Counts what was handed out last as kept.
    pub(super) fn keep<R: BufRead>(&mut self, elements: &Elements<R>) -> Result<(), XmlError> {
        self.kept += elements.handed_out();
        if self.kept > MOST_KEPT {
            return Err(elements.unexpected(format!(
                "parties with crypto addresses hold more than {MOST_KEPT} bytes: no real list does"
            )));
        }
        Ok(())
    }

    /// The publication, once everything was read.
    pub(super) fn publish<R: BufRead>(
        self,
        elements: Elements<R>,
        published_on: Date,
    ) -> Result<Publication, XmlError> {
        let pairs: usize = self
            .with_addresses
            .iter()
            .map(|party| party.listed.len() * party.addresses.taken.len())
            .sum();
        if pairs > MOST_ENTRIES {
            return Err(elements.unexpected(format!(
                "{pairs} listed addresses: no real list has more than {MOST_ENTRIES}"
            )));
        }
        elements.finish()?;

        let (mut entries, mut rejected) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for party in self.with_addresses {
            if party.listed.is_empty() {
                rejected.push(Rejected {
                    place: format!("party {}", party.entity.id),
                    reason: "no list in the file names it".into(),
                });
            }
            for listed in &party.listed {
                let mut entity = party.entity.clone();
                entity.programs.clone_from(&listed.programs);
                entity.listed_on = listed.since;
                let entity = Arc::new(entity);
                for address in &party.addresses.taken {
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
        Ok(Publication { published_on, entries, rejected, parties: self.counted })
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
        assert_eq!(write_name(&parts), "EXAMPLE, Jane Q.");
        assert_eq!(write_name(&[(true, "EXAMPLE")]), "EXAMPLE");
        assert_eq!(write_name(&[(false, "PAPER"), (false, "LANTERN")]), "PAPER LANTERN");
        assert_eq!(write_name(&[]), "");
    }
}
