//! An entry of an Advanced XML file: the list that a party is on, the date and the programs.

use std::io::BufRead;

use jiff::civil::Date;

use super::{date, reference::References};
use crate::{
    listings::ofac::{ListEntry, remark},
    xml::{Element, Elements, XmlError},
};

pub(super) fn read<R: BufRead>(
    elements: &mut Elements<R>,
    element: &Element,
    references: &References,
) -> Result<ListEntry, XmlError> {
    let id = elements.required(element, "ListID")?;
    let name = references
        .list(&id)
        .ok_or_else(|| elements.unexpected(format!("list `{id}` is not in the file's vocabulary")))?
        .to_owned();
    let mut listed = ListEntry::from_title(&name)
        .ok_or_else(|| elements.unexpected(format!("list `{name}` has no usable name")))?;
    while let Some(part) = elements.child()? {
        match part.name() {
            "EntryEvent" => {
                let basis = elements.attribute(&part, "LegalBasisID")?.unwrap_or_default();
                listed.rests_on(references.legal_basis(&basis));
                let on = entry_event(elements)?;
                listed.entered(on);
            }
            "SanctionsMeasure" => {
                let kind = elements.required(&part, "SanctionsTypeID")?;
                let comment = measure_comment(elements)?;
                let program = comment.filter(|_| references.is_program(&kind));
                listed.programs.extend(program);
            }
            _ => elements.skip()?,
        }
    }
    listed.programs.sort();
    listed.programs.dedup();
    Ok(listed)
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
