//! Format `uk-xml`: the UK Sanctions List, read in one pass.
//!
//! The Foreign, Commonwealth & Development Office publishes the list; since 28 January 2026 it is the only official
//! list of the UK. A file holds `Designation` elements. A designation has a unique identifier, the number of its
//! group at OFSI, names in six parts, a regime, a statement of reasons and other information. A designation has no
//! field for crypto addresses; they are found in its texts.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;
use jiff::civil::Date;

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
const LIST: &str = "uk";

/// The UK Sanctions List.
pub static FORMAT: Format = Format::of_publisher(
    "uk-xml",
    LIST,
    "UK Sanctions List, XML",
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
    elements.root("Designations")?;
    let mut parties = NamedParties::new(xml_list::list_id(LIST, &elements)?, "UK Sanctions List");
    let mut published_on: Option<Date> = None;
    xml_list::read_elements(&mut elements, &["DateGenerated", "Designation"], |element| {
        if element.name == "DateGenerated" {
            published_on = day(element.text());
            return Ok(());
        }
        let mut texts = Vec::new();
        element.texts(&[], &mut texts);
        parties.party(entity(element), texts)
    })?;
    let Some(published_on) = published_on else {
        return Err(elements
            .unexpected("the file has no `DateGenerated` with a day".into())
            .into());
    };
    elements.finish()?;
    Ok(parties.publish(published_on))
}

fn entity(party: &ElementTree) -> ListedEntity {
    let id = party.text_of("UniqueID").or_else(|| party.text_of("OFSIGroupID")).unwrap_or_default();
    let mut names = Names::default();
    for name in party.child("Names").into_iter().flat_map(|names| names.all("Name")) {
        let fields = ["Name1", "Name2", "Name3", "Name4", "Name5", "Name6"];
        let whole = joined(fields.map(|field| name.text_of(field)), " ");
        let kind = name.text_of("NameType").unwrap_or_default();
        if kind.eq_ignore_ascii_case("primary name") {
            names.add_first(&whole, kind);
        } else {
            let strength = name.text_of("AliasStrength").unwrap_or_default().to_lowercase();
            names.add(&whole, kind, strength.contains("low"));
        }
    }
    for name in party.child("NonLatinNames").into_iter().flat_map(|names| &names.children) {
        names.add(
            name.text_of("NameNonLatinScript").unwrap_or_default(),
            "non-Latin script",
            false,
        );
    }
    let (name, aliases) = names.split(id);
    let regime = party.text_of("RegimeName");
    let remarks = [party.text_of("UKStatementofReasons"), party.text_of("OtherInformation")];
    let un_number = party.text_of("UNReferenceNumber").map(|number| format!(" (UN {number})"));
    ListedEntity {
        id: id.to_owned(),
        name,
        aliases,
        programs: regime.into_iter().map(|regime| short_regime(regime).to_owned()).collect(),
        remarks: Some(joined(remarks, " | ")),
        listed_on: party.text_of("DateDesignated").and_then(day),
        order_number: Some(format!("{id}{}", un_number.unwrap_or_default())),
        legal_basis: regime.map(str::to_owned),
        official_link: None,
        identifiers: Vec::new(),
    }
}

/// The regime in the name of its regulations: `Russia` for `The Russia (Sanctions) (EU Exit) Regulations
/// 2019`.
fn short_regime(regulations: &str) -> &str {
    let start = regulations.strip_prefix("The ").unwrap_or(regulations);
    start.split(" (").next().unwrap_or(regulations)
}
