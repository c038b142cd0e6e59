//! The scenario of the demo data set: its payments, and the expected result of a deposit of each.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_engine::utxo::{ScriptOwner, Transaction};
use assay_sample::SampleChain;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

pub(super) const HARBOR: &str = "Harbor Lane Exchange";
pub(super) const MERIDIAN: &str = "Meridian Square Exchange";
pub(super) const OLDMILL: &str = "Oldmill Mining Pool";
pub(super) const QUICKSTONE: &str = "Quickstone Instant Swap";
pub(super) const BLACKFROST: &str = "Blackfrost Ransomware";
pub(super) const HACK: &str = "Copper Vault Hack";
pub(super) const MIXER: &str = "Quiet River Mixer";
pub(super) const BAZAAR: &str = "Night Bazaar";
pub(super) const GREYMARSH: &str = "GREYMARSH, Ilja";
pub(super) const ANCHOR: &str = "COLD ANCHOR GROUP";

/// Expected result of a deposit: party and day of the output, verdict, score, and the parties at which the money began.
pub(super) type ExpectedDeposit =
    (&'static str, (&'static str, u8), &'static str, Option<f64>, &'static [&'static str]);

/// The expected results of deposits of every payment in `crates/sample/src/scenario.rs`. The scores are worked out by
/// hand: a party with severity s and confidence c that is n hops away gives s x c x 2^(-(n - 1) / 2.4) if all of the
/// money is its own, and of a severity from 80 on at least the lesser of s x c and 59.9. Scores are omitted if shares
/// would have to be multiplied.
pub(super) const DEPOSITS: &[ExpectedDeposit] = &[
    // A pool that is known directly: 5 x 95 % = 4.75.
    ("2024-04-29", (HARBOR, 0), "allow", Some(4.7), &[OLDMILL]),
    ("2024-04-29", (MERIDIAN, 0), "allow", Some(4.7), &[OLDMILL]),
    ("2024-05-13", (QUICKSTONE, 0), "allow", Some(4.7), &[OLDMILL]),
    ("2024-12-02", ("Marta", 0), "allow", Some(4.7), &[OLDMILL]),
    ("2025-06-30", ("Marta", 0), "allow", Some(4.7), &[OLDMILL]),
    // Ines mined the coins herself, two hops away: 5 x 0.7492 = 3.75.
    ("2024-06-10", (MERIDIAN, 1), "allow", Some(3.7), &["mining"]),
    // Bought at an exchange: 5 x 95 %. Spent by the buyer: one hop more, 4.75 x 0.7492 = 3.56.
    ("2024-06-03", ("Ada", 0), "allow", Some(4.7), &[HARBOR]),
    ("2024-07-15", ("Corner Bakery", 0), "allow", Some(3.5), &[HARBOR]),
    ("2024-11-04", ("Ada", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-02-10", ("Paper Kite Payments", 0), "allow", None, &[HARBOR]),
    ("2025-08-11", (HARBOR, 1), "allow", None, &[HARBOR]),
    // The bakery's customers bought at one exchange each.
    ("2024-09-09", ("Corner Bakery", 0), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-03-17", (MERIDIAN, 2), "allow", None, &[HARBOR, MERIDIAN]),
    ("2025-09-22", (MERIDIAN, 0), "allow", Some(4.7), &[MERIDIAN]),
    ("2024-08-12", ("Otto", 0), "allow", Some(4.7), &[MERIDIAN]),
    ("2024-10-14", ("Lucky Otter Casino", 0), "allow", None, &[MERIDIAN]),
    // The victims' money is clean until the gang has it: what a gang gets is no risk to it.
    ("2024-08-26", ("Millpond Dental Practice", 0), "allow", Some(4.7), &[HARBOR]),
    ("2024-09-02", (BLACKFROST, 0), "allow", Some(3.5), &[HARBOR]),
    ("2024-10-21", ("Greenfield Haulage", 0), "allow", Some(4.7), &[MERIDIAN]),
    ("2024-10-28", (BLACKFROST, 1), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-01-20", ("Town of Eastmere", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-01-27", (BLACKFROST, 2), "allow", Some(3.5), &[HARBOR]),
    // Directly from the gang: 95 x 90 % = 85.5. Over one more hop 64.05, also of what Sable paid with change;
    // further away less, but the gang's severity keeps it at 59.9.
    ("2025-02-17", ("Sable", 0), "block", Some(85.5), &[BLACKFROST]),
    ("2025-02-24", ("Jory", 0), "review", Some(64.0), &[BLACKFROST]),
    ("2025-03-10", (MIXER, 0), "review", Some(64.0), &[BLACKFROST]),
    ("2025-03-10", ("Finch", 0), "review", Some(64.0), &[BLACKFROST]),
    ("2025-03-24", (HARBOR, 2), "review", Some(59.9), &[BLACKFROST]),
    ("2025-04-14", (QUICKSTONE, 1), "block", Some(85.5), &[BLACKFROST]),
    ("2025-04-14", (BAZAAR, 1), "block", Some(85.5), &[BLACKFROST]),
    // Jory pays with the coins that he bought, not with those of the gang: his own review does not follow.
    ("2024-12-16", ("Jory", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-09-15", ("Paper Kite Payments", 0), "allow", Some(3.5), &[HARBOR]),
    // Only its victims call Tin Crow a gang: 95 x 80 % = 76. Their label does not end the trace, and is capped
    // at 69.9, beside the exchange three hops away: 1 - (1 - 0.699) x (1 - 0.0475 x 0.5612) = 0.707.
    ("2025-06-16", ("Lindqvist Optics", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-06-23", ("Tin Crow Ransomware", 0), "allow", Some(3.5), &[HARBOR]),
    ("2025-07-07", ("Ruben", 0), "review", Some(70.7), &[HARBOR]),
    // Stolen, directly: 90 x 90 % = 81. Piet pays half of it, and half of what he bought.
    ("2024-09-16", ("Copper Vault", 0), "allow", Some(4.7), &[HARBOR]),
    ("2024-12-30", (HACK, 0), "allow", Some(3.5), &[HARBOR]),
    ("2025-01-06", ("Piet", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-02-03", ("Piet", 0), "block", Some(81.0), &[HACK]),
    ("2025-03-03", (MIXER, 2), "block", Some(81.0), &[HACK]),
    ("2025-03-03", (QUICKSTONE, 1), "block", Some(81.0), &[HACK]),
    // Half of it stolen, two hops away: 81 x 0.5^0.4 = 61.4 at any distance.
    ("2025-06-16", ("Evi", 0), "review", Some(59.9), &[HACK, HARBOR]),
    // Out of a mixer: 75 x 90 % = 67.5. What went in had another origin.
    ("2024-11-18", ("Vera", 0), "allow", Some(4.7), &[HARBOR]),
    ("2024-12-09", (MIXER, 1), "allow", Some(3.5), &[HARBOR]),
    ("2025-04-21", ("Milo", 0), "review", Some(67.5), &[MIXER]),
    ("2024-07-22", ("Milo", 0), "allow", Some(4.7), &[MERIDIAN]),
    // The market's money: 85 x 90 % = 76.5 directly. Over one hop it would be 57.3, and less with each hop of the
    // peel chain; the market's severity keeps it at 59.9.
    ("2025-03-24", ("Lux", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-03-31", (BAZAAR, 0), "allow", Some(3.5), &[HARBOR]),
    ("2025-04-21", (BAZAAR, 0), "allow", Some(40.0), &[QUICKSTONE]),
    ("2025-04-21", (BAZAAR, 1), "allow", Some(40.0), &[QUICKSTONE]),
    ("2025-05-05", ("Rook", 0), "block", Some(76.5), &[BAZAAR]),
    ("2025-05-12", (HARBOR, 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 1), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (MERIDIAN, 1), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 2), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (HARBOR, 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (MERIDIAN, 1), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 4), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (HARBOR, 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 5), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (MERIDIAN, 1), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 6), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (HARBOR, 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 7), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (MERIDIAN, 1), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 8), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", (HARBOR, 3), "review", Some(59.9), &[BAZAAR]),
    ("2025-05-12", ("Rook", 9), "review", Some(59.9), &[BAZAAR]),
    ("2025-07-14", ("Tess", 0), "review", Some(59.9), &[BAZAAR]),
    ("2025-10-13", ("Evidence locker", 0), "block", Some(76.5), &[BAZAAR]),
    // Five buyers of coins mix them together: mixing is a review, and further away it is not.
    ("2025-10-20", ("Una", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-10-20", ("Bela", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-10-20", ("Cort", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-10-20", ("Dara", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-10-20", ("Emil", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-10-27", ("Una", 2), "review", None, &[HARBOR]),
    ("2025-10-27", ("Bela", 2), "review", None, &[HARBOR]),
    ("2025-10-27", ("Cort", 2), "review", None, &[HARBOR]),
    ("2025-10-27", ("Dara", 2), "review", None, &[HARBOR]),
    ("2025-10-27", ("Emil", 2), "review", None, &[HARBOR]),
    ("2025-11-10", ("Paper Kite Payments", 0), "allow", None, &[HARBOR]),
    // Swapped without a name: 50 x 80 % = 40, less with each hop.
    ("2025-09-08", ("Osk", 0), "allow", Some(40.0), &[QUICKSTONE]),
    ("2025-09-15", ("Osk", 2), "allow", Some(29.9), &[QUICKSTONE]),
    ("2025-09-15", ("Osk", 4), "allow", Some(22.4), &[QUICKSTONE]),
    ("2025-09-15", ("Osk", 6), "allow", Some(16.8), &[QUICKSTONE]),
    ("2025-09-15", ("Ilse", 0), "allow", Some(12.5), &[QUICKSTONE]),
    // Portions of what was bought.
    ("2025-11-17", ("Kaja", 0), "allow", Some(4.7), &[MERIDIAN]),
    ("2025-11-24", ("Lutz", 0), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-11-24", ("Lutz", 0), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-11-24", ("Lutz", 0), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-11-24", ("Lutz", 0), "allow", Some(3.5), &[MERIDIAN]),
    ("2025-11-24", ("Lutz", 0), "allow", Some(3.5), &[MERIDIAN]),
    // Listed receivers: a listing blocks, whatever the money.
    ("2024-11-25", (ANCHOR, 0), "block", Some(100.0), &[QUICKSTONE]),
    ("2024-12-02", (GREYMARSH, 0), "block", Some(100.0), &[ANCHOR]),
    ("2025-05-19", ("DUNMORE, Petra", 0), "block", Some(100.0), &[ANCHOR]),
    ("2025-07-14", (ANCHOR, 0), "block", Some(100.0), &[HARBOR]),
    ("2025-09-29", (GREYMARSH, 1), "block", Some(100.0), &[GREYMARSH]),
    // Wim's rent is a listed party's, before it was listed, which is a review at most, and after; the money
    // that he sells is not.
    ("2024-10-07", ("Wim", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-03-03", ("Wim", 0), "review", Some(59.9), &[GREYMARSH]),
    ("2025-09-01", ("Wim", 0), "block", Some(100.0), &[GREYMARSH]),
    ("2025-11-03", (MERIDIAN, 1), "allow", Some(3.5), &[HARBOR]),
    ("2025-01-13", ("Bram", 0), "allow", Some(4.7), &[HARBOR]),
    // Dust is not unsolicited where the question is about the dust.
    ("2024-06-24", ("Nell", 0), "allow", Some(4.7), &[HARBOR]),
    ("2025-04-28", ("Paper Kite Payments", 0), "allow", Some(3.5), &[HARBOR]),
    ("2025-10-06", ("Nell", 0), "block", Some(100.0), &[GREYMARSH]),
    ("2025-10-06", ("Otto", 0), "block", Some(100.0), &[GREYMARSH]),
    ("2025-10-06", ("Marta", 0), "block", Some(100.0), &[GREYMARSH]),
];

/// The address of a party of the scenario: the hash of its name.
pub(super) fn address(party: &str, index: u8) -> String {
    let digest = Sha256::digest(format!("assay sample world/{party}/btc/{index}"));
    let hash: [u8; 20] = digest[..20].try_into().unwrap();
    let payload = if index % 2 == 1 {
        Payload::PublicKeyHash(hash)
    } else {
        Payload::Witness { version: 0, program: hash.to_vec() }
    };
    CanonicalAddress::from_payload(ChainId::BTC, payload).unwrap().to_string()
}

/// The scenario's transactions by the days of their blocks.
pub(super) fn scenario_transactions() -> BTreeMap<String, Vec<Transaction>> {
    let chain = SampleChain::new().unwrap();
    let blocks = chain.blocks().iter().map(|block| {
        let day = block.reference.time.to_zoned(TimeZone::UTC).date().to_string();
        (day, block.transactions.clone())
    });
    blocks.collect()
}

pub(super) fn paid_to(owner: &ScriptOwner) -> String {
    owner.address(ChainId::BTC).unwrap().to_string()
}
