//! Format `defillama-json`: prices of `DefiLlama`'s price API, as its paths `/prices/current`, `/prices/historical` and
//! `/chart` answer them.
//!
//! One object `coins` holds an object for each coin: with `price` and `timestamp`, or with `prices`, an array of both.
//! A coin is `coingecko:NAME` for the coin of one or several chains, or `CHAIN:CONTRACT` for a token. Of several prices
//! of a day the latest counts. A price without a known coin refuses the file.

use std::{borrow::Cow, collections::BTreeMap, io::Read};

use assay_address::ChainId;
use assay_engine::account::{Asset, AssetId};
use assay_input::FileSelection;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Deserialize;

use super::{FileError, Format, FormatReader};
use crate::{
    labels::text::{MAX_HELD_BYTES, json_reason, read_whole},
    prices::{PriceCollector, PriceColumn, PriceRow, PriceSet},
};

/// Prices of `DefiLlama`'s API.
pub static FORMAT: Format = Format {
    id: "defillama-json",
    short_id: Some("defillama"),
    title: "Prices of DefiLlama's API, JSON",
    files: FileSelection { extensions: &["json"], several: true },
    options: &[],
    default_source: Some("defillama"),
    terms: None,
    reader: FormatReader::Prices(|input, context| {
        let mut collector = PriceCollector::new(context.published_on);
        let () = input.read_each(|file| read(file.content, file.name, &mut collector))?;
        Ok::<PriceSet, _>(collector.finish())
    }),
};

/// Names of coins, each with its code.
const COINS: [(&str, &str); 14] = [
    ("bitcoin", "BTC"),
    ("ethereum", "ETH"),
    ("tron", "TRX"),
    ("binancecoin", "BNB"),
    ("polygon-ecosystem-token", "POL"),
    ("avalanche-2", "AVAX"),
    ("celo", "CELO"),
    ("xdai", "XDAI"),
    ("litecoin", "LTC"),
    ("bitcoin-cash", "BCH"),
    ("bitcoin-cash-sv", "BSV"),
    ("dogecoin", "DOGE"),
    ("dash", "DASH"),
    ("zcash", "ZEC"),
];

#[derive(Deserialize)]
struct Answer {
    coins: BTreeMap<String, CoinPrices>,
}

/// Prices of a coin: one, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum CoinPrices {
    Series { prices: Vec<Price> },
    One(Price),
}

#[derive(Clone, Copy, Deserialize)]
struct Price {
    /// Seconds since 1970.
    timestamp: i64,
    /// US dollars.
    price: f64,
}

/// Reads a file.
fn read(input: impl Read, name: &str, collector: &mut PriceCollector) -> Result<(), FileError> {
    let text = read_whole(input, MAX_HELD_BYTES, None)?;
    let answer: Answer = serde_json::from_str(&text).map_err(|error| FileError::Syntax {
        line: u64::try_from(error.line()).unwrap_or(1),
        format: "DefiLlama's prices in JSON",
        reason: json_reason(&error),
    })?;
    collector.begin_file(name);
    for (coin, prices) in answer.coins {
        let assets = assets(&coin).ok_or_else(|| unknown(&coin))?;
        for (day, price) in by_day(&prices) {
            for asset in &assets {
                let mut row = PriceRow::default();
                let texts = [
                    (PriceColumn::Asset, asset.to_string()),
                    (PriceColumn::Day, day.to_string()),
                    // The text of a number has no exponent.
                    (PriceColumn::Usd, price.to_string()),
                ];
                for (column, text) in texts {
                    row.set(column, Cow::Owned(text));
                }
                collector.add(1, &row)?;
            }
        }
    }
    Ok(())
}

/// The latest price of each day.
fn by_day(coin: &CoinPrices) -> BTreeMap<Date, f64> {
    let mut prices = match coin {
        CoinPrices::Series { prices } => prices.clone(),
        CoinPrices::One(price) => vec![*price],
    };
    prices.sort_by_key(|price| price.timestamp);
    let of_day = prices.into_iter().filter_map(|price| {
        let time = Timestamp::from_second(price.timestamp).ok()?;
        Some((time.to_zoned(TimeZone::UTC).date(), price.price))
    });
    of_day.collect()
}

