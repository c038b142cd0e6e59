//! Recognizes other texts that people paste into an address field, so that the error can name them.

use super::base58;

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
        return Some("a payment link or prefixed text: submit only the address in it");
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
