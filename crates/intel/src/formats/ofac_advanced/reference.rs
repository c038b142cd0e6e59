//! The vocabulary at the head of an Advanced XML file, which defines the numeric identifiers of the rest.

use std::{collections::HashMap, io::BufRead};

use crate::{
    listings::ofac,
    xml::{Elements, XmlError},
};

/// Meanings of the file's numeric identifiers.
#[derive(Default)]
pub(super) struct References {
    /// Asset codes by feature type.
    asset_codes: HashMap<String, String>,
    lists: HashMap<String, String>,
    alias_types: HashMap<String, String>,
    name_part_types: HashMap<String, String>,
    measure_types: HashMap<String, String>,
    name_statuses: HashMap<String, String>,
    legal_bases: HashMap<String, String>,
    document_types: HashMap<String, String>,
}

impl References {
    /// The asset code of a feature type; `None` if such features hold no crypto addresses.
    pub(super) fn asset_code(&self, feature_type: &str) -> Option<&str> {
        self.asset_codes.get(feature_type).map(String::as_str)
    }

    pub(super) fn list(&self, id: &str) -> Option<&str> {
        self.lists.get(id).map(String::as_str)
    }

    /// The kind of an alias, such as `A.K.A.`.
    pub(super) fn alias_type(&self, id: &str) -> &str {
        self.alias_types.get(id).map_or("", String::as_str)
    }

    /// The law or order with an identifier; empty if it is unknown.
    pub(super) fn legal_basis(&self, id: &str) -> &str {
        self.legal_bases.get(id).map_or("", String::as_str)
    }

    /// The kind of a document, such as `Passport`.
    pub(super) fn document_type(&self, id: &str) -> &str {
        self.document_types.get(id).map_or("", String::as_str)
    }

    pub(super) fn is_last_name(&self, part_type: &str) -> bool {
        self.name_part_types.get(part_type).is_some_and(|name| name == "Last Name")
    }

    /// True if the comment of a sanctions measure is a program.
    pub(super) fn is_program(&self, measure_type: &str) -> bool {
        self.measure_types.get(measure_type).is_some_and(|name| name == "Program")
    }

    pub(super) fn is_primary_latin(&self, name_status: &str) -> bool {
        self.name_statuses.get(name_status).is_some_and(|name| name == "Primary Latin")
    }
}

pub(super) fn read<R: BufRead>(elements: &mut Elements<R>) -> Result<References, XmlError> {
    let mut references = References::default();
    while let Some(set) = elements.child()? {
        match set.name() {
            "FeatureTypeValues" => {
                let names = values(elements)?;
                let codes = names
                    .into_iter()
                    .filter_map(|(id, name)| Some((id, ofac::asset_code(&name)?.to_owned())));
                references.asset_codes = codes.collect();
            }
            "ListValues" => references.lists = values(elements)?,
            "AliasTypeValues" => references.alias_types = values(elements)?,
            "NamePartTypeValues" => references.name_part_types = values(elements)?,
            "SanctionsTypeValues" => references.measure_types = values(elements)?,
            "DocNameStatusValues" => references.name_statuses = values(elements)?,
            "LegalBasisValues" => references.legal_bases = values(elements)?,
            "IDRegDocTypeValues" => references.document_types = values(elements)?,
            _ => elements.skip()?,
        }
    }
    Ok(references)
}

/// Reads the values of a set by their `ID`.
fn values<R: BufRead>(elements: &mut Elements<R>) -> Result<HashMap<String, String>, XmlError> {
    let mut values = HashMap::new();
    while let Some(value) = elements.child()? {
        let id = elements.required(&value, "ID")?;
        values.insert(id, elements.text()?);
    }
    Ok(values)
}
