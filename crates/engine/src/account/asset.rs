//! Assets of account chains.

use std::{fmt, str::FromStr};

use assay_address::{CanonicalAddress, ChainId};

use super::AccountAddress;

/// An asset within one chain. A ticker never identifies an asset: anybody can deploy a token with any ticker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asset {
    /// The chain's coin.
    Native,
    /// A token, by its contract.
    Token(AccountAddress),
    /// A token of TRON without a contract (TRC-10), by its number.
    Numbered(u32),
}

impl Asset {
    /// Parses an asset as it is written within one chain: `native`, the address of a contract, or the number of a
    /// TRC-10 token.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is none of them, or if the chain has no such assets.
    pub fn parse(chain: ChainId, text: &str) -> Result<Self, InvalidAsset> {
        if text == NATIVE {
            return Ok(Self::Native);
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && chain == ChainId::TRX {
            let number = text
                .parse()
                .map_err(|_| InvalidAsset::new(chain, text, "a number is too large"))?;
            return Ok(Self::Numbered(number));
        }
        let contract = CanonicalAddress::parse(chain, text);
        let contract =
            contract.map_err(|error| InvalidAsset::new(chain, text, &error.to_string()))?;
        AccountAddress::of(&contract)
            .map(Self::Token)
            .ok_or_else(|| InvalidAsset::new(chain, text, "the chain has no contracts"))
    }

    /// The asset as it is written within one chain.
    #[must_use]
    pub fn text(self, chain: ChainId) -> String {
        match self {
            Self::Native => NATIVE.to_owned(),
            Self::Token(contract) => match contract.on(chain) {
                Some(address) => address.as_str().to_owned(),
                None => contract.to_string(),
            },
            Self::Numbered(number) => number.to_string(),
        }
    }
}

/// The text of a chain's coin.
const NATIVE: &str = "native";

/// An asset with its chain, written `eth/native` or `eth/0x...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetId {
    /// The chain.
    pub chain: ChainId,
    /// The asset within the chain.
    pub asset: Asset,
}

impl AssetId {
    /// The coin of a chain.
    #[must_use]
    pub const fn native(chain: ChainId) -> Self {
        Self { chain, asset: Asset::Native }
    }
}

impl fmt::Display for AssetId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.chain, self.asset.text(self.chain))
    }
}

impl FromStr for AssetId {
    type Err = InvalidAsset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = |cause: &str| InvalidAsset { text: shortened(text), cause: cause.to_owned() };
        let (chain, asset) = text.split_once('/').ok_or_else(|| unknown("no chain before `/`"))?;
        let chain: ChainId = chain.parse().map_err(|_| unknown("the chain is not known"))?;
        Ok(Self { chain, asset: Asset::parse(chain, asset)? })
    }
}

/// A text that names no asset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no asset: {cause}; write `native` or the address of the token's contract, with the chain before it where \
     several are possible (`eth/native`, `eth/0x...`)"
)]
pub struct InvalidAsset {
    text: String,
    cause: String,
}

impl InvalidAsset {
    fn new(chain: ChainId, text: &str, cause: &str) -> Self {
        Self { text: shortened(text), cause: format!("on {chain}, {cause}") }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_written_and_read_back() {
        for text in [
            "eth/native",
            "btc/native",
            "eth/0xdAC17F958D2ee523a2206206994597C13D831ec7",
            "trx/TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
            "trx/1000001",
        ] {
            let asset: AssetId = text.parse().expect(text);
            assert_eq!(asset.to_string(), text);
        }
    }

    #[test]
    fn tickers_and_addresses_of_other_chains_are_refused() {
        for text in [
            "eth/USDT",
            "USDT",
            "eth/1000001",
            "eth/",
            "nochain/native",
            "trx/99999999999",
            "eth/TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
        ] {
            let error = text.parse::<AssetId>().expect_err(text).to_string();
            assert!(error.contains("is no asset") && error.contains("eth/native"), "{error}");
        }
    }
}
