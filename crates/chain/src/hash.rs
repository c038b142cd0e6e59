//! Hashes as text, in display order: most significant byte first, as explorers and nodes write them.

/// Returns a hash in hexadecimal.
pub(crate) fn hash_text(hash: &[u8; 32]) -> String {
    hex::encode(hash)
}

/// Parses a hash in hexadecimal; `None` for any other text.
pub(crate) fn parse_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok()?;
    Some(hash)
}
