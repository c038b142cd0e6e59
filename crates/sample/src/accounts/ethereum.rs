//! Transactions on the Ethereum chain of the demo data set, party by party.
//!
//! All parties are fictitious. `world.rs` lists or labels some of them; no list or label names the others.

use assay_address::ChainId;

use super::scenario::{AccountScenario, Fee, Move, SampleAsset, Step, steps, wallet};
use crate::scenario::Wallet;

/// The chain.
pub(super) const ETHEREUM: AccountScenario = AccountScenario {
    chain: ChainId::ETH,
    first_height: 21_560_000,
    blocks_a_day: 7_200,
    seconds_a_block: 12,
    coin_decimals: 18,
    dollar: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    fees: &[
        Fee { amount: 40_000_000_000_000, to: Some(wallet!("a block producer")) },
        Fee { amount: 300_000_000_000_000, to: None },
    ],
    steps: STEPS,
    freezes: &[],
    prices: PRICES,
};

/// All transactions. Those of one day are in the order of the table.
const STEPS: &[Step] = steps! {
    // Lena provides a pool that exchanges ether for dollars.
    "2025-01-06" "Harbor Lane Exchange": 400 Coin "Harbor Lane Exchange" => "Lena", 1200000 Dollar "Harbor Lane Exchange" => "Lena";
    "2025-01-07" "Lena": 390 Coin "Lena" => "Linden Swap", 1170000 Dollar "Lena" => "Linden Swap";

    // Aino is a customer of an exchange. She buys, pays, and sells by her deposit address.
    "2025-01-13" "Harbor Lane Exchange": 2 Coin "Harbor Lane Exchange" => "Aino";
    "2025-01-20" "Harbor Lane Exchange": 5000 Dollar "Harbor Lane Exchange" => "Aino";
    "2025-02-03" "Aino": 800 Dollar "Aino" => "Meridian Square deposit";
    "2025-02-10" "Aino": 120 Dollar "Aino" => "Joiner's workshop";
    // Bo uses the same deposit address, which the exchange empties.
    "2025-01-27" "Harbor Lane Exchange": 3000 Dollar "Harbor Lane Exchange" => "Bo", 0.2 Coin "Harbor Lane Exchange" => "Bo";
    "2025-02-12" "Bo": 1500 Dollar "Bo" => "Meridian Square deposit";
    "2025-02-13" "Meridian Square Exchange": 0.01 Coin "Meridian Square Exchange" => "Meridian Square deposit";
    "2025-02-13" "Meridian Square deposit": 2300 Dollar "Meridian Square deposit" => "Meridian Square Exchange";
    // Somebody poisons Aino's list of payments: a payment of nothing in her name, and false dollars.
    "2025-02-17" "a poisoner": 0 Dollar "Aino" => "a look-alike", 120 FalseDollar "Aino" => "a look-alike", 5000 FalseDollar "a look-alike" => "Aino";

    // A studio pays its people. One of its customers turns out to be a thief: a hundredth of its money.
    "2025-02-24" "Meridian Square Exchange": 99 Coin "Meridian Square Exchange" => "Brightwell Studio";

    // Copper Vault is robbed of 400 ether. The thief goes over Mole.
    "2025-03-03" "Harbor Lane Exchange": 600 Coin "Harbor Lane Exchange" => "Copper Vault";
    "2025-03-10" "Copper Vault Hack": 400 Coin "Copper Vault" => "Copper Vault Hack";
    "2025-03-11" "Copper Vault Hack": 120 Coin "Copper Vault Hack" => "Mole";
    "2025-03-12" "Mole": 1 Coin "Mole" => "Brightwell Studio", 110 Coin "Mole" => "Mole"/1;
    "2025-03-31" "Brightwell Studio": 4 Coin "Brightwell Studio" => "Pavel";
    // Mole buys a boat of Orla...
    "2025-03-17" "Mole"/1: 20 Coin "Mole"/1 => "Orla";
    // ...exchanges some for dollars, with which he pays Fitz...
    "2025-03-18" "Mole"/1: 40 Coin "Mole"/1 => "Linden Swap", 106000 Dollar "Linden Swap" => "Mole"/1;
    "2025-03-19" "Mole"/1: 90000 Dollar "Mole"/1 => "Fitz";
    // ...sends some through a mixer, from which Nils gets it, and some to a deposit address of an exchange.
    "2025-03-20" "Mole"/1: 10 Coin "Mole"/1 => "Quiet River Mixer";
    "2025-04-14" "a relayer": 9.9 Coin "Quiet River Mixer" => "Nils", 0.1 Coin "Quiet River Mixer" => "a relayer";
    "2025-04-22" "Mole"/1: 30 Coin "Mole"/1 => "Harbor Lane deposit";
    "2025-04-23" "Harbor Lane deposit": 30 Coin "Harbor Lane deposit" => "Harbor Lane Exchange"/1;

    // Ember is a token that nobody prices.
    "2025-05-05" "Ines": 5000 Ember "Ines" => "Aino";

    // A drainer takes Sanna's dollars without her doing.
    "2025-05-12" "Harbor Lane Exchange": 9000 Dollar "Harbor Lane Exchange" => "Sanna", 0.1 Coin "Harbor Lane Exchange" => "Sanna";
    "2025-05-19" "Silver Heron Drainer": 9000 Dollar "Sanna" => "Silver Heron Drainer";

    // A party that is on the sample's list from June 2025 on. Iris lets it a room; Yara gets half a dollar of gas from it.
    "2025-05-26" "Meridian Square Exchange": 50000 Dollar "Meridian Square Exchange" => "GREYMARSH, Ilja", 1 Coin "Meridian Square Exchange" => "GREYMARSH, Ilja";
    "2025-06-09" "Meridian Square Exchange": 20000 Dollar "Meridian Square Exchange" => "Iris";
    "2025-07-07" "GREYMARSH, Ilja": 300 Dollar "GREYMARSH, Ilja" => "Iris";
    "2025-07-14" "Harbor Lane Exchange": 1000 Dollar "Harbor Lane Exchange" => "Yara";
    "2025-07-15" "GREYMARSH, Ilja": 0.00015 Coin "GREYMARSH, Ilja" => "Yara";
    // Remo's dollars come over a bridge, and so do Gerd's, who pays Sten.
    "2025-07-21" "a keeper": 11950 Dollar "Causeway Bridge" => "Gerd", 0.05 Coin "Causeway Bridge" => "Gerd";
    "2025-07-22" "Gerd": 11000 Dollar "Gerd" => "Sten";
    "2025-08-04" "a keeper": 700 Dollar "Causeway Bridge" => "Remo";
    "2025-08-11" "Harbor Lane Exchange": 2500 Dollar "Harbor Lane Exchange" => "Remo";
};

/// Days with the price of one ether in dollars.
const PRICES: &[(&str, &str)] = &[
    ("2025-01-06", "3010"),
    ("2025-01-13", "2980.5"),
    ("2025-01-20", "3120"),
    ("2025-01-27", "3050"),
    ("2025-02-03", "2870"),
    ("2025-02-10", "2810"),
    ("2025-02-17", "2790"),
    ("2025-02-24", "2740"),
    ("2025-03-03", "2705"),
    ("2025-03-10", "2660"),
    ("2025-03-17", "2650"),
    ("2025-03-24", "2690"),
    ("2025-03-31", "2720"),
    ("2025-04-07", "2630"),
    ("2025-04-14", "2610"),
    ("2025-04-21", "2645"),
    ("2025-04-28", "2700"),
    ("2025-05-05", "2750"),
    ("2025-05-12", "2800"),
    ("2025-05-19", "2820"),
    ("2025-05-26", "2830"),
    ("2025-06-02", "2850"),
    ("2025-06-09", "2880"),
    ("2025-07-07", "2960"),
    ("2025-07-14", "3020"),
    ("2025-07-21", "3100"),
    ("2025-08-04", "3200"),
    ("2025-08-11", "3250"),
];
