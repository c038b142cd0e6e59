//! Tests of runs against ordered maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_mapped::{EnvironmentFormat, MappedEnvironment, MappedError, WriterLock};
use assay_test_random::Random;

use super::{
    Cursors, Filters, MergeSlice, NumberByHash, RunEntry, RunKind, RunManifest, UnfinishedFilters,
    continue_merges, fill_filters, find_all, merge_slice, page::page_key, write,
};
use crate::{
    ColumnsError, NamedTable,
    bytes::{ByteReader, number, put_varint},
};

/// Kinds of the runs in these tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    Found,
    New,
    Listed,
    Summed,
}

impl RunKind for TestKind {
    const ALL: &'static [Self] = &[Self::Found, Self::New, Self::Listed, Self::Summed];

    fn number(self) -> u8 {
        self as u8
    }

    fn is_hashed(self) -> bool {
        matches!(self, Self::Found | Self::New)
    }

    fn is_mostly_new(self) -> bool {
        self == Self::New
    }

    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError> {
        match self {
            Self::Found | Self::New => slice.merge_entries::<NumberByHash>(),
            Self::Listed => slice.merge_entries::<Listed>(),
            Self::Summed => slice.merge_entries::<Summed>(),
        }
    }
}

/// An entry of an owner's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    owner: u64,
    value: u64,
    transaction: u64,
}

impl RunEntry for Listed {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend([self.owner, self.value, self.transaction].map(number).concat());
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let [owner, value] = [reading.number()?, reading.number()?];
        Some(Self { owner, value, transaction: reading.number()? })
    }

    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner - before.map_or(0, |before| before.owner));
        put_varint(into, self.value);
        put_varint(into, self.transaction);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner) + reading.varint()?;
        Some(Self { owner, value: reading.varint()?, transaction: reading.varint()? })
    }
}

/// A summand of an owner's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Summed {
    owner: u64,
    sum: u64,
}

impl RunEntry for Summed {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend(number(self.owner));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { owner: reading.number()?, sum: 0 })
    }

    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner - before.map_or(0, |before| before.owner));
        put_varint(into, self.sum);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner) + reading.varint()?;
        Some(Self { owner, sum: reading.varint()? })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.owner == other.owner;
        self.sum += if is_same { other.sum } else { 0 };
        is_same
    }
}

/// An error of the environment or of a table.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    Environment(#[from] MappedError),
    #[error("{0}")]
    Columns(#[from] ColumnsError),
    #[error("as wanted")]
    Wanted,
}

const FORMAT: EnvironmentFormat =
    EnvironmentFormat { name: "assay-test-runs", version: 1, tables: &["run"], map_size: 1 << 30 };

/// Most pages of a slice of merges between batches.
const SLICE: u64 = 8;

/// A store of runs in a folder of its own.
struct Runs {
    environment: Arc<MappedEnvironment>,
    table: NamedTable,
    lock: WriterLock,
    manifest: RunManifest<TestKind>,
    filters: Filters,
    unfinished: UnfinishedFilters,
    _folder: tempfile::TempDir,
}

