//! Recall on real joint transactions, and the number of false positives.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::utxo::{
    Txid,
    coinjoin::{CoinjoinKind, RecognitionTest},
};

use super::{
    common::Candidate,
    data::{self, Recorded},
};

type Counts = BTreeMap<&'static str, usize>;

fn count<'a>(transactions: impl Iterator<Item = &'a Candidate>) -> Counts {
    let mut counts = Counts::new();
    for transaction in transactions {
        *counts.entry(transaction.kind().map_or("none", CoinjoinKind::as_str)).or_default() += 1;
    }
    counts
}

fn transactions(records: &[Recorded]) -> impl Iterator<Item = &Candidate> {
    records.iter().map(|record| &record.transaction)
}

/// Transactions of `records` that spend, or are spent by, one of `found`. The detector uses neither the spent
/// transactions nor the spending ones, so such links are independent evidence.
fn linked(records: &[Recorded], found: &BTreeSet<Txid>) -> BTreeSet<Txid> {
    records
        .iter()
        .flat_map(|record| record.spends.iter().map(move |spent| (record.txid, *spent)))
        .filter(|(spender, spent)| found.contains(spender) || found.contains(spent))
        .flat_map(|(spender, spent)| {
            let witness = |one: Txid, other: Txid| found.contains(&other).then_some(one);
            [witness(spender, spent), witness(spent, spender)]
        })
        .flatten()
        .collect()
}

fn found(records: &[Recorded]) -> BTreeSet<Txid> {
    let joint = records.iter().filter(|record| record.transaction.kind().is_some());
    joint.map(|record| record.txid).collect()
}

/// All known rounds of the test data: 196 of one file, and 60 of the other, of which 59 are recognized and one is
/// linked to them; and the remaining transactions of the second file.
pub(crate) fn known_rounds() -> (Vec<Candidate>, Vec<Candidate>) {
    let mut rounds: Vec<_> = transactions(&data::recorded("wasabi1.txt.bz2")).cloned().collect();
    let records = data::recorded("joinmarket.txt.bz2");
    let linked = linked(&records, &found(&records));
    let (joint, others): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| linked.contains(&record.txid));
    let plain = |records: Vec<Recorded>| records.into_iter().map(|record| record.transaction);
    rounds.extend(plain(joint));
    assert_eq!(rounds.len(), 256);
    (rounds, plain(others).collect())
}

/// The value that the largest number of outputs have.
fn denomination(transaction: &Candidate) -> u64 {
    let mut counts = BTreeMap::<u64, usize>::new();
    for (_, value) in &transaction.outputs {
        *counts.entry(*value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
}

#[test]
#[ignore = "needs test data"]
fn rounds_of_wasabi_1_are_all_found() {
    let records = data::recorded("wasabi1.txt.bz2");
    assert_eq!(records.len(), 196);
    // The file has what has ten or more outputs of about 0.1 BTC. The base denomination of those days
    // went from 0.10990 to 0.10982 BTC, a little less each round; ten transactions have another, no
    // outputs of twice the base, one change a party at most, and parties who earned: JoinMarket's.
    let (wasabi, others): (Vec<_>, Vec<_>) = transactions(&records)
        .partition(|round| (10_980_000..10_992_000).contains(&denomination(round)));
    // All of them are of version 1.1: they have levels.
    for round in &wasabi {
        let found = round.recognition().unwrap();
        assert!(found.has_passed(RecognitionTest::ProtocolDenomination));
        assert!(found.has_passed(RecognitionTest::DenominationLevels));
        assert_eq!(found.confidence.percent(), 95);
    }
    assert_eq!(count(wasabi.into_iter()), Counts::from([("wasabi_1", 186)]));
    assert_eq!(count(others.into_iter()), Counts::from([("joinmarket", 10)]));
}

#[test]
#[ignore = "needs test data"]
fn coins_go_from_round_to_round_of_one_kind() {
    let records = data::recorded("wasabi1.txt.bz2");
    let kinds: BTreeMap<Txid, _> =
        records.iter().map(|record| (record.txid, record.transaction.kind())).collect();
    let mut coins = 0;
    for record in &records {
        for spent in record.spends.iter().filter_map(|spent| kinds.get(spent)) {
            assert_eq!(*spent, kinds[&record.txid], "{}", record.txid);
            coins += 1;
        }
    }
    assert!(coins > 8_000);
}

#[test]
#[ignore = "needs test data"]
fn rounds_of_wasabi_1_are_found_without_inputs() {
    let records = data::recorded("wasabi1.txt.bz2");
    let unknown: Vec<_> =
        transactions(&records).map(|round| round.clone().with_unknown_inputs()).collect();
    assert_eq!(count(unknown.iter()), Counts::from([("wasabi_1", 194), ("none", 2)]));
}

#[test]
#[ignore = "needs test data"]
fn rounds_of_another_time_are_generic() {
    let records = data::recorded("wasabi1.txt.bz2");
    let early: Vec<_> = transactions(&records).map(|round| round.clone().on(2014, 6, 1)).collect();
    let counts = count(early.iter());
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), ["generic", "none"]);
    assert!(counts["generic"] >= 150, "{counts:?}");
}

#[test]
#[ignore = "needs test data"]
fn joinmarket_rounds_are_found_and_little_else() {
    let records = data::recorded("joinmarket.txt.bz2");
    assert_eq!(records.len(), 567);
    assert_eq!(count(transactions(&records)), Counts::from([("joinmarket", 59), ("none", 508)]));
    let found = found(&records);
    let linked = linked(&records, &found);
    let among = |found_too: bool| {
        let of = |record: &&Recorded| found.contains(&record.txid) == found_too;
        records.iter().filter(of).filter(|record| linked.contains(&record.txid)).count()
    };
    assert_eq!((among(true), among(false)), (59, 1));
}

#[test]
#[ignore = "needs test data"]
fn joinmarket_rounds_without_inputs() {
    let records = data::recorded("joinmarket.txt.bz2");
    let unknown: Vec<_> =
        transactions(&records).map(|round| round.clone().with_unknown_inputs()).collect();
    assert_eq!(count(unknown.iter()), Counts::from([("joinmarket", 46), ("none", 521)]));
    let known: Vec<_> = transactions(&records).map(Candidate::kind).collect();
    for (unknown, known) in unknown.iter().zip(known) {
        assert!(unknown.kind().is_none() || unknown.kind() == known);
    }
}

#[test]
#[ignore = "needs test data"]
fn nothing_in_three_blocks_looks_joint() {
    let transactions = data::blocks();
    assert_eq!(transactions.len(), 631);
    assert!(transactions.iter().any(|one| one.outputs.len() > 100), "payouts are among them");
    assert_eq!(count(transactions.iter()), Counts::from([("none", 631)]));
    assert!(transactions.iter().all(|one| one.recognition().is_none()), "nor like an entry");
    // Whatever protocols existed at their time.
    for year in 2016..2027 {
        let later = transactions.iter().map(|one| one.clone().on(year, 7, 1));
        assert!(later.into_iter().all(|one| one.recognition().is_none()), "{year}");
    }
}
