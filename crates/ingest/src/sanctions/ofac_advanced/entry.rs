//! Where a party is listed: the list, since when, and under which programmes.

use std::io::BufRead;

use assay_engine::names::ListId;
use jiff::civil::Date;

use super::{date, reference::References, remark};
use crate::xml::{Element, Elements, XmlError};

/// A party's place on one list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) list: ListId,
    pub(super) list_name: String,
    pub(super) since: Option<Date>,
    pub(super) programmes: Vec<String>,
}

pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    references: &References,
) -> Result<Listed, XmlError> {
    let id = elements.required(element, "ListID")?;
    let name = references
        .list(&id)
        .ok_or_else(|| elements.unexpected(format!("list `{id}` is not in the file's vocabulary")))?
        .to_owned();
    let list = list_id(&name)
        .ok_or_else(|| elements.unexpected(format!("list `{name}` has no usable name")))?;
    let mut listed =
        Listed { list, list_name: format!("OFAC {name}"), since: None, programmes: Vec::new() };
    while let Some(part) = elements.child()? {
        match part.name() {
            "EntryEvent" => {
                let on = entry_event(elements)?;
                listed.since = [listed.since, on].into_iter().flatten().min();
            }
            "SanctionsMeasure" => {
                let kind = elements.required(&part, "SanctionsTypeID")?;
                let comment = measure_comment(elements)?;
                let programme = comment.filter(|_| references.is_programme(&kind));
                listed.programmes.extend(programme);
            }
            _ => elements.skip()?,
        }
    }
    listed.programmes.sort();
    listed.programmes.dedup();
    Ok(listed)
}

/// `SDN List` becomes `ofac-sdn`, any other list likewise.
fn list_id(name: &str) -> Option<ListId> {
    let name = name.trim().strip_suffix("List").unwrap_or(name).trim().to_ascii_lowercase();
    let words: Vec<&str> = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("ofac-{}", words.join("-")).parse().ok()
}

fn entry_event<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<Date>, XmlError> {
    let mut on = None;
    while let Some(part) = elements.child()? {
        match part.name() {
            "Date" => on = date(elements)?,
            _ => elements.skip()?,
        }
    }
    Ok(on)
}

fn measure_comment<R: BufRead>(elements: &mut Elements<R>) -> Result<Option<String>, XmlError> {
    let mut comment = None;
    while let Some(part) = elements.child()? {
        match part.name() {
            "Comment" => comment = remark(elements)?,
            _ => elements.skip()?,
        }
    }
    Ok(comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_named_after_their_titles() {
        for (title, id) in [
            ("SDN List", "ofac-sdn"),
            ("Consolidated List", "ofac-consolidated"),
            (
                "Non-SDN Palestinian Legislative Council List",
                "ofac-non-sdn-palestinian-legislative-council",
            ),
        ] {
            assert_eq!(list_id(title).unwrap().as_str(), id);
        }
        assert!(list_id("— List").is_none());
    }
}
