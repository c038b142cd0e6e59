//! Parties of the demo data set, with their listings and labels.

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_engine::{
    evidence::{AddressLabel, Alias, Label, ListedEntity, ListingEntry, Tier},
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};
use assay_intel::listings::Publication;
use jiff::civil::{Date, date};
use sha2::{Digest, Sha256};

/// Fictitious sanctions list; blocking under the policy of the demo data set.
pub const SAMPLE_LIST: &str = "sample-sanctions";
/// Fictitious advisory list.
const NOTICES: &str = "sample-notices";
/// The source of all labels.
const LABELS: &str = "sample-labels";

const FIRST: Date = date(2026, 1, 12);
const SECOND: Date = date(2026, 2, 9);

/// Party on a fictitious list.
struct ListedParty {
    id: &'static str,
    name: &'static str,
    alias: Option<&'static str>,
    program: &'static str,
    list: &'static str,
    /// Asset codes, with the number of addresses each.
    addresses: &'static [(&'static str, u8)],
    /// True if the second publication of the list omits the party.
    dropped: bool,
}

const fn listed(
    id: &'static str,
    name: &'static str,
    program: &'static str,
    addresses: &'static [(&'static str, u8)],
) -> ListedParty {
    ListedParty { id, name, alias: None, program, list: SAMPLE_LIST, addresses, dropped: false }
}

const LISTED: &[ListedParty] = &[
    ListedParty {
        alias: Some("GREYMARSH, Ilya"),
        ..listed("S-101", "GREYMARSH, Ilja", "SAMPLE-CYBER", &[("XBT", 2), ("ETH", 1)])
    },
    listed("S-102", "COLD ANCHOR GROUP", "SAMPLE-CYBER", &[("XBT", 1), ("TRX", 1)]),
    listed("S-103", "VELVET HARBOR EXCHANGE OU", "SAMPLE-FINANCE", &[("ETH", 1), ("USDT", 1)]),
    listed("S-104", "DUNMORE, Petra", "SAMPLE-ARMS", &[("XBT", 1)]),
    listed("S-105", "NORTHERN LANTERN FUND", "SAMPLE-TERROR", &[("TRX", 1), ("ETH", 1)]),
    ListedParty {
        dropped: true,
        ..listed("S-106", "GLASS TIDE PROTOCOL", "SAMPLE-CYBER", &[("ETH", 2)])
    },
    ListedParty {
        list: NOTICES,
        ..listed("N-201", "ASHGROVE, Tomas", "SAMPLE-NOTICE", &[("XBT", 1)])
    },
    ListedParty {
        list: NOTICES,
        ..listed("N-202", "PALE HERON TRADING", "SAMPLE-NOTICE", &[("ETH", 1)])
    },
];

/// Party with a label.
struct LabelledParty {
    name: &'static str,
    category: Category,
    tier: Tier,
    percent: u8,
    upstream: &'static str,
    /// Chains, with the number of addresses on each.
    addresses: &'static [(ChainId, u8)],
}

const BTC: ChainId = ChainId::BTC;
const ETH: ChainId = ChainId::ETH;
const TRX: ChainId = ChainId::TRX;
const BSC: ChainId = ChainId::BSC;

macro_rules! labelled {
    ($($name:literal $category:ident $tier:ident $percent:literal $upstream:literal
        [$(($chain:ident, $count:literal)),+];)+) => {
        const LABELLED: &[LabelledParty] = &[$(LabelledParty {
            name: $name,
            category: Category::$category,
            tier: Tier::$tier,
            percent: $percent,
            upstream: $upstream,
            addresses: &[$(($chain, $count)),+],
        }),+];
    };
}

labelled! {
    "Harbor Lane Exchange" Exchange Investigation 95 "sample analysts" [(BTC, 4), (ETH, 3), (TRX, 2), (BSC, 1)];
    "Meridian Square Exchange" Exchange Investigation 95 "sample analysts" [(BTC, 3), (ETH, 2)];
    "Bluefield Exchange" Exchange Community 60 "sample forum" [(ETH, 2)];
    "Northgate Custody" Custodian Investigation 95 "sample analysts" [(BTC, 2), (ETH, 1)];
    "Paper Kite Payments" PaymentProcessor Investigation 90 "sample analysts" [(BTC, 1), (TRX, 2)];
    "Oldmill Mining Pool" MiningPool Investigation 95 "sample analysts" [(BTC, 2)];
    "Corner Bakery" Merchant Community 70 "sample forum" [(BTC, 1)];
    "Open Well Donations" Donation Community 80 "sample forum" [(ETH, 1)];
    "Linden Swap" Dex Investigation 95 "sample explorer" [(ETH, 2)];
    "Causeway Bridge" Bridge Investigation 95 "sample explorer" [(ETH, 1), (TRX, 1)];
    "Quickstone Instant Swap" NoKycExchange Investigation 80 "sample analysts" [(BTC, 2), (ETH, 1), (TRX, 1)];
    "Lucky Otter Casino" Gambling Investigation 85 "sample analysts" [(BTC, 1), (TRX, 1)];
    "Cashpoint Row" Atm Community 60 "sample forum" [(BTC, 1)];
    "Quiet River Mixer" Mixer Investigation 90 "sample analysts" [(BTC, 3), (ETH, 1)];
    "Fogbank Mixer" Mixer Community 70 "sample forum" [(ETH, 2)];
    "Blackfrost Ransomware" Ransomware Investigation 90 "sample police" [(BTC, 4)];
    "Tin Crow Ransomware" Ransomware Community 80 "sample victims" [(BTC, 2)];
    "Silver Heron Drainer" PhishingDrainer Investigation 85 "sample explorer" [(ETH, 3)];
    "Golden Acre Investments" Scam Investigation 85 "sample analysts" [(TRX, 3), (ETH, 1)];
    "Double Your Coins" Scam Community 50 "sample victims" [(BTC, 2)];
    "Night Bazaar" DarknetMarket Investigation 90 "sample police" [(BTC, 2)];
    "Copper Vault Hack" StolenFunds Investigation 90 "sample analysts" [(BTC, 1), (ETH, 2)];
    "Dim Alley Cards" FraudShop Community 60 "sample forum" [(BTC, 1)];
    "Frozen by issuer" IssuerFrozen OnChainProof 100 "sample issuer" [(TRX, 1)];
    "Evidence locker" SeizedFunds Investigation 90 "sample police" [(BTC, 1)];
    "Somebody's complaint" CommunityReport Community 30 "sample forum" [(ETH, 1)];
}

