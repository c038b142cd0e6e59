//! The table of scored assets: assets whose money is followed. Tokens outside the table are recorded and counted.
//!
//! Contracts are published by their issuers; the table was compared with the token lists of two independent projects.

use std::{collections::HashMap, sync::LazyLock};

use assay_address::{ChainId, LedgerKind};

use super::{AccountAddress, Asset, AssetId};

/// An asset whose money is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredAsset {
    /// The asset.
    pub id: AssetId,
    /// The ticker, for people.
    pub ticker: &'static str,
    /// Decimals: one unit has 10 to this power base units.
    pub decimals: u8,
    /// Role of the asset.
    pub role: AssetRole,
    /// Contract from which new units come and to which destroyed units go; `None` for a native coin, and for a dollar token,
    /// whose issuer's dollars are not on the chain.
    pub issuer: Option<AccountAddress>,
    /// The way in which a token logs what its issuer issues and redeems.
    pub issue: IssueLog,
    /// True if balances change without transfers.
    pub is_rebasing: bool,
}

/// Role of a scored asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetRole {
    /// The chain's coin.
    Native,
    /// A coin of this or another chain as a token.
    Wrapped,
    /// Staked coins as a token.
    Staked,
    /// A token worth one US dollar.
    Stablecoin,
}

/// The way in which a token logs what its issuer issues and redeems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueLog {
    /// As transfers from and to the zero address.
    Transfers,
    /// As events of their own, without transfers (Tether on Ethereum).
    Events,
    /// As events and as transfers, of which only the transfers count (Tether on TRON).
    Both,
}

/// US dollars that are dust at most (B9).
const DUST_DOLLARS: u128 = 1;

impl ScoredAsset {
    /// The largest payment that is dust, in base units: about one US dollar. 0 for a coin without a known order of worth.
    #[must_use]
    pub fn largest_dust(&self) -> u128 {
        self.units_of(DUST_DOLLARS)
    }

    /// Base units worth about so many US dollars, by the order of worth of the asset.
    fn units_of(&self, dollars: u128) -> u128 {
        let one = 10_u128.saturating_pow(self.decimals.into());
        let cents = one.saturating_mul(dollars).saturating_mul(100);
        self.worth_in_cents().map_or(0, |worth| cents / worth)
    }

    /// The order of worth of a whole unit in US cents.
    pub(super) fn worth_in_cents(&self) -> Option<u128> {
        let dollars = match self.role {
            AssetRole::Stablecoin => Some(1),
            AssetRole::Wrapped if self.ticker.contains("BTC") => Some(50_000),
            AssetRole::Wrapped | AssetRole::Staked => Some(2_500),
            AssetRole::Native => order_of_worth(self.ticker),
        };
        // Coins of less than a dollar: their worth is given in cents.
        dollars.map(|dollars| dollars * 100).or_else(|| order_of_worth_in_cents(self.ticker))
    }
}

/// The order of worth of a whole unit of the scored asset with a ticker, in US cents: for amounts of assets without a price.
/// `None` for a ticker of no scored asset, and for a coin without a known order of worth.
pub(crate) fn worth_of_ticker(ticker: &str) -> Option<u128> {
    let mut all = ChainId::all().flat_map(scored_assets);
    all.find(|asset| asset.ticker == ticker)?.worth_in_cents()
}

/// The order of worth of a native coin in US dollars, for dust and large amounts only. Prices are imported.
fn order_of_worth(ticker: &str) -> Option<u128> {
    match ticker {
        "ETH" => Some(2_500),
        "BNB" => Some(600),
        "AVAX" | "ETC" | "HYPE" => Some(20),
        "XDAI" | "MNT" => Some(1),
        _ => None,
    }
}

/// The order of worth of a native coin in US cents.
fn order_of_worth_in_cents(ticker: &str) -> Option<u128> {
    match ticker {
        "TRX" | "POL" => Some(25),
        "CELO" | "S" => Some(50),
        "CRO" | "KAIA" | "FTM" => Some(10),
        _ => None,
    }
}

/// The scored asset of an identifier; `None` for a token outside the table.
#[must_use]
pub fn scored_asset(id: AssetId) -> Option<&'static ScoredAsset> {
    TABLE.get(&id)
}

/// The scored assets of a chain, the native coin first. Chains without rows have their native coin only.
pub fn scored_assets(chain: ChainId) -> impl Iterator<Item = &'static ScoredAsset> {
    of_chain(chain).iter().copied()
}

/// The scored assets of a chain, by their position in [`scored_assets`].
pub(super) fn of_chain(chain: ChainId) -> &'static [&'static ScoredAsset] {
    BY_CHAIN.get(&chain).map(Vec::as_slice).unwrap_or_default()
}

