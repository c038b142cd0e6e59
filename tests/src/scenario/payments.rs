//! Payments of the scenario, in order.
//!
//! ```text
//! block
//!   1-6    miner mines, later everybody else's `pool`
//!   111    miner ──► alice, bob, carol                     bought for cash
//!   112    alice, bob ──► their deposit addresses at North Exchange
//!   113    North sweeps both into its hot wallet
//!   114    North pays out to frank and erin
//!   115    thief takes 40.03 out of the hot wallet
//!   116    thief ──► bystander                              dust, with a note
//!   117    thief ──► dave                                   stolen
//!   118    North ──► dave, bystander                        clean
//!   119    dave ──► shop                                    both, half and half
//!   120    thief ──► peel-1 ──► ... ──► peel-7 (126)        peel chain
//!             ├► listed     ├► cash-1..4, south             on the sanctions list; South Exchange
//!   131-142  a branch on which carol pays ghost, and frank pays heidi
//!   131-143  the branch that replaces it: carol pays grace instead, frank pays heidi again
//! ```

/// Coins in base units: `coins("8.99")` are 899,000,000.
///
/// # Panics
///
/// Panics if the text is no number with at most eight decimals.
#[must_use]
pub const fn coins(text: &str) -> u64 {
    const DECIMALS: u32 = 8;
    let (mut units, mut decimals) = (0, None);
    let mut rest = text.as_bytes();
    while let [digit, after @ ..] = rest {
        match (*digit, decimals) {
            (b'.', None) => decimals = Some(0),
            (b'0'..=b'9', _) => {
                units = units * 10 + (*digit - b'0') as u64;
                if let Some(so_far) = decimals {
                    decimals = Some(so_far + 1);
                }
            }
            _ => panic!("an amount of coins has digits and one point"),
        }
        rest = after;
    }
    let decimals = match decimals {
        Some(decimals) => decimals,
        None => 0,
    };
    units * 10_u64.pow(DECIMALS - decimals)
}

/// Amount of an unsolicited payment: the smallest output that nodes relay.
pub const DUST: u64 = 546;

/// An output to be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The coins that the block at this height created.
    Mined(u64),
    /// The output of a payment at this place.
    Paid(&'static str, u32),
}

/// On which branch a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// Before the branches part.
    Trunk,
    /// The branch that is replaced.
    Replaced,
    /// The branch that stays.
    Kept,
}

/// A payment. The excess of the inputs over the outputs is the fee.
#[derive(Clone, Copy, Debug)]
pub struct Payment {
    /// Its name in the scenario.
    pub name: &'static str,
    /// The blocks that hold it, at most one on each branch.
    pub blocks: &'static [(Branch, u64)],
    /// Outputs that it spends.
    pub inputs: &'static [Spent],
    /// Recipients and amounts, in base units.
    pub outputs: &'static [(&'static str, u64)],
}

use Branch::{Kept, Replaced, Trunk};
use Spent::{Mined, Paid};

