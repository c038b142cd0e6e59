//! Parameters of a search of checks.

use std::collections::BTreeSet;

use assay_address::{CanonicalAddress, ChainId};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    chain::parse_chain,
    check::parse_address,
    problem::{Code, Problem},
};

/// Longest cursor in characters.
const LONGEST_CURSOR: usize = 200;

/// The blockchain and the canonical form of the address that a search names.
///
/// Without a blockchain, a text with one canonical form on all chains stands for this form, and any other text for
/// itself.
///
/// # Errors
///
/// Returns a problem for an unknown blockchain, and for a text that is no address of the blockchain.
pub fn subject(
    blockchain: Option<&str>,
    address: Option<&str>,
) -> Result<(Option<ChainId>, Option<String>), Problem> {
    let chain = blockchain.map(parse_chain).transpose()?;
    let Some(address) = address else { return Ok((chain, None)) };
    if let Some(chain) = chain {
        let address = parse_address(chain, address)?;
        return Ok((Some(chain), Some(address.as_str().to_owned())));
    }
    // On the chain without rules, any text is an address.
    let chains = ChainId::all().filter(|chain| *chain != ChainId::OTHER);
    let forms: BTreeSet<String> = chains
        .filter_map(|chain| CanonicalAddress::parse(chain, address).ok())
        .map(|address| address.as_str().to_owned())
        .collect();
    let only = forms.first().filter(|_| forms.len() == 1);
    Ok((None, Some(only.map_or(address, String::as_str).to_owned())))
}

/// Position of a check, as the cursor of a page carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Time of the check, in milliseconds since 1970.
    pub made_at: i64,
    /// The check's identifier.
    pub id: String,
}

impl Cursor {
    /// The cursor as a text that callers send back as it is.
    #[must_use]
    pub fn text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{} {}", self.made_at, self.id))
    }

    /// Reads a cursor.
    ///
    /// # Errors
    ///
    /// Returns a problem if the text is no cursor of this API.
    pub fn read(text: &str) -> Result<Self, Problem> {
        Self::parse(text).ok_or_else(|| {
            let message = "not a cursor: send `next_cursor` of the page before, unchanged";
            Problem::new(Code::InvalidRequest, message).field("cursor", message)
        })
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_CURSOR {
            return None;
        }
        let decoded = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let (made_at, id) = decoded.split_once(' ')?;
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
        is_id.then_some(Self { made_at: made_at.parse().ok()?, id: id.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

    fn address(blockchain: Option<&str>, address: &str) -> Result<String, Problem> {
        subject(blockchain, Some(address)).map(|(_, address)| address.unwrap())
    }

    #[test]
    fn an_address_is_found_in_any_form_that_its_chain_allows() {
        let checksummed = "0x931546D9e66836AbF687d2bc64B30407bAc8C568";
        for chain in [None, Some("eth"), Some("Ethereum")] {
            assert_eq!(address(chain, &checksummed.to_lowercase()).unwrap(), checksummed);
        }
        assert_eq!(address(Some("btc"), GENESIS).unwrap(), GENESIS);
    }

    #[test]
    fn an_address_without_a_chain_is_the_one_that_answers_show() {
        assert_eq!(address(None, GENESIS).unwrap(), GENESIS, "not its form on Bitcoin Cash");
        assert_ne!(address(Some("bch"), GENESIS).unwrap(), GENESIS);
    }

    #[test]
    fn a_text_that_is_no_address_is_refused() {
        for (chain, text) in [("btc", "0x1"), ("nowhere", GENESIS)] {
            let problem = address(Some(chain), text).unwrap_err().details("/", "");
            assert_eq!(problem.status, 422, "{chain} {text}");
        }
        assert_eq!(address(None, "nobody!").unwrap(), "nobody!", "such as one of `other`");
        assert_eq!(subject(None, None).unwrap(), (None, None));
    }

    #[test]
    fn a_cursor_reads_back_and_anything_else_is_refused() {
        let cursor = Cursor { made_at: 1_770_812_415_123, id: "019a1b2c-3d4e".into() };
        assert_eq!(Cursor::read(&cursor.text()).unwrap(), cursor);
        let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        for text in
            ["", "x", "%", &encoded("1 "), &encoded("1 a\0"), &encoded("x 1"), &"a".repeat(999)]
        {
            assert!(Cursor::read(text).is_err(), "{text}");
        }
    }
}