static BY_CHAIN: LazyLock<HashMap<ChainId, Vec<&'static ScoredAsset>>> = LazyLock::new(|| {
    let mut by_chain: HashMap<ChainId, Vec<&'static ScoredAsset>> = HashMap::new();
    for asset in TABLE.values() {
        by_chain.entry(asset.id.chain).or_default().push(asset);
    }
    for assets in by_chain.values_mut() {
        assets.sort_by_key(|asset| asset.id.asset);
    }
    by_chain
});

static TABLE: LazyLock<HashMap<AssetId, ScoredAsset>> = LazyLock::new(|| {
    let coins = ChainId::all().filter(|chain| chain.info().ledger == LedgerKind::Account);
    let coins = coins.map(|chain| {
        let coin = chain.info().native();
        ScoredAsset {
            id: AssetId::native(chain),
            ticker: coin.code,
            decimals: coin.decimals,
            role: AssetRole::Native,
            issuer: None,
            issue: IssueLog::Transfers,
            is_rebasing: false,
        }
    });
    let tokens = ROWS.iter().filter_map(|row| {
        let contract = AccountAddress(row.contract);
        let id = AssetId { chain: row.chain.parse().ok()?, asset: Asset::Token(contract) };
        Some(ScoredAsset {
            id,
            ticker: row.ticker,
            decimals: row.decimals,
            role: row.role,
            issuer: (row.role != AssetRole::Stablecoin).then_some(contract),
            issue: row.issue,
            is_rebasing: row.is_rebasing,
        })
    });
    coins.chain(tokens).map(|asset| (asset.id, asset)).collect()
});

/// A row of the table.
struct Row {
    chain: &'static str,
    contract: [u8; 20],
    ticker: &'static str,
    decimals: u8,
    role: AssetRole,
    issue: IssueLog,
    is_rebasing: bool,
}

impl Row {
    const fn issued_without_transfers(self) -> Self {
        Self { issue: IssueLog::Events, ..self }
    }

    const fn issued_with_both(self) -> Self {
        Self { issue: IssueLog::Both, ..self }
    }

    const fn rebasing(self) -> Self {
        Self { is_rebasing: true, ..self }
    }
}

const fn row(
    chain: &'static str,
    contract: &str,
    ticker: &'static str,
    decimals: u8,
    role: AssetRole,
) -> Row {
    let contract = bytes(contract);
    let (issue, is_rebasing) = (IssueLog::Transfers, false);
    Row { chain, contract, ticker, decimals, role, issue, is_rebasing }
}

/// The bytes of 40 hexadecimal digits.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn bytes(hex: &str) -> [u8; 20] {
    let digits = hex.as_bytes();
    assert!(digits.len() == 40, "an address has 40 hexadecimal digits");
    let mut bytes = [0; 20];
    let mut index = 0;
    while index < 20 {
        bytes[index] = digit(digits[2 * index]) * 16 + digit(digits[2 * index + 1]);
        index += 1;
    }
    bytes
}

#[expect(clippy::panic, reason = "evaluated at compile time")]
const fn digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => panic!("a hexadecimal digit is lowercase"),
    }
}

