//! Which chain a label set's own code for a network or currency means.

use assay_engine::{
    address::{AddressError, CanonicalAddress},
    chain::{AssetScope, ChainId},
};

/// Codes of label sets that name a standard of tokens where they mean its chain.
static STANDARDS: [(&str, &str); 3] = [("ERC20", "ETH"), ("TRC20", "TRX"), ("BEP20", "BSC")];
/// Chains on which tokens are looked for first, beside that of EVM accounts, by list code.
static TOKEN_CHAINS: [&str; 3] = ["TRX", "SOL", "BEP2"];

/// Why an address has no place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// It is on a chain that Assay does not read; the source's code for it.
    Unsupported(String),
    /// It is no address there.
    Invalid(String),
}

impl From<String> for Misplaced {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

/// The chain that `code` names: by a code of sanctions lists, a token standard, or an identifier or
/// alias in any case.
pub(super) fn named(code: &str) -> Option<ChainId> {
    let upper = code.to_ascii_uppercase();
    let standard = STANDARDS.iter().find(|(standard, _)| *standard == upper);
    let list_code = standard.map_or(upper.as_str(), |(_, list_code)| *list_code);
    ChainId::from_list_code(list_code).or_else(|| code.parse().ok())
}

/// Reads an address whose chain is given by a network, which decides, or by a currency.
pub(super) fn place(
    network: Option<&str>,
    currency: Option<&str>,
    address: &str,
) -> Result<CanonicalAddress, Misplaced> {
    let Some(code) = network.or(currency) else {
        return Err(Misplaced::Invalid("neither `currency` nor `network` says the chain".into()));
    };
    let token = code.to_ascii_uppercase();
    if network.is_none() && AssetScope::of(&token) == AssetScope::EveryValidForm {
        return place_token(&token, address);
    }
    let chain =
        named(code).ok_or_else(|| Misplaced::Unsupported(code.chars().take(64).collect()))?;
    CanonicalAddress::parse_published(chain, address)
        .map_err(|error| Misplaced::Invalid(format!("no address of {chain}: {error}")))
}

/// A token lives on many chains; a label is about one address, so its form decides for one of them.
fn place_token(token: &str, address: &str) -> Result<CanonicalAddress, Misplaced> {
    let none = || Misplaced::Invalid(format!("{token}, in the form of no chain that Assay reads"));
    let accounts = ChainId::from_list_code(if token == "BNB" { "BSC" } else { "ETH" });
    let chains = match CanonicalAddress::parse_published(accounts.ok_or_else(none)?, address) {
        Ok(address) => return Ok(address),
        // Trying every chain here would have each of them try every other one.
        Err(AddressError::OtherChain { chains }) => chains,
        Err(_) => return Err(none()),
    };
    let mut likely = TOKEN_CHAINS.iter().filter_map(|code| ChainId::from_list_code(code));
    let chain = likely.find(|chain| chains.contains(chain)).or(chains.first().copied());
    CanonicalAddress::parse_published(chain.ok_or_else(none)?, address).map_err(|_| none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96";
    const TRON: &str = "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq";

    fn chain(network: Option<&str>, currency: Option<&str>, address: &str) -> String {
        match place(network, currency, address) {
            Ok(address) => address.chain().to_string(),
            Err(Misplaced::Unsupported(code)) => format!("unsupported {code}"),
            Err(Misplaced::Invalid(reason)) => reason,
        }
    }

    #[test]
    fn codes_standards_and_aliases_name_chains_in_any_case() {
        for (code, id) in [
            ("BTC", "btc"),
            ("xbt", "btc"),
            ("BEP20", "bsc"),
            ("bep2", "bep2"),
            ("Ripple", "xrp"),
            ("MATIC", "polygon"),
            ("FTM", "fantom"),
        ] {
            assert_eq!(named(code).map(ChainId::as_str), Some(id), "{code}");
        }
        assert_eq!(named("ADA"), None);
    }

    #[test]
    fn a_network_wins_over_a_currency() {
        assert_eq!(chain(Some("polygon"), Some("ETH"), ACCOUNT), "polygon");
        assert_eq!(chain(Some("TRX"), Some("USDT"), TRON), "trx");
        assert_eq!(chain(Some("ADA"), Some("BTC"), ACCOUNT), "unsupported ADA");
    }

    #[test]
    fn a_token_goes_to_one_chain_by_the_form_of_the_address() {
        assert_eq!(chain(None, Some("USDT"), ACCOUNT), "eth");
        assert_eq!(chain(None, Some("BNB"), ACCOUNT), "bsc");
        assert_eq!(chain(None, Some("USDC"), TRON), "trx");
        assert_eq!(chain(None, Some("USDC"), "So11111111111111111111111111111111111111112"), "sol");
        assert_eq!(chain(None, Some("USDT"), "1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s"), "btc");
        assert_eq!(
            chain(None, Some("USDT"), "kucoinrise11"),
            "USDT, in the form of no chain that Assay reads"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(chain(None, None, ACCOUNT).starts_with("neither `currency` nor `network`"));
        assert!(chain(None, Some("BTC"), TRON).starts_with("no address of btc: "));
    }
}