impl Runs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (environment, lock) = assay_mapped::create(folder.path(), &FORMAT).unwrap();
        Self {
            table: NamedTable::new("run", environment.tables()[0]),
            environment,
            lock,
            manifest: RunManifest::default(),
            filters: Filters::enabled(),
            unfinished: UnfinishedFilters::default(),
            _folder: folder,
        }
    }

    /// Writes a run, and continues the merges as after a batch of `pages` pages.
    fn batch<E: RunEntry>(&mut self, kind: TestKind, mut entries: Vec<E>, pages: u64) {
        let committed = self.environment.read().unwrap();
        let Self { environment, table, lock, manifest, filters, unfinished, .. } = self;
        let written: Result<(), Failed> = environment.write(lock, |txn| {
            write(*table, txn, (manifest, filters), kind, &mut entries)?;
            Ok(continue_merges(*table, (&committed, txn), manifest, (filters, unfinished), pages)?)
        });
        written.unwrap();
    }

    /// Writes a run and continues the merges in transactions of their own, as a writer that merges between batches. Each
    /// transaction fails at the end if `fails` says so, and is tried again. Returns the most pages that a slice wrote.
    fn batch_and_slices<E: RunEntry>(
        &mut self,
        kind: TestKind,
        entries: &[E],
        mut fails: impl FnMut() -> bool,
    ) -> u64 {
        let mut most = 0;
        let mut is_written = false;
        while !is_written || self.manifest.is_due() {
            let has_failed = fails();
            let before = self.manifest.clone();
            let pages = |manifest: &RunManifest<TestKind>| {
                let made = manifest.merges.iter().map(|merge| merge.output.pages);
                manifest.runs.iter().map(|run| run.pages).chain(made).sum::<u64>()
            };
            let committed = self.environment.read().unwrap();
            let Self { environment, table, lock, manifest, filters, unfinished, .. } = self;
            let done: Result<(), Failed> = environment.write(lock, |txn| {
                if is_written {
                    let memory = (&mut *filters, &mut *unfinished);
                    merge_slice(*table, (&committed, txn), manifest, memory, SLICE)?;
                } else {
                    let mut entries = entries.to_vec();
                    let written = write(*table, txn, (manifest, filters), kind, &mut entries)?;
                    manifest.owe(written);
                }
                if has_failed { Err(Failed::Wanted) } else { Ok(()) }
            });
            drop(committed);
            if has_failed {
                // As a writer that reads its state again.
                assert!(matches!(done, Err(Failed::Wanted)));
                self.manifest = before;
                let txn = self.environment.read().unwrap();
                let filters = (&mut self.filters, &mut self.unfinished);
                fill_filters(&txn, self.table, &self.manifest, filters).unwrap();
                continue;
            }
            done.unwrap();
            if is_written {
                let inputs = before.runs.iter().filter(|run| !self.manifest.runs.contains(run));
                let gone: u64 = inputs.map(|run| run.pages).sum();
                most = most.max((pages(&self.manifest) + gone).saturating_sub(pages(&before)));
            }
            is_written = true;
        }
        most
    }

    /// All entries of a kind from a key on.
    fn all<E: RunEntry>(&self, kind: TestKind, from: &[u8]) -> Vec<E> {
        let txn = self.environment.read().unwrap();
        let mut cursors = Cursors::<E>::open(&txn, self.table, &self.manifest, kind, from).unwrap();
        let mut all = Vec::new();
        while let Some(entry) = cursors.next().unwrap() {
            all.push(entry);
        }
        all
    }

    fn find(&self, kind: TestKind, hash: u64, filtered: bool) -> BTreeSet<u64> {
        let txn = self.environment.read().unwrap();
        let filters = filtered.then_some(&self.filters);
        let mut found = BTreeSet::new();
        find_all(&txn, self.table, (&self.manifest, filters), kind, hash, |number| {
            found.insert(number);
            Ok::<_, ColumnsError>(true)
        })
        .unwrap();
        found
    }

    /// Number of pages in the table, and number of pages in the list of runs.
    fn pages(&self) -> [u64; 2] {
        let txn = self.environment.read().unwrap();
        let known = self.manifest.runs.iter().map(|run| run.pages);
        let made = self.manifest.merges.iter().map(|merge| merge.output.pages);
        let mut dropped = 0;
        for (kind, id) in &self.manifest.dropped {
            let prefix = page_key(*kind, *id);
            dropped += self.table.prefix(&txn, &prefix).unwrap().count() as u64;
        }
        [self.table.stat(&txn).unwrap().entries as u64, known.chain(made).sum::<u64>() + dropped]
    }
}

#[test]
fn numbers_are_found_by_their_hashes_through_all_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(1));
    let mut expected: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut number = 0;
    for round in 0..150 {
        let count = 1 + random.index(if round % 10 == 0 { 3000 } else { 300 });
        let entries: Vec<NumberByHash> = (0..count)
            .map(|_| {
                number += 1;
                // Some hashes are of very many numbers, over several pages.
                let hash = match random.below(10) {
                    0 => 77,
                    1 => random.next() % 50,
                    _ => random.next(),
                };
                NumberByHash { hash, number }
            })
            .collect();
        for entry in &entries {
            expected.entry(entry.hash).or_default().insert(entry.number);
        }
        runs.batch(TestKind::Found, entries, 1);
        if round % 29 == 0 || round == 149 {
            for (hash, numbers) in expected.iter().step_by(7) {
                assert_eq!(&runs.find(TestKind::Found, *hash, true), numbers);
                assert_eq!(&runs.find(TestKind::Found, *hash, false), numbers);
            }
            assert_eq!(runs.find(TestKind::Found, 77, true), expected[&77]);
            assert!(runs.find(TestKind::Found, u64::MAX - 12_345, true).is_empty());
            assert!(runs.find(TestKind::New, 77, true).is_empty());
        }
        let [there, known] = runs.pages();
        assert_eq!(there, known, "in round {round}");
    }
    let count = runs.manifest.of_kind(TestKind::Found).count();
    assert!(count < 30, "{count} runs");
}

#[test]
fn entries_stay_in_order_through_slices_of_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(2));
    let mut expected = BTreeSet::new();
    for transaction in 0..60_u64 {
        // So many pages that a merge takes several slices.
        let entries: Vec<Listed> = (0..6000)
            .map(|index| Listed {
                owner: random.next() % 5000,
                value: random.next() % 1_000_000,
                transaction: transaction * 6000 + index,
            })
            .collect();
        expected.extend(entries.iter().copied());
        runs.batch(TestKind::Listed, entries, 1);
        let is_checked = transaction % 9 == 8 || transaction == 59;
        if is_checked {
            assert!(runs.all::<Listed>(TestKind::Listed, &[]).iter().eq(&expected));
        }
    }
    assert!(runs.manifest.runs.iter().any(|run| run.level > 0), "nothing was merged");
    for owner in [0, 1, 2500, 4999, 5000] {
        let from = number(owner);
        let found = runs.all::<Listed>(TestKind::Listed, &from);
        assert!(found.iter().eq(expected.iter().filter(|entry| entry.owner >= owner)));
    }
}