/// Publications of the lists, oldest first, each with its source.
#[must_use]
pub fn publications() -> Vec<(SourceId, Publication)> {
    let publication = |list: &str, published_on: Date, with_dropped: bool| {
        let entries: Vec<ListingEntry> = LISTED
            .iter()
            .filter(|party| party.list == list && (with_dropped || !party.dropped))
            .flat_map(entries)
            .collect();
        let parties = u64::try_from(LISTED.len()).unwrap_or_default();
        let source = name::<SourceId>(list)?;
        Some((
            source,
            Publication {
                published_on,
                entries,
                rejected: vec![],
                parties,
                incomplete: vec![],
                addresses_are_rare: false,
            },
        ))
    };
    [
        publication(SAMPLE_LIST, FIRST, true),
        publication(SAMPLE_LIST, SECOND, false),
        publication(NOTICES, SECOND, true),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn entries(party: &ListedParty) -> Vec<ListingEntry> {
    let Some(list) = name::<ListId>(party.list) else {
        return Vec::new();
    };
    let alias = |name: &str| Alias { name: name.into(), kind: "A.K.A.".into(), weak: false };
    let numbered = party
        .addresses
        .iter()
        .flat_map(|(code, count)| (0..*count).map(move |number| (*code, number)));
    numbered
        .filter_map(|(code, number)| {
            Some(ListingEntry {
                list: list.clone(),
                list_name: match party.list {
                    SAMPLE_LIST => "Sample Sanctions List".into(),
                    _ => "Sample Notices".into(),
                },
                entity: ListedEntity {
                    id: party.id.into(),
                    name: party.name.into(),
                    aliases: party.alias.map(alias).into_iter().collect(),
                    programs: vec![party.program.into()],
                    remarks: Some("made up".into()),
                    listed_on: Some(date(2025, 6, 2)),
                    ..ListedEntity::default()
                }
                .into(),
                asset_code: code.into(),
                address_as_published: listed_address(party.name, code, number)?.to_string(),
                address_remarks: None,
                expires_on: None,
            })
        })
        .collect()
}

/// The source of all labels, their date, and the labels.
#[must_use]
pub fn labels() -> Option<(SourceId, Date, Vec<AddressLabel>)> {
    let source = name::<SourceId>(LABELS)?;
    let labels = LABELLED.iter().flat_map(|party| {
        let numbered = party
            .addresses
            .iter()
            .flat_map(|(chain, count)| (0..*count).map(move |number| (*chain, number)));
        let source = source.clone();
        numbered.filter_map(move |(chain, number)| {
            Some(AddressLabel {
                address: address(party.name, chain, number)?,
                label: Label {
                    category: party.category,
                    entity: Some(party.name.into()),
                    tier: party.tier,
                    confidence: Confidence::from_percent(party.percent),
                    source: source.clone(),
                    upstream: party.upstream.into(),
                    author: None,
                    term: None,
                    cites_list: None,
                    reason: Some("made up".into()),
                    reference: None,
                    valid_from: None,
                    valid_until: None,
                },
            })
        })
    });
    Some((source.clone(), SECOND, labels.collect()))
}

pub(super) fn listed_address(party: &str, code: &str, number: u8) -> Option<CanonicalAddress> {
    // The token's addresses are of the EVM form.
    address(party, ChainId::from_list_code(code).unwrap_or(ETH), number)
}

/// Returns the address whose payload is a hash of the name. No key for it exists.
pub(super) fn address(party: &str, chain: ChainId, number: u8) -> Option<CanonicalAddress> {
    let digest = Sha256::digest(format!("assay sample world/{party}/{chain}/{number}"));
    let hash: [u8; 20] = digest.get(..20)?.try_into().ok()?;
    let payload = if chain != BTC {
        Payload::Account(hash)
    } else if number % 2 == 1 {
        Payload::PublicKeyHash(hash)
    } else {
        Payload::Witness { version: 0, program: hash.to_vec() }
    };
    CanonicalAddress::from_payload(chain, payload)
}

/// Parses a name of this file, which is valid.
fn name<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_demo_data_is_small_complete_and_reproducible() {
        let (_, _, labels) = labels().unwrap();
        let labelled: usize =
            LABELLED.iter().flat_map(|party| party.addresses).map(|(_, n)| usize::from(*n)).sum();
        assert_eq!(labels.len(), labelled, "no label got lost");
        assert_eq!(publications().len(), 3);
        let listed: usize =
            LISTED.iter().flat_map(|p| p.addresses).map(|(_, n)| usize::from(*n)).sum();
        let first_and_notices: usize =
            [0, 2].into_iter().map(|place| publications()[place].1.entries.len()).sum();
        assert_eq!(first_and_notices, listed, "no listing got lost");
        assert!((24..=48).contains(&(LABELLED.len() + LISTED.len())), "a few dozen entities");
        let all: BTreeSet<_> = labels.iter().map(|label| label.address.clone()).collect();
        assert_eq!(all.len(), labels.len(), "nobody shares an address");
    }
}
