//! Format `ofac-enhanced`: OFAC's SDN list in the Enhanced XML format, read in one pass.
//!
//! The file states its origin first (`publicationInfo`), then its vocabulary, which is skipped because each `entity`
//! repeats the words, then one `entity` per party. An entity's `id` is the identifier that the Advanced format calls
//! `FixedRef`; `identityId` is another number, which is not used. Only parties with crypto addresses are kept in
//! memory.

mod entity;
mod name;

use std::io::BufRead;

use jiff::civil::Date;

use super::{Format, FormatReader};
use crate::{
    listings::{
        Publication,
        ofac::{MAX_PARTY_BYTES, OfacParties, SOURCE, remark},
    },
    xml::{Element, Elements, XmlError},
};

/// OFAC's Enhanced XML.
pub static FORMAT: Format = Format::of_publisher(
    "ofac-enhanced",
    SOURCE,
    "OFAC's SDN list, Enhanced XML",
    &["xml"],
    FormatReader::Listings(|input, _| input.read_one(|file| Ok(read(file.content)?))),
);

/// Ending of the format's namespace. OFAC's delta files have the same root element in another namespace; a delta file
/// that is read as a whole list would end nearly every listing.
const NAMESPACE: &str = "ENHANCED_XML";

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is truncated, not well-formed, of another format, or a part of a
/// list.
pub fn read(input: impl BufRead) -> Result<Publication, XmlError> {
    let mut elements = Elements::new(input);
    let root = elements.root("sanctionsData")?;
    check_namespace(&elements, &root)?;
    let mut file = File::default();
    loop {
        elements.begin_part(MAX_PARTY_BYTES);
        let Some(section) = elements.child()? else { break };
        match section.name() {
            "publicationInfo" => {
                if file.info.is_some() {
                    return Err(repeated_section(&elements, &section));
                }
                file.info = Some(Info::read(&mut elements)?);
            }
            "entities" => {
                if file.entities.is_some() {
                    return Err(repeated_section(&elements, &section));
                }
                file.entities = Some(read_entities(&mut elements)?);
            }
            _ => elements.skip()?,
        }
    }
    file.finish(elements)
}

fn check_namespace<R: BufRead>(elements: &Elements<R>, root: &Element) -> Result<(), XmlError> {
    let namespace = elements.attribute(root, "xmlns")?.unwrap_or_default();
    if namespace.trim_end_matches('/').ends_with(NAMESPACE) {
        return Ok(());
    }
    let shown: String = namespace.chars().take(128).collect();
    Err(elements
        .unexpected(format!("the namespace is `{shown}`, expected one that ends in `{NAMESPACE}`")))
}

fn repeated_section<R: BufRead>(elements: &Elements<R>, section: &Element) -> XmlError {
    elements.unexpected(format!("`{}` comes twice", section.name()))
}

fn read_entities<R: BufRead>(elements: &mut Elements<R>) -> Result<OfacParties, XmlError> {
    let mut parties = OfacParties::default();
    loop {
        elements.begin_part(MAX_PARTY_BYTES);
        let Some(element) = elements.child()? else { break };
        if element.name() != "entity" {
            elements.skip()?;
            continue;
        }
        parties.count += 1;
        if let Some(party) = entity::read(elements, &element)? {
            parties.keep(elements)?;
            parties.add(party.entity.id.clone(), party);
        }
    }
    Ok(parties)
}

/// Content of a file while it is read.
#[derive(Default)]
struct File {
    info: Option<Info>,
    entities: Option<OfacParties>,
}

impl File {
    fn finish<R: BufRead>(self, elements: Elements<R>) -> Result<Publication, XmlError> {
        let missing = |what: &str| elements.unexpected(format!("the file has no {what}"));
        let info = self.info.ok_or_else(|| missing("publicationInfo"))?;
        let published_on = info.published_on.ok_or_else(|| missing("date of issue"))?;
        let parties = self.entities.ok_or_else(|| missing("entities"))?;
        parties.publish(elements, published_on)
    }
}

/// The file's statements about its publication.
struct Info {
    published_on: Option<Date>,
}

impl Info {
    fn read<R: BufRead>(elements: &mut Elements<R>) -> Result<Self, XmlError> {
        let mut published_on = None;
        while let Some(part) = elements.child()? {
            match part.name() {
                "dataAsOf" => published_on = day(&elements.text()?),
                "filters" => refuse_partial_lists(elements)?,
                _ => elements.skip()?,
            }
        }
        Ok(Self { published_on })
    }
}

/// Refuses a file that OFAC's site limited to some programs: read as the whole list, such a file would end the
/// listings under all other programs.
fn refuse_partial_lists<R: BufRead>(elements: &mut Elements<R>) -> Result<(), XmlError> {
    while let Some(filter) = elements.child()? {
        if filter.name() != "sanctionsPrograms" {
            elements.skip()?;
            continue;
        }
        while elements.child()?.is_some() {
            if let Some(program) = remark(elements)? {
                let shown: String = program.chars().take(64).collect();
                return Err(elements.unexpected(format!(
                    "the file is limited to programs such as `{shown}`: import the whole list"
                )));
            }
        }
    }
    Ok(())
}

/// The day of a date or a time; `None` if the text is neither.
fn day(text: &str) -> Option<Date> {
    let (day, rest) = text.trim().split_at_checked("2026-01-31".len())?;
    let plausible = rest.is_empty() || rest.starts_with(['T', 'Z', '+', '-']);
    day.parse().ok().filter(|_| plausible)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_are_read_with_or_without_a_time() {
        for text in [
            "2026-01-05",
            " 2026-01-05\n",
            "2026-01-05T00:00:00",
            "2026-01-05T00:00:00-04:00",
            "2026-01-05T23:59:59.999Z",
            "2026-01-05Z",
            "2026-01-05-05:00",
        ] {
            assert_eq!(day(text), Some(date(2026, 1, 5)), "{text}");
        }
        for text in
            ["", "2026", "2026-13-01", "2026-02-30", "2026-01-05 or so", "05/01/2026", "äääää"]
        {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
