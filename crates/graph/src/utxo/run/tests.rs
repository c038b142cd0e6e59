//! Runs against ordered maps.

use assay_test_random::Random;
use std::collections::{BTreeMap, BTreeSet};

use assay_mapped::WriterLock;

use super::{
    Cursors, Entry, Filters, Hashed, Kind, Manifest, MovedEntry, PartialStatistics, Unfinished,
    find_all, maintain, page::page_key, write,
};
use crate::utxo::tables::Tables;

/// A store of runs in a folder of its own.
struct Runs {
    tables: Tables,
    lock: WriterLock,
    manifest: Manifest,
    filters: Filters,
    unfinished: Unfinished,
    _folder: tempfile::TempDir,
}

impl Runs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (tables, lock) = Tables::create(folder.path()).unwrap();
        Self {
            tables,
            lock,
            manifest: Manifest::default(),
            filters: Filters::enabled(),
            unfinished: Unfinished::default(),
            _folder: folder,
        }
    }

    /// Writes a run, and goes on with merging as after a batch of so many pages.
    fn batch<E: Entry>(&mut self, kind: Kind, mut entries: Vec<E>, pages: u64) {
        let committed = self.tables.environment.read().unwrap();
        let Self { tables, lock, manifest, filters, unfinished, .. } = self;
        let written = tables.environment.write(lock, |txn| {
            write(tables.run, txn, (manifest, filters), kind, &mut entries)?;
            maintain(tables.run, (&committed, txn), manifest, (filters, unfinished), pages)
        });
        written.unwrap();
    }

    /// All entries of a kind from a key on.
    fn all<E: Entry>(&self, kind: Kind, from: &[u8]) -> Vec<E> {
        let txn = self.tables.environment.read().unwrap();
        let mut cursors =
            Cursors::<E>::open(&txn, self.tables.run, &self.manifest, kind, from).unwrap();
        let mut all = Vec::new();
        while let Some(entry) = cursors.next().unwrap() {
            all.push(entry);
        }
        all
    }

    fn find(&self, kind: Kind, hash: u64, filtered: bool) -> BTreeSet<u64> {
        let txn = self.tables.environment.read().unwrap();
        let filters = filtered.then_some(&self.filters);
        let mut found = BTreeSet::new();
        find_all(&txn, self.tables.run, (&self.manifest, filters), kind, hash, |number| {
            found.insert(number);
            Ok(true)
        })
        .unwrap();
        found
    }

    /// The pages in the table, and those that the list of runs knows.
    fn pages(&self) -> [u64; 2] {
        let txn = self.tables.environment.read().unwrap();
        let known = self.manifest.runs.iter().map(|run| run.pages);
        let made = self.manifest.merges.iter().map(|merge| merge.output.pages);
        let mut dropped = 0;
        for (kind, id) in &self.manifest.dropped {
            let prefix = page_key(*kind, *id);
            dropped += self.tables.run.prefix_iter(&txn, &prefix).unwrap().count() as u64;
        }
        [self.tables.run.len(&txn).unwrap(), known.chain(made).sum::<u64>() + dropped]
    }
}

#[test]
fn numbers_are_found_by_their_hashes_through_all_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(1));
    let mut expected: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut number = 0;
    for round in 0..150 {
        let count = 1 + random.index(if round % 10 == 0 { 3000 } else { 300 });
        let entries: Vec<Hashed> = (0..count)
            .map(|_| {
                number += 1;
                // Some hashes are of very many numbers, over several pages.
                let hash = match random.below(10) {
                    0 => 77,
                    1 => random.next() % 50,
                    _ => random.next(),
                };
                Hashed { hash, number }
            })
            .collect();
        for entry in &entries {
            expected.entry(entry.hash).or_default().insert(entry.number);
        }
        runs.batch(Kind::Txid, entries, 1);
        if round % 29 == 0 || round == 149 {
            for (hash, numbers) in expected.iter().step_by(7) {
                assert_eq!(&runs.find(Kind::Txid, *hash, true), numbers);
                assert_eq!(&runs.find(Kind::Txid, *hash, false), numbers);
            }
            assert_eq!(runs.find(Kind::Txid, 77, true), expected[&77]);
            assert!(runs.find(Kind::Txid, u64::MAX - 12_345, true).is_empty());
            assert!(runs.find(Kind::Script, 77, true).is_empty());
        }
        let [there, known] = runs.pages();
        assert_eq!(there, known, "in round {round}");
    }
    let count = runs.manifest.of_kind(Kind::Txid).count();
    assert!(count < 30, "{count} runs");
}

