//! Limits and functions that the readers of lists in XML share.

use std::io::BufRead;

use assay_engine::names::ListId;

use super::FileError;
use crate::xml::{ElementTree, Elements, XmlError};

/// Largest party in bytes. The largest real party has a few hundred thousand bytes.
const MAX_PARTY_BYTES: usize = 8 * 1024 * 1024;

/// The identifier of a list.
pub(super) fn list_id<R: BufRead>(id: &str, elements: &Elements<R>) -> Result<ListId, XmlError> {
    id.parse().map_err(|_| elements.unexpected(format!("`{id}` is no identifier of a list")))
}

/// Reads the children of the current element one by one, and passes those with one of the `names` to `party`.
pub(super) fn read_elements<R: BufRead>(
    elements: &mut Elements<R>,
    names: &[&str],
    mut party: impl FnMut(&ElementTree) -> Result<(), FileError>,
) -> Result<(), FileError> {
    loop {
        elements.begin_part(MAX_PARTY_BYTES);
        let Some(element) = elements.child()? else { return Ok(()) };
        if names.contains(&element.name()) {
            let tree = elements.tree(&element)?;
            party(&tree)?;
        } else {
            elements.skip()?;
        }
    }
}
