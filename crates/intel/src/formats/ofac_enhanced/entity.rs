//! An entity of an Enhanced XML file: its lists, its remarks and its crypto addresses.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;

use super::{day, name};
use crate::{
    listings::ofac::{
        Addresses, ListEntry, OfacParty, asset_code, identifier, official_link, remark,
    },
    xml::{Element, Elements, XmlError},
};

/// Reads an entity; `None` if it has no crypto address.
pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
) -> Result<Option<OfacParty>, XmlError> {
    let id = elements.required(element, "id")?;
    let mut entity = ListedEntity {
        official_link: official_link(&id),
        id,
        name: String::new(),
        aliases: Vec::new(),
        programs: Vec::new(),
        remarks: None,
        listed_on: None,
        ..ListedEntity::default()
    };
    let (mut addresses, mut listed, mut programs) = (Addresses::default(), Vec::new(), Vec::new());
    let mut bases = Vec::new();
    while let Some(part) = elements.child()? {
        match part.name() {
            "generalInfo" => entity.remarks = read_remarks(elements)?,
            "sanctionsLists" => read_lists(elements, &mut listed)?,
            "sanctionsPrograms" => read_texts(elements, "sanctionsProgram", &mut programs)?,
            "legalAuthorities" => read_texts(elements, "legalAuthority", &mut bases)?,
            "identityDocuments" => read_documents(elements, &mut entity.identifiers)?,
            "names" => name::read(elements, &mut entity)?,
            "features" => read_features(elements, &entity.id, &mut addresses)?,
            _ => elements.skip()?,
        }
    }
    if addresses.is_empty() {
        return Ok(None);
    }
    programs.sort();
    programs.dedup();
    // The format does not state the list that a program belongs to: every list gets all programs, and all legal bases.
    for entry in &mut listed {
        entry.programs.clone_from(&programs);
        for basis in &bases {
            entry.rests_on(basis);
        }
    }
    Ok(Some(OfacParty { entity, addresses, listed }))
}

fn read_remarks<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<String>, XmlError> {
    let mut remarks = None;
    while let Some(part) = elements.child()? {
        match part.name() {
            "remarks" => remarks = remark(elements)?,
            _ => elements.skip()?,
        }
    }
    Ok(remarks)
}

fn read_lists<R: BufRead>(
    elements: &mut Elements<R>,
    listed: &mut Vec<ListEntry>,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        if part.name() != "sanctionsList" {
            elements.skip()?;
            continue;
        }
        let on = elements.attribute(&part, "datePublished")?.as_deref().and_then(day);
        let title = elements.text()?;
        let mut entry = ListEntry::from_title(title.trim())
            .ok_or_else(|| elements.unexpected(format!("list `{title}` has no usable name")))?;
        if let Some(known) = listed.iter_mut().find(|known| known.is_same_list(&entry)) {
            known.entered(on);
        } else {
            entry.entered(on);
            listed.push(entry);
        }
    }
    Ok(())
}

/// Reads the texts of the elements with a name.
fn read_texts<R: BufRead>(
    elements: &mut Elements<R>,
    name: &str,
    texts: &mut Vec<String>,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        if part.name() == name {
            texts.extend(remark(elements)?);
        } else {
            elements.skip()?;
        }
    }
    Ok(())
}

fn read_documents<R: BufRead>(
    elements: &mut Elements<R>,
    identifiers: &mut Vec<String>,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        if part.name() != "identityDocument" {
            elements.skip()?;
            continue;
        }
        let (mut kind, mut number) = (String::new(), String::new());
        while let Some(field) = elements.child()? {
            match field.name() {
                "type" => kind = elements.text()?,
                "documentNumber" => number = elements.text()?,
                _ => elements.skip()?,
            }
        }
        identifiers.extend(identifier(&kind, &number));
    }
    Ok(())
}

fn read_features<R: BufRead>(
    elements: &mut Elements<R>,
    party: &str,
    addresses: &mut Addresses,
) -> Result<(), XmlError> {
    while let Some(part) = elements.child()? {
        match part.name() {
            "feature" => read_feature(elements, party, addresses)?,
            _ => elements.skip()?,
        }
    }
    Ok(())
}

fn read_feature<R: BufRead>(
    elements: &mut Elements<R>,
    party: &str,
    addresses: &mut Addresses,
) -> Result<(), XmlError> {
    let (mut kind, mut value, mut remarks) = (String::new(), String::new(), None);
    while let Some(part) = elements.child()? {
        match part.name() {
            "type" => kind = elements.text()?,
            "value" => value = elements.text()?,
            "comments" => remarks = remark(elements)?,
            _ => elements.skip()?,
        }
    }
    if let Some(code) = asset_code(&kind) {
        addresses.add(party, code, value, remarks);
    }
    Ok(())
}
