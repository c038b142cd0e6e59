//! The names of an entity: each in one or more scripts, and in parts.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;

use crate::{
    sanctions::ofac::{Name, file_names, write_name},
    xml::{Elements, XmlError},
};

/// The primary name has no kind of alias here; the Advanced format calls it this.
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
    file_names(names, &mut entity.name, &mut entity.aliases);
    Ok(())
}

fn read_name<R: BufRead>(
    elements: &mut Elements<R>,
    names: &mut Vec<Name>,
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
    names.extend(translations.into_iter().map(|translation| Name {
        written: translation.written,
        kind: kind.clone(),
        is_primary: is_primary && translation.is_primary,
        weak,
    }));
    Ok(())
}

/// A name in one script.
struct Translation {
    written: String,
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

/// A name is written from its parts, as the Advanced format's is, so that the two never differ in a
/// space or a comma. The name as the file writes it itself serves where it gives no parts.
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
    let written = write_name(&parts);
    let written = if written.is_empty() { whole.trim().to_owned() } else { written };
    Ok(Translation { written, is_primary })
}

/// The parts, each with whether it is one of the family name.
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