const ROWS: [Row; 65] = [
    row("eth", "dac17f958d2ee523a2206206994597c13d831ec7", "USDT", 6, AssetRole::Stablecoin)
        .issued_without_transfers(),
    row("trx", "a614f803b6fd780986a42c78ec9c7f77e6ded13c", "USDT", 6, AssetRole::Stablecoin)
        .issued_with_both(),
    row("bsc", "55d398326f99059ff775485246999027b3197955", "USDT", 18, AssetRole::Stablecoin),
    row("polygon", "c2132d05d31c914a87c6611c10748aeb04b58e8f", "USDT", 6, AssetRole::Stablecoin),
    row("arbitrum", "fd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9", "USDT", 6, AssetRole::Stablecoin),
    row("optimism", "94b008aa00579c1307b0ef2c499ad98a8ce58e58", "USDT", 6, AssetRole::Stablecoin),
    row("optimism", "01bff41798a0bcf287b996046ca68b395dbc1071", "USDT", 6, AssetRole::Stablecoin),
    row("base", "fde4c96c8593536e31f229ea8f37b2ada2699bb2", "USDT", 6, AssetRole::Stablecoin),
    row("base", "102d758f688a4c1c5a80b116bd945d4455460282", "USDT", 6, AssetRole::Stablecoin),
    row("avalanche", "9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7", "USDT", 6, AssetRole::Stablecoin),
    row(
        "avalanche",
        "c7198437980c041c805a1edcba50c1ce5db95118",
        "USDT.e",
        6,
        AssetRole::Stablecoin,
    ),
    row("eth", "a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC", 6, AssetRole::Stablecoin),
    row("trx", "3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe", "USDC", 6, AssetRole::Stablecoin),
    row("bsc", "8ac76a51cc950d9822d68b83fe1ad97b32cd580d", "USDC", 18, AssetRole::Stablecoin),
    row("polygon", "3c499c542cef5e3811e1192ce70d8cc03d5c3359", "USDC", 6, AssetRole::Stablecoin),
    row("polygon", "2791bca1f2de4661ed88a30c99a7a9449aa84174", "USDC.e", 6, AssetRole::Stablecoin),
    row("arbitrum", "af88d065e77c8cc2239327c5edb3a432268e5831", "USDC", 6, AssetRole::Stablecoin),
    row("arbitrum", "ff970a61a04b1ca14834a43f5de4533ebddb5cc8", "USDC.e", 6, AssetRole::Stablecoin),
    row("optimism", "0b2c639c533813f4aa9d7837caf62653d097ff85", "USDC", 6, AssetRole::Stablecoin),
    row("optimism", "7f5c764cbc14f9669b88837ca1490cca17c31607", "USDC.e", 6, AssetRole::Stablecoin),
    row("base", "833589fcd6edb6e08f4c7c32d4f71b54bda02913", "USDC", 6, AssetRole::Stablecoin),
    row("base", "d9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca", "USDbC", 6, AssetRole::Stablecoin),
    row("avalanche", "b97ef9ef8734c71904d8002f8b6bc66dd9c48a6e", "USDC", 6, AssetRole::Stablecoin),
    row(
        "avalanche",
        "a7d7079b0fead91f3e65f86e8915cb59c1a4c664",
        "USDC.e",
        6,
        AssetRole::Stablecoin,
    ),
    row("eth", "6b175474e89094c44da98b954eedeac495271d0f", "DAI", 18, AssetRole::Stablecoin),
    row("bsc", "1af3f329e8be154074d8769d1ffa4ee058b1dbc3", "DAI", 18, AssetRole::Stablecoin),
    row("polygon", "8f3cf7ad23cd3cadbd9735aff958023239c6a063", "DAI", 18, AssetRole::Stablecoin),
    row("arbitrum", "da10009cbd5d07dd0cecc66161fc93d7c9000da1", "DAI", 18, AssetRole::Stablecoin),
    row("optimism", "da10009cbd5d07dd0cecc66161fc93d7c9000da1", "DAI", 18, AssetRole::Stablecoin),
    row("base", "50c5725949a6f0c72e6c4a641f24049a917db0cb", "DAI", 18, AssetRole::Stablecoin),
    row("avalanche", "d586e7f844cea2f87f50152665bcbc2c279d8d70", "DAI", 18, AssetRole::Stablecoin),
    row("eth", "c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "WETH", 18, AssetRole::Wrapped),
    row("bsc", "2170ed0880ac9a755fd29b2688956bd959f933f8", "WETH", 18, AssetRole::Wrapped),
    row("polygon", "7ceb23fd6bc0add59e62ac25578270cff1b9f619", "WETH", 18, AssetRole::Wrapped),
    row("arbitrum", "82af49447d8a07e3bd95bd0d56f35241523fbab1", "WETH", 18, AssetRole::Wrapped),
    row("optimism", "4200000000000000000000000000000000000006", "WETH", 18, AssetRole::Wrapped),
    row("base", "4200000000000000000000000000000000000006", "WETH", 18, AssetRole::Wrapped),
    row("avalanche", "49d5c2bdffac6ce2bfdb6640f4f80f226bc10bab", "WETH", 18, AssetRole::Wrapped),
    row("eth", "2260fac5e5542a773aa44fbcfedf7c193bc2c599", "WBTC", 8, AssetRole::Wrapped),
    row("polygon", "1bfd67037b42cf73acf2047067bd4f2c47d9bfd6", "WBTC", 8, AssetRole::Wrapped),
    row("arbitrum", "2f2a2543b76a4166549f7aab2e75bef0aefc5b0f", "WBTC", 8, AssetRole::Wrapped),
    row("optimism", "68f180fcce6836688e9084f035309e29bf0a2095", "WBTC", 8, AssetRole::Wrapped),
    row("avalanche", "50b7545627a5162f82a992c33b87adc75187b218", "WBTC", 8, AssetRole::Wrapped),
    row("bsc", "7130d2a12b9bcbfae4f2634d864a1ee1ce3ead9c", "BTCB", 18, AssetRole::Wrapped),
    row("eth", "ae7ab96520de3a18e5e111b5eaab095312d7fe84", "stETH", 18, AssetRole::Staked)
        .rebasing(),
    row("eth", "7f39c581f595b53c5cb19bd0b3f8da6c935e2ca0", "wstETH", 18, AssetRole::Staked),
    row("optimism", "1f32b1c2345538c0c6f582fcb022739c4a194ebb", "wstETH", 18, AssetRole::Staked),
    row("base", "c1cba3fcea344f92d9239c08c0568f6f2f0ee452", "wstETH", 18, AssetRole::Staked),
    row("eth", "c5f0f7b66764f6ec8c8dff7ba683102295e16409", "FDUSD", 18, AssetRole::Stablecoin),
    row("bsc", "c5f0f7b66764f6ec8c8dff7ba683102295e16409", "FDUSD", 18, AssetRole::Stablecoin),
    row("arbitrum", "93c9932e4afa59201f0b5e63f7d816516f1669fe", "FDUSD", 18, AssetRole::Stablecoin),
    row("eth", "6c3ea9036406852006290770bedfcaba0e23a0e8", "PYUSD", 6, AssetRole::Stablecoin),
    row("arbitrum", "46850ad61c2b7d64d08c9c754f45254596696984", "PYUSD", 6, AssetRole::Stablecoin),
    row("eth", "4c9edd5852cd905f086c759e8383e09bff1e68b3", "USDe", 18, AssetRole::Stablecoin),
    row("eth", "0000000000085d4780b73119b644ae5ecd22b376", "TUSD", 18, AssetRole::Stablecoin),
    row("trx", "cebde71077b830b958c8da17bcddeeb85d0bcf25", "TUSD", 18, AssetRole::Stablecoin),
    row("bsc", "14016e85a25aeb13065688cafb43044c2ef86784", "TUSD", 18, AssetRole::Stablecoin),
    row("polygon", "2e1ad108ff1d8c782fcbbb89aad783ac49586756", "TUSD", 18, AssetRole::Stablecoin),
    row("arbitrum", "4d15a3a2286d883af0aa1b3f21367843fac63e07", "TUSD", 18, AssetRole::Stablecoin),
    row("optimism", "cb59a0a753fdb7491d5f3d794316f1ade197b21e", "TUSD", 18, AssetRole::Stablecoin),
    row("avalanche", "1c20e891bab6b1727d14da358fae2984ed9b59eb", "TUSD", 18, AssetRole::Stablecoin),
    row("eth", "4fabb145d64652a948d72533023f6e7a623c7c53", "BUSD", 18, AssetRole::Stablecoin),
    row("bsc", "e9e7cea3dedca5984780bafc599bd69add087d56", "BUSD", 18, AssetRole::Stablecoin),
    row("polygon", "9c9e5fd8bbc25984b178fdce6117defa39d2db39", "BUSD", 18, AssetRole::Stablecoin),
    row("avalanche", "9c9e5fd8bbc25984b178fdce6117defa39d2db39", "BUSD", 18, AssetRole::Stablecoin),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_known_chains_and_unique() {
        for row in &ROWS {
            let chain: ChainId = row.chain.parse().expect(row.chain);
            assert_eq!(chain.info().ledger, LedgerKind::Account, "{}", row.chain);
        }
        let coins = ChainId::all().filter(|chain| chain.info().ledger == LedgerKind::Account);
        assert_eq!(TABLE.len(), ROWS.len() + coins.count());
    }

    #[test]
    fn contracts_of_tron_have_their_published_addresses() {
        let published = [
            ("USDT", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
            ("USDC", "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8"),
            ("TUSD", "TUpMhErZL2fhh4sVNULAbNKLokS4GjC1F4"),
        ];
        for (ticker, address) in published {
            let asset = Asset::parse(ChainId::TRX, address).expect(address);
            let scored = scored_asset(AssetId { chain: ChainId::TRX, asset }).expect(ticker);
            assert_eq!((scored.ticker, &*asset.text(ChainId::TRX)), (ticker, address));
        }
    }

    #[test]
    fn a_dollar_of_each_asset_is_dust() {
        let dust = |chain, ticker: &str| {
            let found = scored_assets(chain).find(|asset| asset.ticker == ticker);
            found.expect(ticker).largest_dust()
        };
        assert_eq!(dust(ChainId::ETH, "USDT"), 1_000_000);
        assert_eq!(dust(ChainId::BSC, "USDT"), 1_000_000_000_000_000_000);
        assert_eq!(dust(ChainId::ETH, "ETH"), 400_000_000_000_000);
        assert_eq!(dust(ChainId::TRX, "TRX"), 4_000_000);
        assert_eq!(dust(ChainId::ETH, "WBTC"), 2_000);
    }
}