/// Every payment, each after those whose outputs it spends. Fees are 0.01 where nothing else is said.
pub const PAYMENTS: &[Payment] = &[
    Payment {
        name: "buy-alice",
        blocks: &[(Trunk, 111)],
        inputs: &[Mined(1)],
        outputs: &[("alice", coins("40")), ("miner", coins("9.99"))],
    },
    Payment {
        name: "buy-bob",
        blocks: &[(Trunk, 111)],
        inputs: &[Mined(2)],
        outputs: &[("bob", coins("31.01")), ("carol", coins("18.98"))],
    },
    Payment {
        name: "deposit-alice",
        blocks: &[(Trunk, 112)],
        inputs: &[Paid("buy-alice", 0)],
        outputs: &[("north-deposit-alice", coins("31")), ("alice", coins("8.99"))],
    },
    Payment {
        name: "deposit-bob",
        blocks: &[(Trunk, 112)],
        inputs: &[Paid("buy-bob", 0)],
        outputs: &[("north-deposit-bob", coins("31"))],
    },
    Payment {
        name: "sweep",
        blocks: &[(Trunk, 113)],
        inputs: &[Paid("deposit-alice", 0), Paid("deposit-bob", 0)],
        outputs: &[("north-hot", coins("61.99"))],
    },
    Payment {
        name: "payouts",
        blocks: &[(Trunk, 114)],
        inputs: &[Paid("sweep", 0)],
        outputs: &[("frank", coins("5")), ("erin", coins("3.93")), ("north-hot", coins("53.05"))],
    },
    Payment {
        name: "theft",
        blocks: &[(Trunk, 115)],
        inputs: &[Paid("payouts", 2)],
        outputs: &[("thief", coins("40.03")), ("north-hot", coins("13.01"))],
    },
    // The fee is what the dust leaves of 0.01: 0.00999454.
    Payment {
        name: "dust",
        blocks: &[(Trunk, 116)],
        inputs: &[Paid("theft", 0)],
        outputs: &[("bystander", DUST), ("note", 0), ("thief", coins("40.02"))],
    },
    Payment {
        name: "pay-dave",
        blocks: &[(Trunk, 117)],
        inputs: &[Paid("dust", 2)],
        outputs: &[("dave", coins("10")), ("thief", coins("30.01"))],
    },
    Payment {
        name: "payout-dave",
        blocks: &[(Trunk, 118)],
        inputs: &[Paid("theft", 1)],
        outputs: &[("dave", coins("10")), ("bystander", coins("3"))],
    },
    Payment {
        name: "mix",
        blocks: &[(Trunk, 119)],
        inputs: &[Paid("pay-dave", 0), Paid("payout-dave", 0)],
        outputs: &[("shop", coins("12")), ("dave", coins("7.99"))],
    },
    Payment {
        name: "peel-a",
        blocks: &[(Trunk, 120)],
        inputs: &[Paid("pay-dave", 1)],
        outputs: &[("peel-1", coins("28")), ("listed", coins("2"))],
    },
    Payment {
        name: "peel-b",
        blocks: &[(Trunk, 121)],
        inputs: &[Paid("peel-a", 0)],
        outputs: &[("peel-2", coins("25")), ("cash-1", coins("2.99"))],
    },
    Payment {
        name: "peel-c",
        blocks: &[(Trunk, 122)],
        inputs: &[Paid("peel-b", 0)],
        outputs: &[("peel-3", coins("22")), ("cash-2", coins("2.99"))],
    },
    Payment {
        name: "peel-d",
        blocks: &[(Trunk, 123)],
        inputs: &[Paid("peel-c", 0)],
        outputs: &[("peel-4", coins("19")), ("south", coins("2.99"))],
    },
    Payment {
        name: "peel-e",
        blocks: &[(Trunk, 124)],
        inputs: &[Paid("peel-d", 0)],
        outputs: &[("peel-5", coins("16")), ("cash-3", coins("2.99"))],
    },
    Payment {
        name: "peel-f",
        blocks: &[(Trunk, 125)],
        inputs: &[Paid("peel-e", 0)],
        outputs: &[("peel-6", coins("13")), ("south", coins("2.99"))],
    },
    Payment {
        name: "peel-g",
        blocks: &[(Trunk, 126)],
        inputs: &[Paid("peel-f", 0)],
        outputs: &[("peel-7", coins("10")), ("cash-4", coins("2.99"))],
    },
    // Never comes back: the other branch spends the same coin.
    Payment {
        name: "lost",
        blocks: &[(Replaced, 133)],
        inputs: &[Paid("buy-bob", 1)],
        outputs: &[("ghost", coins("5")), ("carol", coins("13.97"))],
    },
    Payment {
        name: "instead",
        blocks: &[(Kept, 134)],
        inputs: &[Paid("buy-bob", 1)],
        outputs: &[("grace", coins("7")), ("carol", coins("11.97"))],
    },
    // The very same transaction, mined again on the other branch, later.
    Payment {
        name: "again",
        blocks: &[(Replaced, 135), (Kept, 138)],
        inputs: &[Paid("payouts", 0)],
        outputs: &[("heidi", coins("2")), ("frank", coins("2.99"))],
    },
];
