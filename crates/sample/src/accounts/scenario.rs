//! Form of a scenario on an account chain.
//!
//! A line of `steps!` is a transaction: its day, its sender, and its transfers in their order. `"name"/1` is another
//! address of the same party.

use assay_address::ChainId;
use assay_engine::account::FreezeChange;

use crate::scenario::Wallet;

/// A chain of the demo data set.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountScenario {
    pub(super) chain: ChainId,
    /// Height of the block of the first day's noon.
    pub(super) first_height: u64,
    pub(super) blocks_a_day: u64,
    pub(super) seconds_a_block: i64,
    pub(super) coin_decimals: u8,
    /// Contract of a dollar token of the table of scored assets, with six decimals.
    pub(super) dollar: &'static str,
    /// Fees of each transaction, if the sender can pay them.
    pub(super) fees: &'static [Fee],
    pub(super) steps: &'static [Step],
    /// Freezes, after the steps of their days.
    pub(super) freezes: &'static [Freeze],
    /// Days with the price of the coin in dollars.
    pub(super) prices: &'static [(&'static str, &'static str)],
}

/// Fee of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fee {
    /// Amount in base units of the coin.
    pub(super) amount: u128,
    /// Receiver; none if the fee is destroyed.
    pub(super) to: Option<Wallet>,
}

/// Asset of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleAsset {
    /// The native coin.
    Coin,
    /// A dollar token of the table of scored assets.
    Dollar,
    /// A token of the demo data set, outside of the table.
    Ember,
    /// A worthless token that bears the dollar token's name.
    FalseDollar,
}

/// Transfer within a transaction. Amounts are in whole units.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) amount: &'static str,
    pub(super) asset: SampleAsset,
    pub(super) from: Wallet,
    pub(super) to: Wallet,
}

/// A transaction.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) day: &'static str,
    pub(super) sender: Wallet,
    pub(super) moves: &'static [Move],
}

/// A transaction in which the issuer of the dollar changes the freeze of an account.
#[derive(Debug)]
pub(super) struct Freeze {
    pub(super) day: &'static str,
    pub(super) change: FreezeChange,
    pub(super) account: Wallet,
}

macro_rules! wallet {
    ($name:literal) => {
        Wallet { name: $name, index: 0 }
    };
    ($name:literal / $index:literal) => {
        Wallet { name: $name, index: $index }
    };
}
pub(super) use wallet;

macro_rules! steps {
    ($($day:literal $sender:literal $(/ $by:literal)?:
       $($amount:literal $coin:ident $from:literal $(/ $of:literal)? => $to:literal $(/ $at:literal)?),+;)+) => {
        &[$(Step {
            day: $day,
            sender: wallet!($sender $(/ $by)?),
            moves: &[$(Move {
                amount: stringify!($amount),
                asset: SampleAsset::$coin,
                from: wallet!($from $(/ $of)?),
                to: wallet!($to $(/ $at)?),
            }),+],
        }),+]
    };
}
pub(super) use steps;
