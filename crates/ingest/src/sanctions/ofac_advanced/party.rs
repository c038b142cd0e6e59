//! A party: its names, remarks and crypto addresses.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
};

use assay_engine::evidence::{Alias, ListedEntity};

use super::{entry::Listed, reference::References, remark};
use crate::{
    sanctions::Rejected,
    xml::{Element, Elements, XmlError},
};

/// A party with crypto addresses.
pub(super) struct Party {
    pub(super) profile_id: String,
    pub(super) entity: ListedEntity,
    pub(super) addresses: Vec<Address>,
    pub(super) rejected: Vec<Rejected>,
    /// Where it is listed, known once the entries were read.
    pub(super) listed: Vec<Listed>,
}

/// A crypto address as the file prints it.
pub(super) struct Address {
    pub(super) asset_code: String,
    pub(super) text: String,
    pub(super) remarks: Option<String>,
}

/// The profiles of a party that hold crypto addresses.
pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    references: &References,
) -> Result<Vec<Party>, XmlError> {
    let id = elements.required(element, "FixedRef")?;
    let (mut remarks, mut profiles) = (None, Vec::new());
    while let Some(part) = elements.child()? {
        match part.name() {
            "Comment" => remarks = remark(elements)?,
            "Profile" => {
                let profile_id = elements.required(&part, "ID")?;
                profiles.push((profile_id, read_profile(elements, &id, references)?));
            }
            _ => elements.skip()?,
        }
    }
    let with_addresses = profiles
        .into_iter()
        .filter(|(_, profile)| !profile.addresses.is_empty() || !profile.rejected.is_empty());
    Ok(with_addresses
        .map(|(profile_id, profile)| Party {
            profile_id,
            entity: ListedEntity {
                id: id.clone(),
                name: profile.name,
                aliases: profile.aliases,
                programmes: Vec::new(),
                remarks: remarks.clone(),
                listed_on: None,
            },
            addresses: profile.addresses,
            rejected: profile.rejected,
            listed: Vec::new(),
        })
        .collect())
}

#[derive(Default)]
struct Profile {
    name: String,
    aliases: Vec<Alias>,
    addresses: Vec<Address>,
    rejected: Vec<Rejected>,
}

fn read_profile<R: BufRead>(
    elements: &mut Elements<R>,
    party: &str,
    references: &References,
) -> Result<Profile, XmlError> {
    let mut profile = Profile::default();
    while let Some(part) = elements.child()? {
        match part.name() {
            "Identity" => read_identity(elements, references, &mut profile)?,
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

/// The addresses of one feature. A version may hold several details, each a text of its own.
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
            if text.trim().is_empty() {
                profile.rejected.push(Rejected {
                    place: format!("party {party}, {asset_code}"),
                    reason: "the address is empty".into(),
                });
            } else {
                profile.addresses.push(Address {
                    asset_code: asset_code.to_owned(),
                    text,
                    remarks: remarks.clone(),
                });
            }
        }
    }
    Ok(())
}

/// A name as the file prints it, before it is known which part is the family name.
struct Name {
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
    let primary = names.iter().position(|name| name.is_primary);
    let mut known: HashSet<String> =
        profile.aliases.iter().map(|alias| alias.name.clone()).collect();
    for (index, name) in names.into_iter().enumerate() {
        let written = write_name(&name.parts, &groups, references);
        if Some(index) == primary && profile.name.is_empty() {
            profile.name = written;
        } else if !written.is_empty() && known.insert(written.clone()) {
            profile.aliases.push(Alias { name: written, kind: name.kind, weak: name.weak });
        }
    }
    Ok(())
}

fn read_alias<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    references: &References,
    names: &mut Vec<Name>,
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
        names.push(Name {
            parts: read_name_parts(elements)?,
            kind: kind.clone(),
            is_primary: is_primary && references.is_primary_latin(&status),
            weak,
        });
    }
    Ok(())
}

/// The parts of a name, each with its group.
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

/// Types of name parts by group.
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

/// `LAST, First Middle` where there is a family name; the parts in their order otherwise.
fn write_name(
    parts: &[(String, String)],
    groups: &HashMap<String, String>,
    references: &References,
) -> String {
    let is_last =
        |group: &String| groups.get(group).is_some_and(|kind| references.is_last_name(kind));
    let join = |last: bool| {
        let chosen = parts.iter().filter(|(group, _)| is_last(group) == last);
        chosen.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")
    };
    match (join(true), join(false)) {
        (last, rest) if last.is_empty() => rest,
        (last, rest) if rest.is_empty() => last,
        (last, rest) => format!("{last}, {rest}"),
    }
}