#[test]
fn entries_stay_in_order_through_slices_of_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(2));
    let mut expected = BTreeSet::new();
    for transaction in 0..60_u64 {
        // So many pages that a merge takes several slices.
        let entries: Vec<MovedEntry> = (0..6000_u32)
            .map(|index| MovedEntry {
                owner: random.next() % 5000,
                inverse: !(random.next() % 1_000_000),
                transaction,
                index,
            })
            .collect();
        expected.extend(entries.iter().copied());
        runs.batch(Kind::Sent, entries, 1);
        let is_checked = transaction % 9 == 8 || transaction == 59;
        if is_checked {
            assert!(runs.all::<MovedEntry>(Kind::Sent, &[]).iter().eq(&expected));
        }
    }
    assert!(runs.manifest.runs.iter().any(|run| run.level > 0), "nothing was merged");
    for owner in [0, 1, 2500, 4999, 5000] {
        let from = crate::utxo::bytes::number(owner);
        let found = runs.all::<MovedEntry>(Kind::Sent, &from);
        assert!(found.iter().eq(expected.iter().filter(|entry| entry.owner >= owner)));
    }
}

#[test]
fn partial_sums_are_added_when_runs_merge() {
    let (mut runs, mut random) = (Runs::new(), Random::new(3));
    let mut expected: BTreeMap<u64, PartialStatistics> = BTreeMap::new();
    for height in 0..200_u64 {
        let entries: Vec<PartialStatistics> = (0..500)
            .map(|_| PartialStatistics {
                owner: random.next() % 3000,
                first: height,
                last: height,
                transactions_in: 1,
                transactions_out: random.next() % 2,
                received: u128::from(random.next()) << 20,
                sent: u128::from(random.next()),
            })
            .collect();
        for entry in &entries {
            let sum = expected.entry(entry.owner).or_insert(PartialStatistics {
                transactions_in: 0,
                transactions_out: 0,
                received: 0,
                sent: 0,
                ..*entry
            });
            sum.add(entry);
        }
        runs.batch(Kind::Statistics, entries, 1);
    }
    assert!(runs.all::<PartialStatistics>(Kind::Statistics, &[]).iter().eq(expected.values()));
    let entries: u64 = runs.manifest.runs.iter().map(|run| run.entries).sum();
    assert!(entries < 40_000, "{entries} entries of 3,000 owners");
}

#[test]
fn an_interrupted_writer_goes_on_with_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(4));
    let mut expected = BTreeSet::new();
    for number in 0..100_u64 {
        let entries: Vec<Hashed> =
            (0..2000).map(|_| Hashed { hash: random.next(), number }).collect();
        expected.extend(entries.iter().copied());
        runs.batch(Kind::Script, entries, 1);
        // What is only in memory is gone.
        runs.manifest = Manifest::from_bytes(&runs.manifest.to_bytes()).unwrap();
        runs.filters.clear();
        runs.unfinished.clear();
        let txn = runs.tables.environment.read().unwrap();
        runs.manifest.fill_filters(runs.tables.run, &txn, &mut runs.filters).unwrap();
        drop(txn);
    }
    assert!(runs.all::<Hashed>(Kind::Script, &[]).iter().eq(&expected));
    for entry in expected.iter().step_by(999) {
        assert!(runs.find(Kind::Script, entry.hash, true).contains(&entry.number));
    }
}
