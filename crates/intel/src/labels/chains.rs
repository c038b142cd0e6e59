//! The chain that a label set's code for a network or a currency stands for.

use assay_address::{AddressError, AssetScope, CanonicalAddress, ChainId};

use crate::listings::found::case_lost;

/// List codes of the chains that are tried first for a token whose address is no EVM account.
static TOKEN_CHAINS: [&str; 3] = ["TRX", "SOL", "BEP2"];

/// Reason why the address of a label is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LabelAddressError {
    /// Assay does not support the chain, which has this code in the source.
    Unsupported(String),
    /// The text is no address of the chain.
    Invalid(String),
}

impl From<String> for LabelAddressError {
    fn from(reason: String) -> Self {
        Self::Invalid(reason)
    }
}

/// Parses an address on the chain of a network or, if there is none, of a currency.
pub(crate) fn parse_address(
    network: Option<&str>,
    currency: Option<&str>,
    address: &str,
) -> Result<CanonicalAddress, LabelAddressError> {
    let Some(code) = network.or(currency) else {
        return Err(LabelAddressError::Invalid(
            "neither `currency` nor `network` names the chain".into(),
        ));
    };
    if network.is_none() && AssetScope::for_code(code) == AssetScope::EveryValidForm {
        return parse_token_address(&code.to_ascii_uppercase(), address);
    }
    let chain = ChainId::from_list_code(code)
        .ok_or_else(|| LabelAddressError::Unsupported(code.chars().take(64).collect()))?;
    CanonicalAddress::parse_published(chain, address).map_err(|error| {
        let reason = case_lost(address).map_or_else(|| error.to_string(), str::to_owned);
        LabelAddressError::Invalid(format!("no address of {chain}: {reason}"))
    })
}

/// Parses an address of a token that exists on many chains. The form of the address decides the chain.
fn parse_token_address(token: &str, address: &str) -> Result<CanonicalAddress, LabelAddressError> {
    let none = || LabelAddressError::Invalid(format!("{token}, in the form of no supported chain"));
    let accounts = ChainId::from_list_code(if token == "BNB" { "BSC" } else { "ETH" });
    let chains = match CanonicalAddress::parse_published(accounts.ok_or_else(none)?, address) {
        Ok(address) => return Ok(address),
        // The error names the chains on which the form is valid.
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
        match parse_address(network, currency, address) {
            Ok(address) => address.chain().to_string(),
            Err(LabelAddressError::Unsupported(code)) => format!("unsupported {code}"),
            Err(LabelAddressError::Invalid(reason)) => reason,
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
            assert_eq!(ChainId::from_list_code(code).map(ChainId::as_str), Some(id), "{code}");
        }
        assert_eq!(ChainId::from_list_code("KDA"), None);
    }

    #[test]
    fn a_network_wins_over_a_currency() {
        assert_eq!(chain(Some("polygon"), Some("ETH"), ACCOUNT), "polygon");
        assert_eq!(chain(Some("TRX"), Some("USDT"), TRON), "trx");
        assert_eq!(chain(Some("KDA"), Some("BTC"), ACCOUNT), "unsupported KDA");
    }

    #[test]
    fn a_token_is_assigned_to_one_chain_by_the_form_of_the_address() {
        assert_eq!(chain(None, Some("USDT"), ACCOUNT), "eth");
        assert_eq!(chain(None, Some("BNB"), ACCOUNT), "bsc");
        assert_eq!(chain(None, Some("USDC"), TRON), "trx");
        assert_eq!(chain(None, Some("USDC"), "So11111111111111111111111111111111111111112"), "sol");
        assert_eq!(chain(None, Some("USDT"), "1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s"), "btc");
        assert_eq!(
            chain(None, Some("USDT"), "kucoinrise11"),
            "USDT, in the form of no supported chain"
        );
    }

    #[test]
    fn errors_state_the_reason() {
        assert!(chain(None, None, ACCOUNT).starts_with("neither `currency` nor `network`"));
        assert!(chain(None, Some("BTC"), TRON).starts_with("no address of btc: "));
    }
}
