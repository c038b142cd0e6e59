//! Transactions on the TRON chain of the demo data set, party by party.
//!
//! All parties are fictitious. `world.rs` lists or labels some of them; no list or label names the others.

use assay_address::ChainId;
use assay_engine::account::FreezeChange;

use super::scenario::{AccountScenario, Fee, Freeze, Move, SampleAsset, Step, steps, wallet};
use crate::scenario::Wallet;

/// The chain.
pub(super) const TRON: AccountScenario = AccountScenario {
    chain: ChainId::TRX,
    first_height: 68_500_000,
    blocks_a_day: 28_800,
    seconds_a_block: 3,
    coin_decimals: 6,
    dollar: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
    fees: &[Fee { amount: 1_100_000, to: None }],
    steps: STEPS,
    freezes: FREEZES,
    prices: PRICES,
};

/// All transactions. Those of one day are in the order of the table.
const STEPS: &[Step] = steps! {
    // Kaisa is a customer of an exchange. A lender of energy pays for what the address that the exchange gave her uses,
    // and she sells by it.
    "2025-01-08" "Harbor Lane Exchange"/1: 30000 Coin "Harbor Lane Exchange"/1 => "an energy lender";
    "2025-01-13" "Harbor Lane Exchange"/1: 6000 Dollar "Harbor Lane Exchange"/1 => "Kaisa", 300 Coin "Harbor Lane Exchange"/1 => "Kaisa";
    "2025-01-20" "Kaisa": 2000 Dollar "Kaisa" => "Kaisa at Harbor Lane";
    "2025-01-20" "Kaisa": 20 Coin "Kaisa" => "an energy lender";
    "2025-01-21" "Kaisa at Harbor Lane": 2000 Dollar "Kaisa at Harbor Lane" => "Harbor Lane Exchange"/1;

    // A teahouse, which customers of the exchange pay.
    "2025-01-14" "Harbor Lane Exchange"/1: 4000 Dollar "Harbor Lane Exchange"/1 => "Lauri", 100 Coin "Harbor Lane Exchange"/1 => "Lauri";
    "2025-02-03" "Kaisa": 140 Dollar "Kaisa" => "Tin Kettle Teahouse";
    "2025-02-10" "Lauri": 260 Dollar "Lauri" => "Tin Kettle Teahouse";
    "2025-02-17" "Lauri": 310 Dollar "Lauri" => "Tin Kettle Teahouse";
    "2025-03-03" "Kaisa": 290 Dollar "Kaisa" => "Tin Kettle Teahouse";

    // Lotte falls for an investment fraud. A quarter of Hugo's dollars are hers.
    "2025-03-10" "Harbor Lane Exchange"/1: 40000 Dollar "Harbor Lane Exchange"/1 => "Lotte", 100 Coin "Harbor Lane Exchange"/1 => "Lotte";
    "2025-03-17" "Lotte": 38000 Dollar "Lotte" => "Golden Acre Investments";
    "2025-03-20" "Harbor Lane Exchange"/1: 27000 Dollar "Harbor Lane Exchange"/1 => "Hugo", 100 Coin "Harbor Lane Exchange"/1 => "Hugo";
    "2025-03-24" "Golden Acre Investments": 9000 Dollar "Golden Acre Investments" => "Hugo";
    // Gerd takes the rest to Ethereum over a bridge; Sten works for him there.
    "2025-07-20" "Golden Acre Investments": 12000 Dollar "Golden Acre Investments" => "Gerd", 50 Coin "Harbor Lane Exchange"/1 => "Gerd";
    "2025-07-21" "Gerd": 12000 Dollar "Gerd" => "Causeway Bridge";
    // Remo takes dollars that he bought at the exchange the same way.
    "2025-07-28" "Harbor Lane Exchange"/1: 1200 Dollar "Harbor Lane Exchange"/1 => "Remo", 50 Coin "Harbor Lane Exchange"/1 => "Remo";
    "2025-08-04" "Remo": 705 Dollar "Remo" => "Causeway Bridge";

    // A party that is on the sample's list from June 2025 on pays Oskar and rents energy.
    "2025-05-26" "Harbor Lane Exchange"/1: 60000 Dollar "Harbor Lane Exchange"/1 => "NORTHERN LANTERN FUND", 400 Coin "Harbor Lane Exchange"/1 => "NORTHERN LANTERN FUND";
    "2025-06-16" "NORTHERN LANTERN FUND": 25000 Dollar "NORTHERN LANTERN FUND" => "Oskar";
    "2025-06-17" "NORTHERN LANTERN FUND": 1.5 Coin "NORTHERN LANTERN FUND" => "an energy lender";

    // The issuer freezes Radek's and Wanda's dollars, Wanda's by mistake. Radek pays Sofie and Emil, Emil afterwards.
    "2025-08-11" "Harbor Lane Exchange"/1: 15000 Dollar "Harbor Lane Exchange"/1 => "Radek", 900 Coin "Harbor Lane Exchange"/1 => "Radek";
    "2025-08-11" "Harbor Lane Exchange"/1: 8000 Dollar "Harbor Lane Exchange"/1 => "Wanda", 100 Coin "Harbor Lane Exchange"/1 => "Wanda";
    "2025-08-18" "Radek": 2500 Dollar "Radek" => "Sofie";
    "2025-09-15" "Radek": 700 Coin "Radek" => "Emil";
};

/// All freezes.
const FREEZES: &[Freeze] = &[
    Freeze { day: "2025-09-01", change: FreezeChange::Frozen, account: wallet!("Radek") },
    Freeze { day: "2025-09-01", change: FreezeChange::Frozen, account: wallet!("Wanda") },
    Freeze { day: "2025-09-22", change: FreezeChange::Lifted, account: wallet!("Wanda") },
];

/// Days with the price of one TRX in dollars.
const PRICES: &[(&str, &str)] = &[
    ("2025-01-08", "0.246"),
    ("2025-01-13", "0.224"),
    ("2025-01-14", "0.231"),
    ("2025-01-20", "0.239"),
    ("2025-03-10", "0.232"),
    ("2025-03-20", "0.236"),
    ("2025-05-26", "0.271"),
    ("2025-06-17", "0.274"),
    ("2025-07-20", "0.318"),
    ("2025-07-28", "0.322"),
    ("2025-08-11", "0.341"),
    ("2025-09-15", "0.347"),
];
