//! Format `seco-xml`: Switzerland's list of sanctioned individuals, entities and objects, read in one pass.
//!
//! The State Secretariat for Economic Affairs (SECO) publishes the list. The file names the programs first, each with
//! sets of measures to which a `target` refers. A target holds an individual, an entity or an object, and its
//! modifications, the newest of which may be its delisting. Modifications repeat what was added and removed; those
//! copies are not read. Crypto addresses are found in the other texts.

use std::{collections::HashMap, io::BufRead};

use assay_engine::evidence::ListedEntity;
use jiff::civil::Date;

use super::{FileError, Format, FormatReader, xml_list};
use crate::{
    listings::{
        Publication,
        dates::day,
        named::{NamedParties, Names},
    },
    xml::{ElementTree, Elements},
};

/// Source and list of the format.
const LIST: &str = "ch-seco";

/// Switzerland's list.
pub static FORMAT: Format = Format::of_publisher(
    "seco-xml",
    LIST,
    "Switzerland's sanctions list (SECO), XML",
    &["xml"],
    FormatReader::Listings(|input, _| input.read_one(|file| read(file.content))),
);

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is truncated, not well-formed, of another format, or a list of changes.
pub fn read(input: impl BufRead) -> Result<Publication, FileError> {
    let mut elements = Elements::new(input);
    let root = elements.root("swiss-sanctions-list")?;
    let kind = elements.attribute(&root, "list-type")?.unwrap_or_default();
    if kind != "whole-list" {
        // A list of changes, read as a whole list, would end nearly every listing.
        let detail = format!("`list-type` is `{kind}`, expected `whole-list`");
        return Err(elements.unexpected(detail).into());
    }
    let date = elements.required(&root, "date")?;
    let published_on =
        day(&date).ok_or_else(|| elements.unexpected(format!("`date` is no day: `{date}`")))?;
    let mut parties = NamedParties::new(xml_list::list_id(LIST, &elements)?, "SECO sanctions list");
    let mut programs: HashMap<String, Program> = HashMap::new();
    xml_list::read_elements(&mut elements, &["sanctions-program", "target"], |element| {
        if element.name == "sanctions-program" {
            let program = Program::read(element);
            let sets = element.all("sanctions-set").filter_map(|set| set.attribute("ssid"));
            programs.extend(sets.map(|set| (set.to_owned(), program.clone())));
            return Ok(());
        }
        if is_delisted(element) {
            return Ok(());
        }
        let mut texts = Vec::new();
        element.texts(&["modification", "sanctions-set-id"], &mut texts);
        parties.party(entity(element, &programs), texts)
    })?;
    elements.finish()?;
    Ok(parties.publish(published_on))
}

/// Program with its ordinance.
#[derive(Clone)]
struct Program {
    key: String,
    ordinance: String,
}

impl Program {
    fn read(program: &ElementTree) -> Self {
        let in_english = |name: &'static str| {
            let mut texts = program.all(name);
            let english = program.all(name).find(|text| text.attribute("lang") == Some("eng"));
            english.or_else(|| texts.next()).map(ElementTree::text).unwrap_or_default().to_owned()
        };
        Self { key: in_english("program-key"), ordinance: in_english("program-name") }
    }
}

/// The days of a target's modifications of a kind.
fn modified<'a>(target: &'a ElementTree, kind: &'a str) -> impl Iterator<Item = Date> + 'a {
    target
        .all("modification")
        .filter(move |modification| modification.attribute("modification-type") == Some(kind))
        .filter_map(|modification| {
            let day_of = |name| modification.attribute(name).and_then(day);
            day_of("effective-date").or_else(|| day_of("publication-date"))
        })
}

/// True if the target was delisted and not listed again.
fn is_delisted(target: &ElementTree) -> bool {
    let delisted = modified(target, "de-listed").max();
    let listed = modified(target, "listed").max();
    delisted.is_some_and(|delisted| listed.is_none_or(|listed| listed <= delisted))
}

fn entity(target: &ElementTree, programs: &HashMap<String, Program>) -> ListedEntity {
    let id = target.attribute("ssid").unwrap_or_default();
    let party = ["individual", "entity", "object"].iter().find_map(|kind| target.child(kind));
    let mut names = Names::default();
    for name in party
        .into_iter()
        .flat_map(|party| party.all("identity"))
        .flat_map(|identity| identity.all("name"))
    {
        let kind = name.attribute("name-type").unwrap_or_default();
        let weak = name.attribute("quality") == Some("low");
        let mut words: Vec<&ElementTree> = name.all("name-part").collect();
        words.sort_by_key(|part| {
            part.attribute("order").and_then(|order| order.parse().ok()).unwrap_or(u32::MAX)
        });
        let whole: Vec<&str> = words.iter().filter_map(|word| word.text_of("value")).collect();
        if kind == "primary-name" && !weak {
            names.add_first(&whole.join(" "), kind);
        } else {
            names.add(&whole.join(" "), kind, weak);
        }
        if let [only] = words.as_slice() {
            for variant in only.all("spelling-variant") {
                names.add(variant.text(), "spelling variant", false);
            }
        }
    }
    let (name, aliases) = names.split(id);
    let program = target
        .text_of("sanctions-set-id")
        .or_else(|| target.attribute("sanctions-set-id"))
        .and_then(|set| programs.get(set));
    let remarks: Vec<&str> = party
        .into_iter()
        .flat_map(|party| &party.children)
        .filter(|child| matches!(&*child.name, "justification" | "other-information"))
        .map(ElementTree::text)
        .collect();
    let foreign = target.text_of("foreign-identifier");
    ListedEntity {
        id: id.to_owned(),
        name,
        aliases,
        programs: program.map(|program| program.key.clone()).into_iter().collect(),
        remarks: Some(remarks.join(" | ")),
        listed_on: modified(target, "listed").max(),
        order_number: Some(
            foreign
                .map_or_else(|| format!("SSID {id}"), |foreign| format!("SSID {id} ({foreign})")),
        ),
        legal_basis: program
            .map(|program| program.ordinance.clone())
            .filter(|text| !text.is_empty()),
        official_link: None,
        identifiers: Vec::new(),
    }
}
