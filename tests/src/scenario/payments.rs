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

use std::sync::LazyLock;

/// Every payment, each after those whose outputs it spends, one a line: its name; the blocks that hold it, at most one
/// on each branch, with `r` on the branch that is replaced and `k` on the branch that stays; the outputs that it
/// spends; recipients with amounts in coins. Fees are 0.01 where nothing else is said.
const TEXT: &str = "\
buy-alice     | 111       | mined-1:0                     | alice 40, miner 9.99
buy-bob       | 111       | mined-2:0                     | bob 31.01, carol 18.98
deposit-alice | 112       | buy-alice:0                   | north-deposit-alice 31, alice 8.99
deposit-bob   | 112       | buy-bob:0                     | north-deposit-bob 31
sweep         | 113       | deposit-alice:0 deposit-bob:0 | north-hot 61.99
payouts       | 114       | sweep:0                       | frank 5, erin 3.93, north-hot 53.05
theft         | 115       | payouts:2                     | thief 40.03, north-hot 13.01
# The fee is what the dust leaves of 0.01: 0.00999454.
dust          | 116       | theft:0                       | bystander 0.00000546, note 0, thief 40.02
pay-dave      | 117       | dust:2                        | dave 10, thief 30.01
payout-dave   | 118       | theft:1                       | dave 10, bystander 3
mix           | 119       | pay-dave:0 payout-dave:0      | shop 12, dave 7.99
peel-a        | 120       | pay-dave:1                    | peel-1 28, listed 2
peel-b        | 121       | peel-a:0                      | peel-2 25, cash-1 2.99
peel-c        | 122       | peel-b:0                      | peel-3 22, cash-2 2.99
peel-d        | 123       | peel-c:0                      | peel-4 19, south 2.99
peel-e        | 124       | peel-d:0                      | peel-5 16, cash-3 2.99
peel-f        | 125       | peel-e:0                      | peel-6 13, south 2.99
peel-g        | 126       | peel-f:0                      | peel-7 10, cash-4 2.99
# Never comes back: the other branch spends the same coin.
lost          | r133      | buy-bob:1                     | ghost 5, carol 13.97
instead       | k134      | buy-bob:1                     | grace 7, carol 11.97
# The very same transaction, mined again on the other branch, later.
again         | r135 k138 | payouts:0                     | heidi 2, frank 2.99
";

/// Every payment.
pub static PAYMENTS: LazyLock<Vec<Payment>> =
    LazyLock::new(|| lines(TEXT).map(Payment::read).collect());

/// The branch of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// Blocks before the fork.
    Trunk,
    /// The branch that is replaced.
    Replaced,
    /// The branch that stays.
    Kept,
}

/// A payment. The excess of the inputs over the outputs is the fee.
#[derive(Clone, Debug)]
pub struct Payment {
    /// Name of the payment in the scenario.
    pub name: &'static str,
    /// The blocks that hold the payment, at most one on each branch.
    pub blocks: Vec<(Branch, u64)>,
    /// Spent outputs: the name of a payment, or of the coinbase of a block, and the index.
    pub inputs: Vec<(&'static str, u32)>,
    /// Recipients, with amounts in base units.
    pub outputs: Vec<(&'static str, u64)>,
}

impl Payment {
    fn read(line: &'static str) -> Self {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, blocks, inputs, outputs] = columns[..] else { panic!("no payment: {line}") };
        let block = |word: &str| {
            let (branch, height) = match word.as_bytes() {
                [b'r', ..] => (Branch::Replaced, &word[1..]),
                [b'k', ..] => (Branch::Kept, &word[1..]),
                _ => (Branch::Trunk, word),
            };
            (branch, height.parse().expect("a height"))
        };
        let input = |word: &'static str| {
            let (name, index) = word.split_once(':').expect("a payment and an index");
            (name, index.parse().expect("an index"))
        };
        let output = |words: &'static str| {
            let (owner, amount) = words.split_once(' ').expect("a recipient and an amount");
            (owner, coins(amount))
        };
        Self {
            name,
            blocks: blocks.split_whitespace().map(block).collect(),
            inputs: inputs.split_whitespace().map(input).collect(),
            outputs: outputs.split(", ").map(output).collect(),
        }
    }
}

/// Lines of a text without its comments.
pub(super) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.trim_start().starts_with('#'))
}

/// Parses an amount of coins into base units: `coins("8.99")` is 899,000,000.
///
/// # Panics
///
/// Panics if the text is not a number with at most eight decimals.
#[must_use]
pub fn coins(text: &str) -> u64 {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    assert!(decimals.len() <= 8, "{text} has more than eight decimals");
    format!("{whole}{decimals:0<8}").parse().expect("an amount of coins")
}
