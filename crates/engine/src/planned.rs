//! A withdrawal before it is sent, as the subject of an assessment: its receiver decides, and so do rules by the amount
//! that is about to go to the receiver's party.

use assay_address::{CanonicalAddress, ChainId, LedgerKind, Resemblance};
use jiff::Timestamp;

use crate::{
    account::{Asset, AssetId, InvalidAsset, scored_asset, scored_assets},
    facts::Facts,
    trace::AttributedEnd,
};

/// Most characters of an asset on a chain whose tokens are not known here.
const LONGEST_ASSET: usize = 128;

/// A withdrawal that is not sent yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlannedWithdrawal {
    /// The receiver.
    pub to: CanonicalAddress,
    /// The sender, if the caller named one: an address of the receiver's chain.
    pub from: Option<CanonicalAddress>,
    /// The asset.
    pub asset: PlannedAsset,
    /// Amount in base units of the asset, above zero.
    pub amount: u128,
}

/// Asset of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlannedAsset {
    /// The asset as answers write it: `native`, the address of the token's contract, or the number of a TRC-10 token.
    pub text: String,
    /// Ticker, decimals and identifier; `None` for a token that is not known here.
    pub known: Option<KnownAsset>,
}

/// Properties of an asset that decide which rules by amount apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownAsset {
    /// Ticker, which is the unit of amounts.
    pub ticker: &'static str,
    /// Decimals: one unit has 10 to this power base units.
    pub decimals: u8,
    /// Identifier, by which prices are known.
    pub id: AssetId,
}

impl PlannedAsset {
    /// Parses the asset of a withdrawal on a chain: `native` or the code of the coin, and on account chains the address
    /// of the token's contract, the number of a TRC-10 token, or the ticker of a scored token that one contract has. On
    /// chains whose tokens are not known here, any other text of at most 128 characters names a token.
    ///
    /// # Errors
    ///
    /// Returns an error if the text names no asset of the chain, or the ticker of several.
    pub fn parse(chain: ChainId, text: &str) -> Result<Self, InvalidPlannedAsset> {
        let info = chain.info();
        let coin = info.native();
        let is_coin = !coin.code.is_empty() && text.eq_ignore_ascii_case(coin.code);
        if text == NATIVE || is_coin {
            let id = AssetId::native(chain);
            let known = KnownAsset { ticker: coin.code, decimals: coin.decimals, id };
            let known = (!coin.code.is_empty()).then_some(known);
            return Ok(Self { text: NATIVE.to_owned(), known });
        }
        match info.ledger {
            LedgerKind::Utxo(_) => {
                Err(InvalidPlannedAsset::OnlyCoin { chain, coin: coin.code, text: shortened(text) })
            }
            LedgerKind::Account => Self::of_account_chain(chain, text),
            LedgerKind::ListsOnly => {
                let length = text.chars().count();
                if text.trim().is_empty() || length > LONGEST_ASSET {
                    return Err(InvalidPlannedAsset::Length { length });
                }
                Ok(Self { text: text.to_owned(), known: None })
            }
        }
    }

    fn of_account_chain(chain: ChainId, text: &str) -> Result<Self, InvalidPlannedAsset> {
        let named = |ticker: &&str| ticker.eq_ignore_ascii_case(text);
        let mut tokens = scored_assets(chain).filter(|asset| named(&asset.ticker));
        let asset = match (tokens.next(), tokens.next()) {
            (Some(token), None) => token.id.asset,
            (Some(one), Some(other)) => {
                let contract = |asset: Asset| asset.text(chain);
                return Err(InvalidPlannedAsset::Ambiguous {
                    ticker: one.ticker,
                    chain,
                    one: contract(one.id.asset),
                    other: contract(other.id.asset),
                });
            }
            (None, _) => Asset::parse(chain, text)?,
        };
        let id = AssetId { chain, asset };
        let known = scored_asset(id).map(|scored| KnownAsset {
            ticker: scored.ticker,
            decimals: scored.decimals,
            id,
        });
        Ok(Self { text: asset.text(chain), known })
    }

