//! Building a publication from the parties of a list that states addresses in free text.

use std::{collections::HashSet, sync::Arc};

use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use jiff::civil::Date;

use super::{
    MAX_ENTRIES, MAX_KEPT_BYTES, Publication, Rejected,
    found::{self, FoundAddress},
};
use crate::error::FileError;

/// Largest number of rows that are reported as rejected.
const MAX_REJECTED: usize = 10_000;
/// Largest number of characters of remarks that are kept of a party with addresses.
const LONGEST_REMARKS: usize = 4_000;

/// Publication of one list while its parties are read. Parties without addresses are only counted.
pub(crate) struct NamedParties {
    list: ListId,
    list_name: &'static str,
    entries: Vec<ListingEntry>,
    rejected: Vec<Rejected>,
    seen: HashSet<(String, String, String)>,
    parties: u64,
    kept_bytes: usize,
}

impl NamedParties {
    /// Begins a publication of the list with an identifier and a name for people.
    pub(crate) fn new(list: ListId, list_name: &'static str) -> Self {
        Self {
            list,
            list_name,
            entries: Vec::new(),
            rejected: Vec::new(),
            seen: HashSet::new(),
            parties: 0,
            kept_bytes: 0,
        }
    }

    /// Adds a party and the addresses in its texts. The sentence that holds an address becomes the remark on it.
    pub(crate) fn party<'a>(
        &mut self,
        entity: ListedEntity,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), FileError> {
        self.valid_party(entity, None, texts.into_iter().flat_map(found::find))
    }

    /// Adds a party with addresses whose listing ends by its own terms.
    pub(crate) fn valid_party(
        &mut self,
        entity: ListedEntity,
        expires_on: Option<Date>,
        addresses: impl IntoIterator<Item = FoundAddress>,
    ) -> Result<(), FileError> {
        self.parties += 1;
        let entity = Arc::new(bounded(entity));
        let mut first = true;
        for address in addresses {
            let key = (entity.id.clone(), address.asset_code.clone(), address.text.clone());
            if !self.seen.insert(key) {
                continue;
            }
            if std::mem::take(&mut first) {
                self.keep(weight(&entity))?;
            }
            self.keep(address.text.len() + address.sentence.len() + 256)?;
            self.entries.push(ListingEntry {
                list: self.list.clone(),
                list_name: self.list_name.to_owned(),
                entity: Arc::clone(&entity),
                asset_code: address.asset_code,
                address_as_published: address.text,
                address_remarks: Some(address.sentence),
                expires_on,
            });
            if self.entries.len() > MAX_ENTRIES {
                return Err(FileError::TooMany { subject: "addresses", max: MAX_ENTRIES });
            }
        }
        Ok(())
    }

    /// Reports a row that could not be imported.
    pub(crate) fn reject(&mut self, position: String, reason: String) -> Result<(), FileError> {
        self.rejected.push(Rejected { position, reason });
        if self.rejected.len() > MAX_REJECTED {
            return Err(FileError::TooMany { subject: "rejected rows", max: MAX_REJECTED });
        }
        Ok(())
    }

    fn keep(&mut self, bytes: usize) -> Result<(), FileError> {
        self.kept_bytes += bytes;
        if self.kept_bytes > MAX_KEPT_BYTES {
            let max = u64::try_from(MAX_KEPT_BYTES).unwrap_or(u64::MAX);
            return Err(FileError::TooLarge { max });
        }
        Ok(())
    }

    /// The publication, after the last party.
    pub(crate) fn publish(self, published_on: Date) -> Publication {
        Publication {
            published_on,
            entries: self.entries,
            rejected: self.rejected,
            incomplete: Vec::new(),
            parties: self.parties,
            addresses_are_rare: true,
        }
    }
}

/// The entity with remarks of bounded length.
fn bounded(mut entity: ListedEntity) -> ListedEntity {
    entity.remarks = entity
        .remarks
        .map(|remarks| remarks.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|remarks| !remarks.is_empty())
        .map(|remarks| remarks.chars().take(LONGEST_REMARKS).collect());
    entity
}

fn weight(entity: &ListedEntity) -> usize {
    let aliases: usize = entity.aliases.iter().map(|alias| alias.name.len() + 64).sum();
    aliases + entity.remarks.as_ref().map_or(0, String::len) + 512
}

/// The names of a party: the first is its name, the others are aliases, each once.
#[derive(Default)]
pub(crate) struct Names(Vec<Alias>);

impl Names {
    /// Adds a name unless it is blank or known.
    pub(crate) fn add(&mut self, name: &str, kind: &str, weak: bool) {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if !name.is_empty() && self.0.iter().all(|known| known.name != name) {
            self.0.push(Alias { name, kind: kind.trim().to_owned(), weak });
        }
    }

    /// Adds a name before all others: the primary one.
    pub(crate) fn add_first(&mut self, name: &str, kind: &str) {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if !name.is_empty() {
            self.0.retain(|known| known.name != name);
            self.0.insert(0, Alias { name, kind: kind.trim().to_owned(), weak: false });
        }
    }

    /// The name and the aliases. A party without any name has its identifier as its name.
    pub(crate) fn split(mut self, id: &str) -> (String, Vec<Alias>) {
        if self.0.is_empty() {
            return (id.to_owned(), Vec::new());
        }
        let first = self.0.remove(0);
        (first.name, self.0)
    }
}

/// Joins the parts of a name or an address, blank ones left out.
pub(crate) fn joined<'a>(
    parts: impl IntoIterator<Item = Option<&'a str>>,
    separator: &str,
) -> String {
    let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(separator)
}
