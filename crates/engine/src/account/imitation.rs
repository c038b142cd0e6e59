//! Names and symbols of tokens that imitate those of scored assets. Any contract can take any name: an asset is its contract.

use assay_address::{ChainId, letters_as_read};

use super::scored_assets;

/// Names by which issuers call their tokens, beside the ticker. Sources: `name()` of the contracts in the table of scored
/// assets on Ethereum.
const NAMES: [(&str, &str); 14] = [
    ("USDT", "Tether USD"),
    ("USDT", "Tether"),
    ("USDC", "USD Coin"),
    ("DAI", "Dai Stablecoin"),
    ("TUSD", "TrueUSD"),
    ("BUSD", "Binance USD"),
    ("FDUSD", "First Digital USD"),
    ("PYUSD", "PayPal USD"),
    ("WETH", "Wrapped Ether"),
    ("WBTC", "Wrapped BTC"),
    ("WBTC", "Wrapped Bitcoin"),
    ("stETH", "Lido Staked Ether"),
    ("ETH", "Ethereum"),
    ("ETH", "Ether"),
];

/// The ticker of the scored asset of a chain of which a token's name or symbol reads like the name or the ticker: without
/// invisible characters, signs and case, and with characters that look alike as one. `None` for any other text.
#[must_use]
pub fn imitated_ticker(chain: ChainId, text: &str) -> Option<&'static str> {
    let read = letters_as_read(text);
    if read.is_empty() {
        return None;
    }
    let tickers = || scored_assets(chain).map(|asset| asset.ticker);
    let named = NAMES.iter().filter(|(_, name)| letters_as_read(name) == read);
    let by_name = named.map(|(ticker, _)| *ticker).find(|ticker| tickers().any(|it| it == *ticker));
    tickers().find(|ticker| letters_as_read(ticker) == read).or(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_read_like_a_ticker_or_a_name_imitate_it() {
        for (text, expected) in [
            ("USDT", Some("USDT")),
            ("usdt", Some("USDT")),
            ("$USDT", Some("USDT")),
            ("USD\u{20ae}", Some("USDT")),
            ("\u{216e}\u{410}I", Some("DAI")),
            ("US\u{200b}DT", Some("USDT")),
            ("U\u{405}DT", Some("USDT")),
            ("U\u{405}D\u{421}", Some("USDC")),
            ("Tether USD", Some("USDT")),
            ("USD C0in", Some("USDC")),
            ("Ethereu\u{217f}", Some("ETH")),
            ("Ethereu\u{ff4d}", Some("ETH")),
            ("USDC.e", None),
            ("USDT2", None),
            ("visit usdt-gift.example", None),
            ("PEPE", None),
            ("", None),
            ("\u{200b}", None),
        ] {
            assert_eq!(imitated_ticker(ChainId::ETH, text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_ticker_reads_like_itself_only() {
        for chain in ChainId::all() {
            for asset in scored_assets(chain) {
                assert_eq!(imitated_ticker(chain, asset.ticker), Some(asset.ticker), "{chain}");
            }
        }
    }
}
