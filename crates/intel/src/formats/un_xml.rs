//! Format `un-xml`: the Consolidated List of the UN Security Council, read in one pass.
//!
//! The structure is that of the Council's schema (`sc-sanctions.xsd`, named in each file): individuals and
//! entities with their names, aliases with a quality, list types and comments. The list has no field for
//! crypto addresses; they are found in its texts.

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
const LIST: &str = "un";

/// The UN Security Council's Consolidated List.
pub static FORMAT: Format = Format::of_publisher(
    "un-xml",
    LIST,
    "UN Security Council's Consolidated List, XML",
    &["xml"],
    FormatReader::Listings(|input, _| input.read_one(|file| read(file.content))),
);

/// Number of the resolution that established each sanctions regime, by the list type in the file.
const RESOLUTIONS: [(&str, &str); 14] = [
    ("1636", "1636 (2005)"),
    ("Al-Qaida", "1267 (1999), 1989 (2011) and 2253 (2015)"),
    ("CAR", "2745 (2024)"),
    ("DPRK", "1718 (2006)"),
    ("DRC", "1533 (2004)"),
    ("GB", "2048 (2012)"),
    ("Haiti", "2653 (2022)"),
    ("Iraq", "1518 (2003)"),
    ("Libya", "1970 (2011)"),
    ("Somalia", "2713 (2023)"),
    ("SouthSudan", "2206 (2015)"),
    ("Sudan", "1591 (2005)"),
    ("Taliban", "1988 (2011)"),
    ("Yemen", "2140 (2014)"),
];

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is truncated, not well-formed or of another format.
pub fn read(input: impl BufRead) -> Result<Publication, FileError> {
    let mut elements = Elements::new(input);
    let root = elements.root("CONSOLIDATED_LIST")?;
    let generated = elements.required(&root, "dateGenerated")?;
    let published_on = day(&generated)
        .ok_or_else(|| elements.unexpected(format!("`dateGenerated` is no day: `{generated}`")))?;
    let mut parties = NamedParties::new(
        xml_list::list_id(LIST, &elements)?,
        "UN Security Council Consolidated List",
    );
    while let Some(section) = elements.child()? {
        if !matches!(section.name(), "INDIVIDUALS" | "ENTITIES") {
            elements.skip()?;
            continue;
        }
        xml_list::read_elements(&mut elements, &["INDIVIDUAL", "ENTITY"], |party| {
            let mut texts = Vec::new();
            party.texts(&[], &mut texts);
            parties.party(entity(party), texts)
        })?;
    }
    elements.finish()?;
    Ok(parties.publish(published_on))
}

fn entity(party: &ElementTree) -> ListedEntity {
    let id = party.text_of("DATAID").unwrap_or_default().to_owned();
    let mut names = Names::default();
    let fields = ["FIRST_NAME", "SECOND_NAME", "THIRD_NAME", "FOURTH_NAME"];
    names.add(&joined(fields.map(|field| party.text_of(field)), " "), "", false);
    for alias in party.children.iter().filter(|child| child.name.ends_with("_ALIAS")) {
        let quality = alias.text_of("QUALITY").unwrap_or_default();
        let weak = quality.eq_ignore_ascii_case("low");
        names.add(alias.text_of("ALIAS_NAME").unwrap_or_default(), quality, weak);
    }
    let original = party.text_of("NAME_ORIGINAL_SCRIPT").unwrap_or_default();
    names.add(original, "original script", false);
    let (name, aliases) = names.split(&id);
    let list_type = party.text_of("UN_LIST_TYPE").unwrap_or_default();
    let resolution = RESOLUTIONS.iter().find(|(regime, _)| *regime == list_type);
    ListedEntity {
        id,
        name,
        aliases,
        programs: Vec::from_iter((!list_type.is_empty()).then(|| list_type.to_owned())),
        remarks: party.text_of("COMMENTS1").map(str::to_owned),
        listed_on: party.text_of("LISTED_ON").and_then(day),
        order_number: party.text_of("REFERENCE_NUMBER").map(str::to_owned),
        legal_basis: resolution
            .map(|(_, number)| format!("UN Security Council resolution {number}")),
        official_link: None,
        identifiers: Vec::new(),
    }
}
