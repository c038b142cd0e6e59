//! The cells of lists and label sets that state several addresses, or an address among other words.

use super::{CanonicalAddress, ChainId};

/// Length from which a part of a cell that cannot be read counts as an address that should have been read, in
/// characters: the shortest address with a checksum has 26 characters. Shorter parts are words beside the addresses.
pub const SHORTEST_ADDRESS: usize = 25;

/// The parts of a cell that may be addresses, by the test that tells an address: the words between separators, brackets
/// and quotation marks, without the scheme of a payment link (`bitcoin:`) and what follows a question mark. A word that
/// is no address gives its runs of letters and digits that are (`TRC20-T...`, `USDT:0x...`, a link to an explorer).
pub fn published_parts(cell: &str, is_address: impl Fn(&str) -> bool) -> Vec<&str> {
    let separators = |character: char| {
        character.is_whitespace() || ",;|/\\&+()[]{}<>\"'`“”„«»、，；→".contains(character)
    };
    let words =
        cell.split(separators).map(|word| word.trim_matches(['.', ':', '-', '=', '*', '#']));
    let mut parts = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let plain = without_link(word);
        if is_address(plain) {
            parts.push(plain);
            continue;
        }
        let runs = word.split(|character| !CanonicalAddress::may_contain(character));
        let read: Vec<&str> = runs
            .filter(|run| run.chars().count() >= SHORTEST_ADDRESS && is_address(run))
            // Digits behind another chain's prefix are no account.
            .filter(|run| !CanonicalAddress::is_bare_account(run))
            .collect();
        if read.is_empty() && !plain.is_empty() {
            parts.push(plain);
        }
        parts.extend(read);
    }
    parts
}

fn without_link(word: &str) -> &str {
    let address = match word.split_once(':') {
        Some((scheme, rest)) if ChainId::from_list_code(scheme).is_some() => rest,
        _ => word,
    };
    address.split_once('?').map_or(address, |(address, _)| address)
}
