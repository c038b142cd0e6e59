//! Account chains with lists, labels and prices, and the engine's answers about their accounts.
//!
//! - [`behavior`]: accounts with known behavior
//! - [`chain`]: a chain that knows balances and grows transaction by transaction
//! - [`contracts`]: contracts that accounts use: pools, loans, vaults, deposits
//! - [`economy`]: simulated people and criminals
//! - [`on_demand`]: answers by histories that are read account by account, beside those by the whole chain
//! - [`oracle`]: a second implementation of ledgers, in exact fractions
//! - [`scheme`]: random laundering schemes
//! - [`world`]: a chain with its lists, labels and prices, and the engine's answers
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod behavior;
pub mod chain;
pub mod conformance;
pub mod contracts;
pub mod economy;
pub mod on_demand;
pub mod oracle;
pub mod scheme;
pub mod world;

use assay_engine::account::{AccountAddress, Asset};

pub use chain::{AccountChain, move_of};
pub use contracts::Pool;
pub use world::AccountWorld;

/// Base units of an ether.
pub const ETHER: u128 = 1_000_000_000_000_000_000;
/// Base units of a dollar of USDT and USDC.
pub const DOLLAR: u128 = 1_000_000;
/// Dollars that an ether is worth unless a test sets another price.
pub const ETHER_DOLLARS: u64 = 3_000;

/// Ether.
pub const ETH: Asset = Asset::Native;
/// Tether's dollar.
pub const USDT: Asset = token("dac17f958d2ee523a2206206994597c13d831ec7");
/// Circle's dollar.
pub const USDC: Asset = token("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");
/// Maker's dollar, which is made against collateral.
pub const DAI: Asset = token("6b175474e89094c44da98b954eedeac495271d0f");
/// Wrapped ether.
pub const WETH: Asset = token("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2");
/// Wrapped bitcoin.
pub const WBTC: Asset = token("2260fac5e5542a773aa44fbcfedf7c193bc2c599");
/// Staked ether, whose balances change without transfers.
pub const STETH: Asset = token("ae7ab96520de3a18e5e111b5eaab095312d7fe84");

/// The token of a contract, whose address is given by 40 lowercase hexadecimal digits.
const fn token(contract: &str) -> Asset {
    let digits = contract.as_bytes();
    let mut bytes = [0; 20];
    let mut index = 0;
    while index < 20 {
        bytes[index] = digit(digits[2 * index]) * 16 + digit(digits[2 * index + 1]);
        index += 1;
    }
    Asset::Token(AccountAddress(bytes))
}

const fn digit(digit: u8) -> u8 {
    if digit < b'a' { digit - b'0' } else { digit - b'a' + 10 }
}

/// The contract of a token.
///
/// # Panics
///
/// Panics for the chain's coin.
#[must_use]
pub fn contract(token: Asset) -> AccountAddress {
    match token {
        Asset::Token(contract) => contract,
        Asset::Native | Asset::Numbered(_) => panic!("no contract"),
    }
}
