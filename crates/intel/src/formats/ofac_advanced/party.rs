//! A party of an Advanced XML file: its names, remarks and crypto addresses.

use std::{collections::HashMap, io::BufRead};

use assay_engine::evidence::{Alias, ListedEntity};

use super::{document::IdentityDocuments, reference::References};
use crate::{
    listings::ofac::{
        Addresses, OfacParty, PartyName, compose_name, official_link, remark, sort_names,
    },
    xml::{Element, Elements, XmlError},
};

/// Reads the profiles of a party that hold crypto addresses, with their identifiers.
pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    known: (&References, &IdentityDocuments),
) -> Result<Vec<(String, OfacParty)>, XmlError> {
    let id = elements.required(element, "FixedRef")?;
    let (mut remarks, mut profiles) = (None, Vec::new());
    while let Some(part) = elements.child()? {
        match part.name() {
            "Comment" => remarks = remark(elements)?,
            "Profile" => {
                let profile_id = elements.required(&part, "ID")?;
                profiles.push((profile_id, read_profile(elements, &id, known)?));
            }
            _ => elements.skip()?,
        }
    }
    let with_addresses = profiles.into_iter().filter(|(_, profile)| !profile.addresses.is_empty());
    Ok(with_addresses
        .map(|(profile_id, profile)| {
            let entity = ListedEntity {
                id: id.clone(),
                name: profile.name,
                aliases: profile.aliases,
                programs: Vec::new(),
                remarks: remarks.clone(),
                listed_on: None,
                official_link: official_link(&id),
                identifiers: profile.identifiers,
                ..ListedEntity::default()
            };
            let (addresses, listed) = (profile.addresses, Vec::new());
            (profile_id, OfacParty { entity, addresses, listed })
        })
        .collect())
}

#[derive(Default)]
struct Profile {
    name: String,
    aliases: Vec<Alias>,
    identifiers: Vec<String>,
    addresses: Addresses,
}

fn read_profile<R: BufRead>(
    elements: &mut Elements<R>,
    party: &str,
    (references, documents): (&References, &IdentityDocuments),
) -> Result<Profile, XmlError> {
    let mut profile = Profile::default();
    while let Some(part) = elements.child()? {
        match part.name() {
            "Identity" => {
                let identity = elements.attribute(&part, "ID")?.unwrap_or_default();
                profile.identifiers.extend_from_slice(documents.of(&identity));
                read_identity(elements, references, &mut profile)?;
            }
            "Feature" => {
                let kind = elements.required(&part, "FeatureTypeID")?;
                match references.asset_code(&kind) {
                    Some(code) => read_addresses(elements, party, code, &mut profile)?,
                    None => elements.skip()?,
                }
            }
            _ => elements.skip()?,
        }
    }
    Ok(profile)
}

/// Reads the addresses of a feature. A version may hold several details, each with one address.
fn read_addresses<R: BufRead>(
    elements: &mut Elements<R>,
    party: &str,
    asset_code: &str,
    profile: &mut Profile,
) -> Result<(), XmlError> {
    while let Some(version) = elements.child()? {
        if version.name() != "FeatureVersion" {
            elements.skip()?;
            continue;
        }
        let (mut texts, mut remarks) = (Vec::new(), None);
        while let Some(part) = elements.child()? {
            match part.name() {
                "Comment" => remarks = remark(elements)?,
                "VersionDetail" => texts.push(elements.text()?),
                _ => elements.skip()?,
            }
        }
        for text in texts {
            profile.addresses.add(party, asset_code, text, remarks.clone());
        }
    }
    Ok(())
}

/// Name in parts, before the groups say which part is the family name.
struct NameInParts {
    parts: Vec<(String, String)>,
    kind: String,
    is_primary: bool,
    weak: bool,
}

fn read_identity<R: BufRead>(
    elements: &mut Elements<R>,
    references: &References,
    profile: &mut Profile,
) -> Result<(), XmlError> {
    let (mut names, mut groups) = (Vec::new(), HashMap::new());
    while let Some(part) = elements.child()? {
        match part.name() {
            "Alias" => read_alias(elements, &part, references, &mut names)?,
            "NamePartGroups" => groups = read_groups(elements)?,
            _ => elements.skip()?,
        }
    }
    let is_last =
        |group: &String| groups.get(group).is_some_and(|kind| references.is_last_name(kind));
    let names = names.into_iter().map(|name: NameInParts| {
        let parts: Vec<_> =
            name.parts.iter().map(|(group, text)| (is_last(group), text.as_str())).collect();
        let text = compose_name(&parts);
        PartyName { text, kind: name.kind, is_primary: name.is_primary, weak: name.weak }
    });
    sort_names(names.collect(), &mut profile.name, &mut profile.aliases);
    Ok(())
}

fn read_alias<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    references: &References,
    names: &mut Vec<NameInParts>,
) -> Result<(), XmlError> {
    let flag = |name: &str| {
        elements.attribute(element, name).map(|value| value.as_deref() == Some("true"))
    };
    let (is_primary, weak) = (flag("Primary")?, flag("LowQuality")?);
    let kind = elements.attribute(element, "AliasTypeID")?.unwrap_or_default();
    let kind = references.alias_type(&kind).to_owned();
    while let Some(part) = elements.child()? {
        if part.name() != "DocumentedName" {
            elements.skip()?;
            continue;
        }
        let status = elements.attribute(&part, "DocNameStatusID")?.unwrap_or_default();
        names.push(NameInParts {
            parts: read_name_parts(elements)?,
            kind: kind.clone(),
            is_primary: is_primary && references.is_primary_latin(&status),
            weak,
        });
    }
    Ok(())
}

/// Reads the parts of a name, each with its group.
fn read_name_parts<R: BufRead>(
    elements: &mut Elements<R>,
) -> Result<Vec<(String, String)>, XmlError> {
    let mut parts = Vec::new();
    while let Some(part) = elements.child()? {
        if part.name() != "DocumentedNamePart" {
            elements.skip()?;
            continue;
        }
        while let Some(value) = elements.child()? {
            let group = elements.attribute(&value, "NamePartGroupID")?.unwrap_or_default();
            let text = elements.text()?;
            parts.push((group, text.trim().to_owned()));
        }
    }
    Ok(parts)
}

/// Reads the types of name parts by group.
fn read_groups<R: BufRead>(
    elements: &mut Elements<R>,
) -> Result<HashMap<String, String>, XmlError> {
    let mut groups = HashMap::new();
    while let Some(_master) = elements.child()? {
        while let Some(group) = elements.child()? {
            let id = elements.attribute(&group, "ID")?.unwrap_or_default();
            let kind = elements.attribute(&group, "NamePartTypeID")?.unwrap_or_default();
            groups.insert(id, kind);
            elements.skip()?;
        }
    }
    Ok(groups)
}
