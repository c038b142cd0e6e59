//! Format `fr-json`: the French national register of asset freezes, as JSON.
//!
//! The Direction générale du Trésor publishes the register: one object with the date of the publication and one
//! `PublicationDetail` for each party, whose facts are typed fields (`TypeChamp`) with values (`Valeur`). The
//! register states crypto addresses, several in one text, as identifications; addresses are found in all texts.

use std::io::Read;

use assay_engine::evidence::ListedEntity;
use serde_json::Value;

use super::{FileError, Format, FormatReader};
use crate::{
    labels::text::{MAX_HELD_BYTES, json_reason, read_whole},
    listings::{
        Publication,
        dates::day,
        named::{NamedParties, Names, joined},
    },
};

/// Source and list of the format.
const LIST: &str = "fr-gels";

/// The French register.
pub static FORMAT: Format = Format::of_publisher(
    "fr-json",
    LIST,
    "French register of asset freezes, JSON",
    &["json"],
    FormatReader::Listings(|input, _| input.read_one(|file| read(file.content))),
);

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file is no JSON or of another format.
pub fn read(input: impl Read) -> Result<Publication, FileError> {
    let text = read_whole(input, MAX_HELD_BYTES, None)?;
    let file: Value = serde_json::from_str(&text).map_err(|error| FileError::Syntax {
        line: u64::try_from(error.line()).unwrap_or(1),
        format: "the French register in JSON",
        reason: json_reason(&error),
    })?;
    drop(text);
    let publication = file.get("Publications").unwrap_or(&Value::Null);
    let Some(published_on) =
        publication.get("DatePublication").and_then(Value::as_str).and_then(day)
    else {
        return Err(unexpected("`Publications.DatePublication` is no day"));
    };
    let Some(details) = publication.get("PublicationDetail").and_then(Value::as_array) else {
        return Err(unexpected("`Publications.PublicationDetail` is no array"));
    };
    let list = LIST.parse().map_err(|_| unexpected("the list has no identifier"))?;
    let mut parties = NamedParties::new(list, "French register of asset freezes");
    for detail in details {
        let fields = Fields::new(detail);
        let texts = fields.texts();
        parties.party(entity(detail, &fields), texts.iter().map(String::as_str))?;
    }
    Ok(parties.publish(published_on))
}

fn unexpected(reason: &str) -> FileError {
    let reason = reason.to_owned();
    FileError::Syntax { line: 1, format: "the French register in JSON", reason }
}

/// The typed fields of a party.
struct Fields<'a>(Vec<(&'a str, &'a Value)>);

impl<'a> Fields<'a> {
    fn new(detail: &'a Value) -> Self {
        let fields = detail.get("RegistreDetail").and_then(Value::as_array).into_iter().flatten();
        Self(
            fields
                .filter_map(|field| {
                    let kind = field.get("TypeChamp")?.as_str()?;
                    Some((kind, field.get("Valeur")?.as_array()?))
                })
                .flat_map(|(kind, values)| values.iter().map(move |value| (kind, value)))
                .collect(),
        )
    }

    /// The texts under a name in the fields of a kind.
    fn of_kind(&self, kind: &str, name: &str) -> Vec<&'a str> {
        self.0
            .iter()
            .filter(|(field, _)| *field == kind)
            .filter_map(|(_, value)| value.get(name)?.as_str())
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// All texts of a field in one, so that a comment that names the currency stands before the address.
    fn texts(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|(_, value)| {
                let mut texts: Vec<(&String, &str)> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter_map(|(name, text)| Some((name, text.as_str()?)))
                    .collect();
                texts.sort_by_key(|(name, _)| !name.starts_with("Commentaire"));
                let texts: Vec<&str> = texts.into_iter().map(|(_, text)| text).collect();
                texts.join(": ")
            })
            .collect()
    }
}

fn entity(detail: &Value, fields: &Fields<'_>) -> ListedEntity {
    let id = match detail.get("IdRegistre") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    let surname = detail.get("Nom").and_then(Value::as_str).unwrap_or_default();
    let given = fields.of_kind("PRENOM", "Prenom");
    let mut names = Names::default();
    names.add(&joined([given.first().copied(), Some(surname)], " "), "", false);
    for alias in fields.of_kind("ALIAS", "Alias") {
        names.add(alias, "alias", false);
    }
    let (name, aliases) = names.split(&id);
    let basis = fields.of_kind("FONDEMENT_JURIDIQUE", "FondementJuridiqueLabel");
    let references = [
        fields.of_kind("REFERENCE_UE", "ReferenceUe"),
        fields.of_kind("REFERENCE_ONU", "ReferenceOnu"),
    ];
    let number = references.iter().flatten().next().map(|number| (*number).to_owned());
    ListedEntity {
        official_link: (!id.is_empty()).then(|| {
            format!("https://gels-avoirs.dgtresor.gouv.fr/Gels/RegistreDetail?idRegistre={id}")
        }),
        order_number: Some(number.unwrap_or_else(|| format!("registre {id}"))),
        id,
        name,
        aliases,
        programs: basis.iter().map(|basis| (*basis).to_owned()).collect(),
        remarks: Some(fields.of_kind("MOTIFS", "Motifs").join(" | ")),
        listed_on: None,
        legal_basis: Some(basis.join("; ")).filter(|basis| !basis.is_empty()),
        identifiers: Vec::new(),
    }
}
