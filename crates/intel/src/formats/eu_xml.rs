//! Format `eu-xml`: the EU's consolidated list of financial sanctions in version 1.1 of its XML, read in one
//! pass.
//!
//! The European Commission publishes the list (namespace `http://eu.europa.ec/fpi/fsd/export`). A `sanctionEntity` has
//! regulations with their programme, number and address in the Official Journal, names as attributes of `nameAlias`,
//! and remarks on every level. The reader finds crypto addresses in the list's texts and identification numbers.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;

use super::{FileError, Format, FormatReader, xml_list};
use crate::{
    listings::{
        Publication,
        dates::day,
        named::{NamedParties, Names, joined},
    },
    xml::{ElementTree, Elements},
};

/// Source and list of the format.
const LIST: &str = "eu";

/// The EU's consolidated list.
pub static FORMAT: Format = Format::of_publisher(
    "eu-xml",
    LIST,
    "EU consolidated list of financial sanctions, XML 1.1",
    &["xml"],
    FormatReader::Listings(|input, _| input.read_one(|file| read(file.content))),
);

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is truncated, not well-formed or of another format.
pub fn read(input: impl BufRead) -> Result<Publication, FileError> {
    let mut elements = Elements::new(input);
    let root = elements.root("export")?;
    let generated = elements.required(&root, "generationDate")?;
    let published_on = day(&generated)
        .ok_or_else(|| elements.unexpected(format!("`generationDate` is no day: `{generated}`")))?;
    let mut parties = NamedParties::new(
        xml_list::list_id(LIST, &elements)?,
        "EU consolidated financial sanctions list",
    );
    xml_list::read_elements(&mut elements, &["sanctionEntity"], |party| {
        let mut texts = Vec::new();
        party.texts(&["regulation", "regulationSummary"], &mut texts);
        texts.extend(attributes(party));
        parties.party(entity(party), texts)
    })?;
    elements.finish()?;
    Ok(parties.publish(published_on))
}

/// Attributes that may hold an address: numbers of identifications, contact information and functions.
fn attributes(party: &ElementTree) -> impl Iterator<Item = &str> {
    let of = |child: &'static str, name: &'static str| {
        party.all(child).filter_map(move |found| found.attribute(name))
    };
    let contacts = party.all("address").flat_map(|address| address.all("contactInfo"));
    of("identification", "number")
        .chain(of("identification", "latinNumber"))
        .chain(of("nameAlias", "function"))
        .chain(contacts.filter_map(|contact| contact.attribute("value")))
}

fn entity(party: &ElementTree) -> ListedEntity {
    let reference = party.attribute("euReferenceNumber");
    let id = party.attribute("logicalId").or(reference).unwrap_or_default();
    let mut names = Names::default();
    // The first name in English is the party's; some names come in every language of the Union.
    let mut aliases: Vec<&ElementTree> = party.all("nameAlias").collect();
    aliases.sort_by_key(|alias| {
        let language = alias.attribute("nameLanguage");
        (alias.attribute("strong") != Some("true"), !matches!(language, None | Some("EN")))
    });
    for alias in aliases {
        let in_parts = ["firstName", "middleName", "lastName"].map(|field| alias.attribute(field));
        let whole =
            alias.attribute("wholeName").map_or_else(|| joined(in_parts, " "), str::to_owned);
        let language = alias.attribute("nameLanguage").unwrap_or_default();
        names.add(&whole, language, alias.attribute("strong") == Some("false"));
    }
    let (name, aliases) = names.split(id);
    let mut programs: Vec<String> = party
        .all("regulation")
        .filter_map(|regulation| regulation.attribute("programme"))
        .map(str::to_owned)
        .collect();
    programs.sort();
    programs.dedup();
    let regulations = || party.all("regulation");
    let newest = regulations()
        .max_by_key(|regulation| regulation.attribute("publicationDate").and_then(day));
    let in_force = regulations()
        .filter_map(|regulation| regulation.attribute("entryIntoForceDate").and_then(day));
    let designated = party.attribute("designationDate").and_then(day);
    let titles: Vec<&str> =
        regulations().filter_map(|regulation| regulation.attribute("numberTitle")).collect();
    let remarks: Vec<&str> = party.all("remark").map(ElementTree::text).collect();
    ListedEntity {
        id: id.to_owned(),
        name,
        aliases,
        programs,
        remarks: Some(remarks.join(" | ")),
        listed_on: designated.into_iter().chain(in_force).min(),
        order_number: reference.map(str::to_owned),
        legal_basis: Some(titles.join("; ")).filter(|titles| !titles.is_empty()),
        official_link: newest
            .and_then(|newest| newest.text_of("publicationUrl"))
            .map(str::to_owned),
        identifiers: Vec::new(),
    }
}
