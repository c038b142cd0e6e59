//! Addresses that were parsed lately: a repeated check computes no checksum again.

use std::fmt;

use assay_request::{
    check::{AddressSubject, CheckRequest, require_reference},
    problem::Problem,
};
use quick_cache::sync::Cache;

/// Number of addresses in memory, each with less than a kilobyte.
const MOST: usize = 4_096;
/// Size in bytes of the longest texts in memory: of chain and address together.
const LONGEST: usize = 192;

/// Addresses by the texts of requests.
pub(crate) struct ParsedAddresses(Cache<String, AddressSubject>);

impl Default for ParsedAddresses {
    fn default() -> Self {
        Self(Cache::new(MOST))
    }
}

impl ParsedAddresses {
    /// Returns the subject of a request as [`CheckRequest::subject`] does.
    ///
    /// # Errors
    ///
    /// Returns the problem of [`CheckRequest::subject`].
    pub(crate) fn subject(&self, request: &CheckRequest) -> Result<AddressSubject, Problem> {
        let CheckRequest { blockchain, address, reference, .. } = request;
        // The length tells where the second text begins.
        let (length, bytes) = (u8::try_from(blockchain.len()), blockchain.len() + address.len());
        let Some(length) = length.ok().filter(|_| bytes <= LONGEST) else {
            return request.subject();
        };
        let mut text = String::with_capacity(bytes + char::from(length).len_utf8());
        text.push(char::from(length));
        text.extend([&**blockchain, &**address]);
        if let Some(subject) = self.0.get(&text) {
            require_reference(reference.as_deref())?;
            return Ok(subject);
        }
        let subject = request.subject()?;
        self.0.insert(text, subject.clone());
        Ok(subject)
    }
}

impl fmt::Debug for ParsedAddresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ParsedAddresses").field("count", &self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(blockchain: &str, address: &str, reference: Option<String>) -> CheckRequest {
        let (blockchain, address) = (blockchain.to_owned(), address.to_owned());
        CheckRequest { blockchain, address, reference, direction: None }
    }

    #[test]
    fn an_address_is_parsed_as_without_memory() {
        let parsed = ParsedAddresses::default();
        let (first, other) =
            ("0x00000000219ab540356cbb839cbe05303d7705fa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        let long = "1".repeat(LONGEST);
        let texts =
            [("eth", first), ("evm", first), ("bsc", first), ("btc", other), ("ETH", first)];
        let wrong =
            [("btc", first), ("eth", other), ("no", first), ("eth 0", first), ("btc", &*long)];
        for (blockchain, address) in [texts, wrong].concat() {
            for _ in 0..3 {
                let asked = request(blockchain, address, None);
                assert_eq!(parsed.subject(&asked).ok(), asked.subject().ok(), "{asked:?}");
            }
        }
        assert_eq!(parsed.0.len(), texts.len(), "wrong ones are not remembered");
        // A reference that is too long is refused also of a known address.
        assert!(parsed.subject(&request("eth", first, Some("a".repeat(129)))).is_err());
    }

    #[test]
    fn the_memory_is_bounded() {
        let parsed = ParsedAddresses::default();
        for number in 0..3 * MOST {
            let asked = request("eth", &format!("0x{number:040x}"), None);
            assert!(parsed.subject(&asked).is_ok());
        }
        assert!(parsed.0.len() <= MOST, "{}", parsed.0.len());
    }
}
