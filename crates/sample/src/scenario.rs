//! Payments on the Bitcoin chain of the demo data set, party by party.
//!
//! A line is a transaction with the day of its block. Amounts are in bitcoin; `rest` is the whole balance of the
//! payers, less the other amounts and the fee. Without `rest`, the payer's oldest outputs are spent and the change
//! returns to the payer. `"name"/1` is another address of the same party.
//!
//! All parties are fictitious. `world.rs` lists or labels some of them; no list or label names the others.

use jiff::civil::{Date, date};

/// Day of the first block; another block follows each week.
pub(super) const FIRST_DAY: Date = date(2024, 4, 1);
/// Day of the latest block.
pub(super) const LAST_DAY: Date = date(2026, 2, 23);

/// One address of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wallet {
    pub(super) name: &'static str,
    pub(super) index: u8,
}

/// Transaction; day and amounts are texts of the table below.
#[derive(Debug)]
pub(super) struct Payment {
    pub(super) day: &'static str,
    /// Payer, who also receives the change.
    pub(super) payer: Wallet,
    /// Other payers of a joint transaction.
    pub(super) others: &'static [Wallet],
    pub(super) payees: &'static [(Wallet, &'static str)],
}

macro_rules! wallet {
    ($name:literal) => {
        Wallet { name: $name, index: 0 }
    };
    ($name:literal / $index:literal) => {
        Wallet { name: $name, index: $index }
    };
}

macro_rules! scenario {
    ($($day:literal $payer:literal $(/ $from:literal)? $(and $other:literal $(/ $with:literal)?)*
       pays $($amount:tt to $payee:literal $(/ $to:literal)?),+;)+) => {
        &[$(Payment {
            day: $day,
            payer: wallet!($payer $(/ $from)?),
            others: &[$(wallet!($other $(/ $with)?)),*],
            payees: &[$((wallet!($payee $(/ $to)?), stringify!($amount))),+],
        }),+]
    };
}

/// Miner of all blocks but those of [`MINED_BY_OTHERS`].
pub(super) const POOL: Wallet = wallet!("Oldmill Mining Pool");
/// Days of blocks with another miner.
pub(super) const MINED_BY_OTHERS: &[(&str, Wallet)] = &[("2024-05-20", wallet!("Ines"))];