    /// Returns the asset as amounts name it: the ticker, or the text of a token that is not known here.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.known.map_or(&*self.text, |known| known.ticker)
    }
}

/// The text of a chain's coin.
const NATIVE: &str = "native";

/// A text that names no asset of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlannedAsset {
    /// A chain of outputs has only its coin.
    #[error("`{text}` is no asset of {chain}: write `native` or `{coin}`")]
    OnlyCoin {
        /// The chain.
        chain: ChainId,
        /// Code of its coin.
        coin: &'static str,
        /// The text.
        text: String,
    },
    /// Several tokens of the chain have the ticker.
    #[error(
        "several contracts on {chain} are {ticker}, such as {one} and {other}: write the contract's address"
    )]
    Ambiguous {
        /// The ticker.
        ticker: &'static str,
        /// The chain.
        chain: ChainId,
        /// A contract.
        one: String,
        /// Another contract.
        other: String,
    },
    /// No contract or number of the chain.
    #[error(transparent)]
    Invalid(#[from] InvalidAsset),
    /// Too long, or empty.
    #[error("has {length} characters: 1 to 128 that are not all spaces are allowed")]
    Length {
        /// Number of characters.
        length: usize,
    },
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The facts about a withdrawal that is not sent yet.
#[derive(Clone, Debug)]
pub struct PlannedFacts {
    /// The withdrawal.
    pub withdrawal: PlannedWithdrawal,
    /// The facts about the receiver.
    pub receiver: Facts,
    /// Attribution of the sender.
    pub sender: Option<AttributedEnd>,
    /// Receivers that the caller's tenant checked before and that look like this one.
    pub earlier_receivers: EarlierReceivers,
}

/// Result of the search for receivers that the caller's tenant checked before and that look like a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum EarlierReceivers {
    /// The search is not possible: no receivers are kept for the caller.
    #[default]
    NotKept,
    /// The receivers could not be read.
    Unreadable,
    /// The receivers that look like it, the first checked first.
    Found(Vec<EarlierReceiver>),
}

/// A receiver that the caller's tenant checked before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EarlierReceiver {
    /// Its address in canonical form.
    pub address: CanonicalAddress,
    /// Time of its first check as a receiver.
    pub first_checked_at: Timestamp,
    /// Way in which it looks like the receiver.
    pub by: Resemblance,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asset(chain: &str, text: &str) -> Result<(String, Option<&'static str>), String> {
        let parsed = PlannedAsset::parse(chain.parse().unwrap(), text);
        let parsed = parsed.map_err(|error| error.to_string())?;
        Ok((parsed.text, parsed.known.map(|known| known.ticker)))
    }

    #[test]
    fn a_coin_is_named_by_its_code_and_a_token_by_its_contract_or_ticker() {
        let native = |ticker| Ok(("native".to_owned(), Some(ticker)));
        assert_eq!(asset("btc", "native"), native("BTC"));
        assert_eq!(asset("btc", "btc"), native("BTC"));
        assert_eq!(asset("polygon", "POL"), native("POL"));
        let tether = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
        for text in [tether, &tether.to_lowercase(), "USDT", "usdt"] {
            assert_eq!(asset("eth", text), Ok((tether.to_owned(), Some("USDT"))), "{text}");
        }
        let unknown = "0x52908400098527886E0F7030069857D2E4169EE7";
        assert_eq!(asset("eth", unknown), Ok((unknown.to_owned(), None)));
        assert_eq!(asset("trx", "1000001"), Ok(("1000001".to_owned(), None)));
        assert_eq!(asset("sol", "USDC"), Ok(("USDC".to_owned(), None)), "tokens are not known");
    }

    #[test]
    fn what_names_no_asset_is_refused_with_what_would() {
        for (chain, text, part) in [
            ("btc", "USDT", "write `native` or `BTC`"),
            ("optimism", "USDT", "several contracts on optimism are USDT"),
            ("eth", "SHIB", "is no asset"),
            ("eth", "", "is no asset"),
            ("sol", "", "has 0 characters"),
            ("sol", &"x".repeat(129), "has 129 characters"),
        ] {
            let error = asset(chain, text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
