//! The documents of an Advanced XML file that identify parties. They stand before the parties.

use std::{collections::HashMap, io::BufRead};

use super::reference::References;
use crate::{
    listings::{MAX_KEPT_BYTES, ofac::identifier},
    xml::{Element, Elements, XmlError},
};

/// Documents by the identity that they are of.
#[derive(Default)]
pub(super) struct IdentityDocuments {
    by_identity: HashMap<String, Vec<String>>,
    /// Size of the texts that are kept, in bytes.
    bytes: usize,
}

impl IdentityDocuments {
    /// Reads a document.
    pub(super) fn read<R: BufRead>(
        &mut self,
        elements: &mut Elements<R>,
        element: &Element,
        references: &References,
    ) -> Result<(), XmlError> {
        let identity = elements.attribute(element, "IdentityID")?;
        let kind = elements.attribute(element, "IDRegDocTypeID")?.unwrap_or_default();
        let mut number = String::new();
        while let Some(part) = elements.child()? {
            match part.name() {
                "IDRegistrationNo" => number = elements.text()?,
                _ => elements.skip()?,
            }
        }
        let text = identifier(references.document_type(&kind), &number);
        if let Some((identity, text)) = identity.zip(text) {
            self.bytes += identity.len() + text.len();
            if self.bytes > MAX_KEPT_BYTES {
                return Err(elements.unexpected(format!(
                    "documents hold more than {MAX_KEPT_BYTES} bytes: no real list does"
                )));
            }
            self.by_identity.entry(identity).or_default().push(text);
        }
        Ok(())
    }

    /// The documents of an identity, in the order of the file.
    pub(super) fn of(&self, identity: &str) -> &[String] {
        self.by_identity.get(identity).map(Vec::as_slice).unwrap_or_default()
    }
}