/// All payments. Payments of one day are in the order of the table.
pub(super) const SCENARIO: &[Payment] = scenario! {
    // The pool sells what it mined, and pays a member.
    "2024-04-29" "Oldmill Mining Pool" pays 120 to "Harbor Lane Exchange", 60 to "Meridian Square Exchange";
    "2024-05-13" "Oldmill Mining Pool" pays 25 to "Quickstone Instant Swap";
    "2024-12-02" "Oldmill Mining Pool" pays 0.11 to "Marta";
    "2025-06-30" "Oldmill Mining Pool" pays 0.12 to "Marta";

    // Ines mines at home. She found one block and sold most of it.
    "2024-06-10" "Ines" pays 40 to "Meridian Square Exchange"/1;

    // Ada buys coins at an exchange, spends a little, and sells some again.
    "2024-06-03" "Harbor Lane Exchange" pays 0.4 to "Ada";
    "2024-07-15" "Ada" pays 0.002 to "Corner Bakery";
    "2024-11-04" "Harbor Lane Exchange" pays 0.25 to "Ada";
    "2025-02-10" "Ada" pays 0.05 to "Paper Kite Payments";
    "2025-08-11" "Ada" pays 0.3 to "Harbor Lane Exchange"/1;

    // The bakery sells what its customers paid. The exchange gathers what was deposited.
    "2024-09-09" "Otto" pays 0.0015 to "Corner Bakery";
    "2025-03-17" "Corner Bakery" pays rest to "Meridian Square Exchange"/2;
    "2025-09-22" "Meridian Square Exchange"/1 and "Meridian Square Exchange"/2 pays rest to "Meridian Square Exchange";

    // Otto plays in a casino.
    "2024-08-12" "Meridian Square Exchange" pays 0.6 to "Otto";
    "2024-10-14" "Otto" pays 0.15 to "Lucky Otter Casino";

    // A gang extorts ransoms from three victims, who buy the coins at exchanges...
    "2024-08-26" "Harbor Lane Exchange" pays 2.6 to "Millpond Dental Practice";
    "2024-09-02" "Millpond Dental Practice" pays 2.5 to "Blackfrost Ransomware";
    "2024-10-21" "Meridian Square Exchange" pays 6.1 to "Greenfield Haulage";
    "2024-10-28" "Greenfield Haulage" pays 6 to "Blackfrost Ransomware"/1;
    "2025-01-20" "Harbor Lane Exchange" pays 8.2 to "Town of Eastmere";
    "2025-01-27" "Town of Eastmere" pays 8 to "Blackfrost Ransomware"/2;
    // ...and cashes out: Sable buys a car from Jory, mixes some, and lets Finch sell some.
    "2025-02-17" "Blackfrost Ransomware" and "Blackfrost Ransomware"/1 pays rest to "Sable";
    "2025-02-24" "Sable" pays 1.2 to "Jory";
    "2025-03-10" "Sable" pays 4 to "Quiet River Mixer", 2 to "Finch";
    "2025-03-24" "Finch" pays rest to "Harbor Lane Exchange"/2;
    "2025-04-14" "Blackfrost Ransomware"/2 pays 3 to "Quickstone Instant Swap"/1, 1 to "Night Bazaar"/1;
    // Jory's other coins come from an exchange.
    "2024-12-16" "Harbor Lane Exchange" pays 0.8 to "Jory";
    "2025-09-15" "Jory" pays 0.5 to "Paper Kite Payments";

    // Another gang, of which only its victims speak. Ruben repairs its computers.
    "2025-06-16" "Harbor Lane Exchange" pays 1.6 to "Lindqvist Optics";
    "2025-06-23" "Lindqvist Optics" pays 1.5 to "Tin Crow Ransomware";
    "2025-07-07" "Tin Crow Ransomware" pays 0.7 to "Ruben";

    // Copper Vault is robbed. Piet mixes stolen coins with bought ones when he pays Evi.
    "2024-09-16" "Harbor Lane Exchange" pays 25 to "Copper Vault";
    "2024-12-30" "Copper Vault" pays rest to "Copper Vault Hack";
    "2025-01-06" "Harbor Lane Exchange" pays 0.5 to "Piet";
    "2025-02-03" "Copper Vault Hack" pays 0.5 to "Piet";
    "2025-03-03" "Copper Vault Hack" pays 12 to "Quiet River Mixer"/2, 6 to "Quickstone Instant Swap"/1;
    "2025-06-16" "Piet" pays 0.6 to "Evi";

    // A mixer takes coins at one address and pays others from another.
    "2024-11-18" "Harbor Lane Exchange" pays 2.1 to "Vera";
    "2024-12-09" "Vera" pays 2 to "Quiet River Mixer"/1;
    "2025-04-21" "Quiet River Mixer"/1 pays 0.6 to "Milo";
    "2024-07-22" "Meridian Square Exchange" pays 1.2 to "Milo";

    // Buyers pay a market, the market pays Rook, and Rook sells in small portions, each time passing the
    // rest on to a new address, all on one day. At the end he pays Tess.
    "2025-03-24" "Harbor Lane Exchange" pays 1 to "Lux";
    "2025-03-31" "Lux" pays 0.9 to "Night Bazaar";
    "2025-04-21" "Quickstone Instant Swap" pays 10 to "Night Bazaar", 5 to "Night Bazaar"/1;
    "2025-05-05" "Night Bazaar" pays 10 to "Rook";
    "2025-05-12" "Rook" pays 0.8 to "Harbor Lane Exchange"/3, rest to "Rook"/1;
    "2025-05-12" "Rook"/1 pays 0.7 to "Meridian Square Exchange"/1, rest to "Rook"/2;
    "2025-05-12" "Rook"/2 pays 0.9 to "Harbor Lane Exchange"/3, rest to "Rook"/3;
    "2025-05-12" "Rook"/3 pays 0.6 to "Meridian Square Exchange"/1, rest to "Rook"/4;
    "2025-05-12" "Rook"/4 pays 0.75 to "Harbor Lane Exchange"/3, rest to "Rook"/5;
    "2025-05-12" "Rook"/5 pays 0.65 to "Meridian Square Exchange"/1, rest to "Rook"/6;
    "2025-05-12" "Rook"/6 pays 0.85 to "Harbor Lane Exchange"/3, rest to "Rook"/7;
    "2025-05-12" "Rook"/7 pays 0.55 to "Meridian Square Exchange"/1, rest to "Rook"/8;
    "2025-05-12" "Rook"/8 pays 0.95 to "Harbor Lane Exchange"/3, rest to "Rook"/9;
    "2025-07-14" "Rook"/9 pays 1.5 to "Tess";
    // Later the police seize what the market still holds.
    "2025-10-13" "Night Bazaar"/1 pays rest to "Evidence locker";

    // Five people mix their coins together, and Una spends hers.
    "2025-10-20" "Harbor Lane Exchange" pays 0.02502 to "Una", 0.02502 to "Bela", 0.02502 to "Cort", 0.02502 to "Dara", 0.02502 to "Emil";
    "2025-10-27" "Una" and "Bela" and "Cort" and "Dara" and "Emil" pays 0.025 to "Una"/2, 0.025 to "Bela"/2, 0.025 to "Cort"/2, 0.025 to "Dara"/2, 0.025 to "Emil"/2;
    "2025-11-10" "Una"/2 pays 0.02 to "Paper Kite Payments";

    // Osk sends what he swapped through addresses that he uses once, to Ilse.
    "2025-09-08" "Quickstone Instant Swap" pays 3 to "Osk";
    "2025-09-15" "Osk" pays rest to "Osk"/2;
    "2025-09-15" "Osk"/2 pays rest to "Osk"/4;
    "2025-09-15" "Osk"/4 pays rest to "Osk"/6;
    "2025-09-15" "Osk"/6 pays rest to "Ilse";

    // Kaja pays Lutz in portions that each stay just below what has to be reported.
    "2025-11-17" "Meridian Square Exchange" pays 0.06 to "Kaja";
    "2025-11-24" "Kaja" pays 0.0098 to "Lutz";
    "2025-11-24" "Kaja" pays 0.0095 to "Lutz";
    "2025-11-24" "Kaja" pays 0.0099 to "Lutz";
    "2025-11-24" "Kaja" pays 0.0097 to "Lutz";
    "2025-11-24" "Kaja" pays 0.0096 to "Lutz";

    // Parties that are on the sample's list from June 2025 on. Wim lets a flat to one of them, Bram pays
    // another for goods.
    "2024-11-25" "Quickstone Instant Swap" pays 4 to "COLD ANCHOR GROUP";
    "2024-12-02" "COLD ANCHOR GROUP" pays 2 to "GREYMARSH, Ilja";
    "2025-05-19" "COLD ANCHOR GROUP" pays 1 to "DUNMORE, Petra";
    "2024-10-07" "Harbor Lane Exchange" pays 1.2 to "Wim";
    "2025-03-03" "GREYMARSH, Ilja" pays 0.05 to "Wim";
    "2025-09-01" "GREYMARSH, Ilja" pays 0.03 to "Wim";
    "2025-11-03" "Wim" pays 0.6 to "Meridian Square Exchange"/1;
    "2025-01-13" "Harbor Lane Exchange" pays 2 to "Bram";
    "2025-07-14" "Bram" pays 0.9999 to "COLD ANCHOR GROUP";

    // One of them sends dust to strangers. Nell, a customer of an exchange, never touches it.
    "2024-06-24" "Harbor Lane Exchange" pays 0.3 to "Nell";
    "2025-04-28" "Nell" pays 0.0499 to "Paper Kite Payments";
    "2025-09-29" "GREYMARSH, Ilja" pays 0.2 to "GREYMARSH, Ilja"/1;
    "2025-10-06" "GREYMARSH, Ilja"/1 pays 0.00000546 to "Nell", 0.00000546 to "Otto", 0.00000546 to "Marta";
};
