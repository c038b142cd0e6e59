//! The cells of lists and label sets that state several addresses, or an address among other words.

use super::ChainId;

/// Length from which a part of a cell that cannot be read counts as an address that should have been read, in
/// characters: the shortest address with a checksum has 26 characters. Shorter parts are words beside the addresses.
pub const SHORTEST_ADDRESS: usize = 25;

/// The parts of a cell that may be addresses: without separators, brackets and quotation marks, without the scheme
/// of a payment link (`bitcoin:`), and without what follows a question mark.
#[must_use]
pub fn published_parts(cell: &str) -> Vec<&str> {
    let separators = |character: char| {
        character.is_whitespace() || ",;|/\\&+()[]{}<>\"'`“”„«»".contains(character)
    };
    let words = cell.split(separators).map(|word| word.trim_matches(['.', ':', '-', '=']));
    words.map(without_link).filter(|part| !part.is_empty()).collect()
}

fn without_link(word: &str) -> &str {
    let address = match word.split_once(':') {
        Some((scheme, rest)) if ChainId::from_list_code(scheme).is_some() => rest,
        _ => word,
    };
    address.split_once('?').map_or(address, |(address, _)| address)
}
