use std::collections::{BTreeSet, HashMap};

use assay_address::CanonicalAddress;

use super::*;

/// Parties of the scenario without a listing or label.
const OTHERS: &str = "Ada, Bela, Bram, Copper Vault, Cort, Dara, Emil, Evi, Finch, Greenfield Haulage, Ilse, \
                         Ines, Jory, Kaja, Lindqvist Optics, Lutz, Lux, Marta, Millpond Dental Practice, Milo, \
                         Nell, Osk, Otto, Piet, Rook, Ruben, Sable, Tess, Town of Eastmere, Una, Vera, Wim";

fn blocks() -> Vec<Block> {
    SampleChain::new().unwrap().0
}

#[test]
fn the_chain_is_a_hundred_blocks_and_the_same_everywhere() {
    let blocks = blocks();
    assert_eq!(blocks.len(), 100, "no more than a reorganisation may replace");
    let times: Vec<String> =
        [0, 99].iter().map(|height| blocks[*height].reference.time.to_string()).collect();
    assert_eq!(times, ["2024-04-01T12:00:00Z", "2026-02-23T12:00:00Z"]);
    assert!(blocks.windows(2).all(|pair| pair[1].reference.parent == pair[0].reference.hash));
    let tip = hex::encode(blocks[99].reference.hash);
    assert_eq!(tip, "bfff59d2bb69a6d665625e7f473ac65206695602f22af615464b32f86de19b72");
    let payments: usize = blocks.iter().map(|block| block.transactions.len() - 1).sum();
    assert_eq!(payments, SCENARIO.len(), "every payment is in a block");
}

#[test]
fn only_miners_create_money_and_none_is_lost() {
    // Given every coin that was ever made, less those that were spent...
    let mut unspent: HashMap<OutPoint, u64> = HashMap::new();
    for block in blocks() {
        for Transaction { txid, inputs, outputs, .. } in block.transactions {
            for input in inputs {
                assert!(unspent.remove(&input.outpoint).is_some(), "spent once, and made before");
            }
            let coins = (0..).zip(outputs);
            unspent.extend(coins.map(|(index, coin)| (OutPoint { txid, index }, coin.value)));
        }
    }
    // ...then there are as many as the blocks brought: fees only change hands.
    assert_eq!(unspent.values().sum::<u64>(), 100 * SUBSIDY);
}

#[test]
fn every_party_of_the_scenario_is_listed_labeled_or_deliberately_neither() {
    let (_, _, labels) = world::labels().unwrap();
    let mut known: BTreeSet<_> = labels.into_iter().map(|label| label.address).collect();
    for (_, publication) in world::publications() {
        let published = publication.entries.iter().map(|entry| &entry.address_as_published);
        known.extend(published.filter_map(|text| CanonicalAddress::parse(ChainId::BTC, text).ok()));
    }
    let mut others = BTreeSet::new();
    for payment in SCENARIO {
        let paid = payment.payees.iter().map(|(payee, _)| payee);
        let payers = std::iter::once(&payment.payer).chain(payment.others);
        for Wallet { name, index } in payers.chain(paid) {
            let address = world::address(name, ChainId::BTC, *index).unwrap();
            if !known.contains(&address) {
                others.insert(*name);
            }
        }
    }
    assert_eq!(others.into_iter().collect::<Vec<_>>().join(", "), OTHERS);
}

#[test]
fn an_impossible_payment_is_named_in_the_error() {
    let wallet = |name| Wallet { name, index: 0 };
    let told = |day, payer, amount| {
        let payment = Payment {
            day,
            payer: wallet(payer),
            others: &[],
            payees: Box::leak(Box::new([(wallet("Ada"), amount)])),
        };
        SampleChain::from_payments(Box::leak(Box::new([payment]))).unwrap_err().to_string()
    };
    assert_eq!(
        told("2024-04-02", "Oldmill Mining Pool", "1"),
        "`2024-04-02` is not the day of a block: there is one each week"
    );
    assert_eq!(
        told("2024-04-08", "Oldmill Mining Pool", "1,5"),
        "2024-04-08: `1,5` is neither an amount of bitcoin nor `rest`"
    );
    // The pool's only coins by then are those of the first block.
    assert_eq!(
        told("2024-04-08", "Oldmill Mining Pool", "50"),
        "2024-04-08: Oldmill Mining Pool pays 5000010000 base units and holds 5000000000"
    );
    assert_eq!(
        told("2024-04-08", "Nell", "rest"),
        "2024-04-08: Nell pays 10000 base units and holds 0"
    );
}
