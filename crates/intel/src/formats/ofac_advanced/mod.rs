//! Format `ofac-advanced`: OFAC's SDN list in the Advanced XML format, read in one pass.
//!
//! The file states its vocabulary first (`ReferenceValueSets`), then the parties, then the list that each
//! party is on. Asset codes are found by the prefix of the feature's name, so that a new code needs no
//! change here. Only parties with crypto addresses are kept in memory.

mod document;
mod entry;
mod party;
mod reference;

use std::{collections::HashSet, io::BufRead};

use jiff::civil::Date;

use self::{document::IdentityDocuments, reference::References};
use super::{Format, FormatReader};
use crate::{
    listings::{
        Publication,
        ofac::{MAX_PARTY_BYTES, OfacParties, SOURCE},
    },
    xml::{Element, Elements, XmlError},
};

/// OFAC's Advanced XML.
pub static FORMAT: Format = Format::of_publisher(
    "ofac-advanced",
    SOURCE,
    "OFAC's SDN list, Advanced XML",
    &["xml"],
    FormatReader::Listings(|input, _| input.read_one(|file| Ok(read(file.content)?))),
);

/// Largest vocabulary of a file, in bytes. OFAC's vocabulary has a hundredth of this size.
const MAX_VOCABULARY_BYTES: usize = 64 * 1024 * 1024;

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is truncated, not well-formed or of another format.
pub fn read(input: impl BufRead) -> Result<Publication, XmlError> {
    let mut elements = Elements::new(input);
    elements.root("Sanctions")?;
    let mut file = File::default();
    loop {
        elements.begin_part(MAX_VOCABULARY_BYTES);
        let Some(section) = elements.child()? else { break };
        match section.name() {
            "DateOfIssue" => file.published_on = date(&mut elements)?,
            "ReferenceValueSets" => file.references = reference::read(&mut elements)?,
            "IDRegDocuments" => file.read_documents(&mut elements)?,
            "DistinctParties" => file.read_parties(&mut elements)?,
            "SanctionsEntries" => file.read_entries(&mut elements)?,
            _ => elements.skip()?,
        }
    }
    file.finish(elements)
}

/// Content of a file while it is read.
#[derive(Default)]
struct File {
    published_on: Option<Date>,
    references: References,
    /// Documents by identity.
    documents: IdentityDocuments,
    sections: HashSet<&'static str>,
    /// Parties by profile.
    parties: OfacParties,
}

impl File {
    fn read_documents<R: BufRead>(&mut self, elements: &mut Elements<R>) -> Result<(), XmlError> {
        self.require_once(elements, "IDRegDocuments", &["DistinctParties"])?;
        loop {
            elements.begin_part(MAX_PARTY_BYTES);
            let Some(element) = elements.child()? else { return Ok(()) };
            if element.name() == "IDRegDocument" {
                self.documents.read(elements, &element, &self.references)?;
            } else {
                elements.skip()?;
            }
        }
    }

    fn read_parties<R: BufRead>(&mut self, elements: &mut Elements<R>) -> Result<(), XmlError> {
        self.require_once(elements, "DistinctParties", &["SanctionsEntries"])?;
        loop {
            elements.begin_part(MAX_PARTY_BYTES);
            let Some(element) = elements.child()? else { break };
            if element.name() == "DistinctParty" {
                self.parties.count += 1;
                let parties = party::read(elements, &element, (&self.references, &self.documents))?;
                if !parties.is_empty() {
                    self.parties.keep(elements)?;
                }
                for (profile, party) in parties {
                    self.parties.add(profile, party);
                }
            } else {
                elements.skip()?;
            }
        }
        Ok(())
    }

    fn read_entries<R: BufRead>(&mut self, elements: &mut Elements<R>) -> Result<(), XmlError> {
        self.require_once(elements, "SanctionsEntries", &[])?;
        loop {
            elements.begin_part(MAX_PARTY_BYTES);
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
        match self.parties.get_mut(&profile) {
            Some(party) => {
                party.listed.push(entry::read(elements, element, &self.references)?);
                self.parties.keep(elements)
            }
            None => elements.skip(),
        }
    }

    /// Checks that a section comes once, and before the sections that refer to it.
    fn require_once<R: BufRead>(
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
        self.parties.publish(elements, published_on)
    }
}

/// The date in the elements `Year`, `Month` and `Day`; `None` if it is incomplete.
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
