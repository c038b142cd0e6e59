//! Recognizes other texts that people paste into an address field, so that the error can name them.

use std::collections::BTreeSet;

use super::{
    CanonicalAddress, ChainId, base58,
    error::{AddressError, FoundAddresses},
};

/// Length of the shortest part of a text that is searched for an address.
const SHORTEST_PART: usize = 20;
/// Characters that no address contains and that follow addresses.
const SUFFIX_STARTS: &str = "?#&,;|/'\"<>()[]";
/// Longest text after an address that an error repeats.
const LONGEST_SUFFIX: usize = 40;

/// Payload bytes of a private key in wallet import format, without and with the compression mark.
const PRIVATE_KEY_BYTES: [usize; 2] = [33, 34];
const PRIVATE_KEY_VERSIONS: [u8; 2] = [0x80, 0xEF];
/// Payload bytes of a BIP 32 extended key.
const EXTENDED_KEY_BYTES: usize = 78;

/// Describes `text` if it is a well-known text that is not an address, such as a private key.
pub(super) fn describe_other_text(text: &str) -> Option<&'static str> {
    // Kaspa writes its prefix always, TON its workchain.
    let has_own_prefix = ["kaspa", "0:", "-1:"].iter().any(|prefix| text.starts_with(prefix));
    if text.contains(':') && !has_own_prefix {
        return Some("a link, a payment link or prefixed text: submit only an address");
    }
    if text.to_ascii_lowercase().ends_with(".eth") {
        return Some("a name, not an address: resolve it and submit the address");
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return match (digits.len(), digits.get(..2)) {
            (64, _) => Some("32 bytes in hexadecimal: a transaction id or a private key"),
            (66, Some("02" | "03")) | (130, Some("04")) => Some("a public key: submit its address"),
            _ => None,
        };
    }
    let bytes = base58::decode(text).ok()?;
    match (bytes.len(), bytes.first()) {
        (length, Some(version))
            if PRIVATE_KEY_BYTES.contains(&length) && PRIVATE_KEY_VERSIONS.contains(version) =>
        {
            Some("a private key: it was not kept, but treat it as exposed and move its funds")
        }
        (EXTENDED_KEY_BYTES, _) => Some("an extended key: submit an address derived from it"),
        _ => None,
    }
}

/// Describes `text` if it has an address within it: a payment link (`bitcoin:...?amount=1`), a link to a block explorer,
/// an address with a destination tag, a memo or a punctuation mark.
pub(super) fn describe_surroundings(chain: ChainId, text: &str) -> Option<AddressError> {
    let is_address =
        |chain: ChainId, part: &str| CanonicalAddress::parse_plain(chain, part).is_ok();
    let splits = [SUFFIX_STARTS, ":"].map(|starts| before_suffix(text, starts));
    let with_suffix = splits.into_iter().flatten().find(|(part, _)| is_address(chain, part));
    if let Some((address, suffix)) = with_suffix {
        let shown: String = suffix.chars().take(LONGEST_SUFFIX).collect();
        let more = if shown.len() < suffix.len() { "…" } else { "" };
        return Some(AddressError::Surrounded {
            surroundings: format!("`{shown}{more}` follows the address"),
            addresses: FoundAddresses { addresses: vec![address.to_owned()], other_than: None },
        });
    }
    let found = |chain: ChainId| -> Vec<String> {
        let parts: BTreeSet<&str> = parts(text).filter(|part| is_address(chain, part)).collect();
        // Prefer the order of the text.
        let mut parts: Vec<&str> = parts.into_iter().collect();
        parts.sort_by_key(|part| text.find(part));
        parts.into_iter().map(str::to_owned).collect()
    };
    let own = if chain.info().rules.is_ambiguous() { Vec::new() } else { found(chain) };
    let (addresses, other_than) = if own.is_empty() {
        let others = ChainId::all().filter(|other| !other.info().rules.is_ambiguous());
        let foreign = others.map(found).find(|found| !found.is_empty())?;
        (foreign, Some(chain))
    } else {
        (own, None)
    };
    let surroundings = match text.split_once(':') {
        Some((_, rest)) if rest.starts_with("//") => "this is a link".to_owned(),
        Some((scheme, _)) if is_scheme(scheme) => {
            format!("this is a payment link or prefixed text (`{scheme}:`)")
        }
        _ => "there is more than an address".to_owned(),
    };
    let addresses = FoundAddresses { addresses, other_than };
    Some(AddressError::Surrounded { surroundings, addresses })
}

/// Splits a text at the first of some characters, or before its final punctuation marks.
fn before_suffix<'a>(text: &'a str, starts: &str) -> Option<(&'a str, &'a str)> {
    let end = text.find(|letter: char| starts.contains(letter)).unwrap_or(text.len());
    let address = text.get(..end)?.trim_end_matches(['.', ':', '!', '=']);
    let (address, suffix) = text.split_at_checked(address.len())?;
    (!suffix.is_empty()).then_some((address, suffix))
}

/// The parts of a text that may be addresses: of letters and digits, and with the signs of base64 for URLs.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let url_safe =
        text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
    let plain = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    url_safe.chain(plain).filter(move |part| part.len() >= SHORTEST_PART && part.len() < text.len())
}

/// True if a text before a colon is short and readable, such as `bitcoin` or `web+stellar`.
fn is_scheme(text: &str) -> bool {
    text.len() <= LONGEST_SUFFIX
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}