/// The assets of a coin: the native one of each chain with that code, or a token. `None` for a coin that is not known.
fn assets(coin: &str) -> Option<Vec<AssetId>> {
    let (chain, name) = coin.split_once(':')?;
    if chain == "coingecko" {
        let (_, code) = COINS.iter().find(|(known, _)| *known == name)?;
        let chains = ChainId::all().filter(|chain| chain.info().native().code == *code);
        return Some(chains.map(AssetId::native).collect());
    }
    let chain: ChainId = chain.parse().ok()?;
    Some(vec![AssetId { chain, asset: Asset::parse(chain, name).ok()? }])
}

fn unknown(coin: &str) -> FileError {
    let short: String = coin.chars().take(80).collect();
    let names = COINS.map(|(name, _)| name).join(", ");
    let problem = format!(
        "`{short}` is no coin that is known: write coingecko:NAME, with a name of {names}, or CHAIN:CONTRACT"
    );
    FileError::Cell { line: 1, column: "coins", problem }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn rows(text: &str) -> Result<Vec<String>, String> {
        let mut collector = PriceCollector::new(date(2026, 11, 28));
        read(text.as_bytes(), "prices.json", &mut collector).map_err(|error| error.to_string())?;
        let rows = collector.finish().prices.into_iter();
        Ok(rows.map(|(asset, day, price)| format!("{asset} {day} {price}")).collect())
    }

    #[test]
    fn current_prices_are_those_of_their_day() {
        let text = r#"{"coins":{"coingecko:tron":{"price":0.27431,"symbol":"TRX","timestamp":1764287940,"confidence":0.99},
            "ethereum:0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599":{"decimals":8,"price":91000.25,"symbol":"WBTC","timestamp":1764287940}}}"#;
        assert_eq!(
            rows(text).unwrap(),
            [
                "eth/0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599 2025-11-27 91000.25",
                "trx/native 2025-11-27 0.27431",
            ]
        );
    }

    #[test]
    fn a_series_has_the_latest_price_of_each_day() {
        let text = r#"{"coins":{"coingecko:bitcoin":{"symbol":"BTC","confidence":0.99,"prices":[
            {"timestamp":1764287940,"price":91000},{"timestamp":1764201600,"price":1},{"timestamp":1764374400,"price":92000.5}]}}}"#;
        assert_eq!(
            rows(text).unwrap(),
            ["btc/native 2025-11-27 91000", "btc/native 2025-11-29 92000.5"]
        );
    }

    #[test]
    fn the_coin_of_several_chains_has_one_price() {
        let text = r#"{"coins":{"coingecko:ethereum":{"price":3000,"timestamp":1764287940}}}"#;
        let rows = rows(text).unwrap();
        assert!(rows.contains(&"eth/native 2025-11-27 3000".to_owned()), "{rows:?}");
        assert!(rows.contains(&"base/native 2025-11-27 3000".to_owned()), "{rows:?}");
    }

    #[test]
    fn every_known_coin_is_of_a_chain() {
        for (name, _) in COINS {
            let found = assets(&format!("coingecko:{name}")).unwrap();
            assert!(!found.is_empty(), "{name}");
        }
    }

    #[test]
    fn small_prices_have_no_exponent() {
        let text = r#"{"coins":{"coingecko:dogecoin":{"price":1.5e-7,"timestamp":1764287940}}}"#;
        assert_eq!(rows(text).unwrap(), ["doge/native 2025-11-27 0.00000015"]);
    }

    #[test]
    fn wrong_files_are_refused_with_what_would_be_right() {
        for (text, part) in [
            ("{}", "missing field `coins`"),
            ("[", "EOF"),
            (
                r#"{"coins":{"coingecko:nothing":{"price":1,"timestamp":1}}}"#,
                "`coingecko:nothing` is no coin",
            ),
            (
                r#"{"coins":{"nowhere:0x00":{"price":1,"timestamp":1}}}"#,
                "`nowhere:0x00` is no coin",
            ),
            (r#"{"coins":{"coingecko:tron":{"price":0,"timestamp":1764287940}}}"#, "above zero"),
            (r#"{"coins":{"coingecko:tron":{"price":1,"timestamp":1896000000}}}"#, "in the future"),
            (r#"{"coins":{"coingecko:tron":{"timestamp":1}}}"#, "did not match"),
        ] {
            let error = rows(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
