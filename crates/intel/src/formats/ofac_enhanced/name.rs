//! The names of an entity of an Enhanced XML file: each in one or more scripts, and in parts.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;

use crate::{
    listings::ofac::{PartyName, compose_name, sort_names},
    xml::{Elements, XmlError},
};

/// Kind of the primary name in the Advanced format; this format states none.
const PRIMARY_KIND: &str = "Name";

pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    entity: &mut ListedEntity,
) -> Result<(), XmlError> {
    let mut names = Vec::new();
    while let Some(part) = elements.child()? {
        match part.name() {
            "name" => read_name(elements, &mut names)?,
            _ => elements.skip()?,
        }
    }
    sort_names(names, &mut entity.name, &mut entity.aliases);
    Ok(())
}

fn read_name<R: BufRead>(
    elements: &mut Elements<R>,
    names: &mut Vec<PartyName>,
) -> Result<(), XmlError> {
    let (mut is_primary, mut weak, mut kind) = (false, false, PRIMARY_KIND.to_owned());
    let mut translations = Vec::new();
    while let Some(part) = elements.child()? {
        match part.name() {
            "isPrimary" => is_primary = flag(elements)?,
            "isLowQuality" => weak = flag(elements)?,
            "aliasType" => elements.text()?.trim().clone_into(&mut kind),
            "translations" => read_translations(elements, &mut translations)?,
            _ => elements.skip()?,
        }
    }
    names.extend(translations.into_iter().map(|translation| PartyName {
        text: translation.text,
        kind: kind.clone(),
        is_primary: is_primary && translation.is_primary,
        weak,
    }));
    Ok(())
}

/// Name in one script.
struct Translation {
    text: String,
    is_primary: bool,
}

fn read_translations<R: BufRead>(
    elements: &mut Elements<R>,
    translations: &mut Vec<Translation>,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        match part.name() {
            "translation" => translations.push(read_translation(elements)?),
            _ => elements.skip()?,
        }
    }
    Ok(())
}

/// Reads a name. A name is composed from its parts, as in the Advanced format, so that the names of both formats
/// never differ in a space or a comma. The full name in the file is used if there are no parts.
fn read_translation<R: BufRead>(elements: &mut Elements<R>) -> Result<Translation, XmlError> {
    let (mut is_primary, mut whole, mut parts) = (false, String::new(), Vec::new());
    while let Some(part) = elements.child()? {
        match part.name() {
            "isPrimary" => is_primary = flag(elements)?,
            "formattedFullName" => whole = elements.text()?,
            "nameParts" => read_parts(elements, &mut parts)?,
            _ => elements.skip()?,
        }
    }
    let parts: Vec<_> = parts.iter().map(|(is_last, text)| (*is_last, text.as_str())).collect();
    let composed = compose_name(&parts);
    let text = if composed.is_empty() { whole.trim().to_owned() } else { composed };
    Ok(Translation { text, is_primary })
}

/// Reads the parts of a name, each with a flag for the family name.
fn read_parts<R: BufRead>(
    elements: &mut Elements<R>,
    parts: &mut Vec<(bool, String)>,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        if part.name() != "namePart" {
            elements.skip()?;
            continue;
        }
        let (mut is_last, mut text) = (false, String::new());
        while let Some(detail) = elements.child()? {
            match detail.name() {
                "type" => is_last = elements.text()?.trim() == "Last Name",
                "value" => text = elements.text()?,
                _ => elements.skip()?,
            }
        }
        parts.push((is_last, text.trim().to_owned()));
    }
    Ok(())
}

fn flag<R: BufRead>(elements: &mut Elements<R>) -> Result<bool, XmlError> {
    Ok(matches!(elements.text()?.trim(), "true" | "1"))
}
