//! Bloom filters in memory that rule out hashes that a run does not hold. Only a writer that loads many blocks has
//! them.

use std::collections::BTreeSet;

use crate::bytes::NumberMap;

/// Number of bits of a filter for each entry.
const BITS: u64 = 12;
/// Number of bits that an entry sets, all in one cache line.
const SET: u32 = 6;
/// Number of words of a cache line.
const LINE: usize = 8;
/// Largest size of all filters together, in bytes. Runs for which this size leaves no room have no filter and are
/// searched.
const MOST_BYTES: u64 = 512 << 20;

/// A Bloom filter over hashes.
#[derive(Clone, Debug)]
pub struct Filter {
    lines: Vec<[u64; LINE]>,
}

impl Filter {
    fn new(entries: u64) -> Self {
        let lines = (entries * BITS).div_ceil(512).max(1);
        Self { lines: vec![[0; LINE]; usize::try_from(lines).unwrap_or(1)] }
    }

    /// The cache line of a hash, and the bits of the hash in that cache line.
    #[inline]
    fn locate(&self, hash: u64) -> (usize, u64) {
        // Hashes are of texts that others choose, but evenly distributed all the same. Runs are sorted by
        // their first bits; those of the product tell as much.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let lines = self.lines.len() as u64;
        let line = (u128::from(mixed) * u128::from(lines)) >> 64;
        (usize::try_from(line).unwrap_or(0), hash.rotate_left(29) ^ mixed.rotate_left(17))
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let (line, mut bits) = self.locate(hash);
        let Some(line) = self.lines.get_mut(line) else { return };
        for _ in 0..SET {
            if let Some(word) = line.get_mut((bits >> 6 & 7) as usize) {
                *word |= 1 << (bits & 63);
            }
            bits >>= 9;
        }
    }

    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let (line, mut bits) = self.locate(hash);
        let Some(line) = self.lines.get(line) else { return true };
        // Without a branch for each bit, a processor reads the lines of several hashes at the same time.
        let mut unset = 0;
        for _ in 0..SET {
            let word = line.get((bits >> 6 & 7) as usize).copied().unwrap_or(u64::MAX);
            unset |= !word >> (bits & 63) & 1;
            bits >>= 9;
        }
        unset == 0
    }

    fn bytes(&self) -> u64 {
        self.lines.len() as u64 * 64
    }
}

/// The filters of a writer, by the numbers of their runs.
#[derive(Debug, Default)]
pub struct Filters {
    by_run: NumberMap<Filter>,
    /// Runs whose filters were begun, also those for which there was no room.
    known: BTreeSet<u32>,
    bytes: u64,
    /// True for a writer with filters.
    enabled: bool,
    /// Filters over all runs of the kind whose hashes are mostly new: a few lookups instead of one lookup per run.
    mostly_new: Vec<GrowingFilter>,
}

/// A filter over many runs that is still being filled.
#[derive(Debug)]
struct GrowingFilter {
    filter: Filter,
    /// Number of entries for which the filter has room.
    left: u64,
}

/// Entries of the first filter over all runs; each further filter has room for twice as many.
const FIRST: u64 = 1 << 20;

impl Filters {
    /// Filters for a writer that loads many blocks.
    #[must_use]
    pub fn enabled() -> Self {
        Self { enabled: true, ..Self::default() }
    }

    /// An empty filter for this many entries; `None` if the filters have reached their largest size.
    pub(super) fn begin(&self, entries: u64) -> Option<Filter> {
        let room = self.bytes.saturating_add(entries * BITS / 8) < MOST_BYTES;
        (self.enabled && room).then(|| Filter::new(entries))
    }

    /// Keeps the filter of a run; `None` if there was no room for it.
    pub(super) fn finish(&mut self, run: u32, filter: Option<Filter>) {
        self.known.insert(run);
        if let Some(filter) = filter {
            self.bytes += filter.bytes();
            self.by_run.insert(run.into(), filter);
        }
    }

    /// True if the filter of a run was finished, also if there was no room for it.
    pub(super) fn has_finished(&self, run: u32) -> bool {
        self.known.contains(&run)
    }

    pub(super) fn remove(&mut self, run: u32) {
        self.known.remove(&run);
        if let Some(filter) = self.by_run.remove(&run.into()) {
            self.bytes = self.bytes.saturating_sub(filter.bytes());
        }
    }

    /// Removes the filters of all other runs.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        let gone: Vec<u32> = self.known.iter().copied().filter(|run| !is_kept(*run)).collect();
        for run in gone {
            self.remove(run);
        }
    }

    /// The filter of a run, if it has one.
    pub(super) fn of_run(&self, run: u32) -> Option<&Filter> {
        self.by_run.get(&run.into())
    }

    /// False if a run has no entry of this hash.
    #[inline]
    pub(super) fn may_have(&self, run: u32, hash: u64) -> bool {
        self.of_run(run).is_none_or(|filter| filter.may_have(hash))
    }

    /// Adds a hash of the kind whose hashes are mostly new.
    pub(super) fn note(&mut self, hash: u64) {
        if !self.enabled {
            return;
        }
        if self.mostly_new.last().is_none_or(|last| last.left == 0) {
            let doublings = u32::try_from(self.mostly_new.len()).unwrap_or(u32::MAX).min(20);
            let left = FIRST << doublings;
            self.mostly_new.push(GrowingFilter { filter: Filter::new(left), left });
        }
        if let Some(last) = self.mostly_new.last_mut() {
            last.filter.insert(hash);
            last.left -= 1;
        }
    }

    /// False if no run of the kind whose hashes are mostly new has the hash.
    pub(super) fn may_have_any(&self, hash: u64) -> bool {
        !self.enabled || self.mostly_new.iter().any(|growing| growing.filter.may_have(hash))
    }

    pub(super) const fn is_enabled(&self) -> bool {
        self.enabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_what_was_inserted_and_little_else() {
        let mut filter = Filter::new(10_000);
        let hash = |number: u64| (number + 1).wrapping_mul(0xd129_42f0_1f1c_c2a1).rotate_left(23);
        (0..10_000).for_each(|number| filter.insert(hash(number)));
        assert!((0..10_000).all(|number| filter.may_have(hash(number))));
        let wrong = (10_000..110_000).filter(|number| filter.may_have(hash(*number))).count();
        assert!(wrong < 2_000, "{wrong} of 100,000");
    }
}
