//! The meaning of a text in the search field.

use assay_address::{CanonicalAddress, ChainId};
use uuid::Uuid;

/// Longest text that is read, in characters.
pub(crate) const LONGEST: usize = 300;

/// Meaning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchTarget {
    /// Nothing, or white space.
    Nothing,
    /// Identifier of a check.
    Check(String),
    /// Identifier of a transaction, in lower case with its `0x`, if it has one.
    Transaction(String),
    /// An address: on the likeliest chain, and on the others of which it can be one.
    Address {
        /// The likeliest.
        likeliest: CanonicalAddress,
        /// The other chains.
        others: Vec<ChainId>,
    },
    /// Any other text: a reference or a name.
    Words {
        /// The text.
        text: String,
        /// Addresses that the text can be, on chains on which nearly any text is one.
        addresses: Vec<CanonicalAddress>,
    },
}

/// Recognizes a text. A form of address that only some chains have decides before forms that any text has.
pub(crate) fn recognize(text: &str) -> SearchTarget {
    let text: String = text.trim().chars().take(LONGEST).collect();
    if text.is_empty() {
        return SearchTarget::Nothing;
    }
    if let Ok(id) = Uuid::try_parse(&text) {
        return SearchTarget::Check(id.to_string());
    }
    if is_transaction(&text) {
        return SearchTarget::Transaction(text.to_lowercase());
    }
    let mut found = possible(&text, false).into_iter();
    match found.next() {
        Some(likeliest) => {
            let others = found.map(|address| address.chain()).collect();
            SearchTarget::Address { likeliest, others }
        }
        None => SearchTarget::Words { addresses: possible(&text, true), text },
    }
}

/// True for 64 hexadecimal digits, with or without `0x`.
fn is_transaction(text: &str) -> bool {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the other chains of which the text of an address can be an address.
pub(crate) fn others(address: &CanonicalAddress) -> Vec<ChainId> {
    let is_ambiguous = address.chain().info().rules.is_ambiguous();
    let found = possible(address.as_str(), is_ambiguous).into_iter().map(|found| found.chain());
    found.filter(|chain| *chain != address.chain()).collect()
}

/// Returns the addresses that a text can be, in the order of the documentation: on chains on which nearly any text is an
/// address, or on those whose forms are distinctive.
fn possible(text: &str, is_ambiguous: bool) -> Vec<CanonicalAddress> {
    let chains = ChainId::all().filter(|chain| *chain != ChainId::OTHER);
    let chains = chains.filter(|chain| chain.info().rules.is_ambiguous() == is_ambiguous);
    chains.filter_map(|chain| CanonicalAddress::parse(chain, text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_recognized_by_its_form() {
        let bitcoin = recognize(" 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa ");
        let SearchTarget::Address { likeliest, others } = bitcoin else { panic!("{bitcoin:?}") };
        assert_eq!(likeliest.chain(), ChainId::BTC);
        assert!(others.contains(&"bch".parse().unwrap()), "{others:?}");

        let account = recognize("0x8589427373d6d84e98730d7795d8f6f8731fda16");
        let SearchTarget::Address { likeliest, others } = account else { panic!("{account:?}") };
        assert_eq!(likeliest.chain(), ChainId::ETH);
        assert!(others.len() > 40 && !others.contains(&ChainId::ETH));
    }

    #[test]
    fn other_texts_are_checks_or_words() {
        assert_eq!(recognize("  "), SearchTarget::Nothing);
        let id = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b";
        assert_eq!(recognize(&id.to_uppercase()), SearchTarget::Check(id.to_owned()));
        let transaction = "AB".repeat(32);
        for text in [transaction.clone(), format!("0x{transaction}")] {
            assert_eq!(recognize(&text), SearchTarget::Transaction(text.to_lowercase()));
        }
        let words = |text: &str| match recognize(text) {
            SearchTarget::Words { text, addresses } => (text, addresses.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(words("order 4711"), ("order 4711".to_owned(), 0));
        let (text, addresses) = words("lantern");
        assert!(text == "lantern" && addresses > 0, "{addresses}");
        assert_eq!(words(&"x ".repeat(1_000)).0.chars().count(), LONGEST);
    }
}
