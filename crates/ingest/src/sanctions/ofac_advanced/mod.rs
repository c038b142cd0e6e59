//! OFAC's SDN list in the Advanced XML format, read in one pass.
//!
//! The file states its vocabulary first (`ReferenceValueSets`), then the parties, then which party is
//! on which list. Asset codes are found by the prefix of the feature's name, so that a new code needs
//! no change here. Only parties with crypto addresses are kept in memory.

mod entry;
mod party;
mod reference;

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
    sync::Arc,
};

use assay_engine::evidence::ListingEntry;
use jiff::civil::Date;

use self::{party::Party, reference::References};
use super::{Publication, Rejected};
use crate::xml::{Element, Elements, XmlError};

/// The most that the file's vocabulary may hold, in bytes; OFAC's has a hundredth of it.
const LARGEST_VOCABULARY: usize = 64 * 1024 * 1024;
/// The most that one party or entry may hold, in bytes; OFAC's largest has a hundredth of it.
const LARGEST_PARTY: usize = 8 * 1024 * 1024;
/// The most that all parties with crypto addresses may hold together, in bytes.
const MOST_KEPT: usize = 64 * 1024 * 1024;
/// The most addresses that a publication may list; OFAC's has fewer than a thousand.
const MOST_ENTRIES: usize = 100_000;

/// Reads a publication.
///
/// # Errors
///
/// Where the file is truncated, not well-formed or not of this format.
pub fn read(input: impl BufRead) -> Result<Publication, XmlError> {
    let mut elements = Elements::new(input);
    elements.root("Sanctions")?;
    let mut file = File::default();
    loop {
        elements.allow(LARGEST_VOCABULARY);
        let Some(section) = elements.child()? else { break };
        match section.name() {
            "DateOfIssue" => file.published_on = date(&mut elements)?,
            "ReferenceValueSets" => file.references = reference::read(&mut elements)?,
            "DistinctParties" => file.read_parties(&mut elements)?,
            "SanctionsEntries" => file.read_entries(&mut elements)?,
            _ => elements.skip()?,
        }
    }
    file.finish(elements)
}

/// What was read so far.
#[derive(Default)]
struct File {
    published_on: Option<Date>,
    references: References,
    parties: u64,
    sections: HashSet<&'static str>,
    /// Parties with crypto addresses, each with where it is listed.
    with_addresses: Vec<Party>,
    /// Places in it by profile.
    by_profile: HashMap<String, usize>,
    /// How much of the file is kept, in bytes.
    kept: usize,
}

impl File {
    fn read_parties<R: BufRead>(&mut self, elements: &mut Elements<R>) -> Result<(), XmlError> {
        self.once(elements, "DistinctParties", &["SanctionsEntries"])?;
        loop {
            elements.allow(LARGEST_PARTY);
            let Some(element) = elements.child()? else { break };
            if element.name() == "DistinctParty" {
                self.parties += 1;
                let parties = party::read(elements, &element, &self.references)?;
                if !parties.is_empty() {
                    self.keep(elements)?;
                }
                for party in parties {
                    let place = self.with_addresses.len();
                    self.by_profile.entry(party.profile_id.clone()).or_insert(place);
                    self.with_addresses.push(party);
                }
            } else {
                elements.skip()?;
            }
        }
        Ok(())
    }

    fn read_entries<R: BufRead>(&mut self, elements: &mut Elements<R>) -> Result<(), XmlError> {
        self.once(elements, "SanctionsEntries", &[])?;
        loop {
            elements.allow(LARGEST_PARTY);
            let Some(element) = elements.child()? else { break };
            if element.name() == "SanctionsEntry" {
                self.read_entry(elements, &element)?;
            } else {
                elements.skip()?;
            }
        }
        Ok(())
    }

    fn read_entry<R: BufRead>(
        &mut self,
        elements: &mut Elements<R>,
        element: &Element,
    ) -> Result<(), XmlError> {
        let profile = elements.required(element, "ProfileID")?;
        let place = self.by_profile.get(&profile);
        match place.and_then(|place| self.with_addresses.get_mut(*place)) {
            Some(party) => {
                party.listed.push(entry::read(elements, element, &self.references)?);
                self.keep(elements)
            }
            None => elements.skip(),
        }
    }

    /// Counts what was handed out last as kept.
    fn keep<R: BufRead>(&mut self, elements: &Elements<R>) -> Result<(), XmlError> {
        self.kept += elements.handed_out();
        if self.kept > MOST_KEPT {
            return Err(elements.unexpected(format!(
                "parties with crypto addresses hold more than {MOST_KEPT} bytes: no real list does"
            )));
        }
        Ok(())
    }

    /// A section may come once, and not after the sections that build on it.
    fn once<R: BufRead>(
        &mut self,
        elements: &Elements<R>,
        section: &'static str,
        later: &[&str],
    ) -> Result<(), XmlError> {
        if !self.sections.insert(section) || later.iter().any(|later| self.sections.contains(later))
        {
            return Err(elements.unexpected(format!("`{section}` comes twice or too late")));
        }
        Ok(())
    }

    fn finish<R: BufRead>(self, elements: Elements<R>) -> Result<Publication, XmlError> {
        let missing = |what: &str| elements.unexpected(format!("the file has no {what}"));
        let published_on = self.published_on.ok_or_else(|| missing("date of issue"))?;
        for section in ["DistinctParties", "SanctionsEntries"] {
            if !self.sections.contains(section) {
                return Err(missing(section));
            }
        }
        let pairs: usize = self
            .with_addresses
            .iter()
            .map(|party| party.listed.len() * party.addresses.len())
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
                entity.programmes.clone_from(&listed.programmes);
                entity.listed_on = listed.since;
                let entity = Arc::new(entity);
                for address in &party.addresses {
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
            rejected.extend(party.rejected);
        }
        Ok(Publication { published_on, entries, rejected, parties: self.parties })
    }
}

/// A date written as `Year`, `Month` and `Day`; `None` where it is not a whole date.
fn date<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<Date>, XmlError> {
    let (mut year, mut month, mut day) = (None, None, None);
    while let Some(part) = elements.child()? {
        let name = part.name().to_owned();
        let text = elements.text()?;
        match name.as_str() {
            "Year" => year = text.trim().parse().ok(),
            "Month" => month = text.trim().parse().ok(),
            "Day" => day = text.trim().parse().ok(),
            _ => {}
        }
    }
    Ok(match (year, month, day) {
        (Some(year), Some(month), Some(day)) => Date::new(year, month, day).ok(),
        _ => None,
    })
}

/// The text of the current element without surrounding white space; `None` where nothing is left.
fn remark<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<String>, XmlError> {
    let text = elements.text()?;
    let trimmed = text.trim();
    Ok((!trimmed.is_empty()).then(|| trimmed.to_owned()))
}