#[test]
fn partial_sums_are_added_when_runs_merge() {
    let (mut runs, mut random) = (Runs::new(), Random::new(3));
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..200 {
        let entries: Vec<Summed> = (0..500)
            .map(|_| Summed { owner: random.next() % 3000, sum: random.next() >> 20 })
            .collect();
        for entry in &entries {
            *expected.entry(entry.owner).or_default() += entry.sum;
        }
        runs.batch(TestKind::Summed, entries, 1);
    }
    let expected = expected.into_iter().map(|(owner, sum)| Summed { owner, sum });
    assert!(runs.all::<Summed>(TestKind::Summed, &[]).into_iter().eq(expected));
    let entries: u64 = runs.manifest.runs.iter().map(|run| run.entries).sum();
    assert!(entries < 40_000, "{entries} entries of 3,000 owners");
}

#[test]
fn an_interrupted_writer_goes_on_with_merges() {
    let (mut runs, mut random) = (Runs::new(), Random::new(4));
    let mut expected = BTreeSet::new();
    for number in 0..100_u64 {
        let entries: Vec<NumberByHash> =
            (0..2000).map(|_| NumberByHash { hash: random.next(), number }).collect();
        expected.extend(entries.iter().copied());
        runs.batch(TestKind::New, entries, 1);
        // What is only in memory is gone.
        runs.manifest = RunManifest::from_bytes(&runs.manifest.to_bytes()).unwrap();
        (runs.filters, runs.unfinished) = (Filters::enabled(), UnfinishedFilters::default());
        let txn = runs.environment.read().unwrap();
        let filters = (&mut runs.filters, &mut runs.unfinished);
        fill_filters(&txn, runs.table, &runs.manifest, filters).unwrap();
        drop(txn);
    }
    assert!(runs.all::<NumberByHash>(TestKind::New, &[]).iter().eq(&expected));
    for entry in expected.iter().step_by(999) {
        assert!(runs.find(TestKind::New, entry.hash, true).contains(&entry.number));
    }
}

#[test]
fn merges_between_batches_keep_up_in_bounded_slices() {
    let (mut runs, mut random) = (Runs::new(), Random::new(5));
    let mut expected = BTreeSet::new();
    let (mut most_runs, mut largest_slice) = (0, 0);
    for transaction in 0..120_u64 {
        // Some batches are much larger than others.
        let count = if transaction % 40 == 7 { 10_000 } else { 500 };
        let entries: Vec<Listed> = (0..count)
            .map(|index| Listed {
                owner: random.next() % 5000,
                value: random.next() % 1_000_000,
                transaction: transaction << 20 | index,
            })
            .collect();
        expected.extend(entries.iter().copied());
        let slice = runs.batch_and_slices(TestKind::Listed, &entries, || false);
        largest_slice = largest_slice.max(slice);
        most_runs = most_runs.max(runs.manifest.of_kind(TestKind::Listed).count());
        let [there, known] = runs.pages();
        assert_eq!(there, known, "after batch {transaction}");
    }
    assert!(runs.all::<Listed>(TestKind::Listed, &[]).iter().eq(&expected));
    assert!(runs.manifest.runs.iter().any(|run| run.level > 1), "nothing was merged twice");
    assert!(most_runs < 30, "{most_runs} runs");
    assert!(largest_slice <= SLICE, "a slice of {largest_slice} pages");
}

#[test]
fn failed_batches_and_slices_leave_runs_and_filters_as_they_were() {
    let (mut runs, mut random) = (Runs::new(), Random::new(6));
    let mut dice = Random::new(7);
    let mut expected: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for batch in 0..150_u64 {
        let entries: Vec<NumberByHash> = (0..=random.below(1500))
            .map(|index| NumberByHash { hash: random.next() % 20_000, number: batch << 16 | index })
            .collect();
        for entry in &entries {
            expected.entry(entry.hash).or_default().insert(entry.number);
        }
        runs.batch_and_slices(TestKind::New, &entries, || dice.one_in(3));
        let [there, known] = runs.pages();
        assert_eq!(there, known, "after batch {batch}");
        if batch % 10 == 9 {
            for hash in (0..20_000).step_by(37) {
                let numbers = expected.get(&hash).cloned().unwrap_or_default();
                assert_eq!(runs.find(TestKind::New, hash, true), numbers, "batch {batch}");
            }
        }
        // Each run has a filter, which was filled once.
        assert!(runs.manifest.runs.iter().all(|run| runs.filters.has_finished(run.id)));
        assert!(runs.manifest.merges.iter().all(|it| runs.unfinished.contains_key(&it.output.id)));
    }
    assert!(runs.manifest.runs.iter().any(|run| run.level > 1), "nothing was merged twice");
}
